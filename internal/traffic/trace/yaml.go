package trace

import (
	"errors"
	"fmt"
	"io"
	"math"

	"redline/internal/text"
	"redline/internal/yaml"
)

// maxDocument bounds a workload file: the rates of seventy days and all the
// curves take a megabyte or two.
const maxDocument = 8 << 20

var form = yaml.Form{Name: "a fitted workload", Want: "a workload that redline workload fit wrote", MaxBytes: maxDocument}

// Write writes the document that ReadFile reads.
func (f *FittedWorkload) Write(w io.Writer) error {
	data, err := yaml.Marshal(f)
	if err != nil {
		return fmt.Errorf("cannot write the workload: %w", err)
	}
	_, err = w.Write(append([]byte("# A workload fitted to logs: statistics only, no text.\n"), data...))
	return err
}

// ReadFile reads the fitted workload in a file.
func ReadFile(path string) (*FittedWorkload, error) {
	data, err := form.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return read(path, data)
}

// read reads a fitted workload. name is the file's, for errors.
func read(name string, data []byte) (*FittedWorkload, error) {
	f := &FittedWorkload{}
	if err := ReadDocument(form, name, data, f, f.validate); err != nil {
		return nil, err
	}
	return f, nil
}

// ReadDocument reads what a fit wrote. Nothing is guessed: an unknown key, or a
// value that makes no sense, is an error with its line.
func ReadDocument(form yaml.Form, name string, data []byte, into any, validate func() error) error {
	root, err := form.Parse(name, data)
	if err == nil {
		d := yaml.Decoder{File: name}
		err = d.Decode(root, into, "")
	}
	var misread *yaml.Error
	if errors.As(err, &misread) {
		return fault(misread.Place, "%s", misread.What)
	}
	var wrong *invalid
	if err := validate(); errors.As(err, &wrong) {
		return fault(yaml.At(name, root.Find(wrong.path).Line), "%v", err)
	}
	return nil
}

// invalid is a value that makes no sense, by its path in the document.
type invalid struct{ path, what string }

func (e *invalid) Error() string { return e.path + ": " + e.what }

// Invalidf is an error about the value at a path of a document.
func Invalidf(path, format string, args ...any) error {
	return &invalid{path, fmt.Sprintf(format, args...)}
}

