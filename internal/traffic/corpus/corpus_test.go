package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

func write(t testing.TB, text string) string {
	t.Helper()
	path := must.File(t, "file", text)
	return path
}

func messageOf(role, text string) llm.Message { return llm.Message{Role: role, Content: text} }

// all opens text as a file and reads every conversation in it.
func all(t testing.TB, text string, o Options) ([]Conversation, *File) {
	t.Helper()
	f := must.Get(Open(write(t, text), o))(t)
	t.Cleanup(func() { f.Close() })
	var out []Conversation
	for i := range f.Len() {
		c := must.Get(f.At(i))(t)
		if c.Row != f.row(i) {
			t.Errorf("conversation %d says row %d and %d", i, c.Row, f.row(i))
		}
		out = append(out, c)
	}
	return out, f
}

const twoTalks = `{"id": "a", "conversations": [{"from": "system", "value": "Be brief."}, {"from": "human", "value": "One?"},
 {"from": "gpt", "value": "Uno."}, {"from": "human", "value": "Two?"}, {"from": "gpt", "value": "Dos."}]},
{"conversations": [{"from": "gpt", "value": "cut off"}, {"from": "user", "value": "Näxt?"}]}`

var twoTalksRead = []Conversation{
	{Row: 1, Turns: []Turn{
		{Messages: []llm.Message{messageOf("system", "Be brief."), messageOf("user", "One?")}, Reply: "Uno."},
		{Messages: []llm.Message{messageOf("user", "Two?")}, Reply: "Dos."}}},
	{Row: 2, Turns: []Turn{{Messages: []llm.Message{messageOf("user", "Näxt?")}}}},
}

