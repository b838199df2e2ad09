package dist

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"redline/internal/text"
)

// String is the terse form, which ParseTokens reads.
func (d Tokens) String() string {
	switch d.kind() {
	case fixed:
		return fmt.Sprintf("fixed(%d)", d.Fixed)
	case uniform:
		return fmt.Sprintf("uniform(%d,%d)", d.Min, d.Max)
	case lognormal:
		return d.format("lognormal", d.Median, d.Sigma)
	case normal:
		return d.format("normal", d.Average, d.SD)
	case gamma:
		return d.format("gamma", d.Average, d.Shape)
	case zipf:
		return d.format("zipf", d.Zipf)
	case choice:
		return "choice(" + strings.Join(d.pairs(), ",") + ")"
	}
	return ""
}

// format writes parameters and, where it says anything, the clip.
func (d Tokens) format(name string, parameters ...float64) string {
	parts := text.Each(parameters, text.Plain)
	if lo, hi := d.clip(); lo != 1 || hi != maxTokens {
		parts = append(parts, fmt.Sprintf("%d..%d", lo, hi))
	}
	return name + "(" + strings.Join(parts, ",") + ")"
}

// pairs lists a histogram's lengths with their weights.
func (d Tokens) pairs() []string {
	var pairs []string
	for i, w := range d.Weights {
		switch {
		case i < len(d.TokenCounts):
			pairs = append(pairs, strconv.Itoa(d.TokenCounts[i])+":"+text.Plain(w))
		case i < len(d.Buckets):
			pairs = append(pairs, d.Buckets[i].String()+":"+text.Plain(w))
		}
	}
	return pairs
}

// MarshalYAML writes the terse form.
func (d Tokens) MarshalYAML() (any, error) { return d.String(), nil }

// UnmarshalYAML reads the terse form, a plain number, or a mapping. A mapping is
// validated by whoever knows which length it describes.
func (d *Tokens) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if unmarshal(&text) == nil {
		parsed, err := ParseTokens(text)
		*d = parsed
		return err
	}
	type mapping Tokens
	return unmarshal((*mapping)(d))
}

// tokenForms is the table of terse distributions.
var tokenForms = []struct {
	name, example string
	parse         func(arguments []string) (Tokens, error)
}{
	{"fixed", "fixed(128)", parseFixed},
	{"uniform", "uniform(100,200)", parseUniform},
	{"normal", "normal(500,100) or normal(500,100,50..4000)", parseShape(normal, 2, func(d *Tokens, p []float64) { d.Average, d.SD = p[0], p[1] })},
	{"lognormal", "lognormal(512,0.6) or lognormal(512,0.6,50..4000)", parseShape(lognormal, 2, func(d *Tokens, p []float64) { d.Median, d.Sigma = p[0], p[1] })},
	{"gamma", "gamma(500,2) or gamma(500,2,50..4000)", parseShape(gamma, 2, func(d *Tokens, p []float64) { d.Average, d.Shape = p[0], p[1] })},
	{"zipf", "zipf(1.2) or zipf(1.2,16..4096)", parseShape(zipf, 1, func(d *Tokens, p []float64) { d.Zipf = p[0] })},
	{"choice", "choice(512:0.7,4096:0.3) or choice(0..512:0.4,512..2048:0.6)", parseChoice},
}

// errForm says that the arguments do not fit the form; the caller shows the
// form's example.
var errForm = errors.New("arguments do not fit")

