package golden

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"redline/internal/llm"
	"redline/internal/traffic/structured"
)

// letterForms are how answers name an option, the surest first.
var letterForms = []*regexp.Regexp{
	regexp.MustCompile(`(?i:answer is|answer:)[\s*]*\(?([A-Z])\b`),
	regexp.MustCompile(`\\boxed\{([A-Z])\}`),
	regexp.MustCompile(`\b([A-Z])\b`),
}

// testChoice looks for the option that an answer names last.
func (e *Expect) testChoice(given string) string {
	if e.choice == "" {
		return ""
	}
	for _, form := range letterForms {
		found := form.FindAllStringSubmatch(given, -1)
		if len(found) == 0 {
			continue
		}
		if letter := found[len(found)-1][1]; letter != e.choice {
			return "choice: it is " + letter
		}
		return ""
	}
	return "choice: it names no option"
}

// expectedCall is a right call: its name, and for each argument the values that are
// right; one that may be left out has an empty text among them.
type expectedCall struct {
	name      string
	arguments map[string][]any
}

func parseCalls(raw []json.RawMessage) ([]expectedCall, error) {
	calls := make([]expectedCall, 0, len(raw))
	for i, one := range raw {
		var call map[string]map[string][]any
		if json.Unmarshal(one, &call) != nil || len(call) != 1 {
			return nil, fmt.Errorf(`[%d]: expected {"NAME": {"ARGUMENT": [VALUE, …]}}`, i)
		}
		for name, arguments := range call {
			calls = append(calls, expectedCall{structured.ToolName(name), arguments})
		}
	}
	return calls, nil
}

// testCalls pairs the calls of a reply with the right ones, in any order.
func (e *Expect) testCalls(calls []llm.Part) string {
	if e.calls == nil {
		return ""
	}
	if len(calls) != len(e.calls) {
		return fmt.Sprintf("calls: there are %d, expected %d", len(calls), len(e.calls))
	}
	open := slices.Clone(e.calls)
	for _, call := range calls {
		i := slices.IndexFunc(open, func(want expectedCall) bool { return want.matches(call) })
		if i < 0 {
			return fmt.Sprintf("calls: %.40s is not one of them", call.Name)
		}
		open = slices.Delete(open, i, i+1)
	}
	return ""
}

func (c *expectedCall) matches(call llm.Part) bool {
	var given map[string]any
	if call.Name != c.name || json.Unmarshal([]byte(orEmptyObject(call.Text)), &given) != nil {
		return false
	}
	for name := range given {
		if c.arguments[name] == nil {
			return false
		}
	}
	for name, right := range c.arguments {
		value, there := given[name]
		switch {
		case !there && !slices.Contains(right, any("")):
			return false
		case there && !slices.ContainsFunc(right, func(want any) bool { return sameValue(want, value) }):
			return false
		}
	}
	return true
}

// sameValue compares values as the leaderboard does: texts without case and
// punctuation; of an object each member may have several right values.
func sameValue(want, given any) bool {
	switch w := want.(type) {
	case string:
		text, ok := given.(string)
		return ok && plainText(w) == plainText(text)
	case []any:
		list, ok := given.([]any)
		if !ok || len(list) != len(w) {
			return false
		}
		for i := range w {
			if !sameValue(w[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := given.(map[string]any)
		if !ok {
			return false
		}
		one := expectedCall{arguments: map[string][]any{}}
		for key, value := range w {
			if list, several := value.([]any); several {
				one.arguments[key] = list
			} else {
				one.arguments[key] = []any{value}
			}
		}
		raw, err := json.Marshal(object)
		return err == nil && one.matches(llm.Part{Text: string(raw)})
	}
	return reflect.DeepEqual(want, given)
}

var punctuation = strings.NewReplacer(" ", "", ",", "", ".", "", "/", "", "-", "", "_", "", "*", "", "^", "", "'", `"`)

func plainText(s string) string { return strings.ToLower(punctuation.Replace(s)) }

func orEmptyObject(arguments string) string {
	if arguments == "" {
		return "{}"
	}
	return arguments
}

// rightCall is a right reply to a question that wants one call: its name and its
// arguments, as a simulated engine says it; "" where there are several or none.
func (e *Expect) rightCall() string {
	if len(e.calls) != 1 {
		return ""
	}
	arguments := map[string]any{}
	for name, right := range e.calls[0].arguments {
		if len(right) > 0 && right[0] != any("") {
			arguments[name] = right[0]
		}
	}
	raw, err := json.Marshal(arguments)
	if err != nil || !e.calls[0].matches(llm.Part{Name: e.calls[0].name, Text: string(raw)}) {
		return ""
	}
	return e.calls[0].name + string(raw)
}

func parseInt(s string) (int, error) { return strconv.Atoi(strings.TrimSpace(s)) }
