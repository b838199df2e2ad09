package corpus

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

func TestWhatARowAsksFor(t *testing.T) {
	t.Parallel()
	const asks = `"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 3, "stop": "END", "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}], "tool_choice": "auto",
"parallel_tool_calls": false, "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}`
	oneLine := strings.ReplaceAll(asks, "\n", " ")
	want := Turn{Messages: []llm.Message{messageOf("user", "Q")}, Output: 7,
		Sampling: llm.Sampling{Temperature: new(0.5), TopP: new(0.9), Seed: new(int64(3)), Stop: []string{"END"}},
		Tools: &llm.Toolset{Tools: []llm.Tool{{Name: "f", Description: "d", Parameters: llm.JSON(`{"type": "object"}`)}},
			Choice: llm.ToolChoice{Mode: llm.ChoiceAuto}, Parallel: new(false)},
		Format: &llm.Format{Name: "n", Schema: llm.JSON(`{"type": "object"}`)}}
	whole := want
	whole.Whole = true
	for format, c := range map[Format]struct {
		row  string
		want Turn
	}{
		Lines: {`{"prompt": "Q", ` + oneLine + `}`, want},
		Batch: {`{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": "Q"}], ` + oneLine + `}}`, whole},
	} {
		got, f := all(t, c.row+"\n"+c.row, Options{Format: format})
		expect.NoDiff(t, cmp.Diff([]Turn{c.want}, got[1].Turns), "%s (-want +got)", format)
		expect.NoDiff(t, cmp.Diff(map[llm.Need]int{llm.NeedTools: 1, llm.NeedToolChoice: 1, llm.NeedParallel: 1, llm.NeedFormat: 1}, f.Needs()), "%s (-want +got)", format)
		if notes := f.Notes(); len(notes) > 0 {
			t.Errorf("%s: %q, want nothing to say", format, notes)
		}
	}
}

func TestWhatSaysNothingIsNotAskedFor(t *testing.T) {
	t.Parallel()
	got, f := all(t, `{"prompt": "Q", "tools": [ ], "tool_choice": null, "response_format": { "type" : "text" }, "stop": null, "custom": null}`, Options{Format: Lines})
	if diff := cmp.Diff([]Turn{{Messages: []llm.Message{messageOf("user", "Q")}}}, got[0].Turns); diff != "" || len(f.Needs()) > 0 || len(f.Notes()) > 0 {
		t.Errorf("needs %v, notes %q (-want +got):\n%s", f.Needs(), f.Notes(), diff)
	}
}

// TestToolMessages: what was called and answered is part of what a row asks; a
// call at its end is the recorded reply.
func TestToolMessages(t *testing.T) {
	t.Parallel()
	const calls = `[{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]`
	got, f := all(t, `{"messages": [{"role": "user", "content": "Q", "name": "Ada"}, {"role": "assistant", "content": null, "tool_calls": `+calls+`}, {"role": "tool", "tool_call_id": "c1", "content": "42"}]}
{"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": null, "tool_calls": `+calls+`}]}`, Options{Format: Lines})
	want := []Turn{
		{Whole: true, Messages: []llm.Message{{Role: "user", Content: "Q", Name: "Ada"},
			{Role: "assistant", Parts: []llm.Part{{Kind: llm.ToolCall, Call: "c1", Name: "f", Text: "{}"}}},
			{Role: "tool", Parts: []llm.Part{{Kind: llm.ToolResult, Call: "c1", Name: "f", Text: "42"}}}}},
		{Whole: true, Messages: []llm.Message{messageOf("user", "Q")}, Reply: "f{}"},
	}
	expect.Same(t, want, append(got[0].Turns, got[1].Turns...))
	if diff := cmp.Diff(map[llm.Need]int{llm.NeedName: 1, "tool calls": 1, "tool results": 1}, f.Needs()); diff != "" || len(f.Notes()) > 0 {
		t.Errorf("notes %q (-want +got):\n%s", f.Notes(), diff)
	}
}

// pixel is a GIF of one pixel.
const pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

// TestImages: an image in a row is one part of its message, between the texts
// around it.
func TestImages(t *testing.T) {
	t.Parallel()
	got, f := all(t, `{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image_url", "image_url": {"url": "data:image/gif;base64,`+pixel+`", "detail": "low"}}, {"type": "text", "text": "c"}]}]}`, Options{Format: Lines})
	want := []llm.Message{{Role: "user", Content: "ab", Parts: []llm.Part{{Kind: llm.Image, Data: must.Get(base64.StdEncoding.DecodeString(pixel))(t), Media: "image/gif", Width: 1, Height: 1}, {Text: "c"}}}}
	expect.Same(t, want, got[0].Turns[0].Messages)
	expect.Same(t, map[llm.Need]int{"images": 1}, f.Needs())
}

