package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

// pixel is a PNG of one pixel.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x06\x00\x00\x00"

var (
	image  = llm.Part{Kind: llm.Image, Data: []byte(pixel), Media: "image/png"}
	sound  = llm.Part{Kind: llm.Sound, Data: []byte("RIFF"), Media: "audio/wav"}
	call   = llm.Part{Kind: llm.ToolCall, Call: "c1", Name: "find", Text: `{"q":"<x>"}`}
	second = llm.Part{Kind: llm.ToolCall, Call: "c2", Name: "now", Text: "{}"}
	tools  = []llm.Tool{{Name: "find", Description: awkward, Parameters: llm.JSON(`{"type":"object"}`), Strict: true}, {Name: "now", Parameters: llm.JSON("{}")}}
)

func result(call llm.Part, text string) llm.Part {
	return llm.Part{Kind: llm.ToolResult, Call: call.Call, Name: call.Name, Text: text}
}

// needy holds, for each thing that an API may have no word for, a request that
// needs that and nothing else.
func needy() map[llm.Need]llm.Request {
	asked := func(parts ...llm.Part) llm.Request {
		return llm.Request{Model: "m", MaxTokens: 7, Messages: []llm.Message{{Role: "user", Content: "look", Parts: parts}}}
	}
	with := func(change func(*llm.Request)) llm.Request {
		r := asked()
		change(&r)
		return r
	}
	return map[llm.Need]llm.Request{
		"images": asked(image, llm.Part{Text: awkward}, image),
		"sounds": asked(sound),
		"tool calls": with(func(r *llm.Request) {
			r.Messages = append(r.Messages, llm.Message{Role: "assistant", Content: "so", Parts: []llm.Part{call, second}})
		}),
		"tool results": with(func(r *llm.Request) {
			r.Messages = append(r.Messages, llm.Message{Role: "tool", Parts: []llm.Part{result(call, awkward)}})
		}),
		llm.NeedName:       with(func(r *llm.Request) { r.Messages[0].Name = "Ada" }),
		llm.NeedTools:      with(func(r *llm.Request) { r.Tools = &llm.Toolset{Tools: tools} }),
		llm.NeedToolChoice: with(func(r *llm.Request) { r.Tools = &llm.Toolset{Tools: tools, Choice: llm.ToolChoice{Named: "now"}} }),
		llm.NeedParallel:   with(func(r *llm.Request) { r.Tools = &llm.Toolset{Tools: tools, Parallel: new(false)} }),
		llm.NeedAdapter:    with(func(r *llm.Request) { r.Adapter = awkward }),
		llm.NeedPriority:   with(func(r *llm.Request) { r.Priority = new(-3) }),
		llm.NeedTokenIDs:   with(func(r *llm.Request) { r.Tokenize = func(string) []int32 { return []int32{7, 8, 9} } }),
		llm.NeedFormat: with(func(r *llm.Request) {
			r.Format = &llm.Format{Name: "n", Schema: llm.JSON(`{"type":"array"}`), Strict: true}
		}),
	}
}

// TestNeedsRoundTrip: what a dialect says that it has words for comes out of its
// other half as it went in, and what it has none for leaves no trace.
func TestNeedsRoundTrip(t *testing.T) {
	t.Parallel()
	for need, want := range needy() {
		if needs := want.Needs(); !slices.Contains(needs, need) {
			t.Errorf("%s: the request needs %q", need, needs)
		}
		forEachDialect(t, func(t *testing.T, d *Dialect) {
			body := d.Encode(nil, &want, Quirks{})
			got, _, err := d.ParseRequest(body)
			if err != nil {
				t.Fatalf("%s: %v in %s", need, err, body)
			}
			if diff := cmp.Diff(parseNeed(d, need, want), *got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, which it has: %t: %s (-want +got):\n%s", need, d.Has(need), body, diff)
			}
		})
	}
}

// inText are the APIs in whose prompts images have a place.
var inText = []string{"tgi-generate", "llamacpp-completion"}

