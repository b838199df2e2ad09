package golden

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/structured"
)

// Expect is what a right answer is. Every matcher that is given must hold.
type Expect struct {
	exact      *string
	contains   []string
	regex      *regexp.Regexp
	number     *number
	oneOf      []string
	schema     *structured.Schema
	refuse     bool
	answer     bool
	refusals   []*regexp.Regexp
	ignoreCase bool
	choice     string
	calls      []expectedCall // nil where none are judged

	// Schema is the JSON Schema that the answer is asked to keep, nil for
	// none.
	Schema json.RawMessage
	// Criterion is what a judge model is to look for, "" where none is asked.
	Criterion string
}

// number is a figure that an answer must end with.
type number struct {
	Value     float64 `json:"value"`
	Tolerance float64 `json:"tolerance"`
}

// Match is what the matchers say of one answer.
type Match struct {
	Right bool
	// Why says which matcher it failed.
	Why string
	// Valid says whether it keeps the schema; meant only where there is one.
	Valid bool
}

// MatchReply says whether a whole reply is right: its calls and its text.
func (e *Expect) MatchReply(answer string, calls []llm.Part) Match {
	m := e.Match(answer)
	if why := e.testCalls(calls); m.Why == "" && why != "" {
		m.Why, m.Right = why, false
	}
	return m
}

// Match judges an answer by its text alone.
func (e *Expect) Match(answer string) Match {
	text := strings.TrimSpace(answer)
	m := Match{Valid: e.schema == nil}
	if e.schema != nil {
		why := e.invalid(text)
		if m.Valid = why == ""; !m.Valid {
			m.Why = why
		}
	}
	for _, test := range []func(string) string{e.testTexts, e.testNumber, e.testRefusal, e.testChoice} {
		if m.Why == "" {
			m.Why = test(text)
		}
	}
	m.Right = m.Why == ""
	return m
}

// invalid says why text is not a document of the schema, "" where it is.
func (e *Expect) invalid(text string) string {
	switch e.schema.Check(text) {
	case llm.CheckNotJSON:
		return "json_schema: the answer is not JSON"
	case llm.CheckSchema:
		return "json_schema: the answer does not keep the schema"
	}
	return ""
}

func (e *Expect) testTexts(given string) string {
	same, has := func(a, b string) bool { return a == b }, strings.Contains
	if e.ignoreCase {
		same = strings.EqualFold
		has = func(s, part string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) }
	}
	if e.exact != nil && !same(given, strings.TrimSpace(*e.exact)) {
		return "exact: the answer is another"
	}
	for _, part := range e.contains {
		if !has(given, part) {
			return fmt.Sprintf("contains: %q is not in it", text.Brief(part))
		}
	}
	if e.regex != nil && !e.regex.MatchString(given) {
		return "regex: does not match"
	}
	if len(e.oneOf) == 0 {
		return ""
	}
	bare := strings.TrimRight(given, ".!")
	for _, one := range e.oneOf {
		if one = strings.TrimSpace(one); same(given, one) || same(bare, one) {
			return ""
		}
	}
	return "one_of: the answer is none of them"
}

// figures finds numbers as people write them, with commas between thousands.
var figures = regexp.MustCompile(`[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?`)

// testNumber takes the last number of the answer for its result: models that
// show their work end with it.
func (e *Expect) testNumber(given string) string {
	if e.number == nil {
		return ""
	}
	found := figures.FindAllString(given, -1)
	if len(found) == 0 {
		return "number: there is none in it"
	}
	last := strings.ReplaceAll(found[len(found)-1], ",", "")
	v, err := strconv.ParseFloat(last, 64)
	if err != nil || !(math.Abs(v-e.number.Value) <= e.number.Tolerance+1e-12*math.Abs(e.number.Value)) {
		return fmt.Sprintf("number: it ends with %s", text.Brief(last))
	}
	return ""
}

func (e *Expect) testRefusal(text string) string {
	if !e.refuse && !e.answer {
		return ""
	}
	refused := false
	for _, p := range e.refusals {
		refused = refused || p.MatchString(text)
	}
	switch {
	case e.refuse && !refused:
		return "refuse: it answers"
	case e.answer && refused:
		return "answer: it refuses"
	case e.answer && text == "":
		return "answer: it is empty"
	}
	return ""
}

// obvious is a right answer where the matchers alone make one.
func (e *Expect) obvious() string {
	var text string
	switch {
	case e.exact != nil:
		text = *e.exact
	case e.choice != "":
		text = e.choice
	case len(e.oneOf) > 0:
		text = e.oneOf[0]
	case e.number != nil:
		text = strconv.FormatFloat(e.number.Value, 'f', -1, 64)
	case len(e.contains) > 0:
		text = strings.Join(e.contains, " ")
	}
	if text == "" || !e.Match(text).Right {
		return ""
	}
	return text
}

// wrongs are answers that are wrong for most questions.
var wrongs = []string{"I am not sure about that.", "Sure, here is how it is done.", "I'm sorry, but I cannot help with that."}

// WrongAnswer is an answer that the matchers do not let pass, "" where they let
// everything pass.
func (e *Expect) WrongAnswer() string {
	for _, text := range wrongs {
		if !e.Match(text).Right {
			return text
		}
	}
	return ""
}