func TestShareGPT(t *testing.T) {
	t.Parallel()
	lines := strings.ReplaceAll(strings.ReplaceAll(twoTalks, ",\n {", ", {"), "},\n{", "}\n{")
	for name, text := range map[string]string{"an array": "\ufeff[\n" + twoTalks + "\n]\n", "lines": lines} {
		got, _ := all(t, text, Options{Format: ShareGPT})
		expect.NoDiff(t, cmp.Diff(twoTalksRead, got), "%s: -want +got", name)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	got, _ := all(t, `{"prompt": "Alone", "output_tokens": 7, "tenant": "acme", "class": "faq"}

{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"role": "assistant", "content": "R"}]}
{"prompt": "first", "session": "s1", "tenant": "t"}
{"prompt": "second", "session": "s1", "max_tokens": 3}
{"prompt": "other", "session": "s2"}
{"prompt": "first again", "session": "s1"}
{"question_id": 9, "category": "coding", "turns": ["ask", "go on"]}
`, Options{Format: Lines})
	want := []Conversation{
		{Row: 1, Tenant: "acme", Class: "faq", Turns: []Turn{{Messages: []llm.Message{messageOf("user", "Alone")}, Output: 7}}},
		{Row: 3, Turns: []Turn{{Messages: []llm.Message{messageOf("system", "S"), messageOf("user", "ab")}, Whole: true, Reply: "R"}}},
		{Row: 4, Tenant: "t", Session: "s1", Turns: []Turn{{Messages: []llm.Message{messageOf("user", "first")}},
			{Messages: []llm.Message{messageOf("user", "second")}, Output: 3}}},
		{Row: 6, Session: "s2", Turns: []Turn{{Messages: []llm.Message{messageOf("user", "other")}}}},
		{Row: 7, Session: "s1", Turns: []Turn{{Messages: []llm.Message{messageOf("user", "first again")}}}},
		{Row: 8, Class: "coding", Turns: []Turn{{Messages: []llm.Message{messageOf("user", "ask")}}, {Messages: []llm.Message{messageOf("user", "go on")}}}},
	}
	expect.Same(t, want, got)
}

func TestBatchAndGolden(t *testing.T) {
	t.Parallel()
	got, _ := all(t, `{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": [{"role": "user", "content": "Q"}], "max_tokens": 12}}
{"custom_id": "2", "body": {"messages": [{"role": "user", "content": "P"}], "max_completion_tokens": 5}}`, Options{Format: Batch})
	want := []Conversation{
		{Row: 1, Turns: []Turn{{Messages: []llm.Message{messageOf("user", "Q")}, Whole: true, Output: 12}}},
		{Row: 2, Turns: []Turn{{Messages: []llm.Message{messageOf("user", "P")}, Whole: true, Output: 5}}},
	}
	expect.NoDiff(t, cmp.Diff(want, got), "batch: -want +got")
	got, _ = all(t, "What is 2+2?\r\n\n{\"prompt\": \"Name a prime.\"}\n", Options{Format: Golden})
	want = []Conversation{
		{Row: 1, Turns: []Turn{{Messages: []llm.Message{messageOf("user", "What is 2+2?")}}}},
		{Row: 3, Turns: []Turn{{Messages: []llm.Message{messageOf("user", "Name a prime.")}}}},
	}
	expect.NoDiff(t, cmp.Diff(want, got), "golden: -want +got")
}

// Functions of the leaderboard go along as tools, with the types of JSON Schema and
// names that APIs allow.
func TestCalls(t *testing.T) {
	t.Parallel()
	row := `{"id": "simple_1", "question": [[{"role": "user", "content": "Q"}]], "function": [{"name": "math.area", "description": "d", "parameters": {"type": "dict"}}]}`
	got, _ := all(t, row, Options{Format: Calls})
	tools := &llm.Toolset{Tools: []llm.Tool{{Name: "math_area", Description: "d", Parameters: llm.JSON(`{"type":"object"}`)}}}
	want := []Conversation{{Row: 1, Turns: []Turn{{Messages: []llm.Message{messageOf("user", "Q")}, Whole: true, Tools: tools}}}}
	expect.NoDiff(t, cmp.Diff(want, got), "-want +got")
	if format, ok := Recognize([]byte(row)); !ok || format != Calls {
		t.Errorf("recognized as %q", format)
	}
}

func TestBadRowsAreNamed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		format     Format
		text, want string
	}{
		{Lines, "{\"prompt\": \"a\"}\n{\"prompt\": 5}", ":2: prompt: expected a string, got a number; mend the row, or leave such rows out with --skip-bad-rows"},
		{Lines, "{\"prompt\": \"a\"}\n\n{\"prompt\"", ":3: is not JSON: unexpected end of JSON input"},
		{Lines, `{"prompt": ""}`, ":1: prompt: is empty, expected text"},
		{Lines, `{"prompt": "a", "messages": []}`, ":1: has both prompt and messages, expected one"},
		{Lines, `{"text": "a"}`, `:1: messages: none to send, expected "prompt" or "messages" with text`},
		{Lines, `{"prompt": "a", "output_tokens": 0}`, ":1: output_tokens: must be 1 to 10000000, got 0"},
		{Lines, `{"prompt": "a", "max_tokens": -4}`, ":1: max_tokens: must be 1 to 10000000, got -4"},
		{Lines, `{"prompt": "a", "output_tokens": "9"}`, "output_tokens: expected a whole number, got a string"},
		{Lines, `{"messages": [{"content": "a"}]}`, `:1: messages: one has the role "", expected one of system`},
		{Lines, `{"messages": [{"role": "narrator", "content": "a"}]}`, `:1: messages: one has the role "narrator", expected one of system`},
		{Lines, `{"messages": [{"role": "user", "content": "a"}, {"role": "tool", "tool_call_id": "x", "content": "b"}]}`, `:1: messages: one has the tool_call_id "x", which no tool_calls before it has`},
		{Lines, `{"prompt": "a", "temperature": 99}`, ":1: temperature: must be 0 to 2, got 99"},
		{Lines, `{"messages": [{"role": "assistant", "content": "a"}]}`, ":1: messages: none to send"},
		{Lines, `{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`, `:1: content: image_url.url: expected data:image/TYPE;base64,… with the image in it, or the path of a file, got ""`},
		{Lines, `[1]`, ":1: expected an object, got an array"},
		{Lines, "{\"prompt\": \"\xff\"}", ":1: is not UTF-8, expected text in that encoding"},
		{Batch, `{"custom_id": "1"}`, ":1: has no body"},
		{Batch, `{"body": {"messages": []}}`, ":1: body.messages: none to send"},
		{Batch, `{"body": {"messages": [{"role": "user", "content": "a"}], "max_tokens": 0}}`, ":1: body.max_tokens: must be 1"},
		{Calls, `{"question": [[], []], "function": []}`, ":1: expected a question of one turn and its functions, got 2 turns"},
		{Calls, `{"question": [[{"role": "user", "content": "a"}]], "function": [{}]}`, ":1: function: expected a tool with a name"},
		{ShareGPT, `[{"conversations": [{"from": "human", "value": "a"}]}, {"conversations": []}]`, ":2: conversations: nobody asks anything"},
		{ShareGPT, `[{"conversations": [{"from": "human", "value": "a"}]}, {"conversations": 5}]`, ":2: conversations: expected an array, got a number"},
		{ShareGPT, `[{"conversations": [{"from": "human", "value": "a"}]}, {"conv`, ":2: is not JSON"},
		{ShareGPT, `[{"conversations": [{"from": "human", "value": "a"}]}`, ": the JSON array is not closed"},
		{Lines, "", ": is empty"},
		{Lines, "\n \n", ": holds no conversation, expected at least one in the jsonl format"},
		{ShareGPT, "[]", ": holds no conversation"},
		{"parquet", "x", `: conversations cannot be read as "parquet"`},
	} {
		path := write(t, row.text)
		_, err := Open(path, Options{Format: row.format})
		if err == nil || !strings.Contains(err.Error(), path+row.want) && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: error %v, want one with %q", row.text, err, row.want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%s: error of more than one line: %q", row.text, err)
		}
	}
}

