package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/llm"
	"redline/internal/must"
)

// Rows of published sets become questions, with the answer that they call right.
func TestPublishedSets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, in, asks string
		right, wrong         []string
	}{
		{"GSM8K", "g.jsonl", `{"question": "How many?", "answer": "2 + 2 = 4\n#### 1,204"}`, "How many?",
			[]string{"It is 1204.", "so 1,204"}, []string{"1205", "many"}},
		{"MMLU-Pro", "g.jsonl", `{"question_id": 70, "question": "Which?", "options": ["red", "green", "blue"], "answer": "C", "answer_index": 2, "category": "art"}`, "\nC. blue",
			[]string{"C", "The answer is (C).", "A is wrong. The answer is **C**", `\boxed{C}`}, []string{"B", "The answer is (A), not C", "blue"}},
		{"MMLU", "g.jsonl", `{"question": "Which?", "subject": "art", "choices": ["red", "green"], "answer": 1}`, "\nB. green", []string{"B."}, []string{"A"}},
		{"ARC", "g.json", `[{"id": "x", "question": "Which?", "choices": {"text": ["red", "green"], "label": ["1", "2"]}, "answerKey": "2"}]`, "\nB. green", []string{"B"}, []string{"2"}},
		{"GPQA", "g.csv", "Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n1,Which?,right,w1,w2,w3\n", ". right", nil, []string{"right"}},
		{"pairs", "g.jsonl", `{"input": "Capital?", "target": "Paris"}`, "Capital?", []string{"paris."}, []string{"Rome"}},
	} {
		s, err := Read(c.file, strings.NewReader(c.in))
		if err != nil || len(s.Items) != 1 {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		it := &s.Items[0]
		if !strings.Contains(it.Messages[0].Content, c.asks) {
			t.Errorf("%s asks %q", c.name, it.Messages[0].Content)
		}
		for _, text := range append(c.right, it.Reference) {
			if m := it.Expect.Match(text); !m.Right {
				t.Errorf("%s: %q: %s", c.name, text, m.Why)
			}
		}
		for _, text := range c.wrong {
			if it.Expect.Match(text).Right {
				t.Errorf("%s: %q is right", c.name, text)
			}
		}
	}
}

func TestFunctionCallingSet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Write(t, path, text)
		return path
	}
	write("possible_answer/BFCL_v4_simple.json", `{"id": "simple_0", "ground_truth": [{"math.area": {"base": [10], "unit": ["units", ""]}}]}`)
	set := must.Get(Open(write("BFCL_v4_simple.json", `{"id": "simple_0", "question": [[{"role": "user", "content": "Area?"}]], "function": [{"name": "math.area", "description": "", "parameters": {"type": "dict", "properties": {"base": {"type": "integer"}, "unit": {"type": "string"}}, "required": ["base"]}}]}`)))(t)
	it := &set.Items[0]
	if it.Tools.Tools[0].Name != "math_area" || it.Reference != `math_area{"base":10,"unit":"units"}` {
		t.Errorf("%+v %q", it.Tools, it.Reference)
	}
	for arguments, right := range map[string]bool{`{"base": 10}`: true, `{"base": 10, "unit": "Units"}`: true, `{"base": 11}`: false, `{"unit": "units"}`: false,
		`{"base": 10, "height": 1}`: false, `{"base": "10"}`: false} {
		if m := it.Expect.MatchReply("", []llm.Part{{Kind: llm.ToolCall, Name: "math_area", Text: arguments}}); m.Right != right {
			t.Errorf("%s: %+v", arguments, m)
		}
	}
	if it.Expect.MatchReply("about 50", nil).Right {
		t.Error("no call is right")
	}
	if _, err := Open(write("BFCL_v4_other.json", `{"id": "other_0", "question": [[{"role": "user", "content": "Area?"}]], "function": []}`)); err == nil || !strings.Contains(err.Error(), "has no ground_truth") {
		t.Error(err)
	}
}

// TestParquet reads a published set as the hub has most of them.
func TestParquet(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for range 2 { // the second time from the cache
		set := must.Get(Open(filepath.Join("..", "columnar", "testdata", "snappy.parquet")))(t)
		if len(set.Items) != 24 || set.Items[1].Expect.choice != "B" || !strings.Contains(set.Items[1].Messages[0].Content, "C. b") {
			t.Errorf("%d questions, the second is %+v", len(set.Items), set.Items[1])
		}
	}
}