// validate says what makes no sense in a workload.
func (f *FittedWorkload) validate() error {
	if f.Schema != schema {
		return Invalidf("schema", "is %q, expected %q", f.Schema, schema)
	}
	for _, c := range []struct {
		path  string
		curve Curve
	}{{"prompt_tokens.curve", f.Prompt.Curve}, {"output_tokens.curve", f.Output.Curve}} {
		if err := c.curve.Validate(c.path, maxTokens); err != nil {
			return err
		}
	}
	checks := []func() error{f.Pairs.validate, func() error { return f.Arrivals.validate("arrivals") }, f.Prefix.validate, f.Sessions.validate,
		func() error { return validateShares("tenants", f.Tenants) },
		func() error { return validateShares("classes", f.Classes) },
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Validate says that a curve does not rise from 0 to 1 along both axes.
func (c Curve) Validate(path string, limit float64) error {
	if len(c.At) < 2 || len(c.At) != len(c.Value) {
		return Invalidf(path, "expected at least two shares in at and as many in value, got %d and %d", len(c.At), len(c.Value))
	}
	if c.At[0] != 0 || c.At[len(c.At)-1] != 1 {
		return Invalidf(path+".at", "expected shares from 0 to 1, got %v to %v", c.At[0], c.At[len(c.At)-1])
	}
	for i, v := range c.Value {
		if !(v >= 0 && v <= limit) {
			return Invalidf(fmt.Sprintf("%s.value[%d]", path, i), "must be 0 to %.0f, got %v", limit, v)
		}
		if i > 0 && (!(c.At[i] > c.At[i-1]) || v < c.Value[i-1]) {
			return Invalidf(fmt.Sprintf("%s.value[%d]", path, i), "expected shares and values in ascending order")
		}
	}
	return nil
}

func (p Pairs) validate() error {
	if len(p.Bins) == 0 && !p.Independent {
		return Invalidf("pairs.bins", "none given; expected some, or independent: true")
	}
	return validateBins("pairs.bins", p.Bins)
}

func validateBins(list string, bins []Bin) error {
	sum := 0.0
	for i, b := range bins {
		path := fmt.Sprintf("%s[%d]", list, i)
		if !(b.Share > 0 && b.Share <= 1) {
			return Invalidf(path+".share", "expected a share above 0 and up to 1, got %v", b.Share)
		}
		sum += b.Share
		if err := b.Prompt.Validate(path+".prompt", maxTokens); err != nil {
			return err
		}
		if err := b.Output.Validate(path+".output", maxTokens); err != nil {
			return err
		}
	}
	if len(bins) > 0 && math.Abs(sum-1) > 0.001 { // which forgives what rounding does
		return Invalidf(list, "the shares sum to %.4f, expected 1", sum)
	}
	return nil
}

func (b *Bursty) validate(within string) error {
	if b == nil {
		return nil
	}
	if len(b.Rates) == 0 || len(b.Rates) > maxMinutes {
		return Invalidf(within+".per_minute", "must be 1 to %s rates, got %s", text.Count(maxMinutes), text.Count(len(b.Rates)))
	}
	sum := 0.0
	for i, rate := range b.Rates {
		if !(rate >= 0 && rate <= 6e7) {
			return Invalidf(fmt.Sprintf("%s.per_minute[%d]", within, i), "must be 0 to 60,000,000 requests a minute, got %v", rate)
		}
		sum += rate
	}
	switch {
	case sum == 0:
		return Invalidf(within+".per_minute", "all are 0; at least one must be above 0")
	case !(b.Chance >= 0 && b.Chance <= 1):
		return Invalidf(within+".chance", "must be 0 to 1, got %v", b.Chance)
	case !(b.Evenness >= 1 && b.Evenness <= 1000):
		return Invalidf(within+".evenness", "must be 1 to 1000, got %v", b.Evenness)
	}
	cells := 1
	for i, l := range b.Levels {
		path := fmt.Sprintf("%s.bursts[%d]", within, i)
		if l.Parts < 1 || l.Parts > 1000 {
			return Invalidf(path+".parts", "must be 1 to 1000, got %d", l.Parts)
		}
		if cells *= l.Parts; cells > 100_000 {
			return Invalidf(path+".parts", "a minute has more than 100,000 parts, expected fewer")
		}
		if !(l.Crowding >= 0 && l.Crowding <= 1) {
			return Invalidf(path+".crowding", "must be 0 to 1, got %v", l.Crowding)
		}
	}
	return nil
}

func (s *Sharing) validate() error {
	switch {
	case s == nil:
	case !(s.Share >= 0 && s.Share <= 1):
		return Invalidf("prefix.share", "must be 0 to 1, got %v", s.Share)
	case !(s.Requests >= 0 && s.Requests <= 1):
		return Invalidf("prefix.requests", "must be 0 to 1, got %v", s.Requests)
	case s.Groups < 0 || s.Groups > 1<<40:
		return Invalidf("prefix.groups", "expected a number of groups, got %d", s.Groups)
	case !(s.Zipf >= 0 && s.Zipf <= 10):
		return Invalidf("prefix.zipf", "must be 0 to 10, got %v", s.Zipf)
	}
	return nil
}

func validateShares(path string, list []Share) error {
	sum := 0.0
	for i, s := range list {
		if !(s.Share >= 0 && s.Share <= 1) {
			return Invalidf(fmt.Sprintf("%s[%d].share", path, i), "must be 0 to 1, got %v", s.Share)
		}
		sum += s.Share
	}
	if sum > 1.001 {
		return Invalidf(path, "the shares sum to %.4f; must be at most 1", sum)
	}
	return nil
}
