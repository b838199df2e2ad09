package structured

import (
	"math/rand/v2"
	"strings"
	"testing"

	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/token"
)

// What is made up has its length, compiles, and a document of it keeps it.
func TestMadeUp(t *testing.T) {
	t.Parallel()
	text := token.O200k()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := 60 + r.IntN(400)
		tool := MakeTool(text, r, 3, want)
		set := &llm.Toolset{Tools: []llm.Tool{tool}, Choice: llm.ToolChoice{Mode: llm.ChoiceRequired}}
		n := 0
		for part := range set.Texts {
			n += text.Count(part)
		}
		if err := CheckTools(set); err != nil || n < want || n > want+40 {
			t.Fatalf("a tool of %d tokens has %d: %v", want, n, err)
		}
		schema := MakeSchema(text, r, want)
		word := func() string { return text.Piece(r) }
		arguments, document := Document(tool.Parameters, r, word), Document(schema, r, word)
		check := Checker(set, &llm.Format{Schema: schema})
		call := llm.Part{Kind: llm.ToolCall, Name: tool.Name, Text: arguments}
		if called, formed := check(document, []llm.Part{call}); called != llm.CheckOK || formed != llm.CheckOK {
			t.Fatalf("%s %s\n%s %s", called, arguments, formed, document)
		}
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	tools := &llm.Toolset{Tools: []llm.Tool{{Name: "search", Parameters: llm.JSON(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)}, {Name: "now"}}}
	forced := *tools
	forced.Choice.Named = "search"
	call := func(name, arguments string) []llm.Part {
		return []llm.Part{{Kind: llm.ToolCall, Name: name, Text: arguments}}
	}
	form := &llm.Format{Schema: llm.JSON(`{"type":"object","required":["a"]}`)}
	for _, c := range []struct {
		set    *llm.Toolset
		form   *llm.Format
		text   string
		calls  []llm.Part
		called llm.Check
		formed llm.Check
	}{
		{set: tools, calls: call("search", `{"q":"x"}`), called: llm.CheckOK},
		{set: tools, calls: call("search", `{"q":1}`), called: llm.CheckSchema},
		{set: tools, calls: call("search", `{"q":`), called: llm.CheckNotJSON},
		{set: tools, calls: call("find", `{}`), called: llm.CheckUnknownTool},
		{set: tools, calls: call("now", ""), called: llm.CheckOK},
		{set: tools, calls: append(call("now", "{}"), call("find", "{}")...), called: llm.CheckUnknownTool},
		{set: tools, text: "no need to call"},
		{set: tools, text: "now is not the time"},
		{set: tools, text: `now{"a`, called: llm.CheckNotJSON},
		{set: tools, text: `<tool_call>{"name": "now", "arg`, called: llm.CheckNotJSON},
		{set: &forced, text: "no need to call", called: llm.CheckNoCall},
		{form: form, text: ` {"a": 1}`, formed: llm.CheckOK},
		{form: form, text: `{"b": 1}`, formed: llm.CheckSchema},
		{form: form, text: "```json\n{}\n```", formed: llm.CheckNotJSON},
		{form: &llm.Format{}, text: `[]`, formed: llm.CheckSchema},
		{set: tools, form: form, calls: call("now", "{}"), called: llm.CheckOK},
	} {
		if called, formed := Checker(c.set, c.form)(c.text, c.calls); called != c.called || formed != c.formed {
			t.Errorf("%q %v: %q and %q, want %q and %q", c.text, c.calls, called, formed, c.called, c.formed)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	write := func(text string) string {
		path := must.File(t, "f.json", text)
		return path
	}
	tools := must.Get(ReadTools(write(`{"id":"simple_0","question":[],"function":[{"name":"area","description":"of a triangle","parameters":{"type":"dict","properties":{"base":{"type":"float"}}}}]}
{"type":"function","function":{"name":"search","parameters":{"type":"object"}}}
{"name":"fetch","input_schema":{"type":"object"}}
{"tools":[{"type":"function","function":{"name":"last"}}]}`)))(t)
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "area search fetch last" || !strings.Contains(string(tools[0].Parameters), `"number"`) || string(tools[2].Parameters) != `{"type":"object"}` {
		t.Errorf("%s, %s", got, tools[0].Parameters)
	}
	schemas, err := ReadSchemas(write("[{\"type\":\"object\"},\n{\"schema\":{\"type\":\"array\"}},{\"json_schema\":{\"name\":\"x\",\"schema\":{\"type\":\"string\"}}}]"))
	if err != nil || len(schemas) != 3 || string(schemas[1]) != `{"type":"array"}` || string(schemas[2]) != `{"type":"string"}` {
		t.Errorf("%v: %s", err, schemas)
	}
	for text, want := range map[string]string{
		"[{\"type\":\"object\"},\n{\"type\":\"objekt\"}]": "f.json:2: [1]: does not compile",
		"{\"type\":\"object\"}\n7":                        "f.json:2: expected a JSON Schema",
		"{\"type\":":                                      "f.json:1: is not JSON",
		"":                                                "f.json: holds no schema",
	} {
		if _, err := ReadSchemas(write(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := ReadTools(write(`{"name":"a","parameters":{"type":"objekt"}}`)); err == nil || !strings.Contains(err.Error(), "f.json:1: tools[0]: a: parameters: does not compile") {
		t.Error(err)
	}
}

// Documents are made of all kinds of schemas, or not at all.
func TestDocuments(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return " word" }
	for _, schema := range []string{
		`{"type":"object"}`, `{"const":3}`, `{"enum":["a","b"]}`, `{"type":["integer","null"],"exclusiveMinimum":4,"maximum":5}`,
		`{"type":"array","items":{"$ref":"#/$defs/p"},"minItems":2,"$defs":{"p":{"type":"object","properties":{"n":{"type":"number","minimum":2.5}},"required":["n"]}}}`,
		`{"anyOf":[{"type":"string","minLength":30,"maxLength":40},{"type":"null"}]}`, `{"type":"string","format":"date"}`, `{"type":"integer","multipleOf":7,"minimum":8}`,
		`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"}}}}}`,
	} {
		if Document(llm.JSON(schema), r, word) == "" {
			t.Errorf("no document of %s", schema)
		}
	}
	if doc := Document(llm.JSON(`{"type":"string","pattern":"^[0-9]+$"}`), r, word); doc != "" {
		t.Errorf("%s does not match the pattern", doc)
	}
}

// A schema that requires itself has no document that ends, and is refused.
func TestASchemaWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for raw, ends := range map[string]bool{
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`: false,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`:                  true,
		`{"type":"array","minItems":1,"items":{"$ref":"#"}}`:                 false,
		`{"type":"array","items":{"$ref":"#"}}`:                              true,
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","required":["n"],"properties":{"n":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}}}}}`: true,
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","required":["n"],"properties":{"n":{"allOf":[{"$ref":"#/$defs/n"}]}}}}}`:                 false,
		`{"type":"object","required":["a"],"properties":{"a":false}}`:                                                                               false,
		`{"type":["object","null"],"required":["a"],"properties":{"a":{"$ref":"#"}}}`:                                                               true,
	} {
		if _, err := Compile([]byte(raw)); (err == nil) != ends {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