// ParseTokens reads a distribution in its terse form, or a plain number of
// tokens.
func ParseTokens(spec string) (Tokens, error) {
	spec = strings.TrimSpace(spec)
	name, arguments, ok := call(spec)
	if !ok {
		name, arguments = "fixed", []string{spec}
		if _, err := strconv.Atoi(spec); err != nil {
			return Tokens{}, fmt.Errorf("expected a distribution such as lognormal(512,0.6), got %q", text.Brief(spec))
		}
	}
	var names []string
	for _, form := range tokenForms {
		names = append(names, form.name)
		if form.name != name {
			continue
		}
		d, err := form.parse(arguments)
		if errors.Is(err, errForm) {
			return Tokens{}, fmt.Errorf("expected %s, got %q", form.example, text.Brief(spec))
		}
		if err != nil {
			return Tokens{}, err
		}
		return d, d.Validate()
	}
	return Tokens{}, fmt.Errorf("unknown distribution %q: %s", text.Brief(name), text.HintWithKnown(name, names))
}

// call takes name(a,b) apart.
func call(text string) (name string, arguments []string, ok bool) {
	name, rest, ok := strings.Cut(text, "(")
	if !ok || !strings.HasSuffix(rest, ")") {
		return "", nil, false
	}
	for argument := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
		arguments = append(arguments, strings.TrimSpace(argument))
	}
	return strings.ToLower(strings.TrimSpace(name)), arguments, true
}

// tokens reads a length. It is checked here because zero in a Tokens means that
// a field is not set.
func tokens(what, given string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(given))
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s: must be 1 to %d, got %s", what, maxTokens, text.Brief(given))
	}
	if err != nil {
		return 0, fmt.Errorf("%s: expected a whole number, got %q", what, text.Brief(given))
	}
	return n, CheckTokens(what, n)
}

func parseFixed(arguments []string) (Tokens, error) {
	if len(arguments) != 1 {
		return Tokens{}, errForm
	}
	n, err := tokens("fixed", arguments[0])
	return Tokens{Fixed: n}, err
}

func parseUniform(arguments []string) (Tokens, error) {
	if len(arguments) != 2 {
		return Tokens{}, errForm
	}
	return parseBounds("uniform", arguments[0], arguments[1])
}

// parseBounds reads a smallest and a largest length.
func parseBounds(what, lo, hi string) (Tokens, error) {
	smallest, err := tokens(what, lo)
	if err != nil {
		return Tokens{}, err
	}
	largest, err := tokens(what, hi)
	return Tokens{Min: smallest, Max: largest}, err
}

// parseShape reads a form of some parameters and perhaps a clip. It is checked
// as what it was called: in a Tokens a parameter of zero is one that is not set.
func parseShape(k kind, count int, set func(*Tokens, []float64)) func([]string) (Tokens, error) {
	return func(arguments []string) (Tokens, error) {
		if len(arguments) < count || len(arguments) > count+1 {
			return Tokens{}, errForm
		}
		var d Tokens
		if len(arguments) == count+1 {
			lo, hi, ok := strings.Cut(arguments[count], "..")
			if !ok {
				return Tokens{}, errForm
			}
			var err error
			if d, err = parseBounds(kindNames[k], lo, hi); err != nil {
				return Tokens{}, err
			}
		}
		var parameters []float64
		for _, argument := range arguments[:count] {
			p, err := strconv.ParseFloat(argument, 64)
			if err != nil {
				return Tokens{}, errForm
			}
			parameters = append(parameters, p)
		}
		set(&d, parameters)
		return d, d.validateShape(k)
	}
}

func parseChoice(arguments []string) (Tokens, error) {
	var d Tokens
	ranged := false
	for _, argument := range arguments {
		length, weight, ok := strings.Cut(argument, ":")
		if !ok {
			return Tokens{}, errForm
		}
		b, err := parseBucket(length)
		if err != nil {
			return Tokens{}, err
		}
		w, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		if err != nil {
			return Tokens{}, errForm
		}
		ranged = ranged || b.Hi-b.Lo > 1
		d.Buckets = append(d.Buckets, b)
		d.Weights = append(d.Weights, w)
	}
	if ranged {
		return d, nil
	}
	for _, b := range d.Buckets {
		d.TokenCounts = append(d.TokenCounts, b.Hi)
	}
	d.Buckets = nil
	return d, nil
}