// parseNeed is what a dialect's server learns of a request that needs something.
func parseNeed(d *Dialect, need llm.Need, r llm.Request) (out llm.Request) {
	if !d.Has(need) {
		switch need {
		case llm.NeedTools, llm.NeedFormat, llm.NeedName:
			r.Tools, r.Format = nil, nil
		case llm.NeedToolChoice, llm.NeedParallel:
			r.Tools = &llm.Toolset{Tools: r.Tools.Tools}
			if !d.Has(llm.NeedTools) {
				r.Tools = nil
			}
		case llm.NeedAdapter, llm.NeedPriority:
			r.Adapter, r.Priority = "", nil
		}
	}
	if r.Tokenize != nil && d.Has(need) {
		r.PromptIDs = r.Tokenize("")
		defer func() { out.Messages = nil }()
	}
	r.Tokenize = nil
	if r.Adapter != "" && d.Name != "sglang-generate" && d.Name != "tgi-generate" {
		r.Model, r.Adapter = r.Adapter, "" // served as a model
	}
	if need == llm.NeedFormat && !slices.Contains([]string{"openai-chat", "openai-responses"}, d.Name) {
		if r.Format != nil {
			r.Format = &llm.Format{Schema: r.Format.Schema} // they have no names
		}
	}
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		m := &r.Messages[i]
		if !d.Has(llm.NeedName) {
			m.Name = ""
		}
		var parts []llm.Part
		for _, p := range m.Parts {
			switch {
			case p.Kind != llm.Text && !d.Has(llm.Need(p.Kind.String())):
				continue
			case p.Kind == llm.Text && (d.messages == nil || d.messages.form(llm.Text) == "") && !(need == llm.NeedImages && slices.Contains(inText, d.Name)):
				m.Content += p.Text
				continue
			case p.Kind == llm.ToolResult && d.Name != "ollama-chat":
				p.Name = ""
			case d.Name == "ollama-chat" || d.Name == "ollama-generate" || d.Name == "llamacpp-completion":
				p.Call, p.Media = "", "" // it has neither
			}
			parts = append(parts, p)
		}
		m.Parts = parts
	}
	switch d.Name {
	case "anthropic-messages":
		for i := range r.Messages {
			if r.Messages[i].Role == "tool" {
				r.Messages[i].Role = "user"
			}
		}
		if need == llm.NeedParallel {
			r.Tools.Choice.Mode = llm.ChoiceAuto // said in one object
		}
	case "openai-responses": // each call is an item
		if need == "tool calls" {
			said := r.Messages[1]
			r.Messages = append(r.Messages[:1], llm.Message{Role: "assistant", Content: said.Content},
				llm.Message{Role: "assistant", Parts: said.Parts[:1]}, llm.Message{Role: "assistant", Parts: said.Parts[1:]})
		}
	}
	return expressible(d, r)
}

// TestPartsAsEachAPIHasThem holds the words to the makers' documents.
func TestPartsAsEachAPIHasThem(t *testing.T) {
	t.Parallel()
	r := &llm.Request{Model: "m", MaxTokens: 7, Natural: true, Messages: []llm.Message{
		{Role: "user", Content: "what", Parts: []llm.Part{{Kind: llm.Image, Data: []byte("png"), Media: "image/png"}}},
		{Role: "assistant", Parts: []llm.Part{{Kind: llm.ToolCall, Call: "c1", Name: "find", Text: `{"q":1}`}}},
		{Role: "tool", Parts: []llm.Part{{Kind: llm.ToolResult, Call: "c1", Name: "find", Text: "4"}}}},
		Tools:  &llm.Toolset{Tools: []llm.Tool{{Name: "find", Description: "finds", Parameters: llm.JSON(`{"type":"object"}`)}}, Choice: llm.ToolChoice{Mode: llm.ChoiceRequired}},
		Format: &llm.Format{}}
	for name, want := range map[string]string{
		"openai-chat": `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"what"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]},` +
			`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":"{\"q\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"4"}],` +
			`"max_tokens":7,"tools":[{"type":"function","function":{"name":"find","description":"finds","parameters":{"type":"object"}}}],"tool_choice":"required","response_format":{"type":"json_object"}}`,
		"openai-responses": `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"what"},{"type":"input_image","image_url":"data:image/png;base64,cG5n"}]},` +
			`{"type":"function_call","call_id":"c1","name":"find","arguments":"{\"q\":1}"},{"type":"function_call_output","call_id":"c1","output":"4"}],` +
			`"max_output_tokens":7,"store":false,"tools":[{"type":"function","name":"find","description":"finds","parameters":{"type":"object"}}],"tool_choice":"required","text":{"format":{"type":"json_object"}}}`,
		"anthropic-messages": `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"what"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"find","input":{"q":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"4"}]}],` +
			`"max_tokens":7,"tools":[{"name":"find","description":"finds","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}}`,
		"ollama-chat": `{"model":"m","messages":[{"role":"user","content":"what","images":["cG5n"]},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"find","arguments":{"q":1}}}]},` +
			`{"role":"tool","tool_name":"find","content":"4"}],"stream":false,"format":"json","tools":[{"type":"function","function":{"name":"find","description":"finds","parameters":{"type":"object"}}}],"options":{"num_predict":7}}`,
	} {
		d, _ := ByName(name)
		expect.NoDiff(t, cmp.Diff(want, string(d.Encode(nil, r, Quirks{}))), "%s (-want +got)", name)
	}
}

