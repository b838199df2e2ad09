package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

func TestTemplateEncodes(t *testing.T) {
	t.Parallel()
	extra := must.Get(NewExtra(map[string]any{"beam": 4}))(t)
	bare := &llm.Request{Model: "m", MaxTokens: 3, Natural: true, Messages: []llm.Message{{Role: "user", Content: "say \"hi\"\n"}}}
	for _, c := range []struct {
		name, body string
		request    *llm.Request
		quirks     Quirks
		want       string
	}{
		{"every value", `{"m":{{model}},"p":{{prompt}},"c":{{ messages }},"n":{{max_tokens}},"s":{{stream}},"t":{{temperature}},"tp":{{top_p}},"seed":{{seed}},"stop":{{stop}},"e":{{ignore_eos}},"i":{{id}}}`,
			everyKnob(), Quirks{},
			`{"m":"m","p":"s\nu","c":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"n":16,"s":true,"t":0.5,"tp":1,"seed":7,"stop":["x"],"e":true,"i":""}`},
		{"within strings", `{"q":"<\"{{prompt}}>{{max_tokens}}","t":"{{temperature}}"}`, bare, Quirks{}, `{"q":"<\"say \"hi\"\n>3","t":""}`},
		{"what is not set", `{"t":{{temperature}},"seed":{{seed}},"stop":{{stop}},"e":{{ignore_eos}}}`, bare, Quirks{}, `{"t":null,"seed":null,"stop":[],"e":false}`},
		{"keys of the user's own", "{\"p\":{{prompt}}\n}\n", bare, Quirks{Extra: extra}, "{\"p\":\"say \\\"hi\\\"\\n\"\n,\"beam\":4}"},
		{"nothing but the user's own", "{ }", bare, Quirks{Extra: extra}, `{ "beam":4}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := must.Get(Template{Body: c.body, Text: "x"}.Dialect())(t)
			got := d.Encode(nil, c.request, c.quirks)
			if diff := cmp.Diff(c.want, string(got)); diff != "" || !json.Valid(got) {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTemplateDecodes(t *testing.T) {
	t.Parallel()
	full := Template{Body: "{}", Text: "$.out[0].t", Reasoning: `out[0]["a.b"]`, Finish: "why", Error: "bad.msg", Done: "last",
		Usage: TemplateUsage{PromptTokens: "n.in", OutputTokens: "n.out", CachedTokens: "n.hit", ReasoningTokens: "n.thought"}}
	running := Template{Body: "{}", Text: "t", Cumulative: true, Framing: "ndjson"}
	for _, c := range []struct {
		name     string
		template Template
		events   []string
		want     answer
	}{
		{"all there is", full, []string{`{"out":[{"a.b":"hm"}]}`, `{"out":[{"t":"Hi"}],"last":false}`, `{"out":[]}`,
			`{"why":"max_tokens","n":{"in":9,"out":2,"hit":4,"thought":1},"last":true}`},
			answer{Pieces: []piece{{llm.Reasoning, "hm"}, {llm.Text, "Hi"}}, Finish: "length", Done: true,
				Usage: llm.Usage{PromptTokens: 9, CachedTokens: 4, OutputTokens: 2, ReasoningTokens: 1}}},
		{"an error", full, []string{`{"bad":{"msg":"no"}}`}, answer{Err: "no"}},
		{"an error in anyone's form", running, []string{`{"error":{"message":"no"}}`}, answer{Err: "no"}},
		{"a running text", running, []string{`{"t":"a"}`, `{"t":"ab"}`, "[DONE]"}, answer{Pieces: []piece{{llm.Text, "a"}, {llm.Text, "b"}}, Done: true}},
		{"other things where text is meant", running, []string{`{"t":null}`, `{"t":false}`, `{"t":{}}`}, answer{Pieces: []piece{{llm.Text, "{}"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := must.Get(c.template.Dialect())(t)
			var got answer
			var delta Delta
			for _, data := range c.events {
				must.Do(t, d.Decode(nil, []byte(data), &delta))
				got.add(&delta)
			}
			expect.Same(t, c.want, got)
		})
	}
	d := must.Get(full.Dialect())(t)
	var whole Delta
	if err := d.DecodeWhole([]byte(`{"out":[{"t":"Hi"}]}`), &whole); err != nil || !whole.Done || string(whole.Text) != "Hi" {
		t.Errorf("whole: %+v, %v", whole, err)
	}
	if got := d.DecodeError([]byte(`{"bad":{"msg":"no"}}`)); got != "no" {
		t.Errorf("error: %q", got)
	}
	if err := d.Decode(nil, []byte("<html>"), &whole); err == nil {
		t.Error("a page was read as an event")
	}
}

func TestTemplateValidateNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		template Template
		want     string
	}{
		{Template{Text: "t"}, "template.body: expected the JSON to send"},
		{Template{Body: `{"p":{{prmpt}}}`, Text: "t"}, "template.body: unknown placeholder {{prmpt}}; known: id, ignore_eos,"},
		{Template{Body: `{"p":{{prompt`, Text: "t"}, "template.body: a placeholder is not closed"},
		{Template{Body: `{"p":"{{messages}}"}`, Text: "t"}, "template.body: {{messages}} is an array"},
		{Template{Body: `{"p":}`, Text: "t"}, "template.body: filled in it is not a JSON object"},
		{Template{Body: `[{{prompt}}]`, Text: "t"}, "template.body: filled in it is not a JSON object"},
		{Template{Body: "{}"}, "template.text: expected the JSON path"},
		{Template{Body: "{}", Text: "a..b"}, `template.text: a key is missing in "a..b"; expected a path such as`},
		{Template{Body: "{}", Text: "a[x]"}, "template.text: an index is no number"},
		{Template{Body: "{}", Text: "a[1"}, "template.text: an index is no number"},
		{Template{Body: "{}", Text: `a["b`}, "template.text: a bracket is not closed"},
		{Template{Body: "{}", Text: "a[0]b"}, "template.text: expected a dot before a key"},
		{Template{Body: "{}", Text: "$"}, "template.text: expected a path into the document"},
		{Template{Body: "{}", Text: "t", Usage: TemplateUsage{OutputTokens: "["}}, "template.usage.output_tokens:"},
		{Template{Body: "{}", Text: "t", Framing: "xml"}, `template.framing: expected sse, ndjson or json, got "xml"`},
	} {
		if err := c.template.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: got error %v, want one that begins with %q", c.template, err, c.want)
		}
	}
}

// FuzzTemplate: whatever a template holds, it is refused or makes JSON of any
// prompt, and its paths lead somewhere or nowhere.
func FuzzTemplate(f *testing.F) {
	f.Add(`{"p":"{{prompt}}","n":{{max_tokens}}}`, "a[0].b", `{"a":[{"b":"x"}]}`, "say \"hi\"")
	f.Add(`{"p":{{messages}},"s":"\"{{model}}\\"}`, `$["a"]`, `{"a":1}`, "\xff")
	f.Fuzz(func(t *testing.T, body, path, event, prompt string) {
		d, err := Template{Body: body, Text: path}.Dialect()
		if err != nil {
			return
		}
		r := &llm.Request{Model: prompt, MaxTokens: 1, Messages: []llm.Message{{Role: "user", Content: prompt}}}
		if got := d.Encode(nil, r, Quirks{}); !json.Valid(got) {
			t.Errorf("%s filled in with %q is not JSON: %s", body, prompt, got)
		}
		var delta Delta
		if err := d.Decode(nil, []byte(event), &delta); err == nil && json.Valid([]byte(event)) && delta.HasErr && delta.HasOutput() {
			t.Errorf("%s is both an error and output: %+v", event, delta)
		}
	})
}