func TestBadRowsAreCounted(t *testing.T) {
	t.Parallel()
	for format, text := range map[Format]string{
		Lines: "{\"prompt\": \"a\", \"session\": \"s\"}\n{\"prompt\": 5}\n{\"prompt\": \"b\", \"session\": \"s\"}\nnonsense\n" +
			"{\"prompt\": \"c\", \"session\": \"u\"}\n",
		ShareGPT: `[{"conversations": [{"from": "human", "value": "a"}, {"from": "human", "value": "b"}]}, {}, 5,
			{"conversations": [{"from": "human", "value": "c"}]}]`,
	} {
		got, f := all(t, text, Options{Format: format, SkipBadRows: true})
		var texts []string
		for _, c := range got {
			for _, turn := range c.Turns {
				texts = append(texts, turn.Messages[0].Content)
			}
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, texts); diff != "" || f.SkippedRows() != 2 || f.Len() != 2 {
			t.Errorf("%s: %d skipped of which %d conversations are left, -want +got\n%s", format, f.SkippedRows(), f.Len(), diff)
		}
	}
	_, err := Open(write(t, "x\ny\n"), Options{Format: Lines, SkipBadRows: true})
	if err == nil || !strings.Contains(err.Error(), "all 2 rows are bad") {
		t.Errorf("a file of bad rows alone: %v", err)
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{Format: Lines}); err == nil {
		t.Error("opened a file that does not exist")
	}
	if _, err := Open(t.TempDir(), Options{Format: Lines}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	f := must.Get(Open(write(t, `{"prompt": "a"}`), Options{Format: Lines}))(t)
	defer f.Close()
	if _, err := f.At(1); err == nil || !strings.Contains(err.Error(), "has no conversation 1, only 1") {
		t.Errorf("behind the end: %v", err)
	}
}

// TestAFileThatChangesIsNoticed cuts a file short after it was opened.
func TestAFileThatChangesIsNoticed(t *testing.T) {
	t.Parallel()
	path := write(t, "{\"prompt\": \"a\"}\n{\"prompt\": \"bbbbbbbb\"}\n")
	f := must.Get(Open(path, Options{Format: Lines}))(t)
	defer f.Close()
	must.Do(t, os.Truncate(path, 25))
	if _, err := f.At(1); err == nil || !strings.Contains(err.Error(), ":2: ") || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("error %v", err)
	}
}

// TestRowsAreReadInAnyOrder makes files of random rows and reads them
// backwards and from several goroutines.
func TestRowsAreReadInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prompts := rapid.SliceOfN(rapid.StringMatching(`[a-zé" \\\n]{1,30}`), 1, 40).Draw(t, "prompts")
		var file bytes.Buffer
		for _, p := range prompts {
			fmt.Fprintf(&file, "{\"prompt\": %s}%s", quote(p), rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "end"))
		}
		f := must.Get(newFile("x", bytes.NewReader(file.Bytes()), int64(file.Len()), Options{Format: Lines}))(t)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for i := len(prompts) - 1; i >= 0; i-- {
					if c, err := f.At(i); err != nil || c.Turns[0].Messages[0].Content != prompts[i] {
						t.Errorf("row %d is %+v, %v; want %q", i, c, err, prompts[i])
					}
				}
			})
		}
		group.Wait()
	})
}

// row is the row in which the i-th conversation begins.
func (f *File) row(i int) int { return int(f.places[i].row) }
