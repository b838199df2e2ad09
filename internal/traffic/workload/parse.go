package workload

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"redline/internal/text"
	"redline/internal/traffic/dist"
)

// Parse reads the terse form of a Spec: the name of a preset or mix, a file,
// fixed(in,out), or in=DIST out=DIST; a name or file may stand before either
// to replace one of its lengths, and a name before a file of prose.
func Parse(text string) (Spec, error) {
	if mix := findMix(text); mix != nil {
		return Spec{Traffic: Traffic{Preset: mix.Name}}, nil
	}
	t, err := parseTraffic(text)
	return Spec{Traffic: t}, err
}

// parseTraffic reads the terse form of one kind of traffic.
func parseTraffic(spec string) (Traffic, error) {
	var t Traffic
	spec = strings.Join(strings.Fields(spec), " ")
	fields, err := splitFields(spec)
	if err != nil {
		return Traffic{}, fmt.Errorf("workload %q: %w", text.Brief(spec), err)
	}
	if len(fields) == 0 {
		return Traffic{}, errors.New("workload: nothing given, expected a preset such as chat, a form such as fixed(64,100) or a file")
	}
	if _, err := findPreset(fields[0]); isPath(spec) && err != nil {
		return Traffic{File: spec}, nil // the spaces are the file's own
	}
	for _, field := range fields {
		if err := t.parseField(field); err != nil {
			return Traffic{}, fmt.Errorf("workload %q: %w", text.Brief(spec), err)
		}
	}
	if t.Preset != "" {
		preset, err := findPreset(t.Preset)
		if err != nil {
			return Traffic{}, err
		}
		t.Preset = preset.Name
	}
	if err := t.validate(); err != nil {
		return Traffic{}, fmt.Errorf("workload %q: %w", text.Brief(spec), err)
	}
	return t, nil
}

// isPath tells a file from a preset: no preset has a dot or a slash in its
// name, and no path that is written tersely an equals sign or a parenthesis.
func isPath(text string) bool {
	return strings.ContainsAny(text, `./\`) && !strings.ContainsAny(text, "=()") &&
		text == strings.Join(strings.Fields(text), " ")
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

// parseField reads one of a terse form's words into t.
func (t *Traffic) parseField(field string) error {
	if key, value, ok := strings.Cut(field, "="); ok {
		return t.parseLength(key, value)
	}
	called := strings.Contains(field, "(")
	switch {
	case !called && isPath(field):
		if t.File != "" {
			return fmt.Errorf("names two files, %s and %s, expected one", text.Brief(t.File), text.Brief(field))
		}
		t.File = field
		return nil
	case !called:
		if t.Preset != "" {
			return fmt.Errorf("names two presets, %s and %s, expected one", text.Brief(t.Preset), text.Brief(field))
		}
		t.Preset = field
		return nil
	}
	arguments, ok := strings.CutPrefix(strings.ToLower(field), "fixed(")
	prompt, output, two := strings.Cut(strings.TrimSuffix(arguments, ")"), ",")
	if !ok || !two || strings.Contains(output, ",") {
		return fmt.Errorf("expected fixed(in,out) such as fixed(64,100), or say which length: in=%s", text.Brief(field))
	}
	if t.Prompt != nil || t.Output != nil {
		return errors.New("gives a length twice; give each once")
	}
	for _, length := range []struct {
		text string
		into **Dist
	}{{prompt, &t.Prompt}, {output, &t.Output}} {
		d, err := dist.ParseTokens("fixed(" + length.text + ")")
		if err != nil {
			return err
		}
		*length.into = &d
	}
	return nil
}

func (t *Traffic) parseLength(key, value string) error {
	var length **Dist
	switch strings.ToLower(key) {
	case "in", "prompt":
		length = &t.Prompt
	case "out", "output":
		length = &t.Output
	default:
		return fmt.Errorf("unknown length %q, expected in=… or out=…", text.Brief(key))
	}
	if *length != nil {
		return fmt.Errorf("gives %s twice; give it once", key)
	}
	d, err := dist.ParseTokens(value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	*length = &d
	return nil
}