// TestChoices: every choice comes back from every dialect that has them.
func TestChoices(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, d *Dialect) {
		for _, choice := range []llm.ToolChoice{{Mode: llm.ChoiceAuto}, {Mode: llm.ChoiceNone}, {Mode: llm.ChoiceRequired}, {Named: awkward}} {
			for _, parallel := range []*bool{nil, new(true), new(false)} {
				if !d.Has(llm.NeedToolChoice) {
					continue
				}
				r := everyKnob()
				r.Tools = &llm.Toolset{Tools: tools, Choice: choice, Parallel: parallel}
				got, _, err := d.ParseRequest(d.Encode(nil, r, Quirks{}))
				if err != nil || !reflect.DeepEqual(got.Tools, r.Tools) {
					t.Errorf("%+v: got %+v, %v", r.Tools, got, err)
				}
			}
		}
	})
}

// TestToyPart: a kind of part is one row of the table, for both halves of the
// dialects that have it and for the refusal of the others.
func TestToyPart(t *testing.T) {
	const toy = llm.PartKind(200)
	was := partForms
	defer func() { partForms = was }()
	partForms = append(slices.Clip(was), partForm{kind: toy, chat: `{"type":"toy","toy":{"shape":"%n","says":"%t"}}`})
	want := llm.Request{Model: "m", MaxTokens: 1, Messages: []llm.Message{{Role: "user", Content: "look", Parts: []llm.Part{{Kind: toy, Name: "bear", Text: awkward}}}}}
	for _, d := range Dialects {
		has := d.Name == "openai-chat"
		if needs := want.Needs(); len(needs) != 1 || d.Has(needs[0]) != has {
			t.Errorf("%s has %q: %t, want %t", d.Name, needs, !has, has)
		}
		body := d.Encode(nil, &want, Quirks{})
		got, _, err := d.ParseRequest(body)
		if err != nil || !json.Valid(body) {
			t.Errorf("%s: %s: %v", d.Name, body, err)
		} else if has && !cmp.Equal(want, *got) {
			t.Errorf("%s:\n%s", d.Name, cmp.Diff(want, *got))
		}
	}
}

// TestCallsAreJoined: of calls whose arguments come in pieces, side by side, and
// of whole ones, every dialect that has calls makes the same.
func TestCallsAreJoined(t *testing.T) {
	t.Parallel()
	want := []llm.Part{{Kind: llm.ToolCall, Call: "a", Name: "f", Text: `{"x":1}`}, {Kind: llm.ToolCall, Call: "b", Name: "g", Text: "{}"}}
	for name, events := range map[string][]string{
		"openai-chat": {
			choice(`"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}`),
			choice(`"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}},{"index":0,"function":{"arguments":"{\"x\":"}}]}`),
			choice(`"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"}"}}]}`)},
		"openai-responses": {
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\":"}`,
			`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"b","name":"g","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"1}"}`},
		"anthropic-messages": {
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"g","input":{}}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}`},
		"ollama-chat": {
			`{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]},"done":false}`,
			`{"message":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":{}}}]},"done":false}`},
	} {
		d, _ := ByName(name)
		for _, odd := range []string{"", `"c\u006fde":1,`} { // what the scanner leaves to the tree
			var delta Delta
			for _, event := range events {
				must.Do(t, d.Decode(nil, []byte("{"+odd+event[1:]), &delta))
			}
			expect.NoDiff(t, cmp.Diff(want, delta.Calls()), "%s (-want +got)", name)
		}
	}
	for name, body := range map[string]string{
		"openai-chat":        `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}`,
		"openai-responses":   `{"output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"},{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}]}`,
		"anthropic-messages": `{"content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1}},{"type":"tool_use","id":"b","name":"g","input":{}}]}`,
		"ollama-chat":        `{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}},{"id":"b","function":{"name":"g","arguments":{}}}]}}`,
	} {
		d, _ := ByName(name)
		var delta Delta
		must.Do(t, d.DecodeWhole([]byte(body), &delta))
		got := delta.Calls()
		if name == "anthropic-messages" && len(got) == 2 {
			got[1].Text = "{}" // an empty object counts no tokens
		}
		expect.NoDiff(t, cmp.Diff(want, got), "%s, whole (-want +got)", name)
	}
}

func TestWrongPartsAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dialect, message, want string }{
		{"openai-chat", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}`, `messages[0].content[0]: expected a part of type "text"`},
		{"openai-chat", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%%%"}}]}`, "messages[0].content[0]: "},
		{"openai-chat", `{"role":"assistant","tool_calls":[{"id":"x"}]}`, "messages[0].tool_calls[0]: "},
		{"anthropic-messages", `{"role":"user","content":7}`, "messages[0].content: expected a string or an array"},
		{"ollama-chat", `{"content":"a"}`, "messages[0].role: expected a role"},
		{"ollama-chat", `"a"`, "messages[0]: expected a JSON object"},
	} {
		d, _ := ByName(c.dialect)
		_, _, err := d.ParseRequest([]byte(fmt.Sprintf(`{"max_tokens":1,"messages":[%s]}`, c.message)))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %s: %v, want %s", c.dialect, c.message, err, c.want)
		}
	}
}
