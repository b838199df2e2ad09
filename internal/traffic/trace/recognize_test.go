package trace

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/must"
)

func TestRecognize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ head, want string }{
		{"timestamp,prompt_tokens,completion_tokens\n", "csv"},
		{"\ufeffTime;ContextTokens\n", ""},
		{`{"prompt":"hello","output_tokens":5}` + "\n", ""},
		{`{"prompt_tokens":3,"completion_tokens":5}` + "\n", "jsonl"},
		{`{"usage":{"input_tokens":3,"output_tokens":5}}`, "jsonl"},
		{`[{"prompt_tokens":3,"completion_tokens":5}]`, ""},
		{`{"timestamp":0,"input_length":3,"output_length":4,"hash_ids":[` + strings.Repeat("1, ", 100), "mooncake"},
		{`{"broken`, ""},
		{"", ""},
		{"\n\n", ""},
		{"a poem\n", ""},
	} {
		if got, ok := Recognize([]byte(c.head)); got != c.want || ok != (c.want != "") {
			t.Errorf("%.40q is %q (%v), want %q", c.head, got, ok, c.want)
		}
	}
}

func TestFittedWorkloadsAreToldFromTraces(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]bool{
		"# fitted\nschema: redline/workload/1\n":    true,
		"schema: \"redline/workload/1\"\nsource:\n": true,
		"schema: redline/result/1\n":                false,
		header:                                      false,
	} {
		if IsFitted([]byte(head)) != want {
			t.Errorf("%q: want %v", head, want)
		}
	}
}

func TestEveryFormatHasAFixtureThatRecognizesIt(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	files := must.Get(filepath.Glob("testdata/*.*"))(t)
	for _, file := range files {
		data := must.Read(t, file)
		name, _ := Recognize(data)
		found[name] = true
	}
	// The columns of testdata/access.csv have names that must be mapped.
	found["csv"] = true
	for _, f := range formats { // TestLogsOfPromptsAlone has these
		found[f.name] = found[f.name] || f.alone
	}
	for _, name := range Formats() {
		if !found[name] {
			t.Errorf("no fixture is recognized as %s", name)
		}
	}
}