func TestFieldsThatAreWrong(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{
		`{"prompt": "Q", "tools": {"a": 1}}`:                                                                              "tools: expected",
		`{"prompt": "Q", "tools": [{"type": "web_search"}]}`:                                                              "tools: expected functions with a name",
		`{"prompt": "Q", "tools": [{"function": {"name": "f"}}], "tool_choice": "any"}`:                                   `tool_choice: expected "auto", "none", "required" or`,
		`{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}]}]}`: "content: image_url.url: expected data:image/TYPE;base64,",
		`{"messages": [{"role": "user", "content": [{"type": "file"}]}]}`:                                                 "content: expected parts of type text or image_url",
		`{"prompt": "Q", "images": "data:image/png;base64,anBn"}`:                                                         "is not an image",
		`{"prompt": "Q", "images": "data:image/gif;base64,` + pixel[:48] + `"}`:                                           "image 1 of 1: the image cannot be decoded",
		`{"prompt": "Q", "tool_choice": "required"}`:                                                                      "tool_choice: required: the row has no tools",
		`{"prompt": "Q", "tools": [{"function": {"name": "a.b"}}], "tool_choice": {"function": {"name": "c"}}}`:           "tool_choice: c is none of the tools",
		`{"prompt": "Q", "tools": [{"function": {"name": "a.b"}}, {"function": {"name": "a_b"}}]}`:                        "tools[1]: a_b: is the name of another tool before it",
		`{"prompt": "Q", "response_format": "json"}`:                                                                      `response_format: expected an object with a type, such as {"type": "json_object"}`,
		`{"messages": [{"role": "user", "content": "Q", "tool_calls": {}}]}`:                                              "messages.tool_calls: expected",
		`{"messages": [{"role": "tool", "content": "Q", "tool_call_id": 5}]}`:                                             "messages.tool_call_id: expected",
		`{"prompt": "Q", "stop": 7}`:                                                                                      "stop: expected a text or a list of texts",
		`{"prompt": "Q", "temperature": "hot"}`:                                                                           "temperature: expected",
		`{"prompt": "Q", "stop": ["a", {"b": "c"}]}`:                                                                      "stop: expected a text or a list of texts",
		`{"prompt": "Q", "response_format": {"x": 1}}`:                                                                    "response_format: expected an object with a type",
	} {
		_, err := Open(write(t, row), Options{Format: Lines})
		if err == nil || !strings.Contains(err.Error(), ":1: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", row, err, want)
		}
	}
}

func TestFieldsThatNobodyReadsAreNamed(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 14 {
		fmt.Fprintf(&many, `{"prompt": "Q", "f%02d": 1}`+"\n", i)
	}
	for name, c := range map[string]struct {
		format Format
		text   string
		want   string
	}{
		"lines": {Lines, `{"prompt": "Q", "model": "m", "n": 2}` + "\n" + `{"prompt": "Q", "model": "m"}` + "\n" + `{"id": "7", "prompt": "Q"}`,
			"fields that are not used, and in how many rows: model 2, n 1"},
		"messages": {Lines, `{"messages": [{"role": "user", "content": "Q", "audio": "x"}, {"role": "assistant", "content": "A", "refusal": "no"}]}`,
			"fields that are not used, and in how many rows: messages.audio 1, messages.refusal 1"},
		"batch": {Batch, `{"custom_id": "1", "body": {"model": "m", "messages": [{"role": "user", "content": "Q"}], "logprobs": true}, "priority": 1}`,
			"fields that are not used, and in how many rows: logprobs 1, model 1, priority 1"},
		"sharegpt": {ShareGPT, `[{"id": "a", "source": "x", "conversations": [{"from": "human", "value": "Q", "weight": 1}]}]`,
			"fields that are not used, and in how many rows: conversations.weight 1, source 1"},
		"golden": {Golden, "plain words\n" + `{"prompt": "Q", "expect": {"exact": "A"}}`, "fields that are not used, and in how many rows: expect 1"},
		"many":   {Lines, many.String(), "fields that are not used, and in how many rows: f00 1, f01 1, f02 1, f03 1, f04 1, f05 1, f06 1, f07 1, f08 1, f09 1, f10 1, f11 1 and 2 more"},
	} {
		f, err := Open(write(t, c.text), Options{Format: c.format})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := f.Notes(); len(got) != 1 || filepath.Base(strings.SplitN(got[0], ": ", 2)[0]) != "file" || !strings.HasSuffix(got[0], ": "+c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		f.Close()
	}
}
