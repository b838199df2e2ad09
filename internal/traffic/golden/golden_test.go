package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

func read(t *testing.T, lines ...string) *Set {
	t.Helper()
	s := must.Get(Read("g.jsonl", strings.NewReader(strings.Join(lines, "\n"))))(t)
	return s
}

const refusals = `{"refusal_patterns": ["(?i)I cannot"]}`

func TestMatchers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expect       string
		right, wrong []string
	}{
		{`{"exact": "Paris"}`, []string{"Paris", " Paris\n"}, []string{"paris", "Paris.", "In Paris", ""}},
		{`{"exact": "Paris", "ignore_case": true}`, []string{"PARIS"}, []string{"Paris!"}},
		{`{"contains": ["red", "blue"]}`, []string{"blue and red"}, []string{"red", "Red and blue"}},
		{`{"regex": "^\\d{3}$"}`, []string{"123", " 123 "}, []string{"12", "1234"}},
		{`{"number": {"value": 1234.5, "tolerance": 0.5}}`,
			[]string{"1,234.5", "it is 1234.", "2 + 2 is not it; 1235", "1.2345e3"}, []string{"1236", "none", "1234.5, or 7"}},
		{`{"number": {"value": -3, "tolerance": 0}}`, []string{"-3"}, []string{"3"}},
		{`{"one_of": ["yes", "no"]}`, []string{"yes", "no."}, []string{"maybe", "yes and no"}},
		{`{"json_schema": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}}`,
			[]string{`{"a": 1}`, "\n{\"a\":1,\"b\":2}\n"}, []string{`{"a": "1"}`, `{}`, "```json\n{\"a\": 1}\n```", `{"a": 1} done`, ""}},
		{`{"refuse": true}`, []string{"Sorry, i cannot do that"}, []string{"Sure", ""}},
		{`{"answer": true}`, []string{"Sure"}, []string{"I cannot", "  "}},
		{`{"contains": "4", "number": {"value": 4, "tolerance": 0}}`, []string{"4"}, []string{"4 or 5"}},
	} {
		e := &read(t, refusals, `{"prompt": "q", "expect": `+c.expect+`}`).Items[0].Expect
		for _, text := range c.right {
			if m := e.Match(text); !m.Right || m.Why != "" {
				t.Errorf("%s: %q is wrong: %s", c.expect, text, m.Why)
			}
		}
		for _, text := range c.wrong {
			if m := e.Match(text); m.Right || m.Why == "" {
				t.Errorf("%s: %q is right", c.expect, text)
			}
		}
		if text := e.WrongAnswer(); e.Match(text).Right {
			t.Errorf("%s: %q was to be wrong", c.expect, text)
		}
	}
}

