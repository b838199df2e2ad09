package workload

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Parse reads the terse form of a Spec: a preset's name, fixed(in,out), or
// in=DIST out=DIST; a name may stand before either to replace one length of
// the preset.
func Parse(text string) (Spec, error) {
	var s Spec
	text = strings.Join(strings.Fields(text), " ")
	fields, err := splitFields(text)
	if err != nil {
		return Spec{}, fmt.Errorf("workload %q: %w", abbreviate(text), err)
	}
	if len(fields) == 0 {
		return Spec{}, errors.New("workload: nothing given, want a preset such as chat or a form such as fixed(64,100)")
	}
	for _, field := range fields {
		if err := s.parseField(field); err != nil {
			return Spec{}, fmt.Errorf("workload %q: %w", abbreviate(text), err)
		}
	}
	if s.Preset != "" {
		preset, err := findPreset(s.Preset)
		if err != nil {
			return Spec{}, err
		}
		s.Preset = preset.Name
	}
	if err := s.Validate(); err != nil {
		return Spec{}, fmt.Errorf("workload %q: %w", abbreviate(text), err)
	}
	return s, nil
}

// splitFields splits at spaces outside parentheses.
func splitFields(text string) ([]string, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, errors.New("has characters that cannot be printed")
	}
	var fields []string
	depth, start := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && c == ' ':
			fields = append(fields, text[start:i])
			start = i + 1
		}
		if depth < 0 || depth > 1 {
			return nil, errors.New("its parentheses do not match")
		}
	}
	if depth != 0 {
		return nil, errors.New("a parenthesis is not closed")
	}
	var filled []string
	for _, field := range append(fields, text[start:]) {
		if field != "" {
			filled = append(filled, field)
		}
	}
	return filled, nil
}

// parseField reads one of a terse form's words into s.
func (s *Spec) parseField(field string) error {
	if key, value, ok := strings.Cut(field, "="); ok {
		return s.parseLength(key, value)
	}
	name, arguments, ok := call(field)
	if !ok {
		if s.Preset != "" {
			return fmt.Errorf("names two presets, %s and %s, want one", abbreviate(s.Preset), abbreviate(field))
		}
		s.Preset = field
		return nil
	}
	if name != "fixed" || len(arguments) != 2 {
		return fmt.Errorf("want fixed(in,out) such as fixed(64,100), or say which length: in=%s", abbreviate(field))
	}
	if s.Prompt != nil || s.Output != nil {
		return errors.New("gives a length twice, want each once")
	}
	for i, length := range []**Dist{&s.Prompt, &s.Output} {
		n, err := tokens("fixed", arguments[i])
		if err != nil {
			return err
		}
		*length = &Dist{Fixed: n}
	}
	return nil
}

func (s *Spec) parseLength(key, value string) error {
	var length **Dist
	switch strings.ToLower(key) {
	case "in", "prompt":
		length = &s.Prompt
	case "out", "output":
		length = &s.Output
	default:
		return fmt.Errorf("unknown length %q, want in=… or out=…", abbreviate(key))
	}
	if *length != nil {
		return fmt.Errorf("gives %s twice, want it once", key)
	}
	d, err := ParseDist(value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	*length = &d
	return nil
}

// distForms is the table of terse distributions.
var distForms = []struct {
	name, example string
	parse         func(arguments []string) (Dist, error)
}{
	{"fixed", "fixed(128)", parseFixed},
	{"uniform", "uniform(100,200)", parseUniform},
	{"lognormal", "lognormal(512,0.6) or lognormal(512,0.6,50..4000)", parseLogNormal},
	{"choice", "choice(512:0.7,4096:0.3)", parseChoice},
}

// errForm says that the arguments do not fit the form; the caller shows the
// form's example.
var errForm = errors.New("arguments do not fit")

// ParseDist reads a distribution in its terse form, or a plain number of
// tokens.
func ParseDist(text string) (Dist, error) {
	text = strings.TrimSpace(text)
	name, arguments, ok := call(text)
	if !ok {
		name, arguments = "fixed", []string{text}
		if _, err := strconv.Atoi(text); err != nil {
			return Dist{}, fmt.Errorf("want a distribution such as lognormal(512,0.6), got %q", abbreviate(text))
		}
	}
	var names []string
	for _, form := range distForms {
		names = append(names, form.name)
		if form.name != name {
			continue
		}
		d, err := form.parse(arguments)
		if errors.Is(err, errForm) {
			return Dist{}, fmt.Errorf("want %s, got %q", form.example, abbreviate(text))
		}
		if err != nil {
			return Dist{}, err
		}
		return d, d.Validate()
	}
	return Dist{}, unknownName("distribution", name, names)
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

// tokens reads a length. It is checked here because zero in a Dist means that
// a field is not set.
func tokens(what, text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s: want 1 to %d tokens, got %s", what, MaxTokens, abbreviate(text))
	}
	if err != nil {
		return 0, fmt.Errorf("%s: want a whole number of tokens, got %q", what, abbreviate(text))
	}
	return n, checkTokens(what, n)
}

func parseFixed(arguments []string) (Dist, error) {
	if len(arguments) != 1 {
		return Dist{}, errForm
	}
	n, err := tokens("fixed", arguments[0])
	return Dist{Fixed: n}, err
}

func parseUniform(arguments []string) (Dist, error) {
	if len(arguments) != 2 {
		return Dist{}, errForm
	}
	return parseBounds("uniform", arguments[0], arguments[1])
}

// parseBounds reads a smallest and a largest length.
func parseBounds(what, lo, hi string) (Dist, error) {
	smallest, err := tokens(what, lo)
	if err != nil {
		return Dist{}, err
	}
	largest, err := tokens(what, hi)
	return Dist{Min: smallest, Max: largest}, err
}

func parseLogNormal(arguments []string) (Dist, error) {
	if len(arguments) < 2 || len(arguments) > 3 {
		return Dist{}, errForm
	}
	var d Dist
	if len(arguments) == 3 {
		lo, hi, ok := strings.Cut(arguments[2], "..")
		if !ok {
			return Dist{}, errForm
		}
		clip, err := parseBounds("lognormal", lo, hi)
		if err != nil {
			return Dist{}, err
		}
		d = clip
	}
	var err error
	if d.Median, err = strconv.ParseFloat(arguments[0], 64); err != nil {
		return Dist{}, errForm
	}
	if d.Sigma, err = strconv.ParseFloat(arguments[1], 64); err != nil {
		return Dist{}, errForm
	}
	return d, d.validateLogNormal()
}

func parseChoice(arguments []string) (Dist, error) {
	var d Dist
	for _, argument := range arguments {
		count, weight, ok := strings.Cut(argument, ":")
		if !ok {
			return Dist{}, errForm
		}
		n, err := tokens("choice", count)
		if err != nil {
			return Dist{}, err
		}
		w, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		if err != nil {
			return Dist{}, errForm
		}
		d.TokenCounts = append(d.TokenCounts, n)
		d.Weights = append(d.Weights, w)
	}
	return d, nil
}
