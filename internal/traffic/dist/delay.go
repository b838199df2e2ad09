package dist

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"redline/internal/stats"
	"redline/internal/text"
)

// maxDelay bounds a pause: a session that waits longer outlives any run.
const maxDelay = 24 * time.Hour

// Delay is a distribution of pauses: how long a user thinks, or a tool takes.
// The zero value is no pause.
//
//	8s                          always 8 s
//	uniform(1s,5s)              Min to Max
//	exponential(5s)             Center is its mean
//	lognormal(8s,0.8,1s..60s)   Center is its median; the clip may be left out
type Delay struct {
	Form     string // fixed, uniform, exponential, lognormal; "" for none
	Center   time.Duration
	Sigma    float64
	Min, Max time.Duration
}

const delayExamples = "expected a pause such as 8s, uniform(1s,5s), exponential(5s) or lognormal(8s,0.8,1s..60s)"

// ParseDelay reads the terse form.
func ParseDelay(given string) (Delay, error) {
	given = strings.TrimSpace(given)
	wrong := fmt.Errorf("%s, got %q", delayExamples, text.Brief(given))
	name, arguments, ok := call(given)
	if !ok {
		name, arguments = "fixed", []string{given}
	}
	d := Delay{Form: name}
	times := arguments
	if name == "lognormal" && len(arguments) == 3 {
		lo, hi, ok := strings.Cut(arguments[2], "..")
		if !ok || !parseTimes([]string{lo, hi}, &d.Min, &d.Max) || d.Min > d.Max || d.Max == 0 {
			return Delay{}, wrong
		}
		arguments = arguments[:2]
	}
	switch {
	case name == "fixed" && len(arguments) == 1, name == "exponential" && len(arguments) == 1:
		ok = parseTimes(times[:1], &d.Center)
	case name == "uniform" && len(arguments) == 2:
		ok = parseTimes(times[:2], &d.Min, &d.Max) && d.Min <= d.Max
	case name == "lognormal" && len(arguments) == 2:
		var err error
		d.Sigma, err = strconv.ParseFloat(arguments[1], 64)
		ok = err == nil && d.Sigma > 0 && d.Sigma <= maxSigma && parseTimes(times[:1], &d.Center) && d.Center > 0
	default:
		ok = false
	}
	if !ok {
		return Delay{}, wrong
	}
	return d, nil
}

// parseTimes reads lengths of time within bounds.
func parseTimes(texts []string, into ...*time.Duration) bool {
	for i, text := range texts {
		d, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil || d < 0 || d > maxDelay {
			return false
		}
		*into[i] = d
	}
	return true
}

// Validate says what is wrong with a pause that was not parsed.
func (d Delay) Validate() error {
	if d.Form == "" {
		return nil
	}
	_, err := ParseDelay(d.String())
	return err
}

// Sample draws a pause.
func (d Delay) Sample(r *rand.Rand) time.Duration {
	switch d.Form {
	case "fixed":
		return d.Center
	case "uniform":
		return d.Min + time.Duration(r.Int64N(int64(d.Max-d.Min)+1))
	case "exponential":
		return time.Duration(min(float64(d.Center)*stats.Exponential(r), float64(maxDelay)))
	case "lognormal":
		x := stats.LogNormal(r, math.Log(float64(d.Center)), d.Sigma)
		return max(d.Min, time.Duration(min(x, float64(cmp.Or(d.Max, maxDelay)))))
	}
	return 0
}

// String is the terse form, which ParseDelay reads.
func (d Delay) String() string {
	switch d.Form {
	case "fixed":
		return d.Center.String()
	case "uniform":
		return fmt.Sprintf("uniform(%v,%v)", d.Min, d.Max)
	case "exponential":
		return fmt.Sprintf("exponential(%v)", d.Center)
	case "lognormal":
		clip := ""
		if d.Max != 0 {
			clip = fmt.Sprintf(",%v..%v", d.Min, d.Max)
		}
		return fmt.Sprintf("lognormal(%v,%s%s)", d.Center, text.Plain(d.Sigma), clip)
	}
	return d.Form
}

// MarshalYAML writes the terse form.
func (d Delay) MarshalYAML() (any, error) { return d.String(), nil }

// UnmarshalYAML reads the terse form.
func (d *Delay) UnmarshalYAML(unmarshal func(any) error) error {
	return readText(unmarshal, delayExamples, ParseDelay, d)
}

// readText reads a value that is written as one text; forms says how.
func readText[T any](unmarshal func(any) error, forms string, parse func(string) (T, error), into *T) (err error) {
	var text string
	if unmarshal(&text) != nil {
		return errors.New(forms)
	}
	*into, err = parse(text)
	return err
}