func TestItemsAreReadWhole(t *testing.T) {
	t.Parallel()
	s := read(t,
		`{"system": "Be brief.", "max_tokens": 9, "refusal_patterns": ["no"]}`,
		``,
		`{"id": "a", "prompt": "q", "expect": {"exact": "x"}, "tags": ["t"], "weight": 2, "reference_output_tokens": 3, "max_tokens": 5}`,
		`{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "expect": {"number": {"value": 2.5, "tolerance": 1}}}`)
	type flat struct {
		ID, Reference   string
		Messages        []llm.Message
		Tags            []string
		Weight          float64
		Tokens, MaxToks int
	}
	var got []flat
	for _, it := range s.Items {
		got = append(got, flat{it.ID, it.Reference, it.Messages, it.Tags, it.Weight, it.ReferenceTokens, it.MaxTokens})
	}
	want := []flat{
		{"a", "x", []llm.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "q"}}, []string{"t"}, 2, 3, 5},
		{s.Items[1].ID, "2.5", []llm.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "u"}}, nil, 1, 0, 9},
	}
	expect.Same(t, want, got)
	if again := read(t, `{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "expect": {"exact": "x"}}`); again.Items[0].ID != s.Items[1].ID || len(again.Items[0].ID) != 12 {
		t.Errorf("the same question has the ids %q and %q", again.Items[0].ID, s.Items[1].ID)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	good := `{"prompt": "a", "expect": {"exact": "b"}}`
	for _, c := range []struct{ line, want string }{
		{`prompt: hello`, "g.jsonl:2: is not JSON"},
		{`["a"]`, "g.jsonl:2: expected an object, got an array"},
		{`{"prompt": "q", "expect": {"exakt": "x"}}`, "g.jsonl:2: expect: exakt: unknown key, did you mean exact?"},
		{`{"prompt": "q", "expects": {"exact": "x"}}`, "g.jsonl:2: expects: unknown key, did you mean expect?"},
		{`{"prompt": "q", "expect": {}}`, "g.jsonl:2: expect: says nothing; expected one of exact,"},
		{`{"prompt": "q"}`, "g.jsonl:2: expect: says nothing"},
		{`{"expect": {"exact": "x"}}`, "g.jsonl:2: has no prompt and no messages"},
		{`{"prompt": "q", "messages": [{"role": "user", "content": "q"}], "expect": {"exact": "x"}}`, "g.jsonl:2: has a prompt and messages"},
		{`{"prompt": "  ", "expect": {"exact": "x"}}`, "g.jsonl:2: prompt: is empty"},
		{`{"messages": [{"role": "user"}], "expect": {"exact": "x"}}`, "g.jsonl:2: messages[0]: expected a role and a content"},
		{`{"prompt": "q", "expect": {"regex": "("}}`, "g.jsonl:2: expect.regex: error parsing regexp"},
		{`{"prompt": "q", "expect": {"json_schema": {"type": "objekt"}}}`, "g.jsonl:2: expect.json_schema: does not compile"},
		{`{"prompt": "q", "expect": {"json_schema": true}}`, "g.jsonl:2: expect.json_schema: expected a JSON Schema, which is an object"},
		{`{"prompt": "q", "expect": {"json_schema": {"$ref": "http://elsewhere/x"}}}`, "g.jsonl:2: expect.json_schema: does not compile"},
		{`{"prompt": "q", "expect": {"number": {"value": 1, "tolerance": -1}}}`, "g.jsonl:2: expect.number.tolerance: must be 0 or more"},
		{`{"prompt": "q", "expect": {"number": "4"}}`, "g.jsonl:2: expect: number: expected an object, got a string"},
		{`{"prompt": "q", "expect": {"contains": []}}`, "g.jsonl:2: expect.contains: expected a text or a list"},
		{`{"prompt": "q", "expect": {"refuse": true}}`, "g.jsonl:2: expect: refuse and answer need patterns"},
		{`{"prompt": "q", "expect": {"exact": "x"}, "weight": 0}`, "g.jsonl:2: weight: must be more than 0, got 0"},
		{`{"prompt": "q", "expect": {"exact": "x"}, "tags": "t"}`, "g.jsonl:2: tags: expected an array, got a string"},
		{`{"prompt": "q", "expect": {"exact": "x"}, "reference": "y"}`, "g.jsonl:2: reference: is not right by the line's own expect"},
		{`{"refusal_patterns": ["x"]}`, "g.jsonl:2: refusal_patterns and system stand in the first line"},
		{good, "g.jsonl:2: asks the same as line 1"},
		{`{"prompt": "c", "expect": {"exact": "b"}} {}`, "g.jsonl:2: holds more than one JSON object"},
		{`{"prompt": "` + strings.Repeat("x", maxLine) + `"}`, "g.jsonl:2: the line is longer than 1048576 bytes"},
	} {
		_, err := Read("g.jsonl", strings.NewReader(good+"\n"+c.line+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.80s\n got %v\nwant %s", c.line, err, c.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	}
	for text, want := range map[string]string{
		"":                             "g.jsonl: holds no question",
		`{"refusal_patterns": ["("]}`:  "g.jsonl:1: refusal_patterns[0]: error parsing regexp",
		`{"refusal_patterns": ["ok"]}`: "g.jsonl: holds no question",
	} {
		if _, err := Read("g.jsonl", strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.jsonl")); err == nil || !strings.Contains(err.Error(), "builtin") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		if _, err := Open("/dev/zero"); err == nil || !strings.HasPrefix(err.Error(), "/dev/zero:1: the line is longer than") {
			t.Errorf("a device that never ends: %v", err)
		}
	}
}

// The set that comes with the program is whole: every question has an answer
// that passes and one that does not, and every kind that the manual names.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	s := must.Get(Open(Builtin))(t)
	for i := range s.Items {
		it := &s.Items[i]
		if it.Reference == "" || !it.Expect.Match(it.Reference).Right || it.Expect.Match(it.Expect.WrongAnswer()).Right {
			t.Errorf("%s: reference %q, wrong %q", it.ID, it.Reference, it.Expect.WrongAnswer())
		}
	}
	expect.Same(t, []string{"facts", "instructions", "language", "math", "safety", "structured"}, s.Tags())
}

// Whatever a file holds, reading it ends with a set that can be judged or with
// one line that names it.
func FuzzRead(f *testing.F) {
	f.Add(string(builtin))
	f.Add(`{"prompt": "q", "expect": {"json_schema": {"type": "object"}}}`)
	f.Add(refusals + "\n" + `{"prompt": "q", "expect": {"refuse": true}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read("g.jsonl", strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "g.jsonl:") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		for i := range s.Items {
			it := &s.Items[i]
			it.Expect.Match(text)
			if it.Reference != "" && !it.Expect.Match(it.Reference).Right {
				t.Fatalf("the reference %q is wrong", it.Reference)
			}
		}
	})
}
