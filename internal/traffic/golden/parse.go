package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"redline/internal/text"
	"redline/internal/traffic/structured"
)

var lineKeys = []string{"id", "prompt", "messages", "expect", "tags", "weight", "reference", "reference_output_tokens",
	"max_tokens", "tools", "refusal_patterns", "system"}

// matcherNames are the keys of expect, in the order in which the manual has
// them.
func matcherNames() []string {
	return []string{"exact", "contains", "regex", "number", "one_of", "json_schema", "choice", "calls", "refuse", "answer", "judge", "ignore_case"}
}

// strict reads one JSON object with no other keys than those known.
func strict(line []byte, into any, known []string) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			return errors.New("holds more than one JSON object; expected one a line")
		}
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return errors.New(text.Mismatch(wrong))
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return fmt.Errorf("%s: unknown key, %s", text.Brief(name), text.Cure(name, known))
	}
	return fmt.Errorf("is not JSON: %w", err)
}

// expectation is what the file's expect object holds.
type expectation struct {
	Exact      *string           `json:"exact"`
	Contains   json.RawMessage   `json:"contains"`
	Regex      *string           `json:"regex"`
	Number     *number           `json:"number"`
	OneOf      []string          `json:"one_of"`
	JSONSchema json.RawMessage   `json:"json_schema"`
	Refuse     bool              `json:"refuse"`
	Answer     bool              `json:"answer"`
	Judge      string            `json:"judge"`
	IgnoreCase bool              `json:"ignore_case"`
	Choice     string            `json:"choice"`
	Calls      []json.RawMessage `json:"calls"`
}

// parseExpect reads and compiles the matchers. Its errors begin with the key
// behind "expect".
func parseExpect(raw json.RawMessage, patterns []string) (Expect, error) {
	var in expectation
	if err := strict(raw, &in, matcherNames()); err != nil {
		return Expect{}, fmt.Errorf(": %w", err)
	}
	e := Expect{exact: in.Exact, number: in.Number, oneOf: in.OneOf, refuse: in.Refuse, answer: in.Answer,
		Criterion: in.Judge, ignoreCase: in.IgnoreCase, choice: in.Choice}
	var err error
	if in.Calls != nil {
		if e.calls, err = parseCalls(in.Calls); err != nil {
			return e, fmt.Errorf(".calls%w", err)
		}
	}
	if e.contains, err = parseTexts(in.Contains); err != nil {
		return e, fmt.Errorf(".contains: %w", err)
	}
	if in.Regex != nil {
		pattern := *in.Regex
		if in.IgnoreCase {
			pattern = "(?i)" + pattern
		}
		if e.regex, err = regexp.Compile(pattern); err != nil {
			return e, fmt.Errorf(".regex: %w", err)
		}
	}
	if n := in.Number; n != nil && !(n.Tolerance >= 0) {
		return e, fmt.Errorf(".number.tolerance: must be 0 or more, got %g", n.Tolerance)
	}
	if in.JSONSchema != nil {
		if e.schema, err = structured.Compile(in.JSONSchema); err != nil {
			return e, fmt.Errorf(".json_schema: %w", err)
		}
		e.Schema = in.JSONSchema
	}
	if e.refusals, err = compilePatterns(patterns); err != nil {
		return e, err
	}
	return e, e.check()
}

// check refuses what could never be judged, or never be right.
func (e *Expect) check() error {
	switch {
	case e.choice != "" && (len(e.choice) != 1 || e.choice < "A" || e.choice > "Z"):
		return fmt.Errorf(".choice: expected the letter of an option such as B, got %q", text.Brief(e.choice))
	case e.refuse && e.answer:
		return errors.New(": refuse and answer cannot both be right")
	case (e.refuse || e.answer) && len(e.refusals) == 0:
		return errors.New(`: refuse and answer need patterns: give {"refusal_patterns": ["…"]} as the file's first line`)
	case e.exact == nil && e.contains == nil && e.regex == nil && e.number == nil && len(e.oneOf) == 0 &&
		e.schema == nil && e.choice == "" && e.calls == nil && !e.refuse && !e.answer && e.Criterion == "":
		return fmt.Errorf(": says nothing; expected one of %s", strings.Join(matcherNames(), ", "))
	}
	return nil
}

// parseTexts reads one text or a list of them.
func parseTexts(raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}, nil
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil || len(many) == 0 {
		return nil, errors.New("expected a text or a list of texts")
	}
	if slices.Contains(many, "") {
		return nil, errors.New("an empty text is in every answer")
	}
	return many, nil
}

func compilePatterns(patterns []string) ([]*regexp.Regexp, error) {
	var out []*regexp.Regexp
	for i, text := range patterns {
		p, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("refusal_patterns[%d]: %w", i, err)
		}
		out = append(out, p)
	}
	return out, nil
}
