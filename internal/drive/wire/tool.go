package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// toolForm is how an API writes tools: what stands before and after the members of
// each, the name of its schema, whether that has to be there, and the choices.
type toolForm struct {
	before, schema, after string
	needed                bool
	modes                 map[string]string
	named                 string
}

var (
	plainModes = map[string]string{llm.ChoiceAuto: `"auto"`, llm.ChoiceNone: `"none"`, llm.ChoiceRequired: `"required"`}
	chatTools  = toolForm{before: `{"type":"function","function":{`, schema: "parameters", after: "}}", modes: plainModes,
		named: `{"type":"function","function":{"name":%s}}`}
	responsesTools = toolForm{before: `{"type":"function",`, schema: "parameters", after: "}", modes: plainModes, named: `{"type":"function","name":%s}`}
	anthropicTools = toolForm{before: "{", schema: "input_schema", after: "}", needed: true, named: `{"type":"tool","name":%s}`,
		modes: map[string]string{llm.ChoiceAuto: `{"type":"auto"}`, llm.ChoiceNone: `{"type":"none"}`, llm.ChoiceRequired: `{"type":"any"}`}}
)

// tools writes the tools of r.
func (b *body) tools(f *toolForm, r *llm.Request) {
	if r.Tools != nil && b.key("tools") {
		b.dst = jsonio.AppendList(b.dst, len(r.Tools.Tools), func(dst []byte, i int) []byte { return f.append(dst, &r.Tools.Tools[i]) })
	}
}

func (f *toolForm) append(dst []byte, t *llm.Tool) []byte {
	dst = jsonio.Appendf(append(dst, f.before...), `"name":%s`, t.Name)
	if t.Description != "" {
		dst = jsonio.Appendf(dst, `,"description":%s`, t.Description)
	}
	if len(t.Parameters) > 0 {
		dst = append(jsonio.Appendf(dst, `,%s:`, f.schema), t.Parameters...)
	} else if f.needed {
		dst = jsonio.Appendf(dst, `,%s:{"type":"object"}`, f.schema)
	}
	if t.Strict {
		dst = append(dst, `,"strict":true`...)
	}
	return append(dst, f.after...)
}

// choice is the JSON of what has to be called, "" where that is left open.
func (f *toolForm) choice(t *llm.Toolset) string {
	switch {
	case t == nil:
		return ""
	case t.Choice.Named != "":
		return string(jsonio.Appendf(nil, f.named, t.Choice.Named))
	}
	return f.modes[t.Choice.Mode]
}

// toolChoice writes the choice and whether calls may come together, as OpenAI
// does.
func (b *body) toolChoice(f *toolForm, r *llm.Request) {
	if choice := f.choice(r.Tools); choice != "" {
		b.raw("tool_choice", choice)
	}
	if r.Tools != nil && r.Tools.Parallel != nil {
		b.raw("parallel_tool_calls", fmt.Sprint(*r.Tools.Parallel))
	}
}

// toolFields are what a request's body says of tools, in any API's words.
type toolFields struct {
	Tools []struct {
		llm.Tool
		Function *llm.Tool `json:"function"`
		Schema   llm.JSON  `json:"input_schema"`
	} `json:"tools"`
	Choice   json.RawMessage `json:"tool_choice"`
	Parallel *bool           `json:"parallel_tool_calls"`
}

// toolset is the server's half of tools and toolChoice.
func (f *toolFields) toolset() (*llm.Toolset, error) {
	if len(f.Tools) == 0 {
		return nil, nil
	}
	set := &llm.Toolset{Parallel: f.Parallel}
	for i, in := range f.Tools {
		tool := in.Tool
		if in.Function != nil {
			tool = *in.Function
		}
		if in.Schema != nil {
			tool.Parameters = in.Schema
		}
		if tool.Name == "" {
			return nil, fmt.Errorf("tools[%d].name: expected the name of a function", i)
		}
		set.Tools = append(set.Tools, tool)
	}
	var choice struct {
		Type, Name string
		Function   struct{ Name string }
		NoParallel *bool `json:"disable_parallel_tool_use"`
	}
	switch {
	case len(f.Choice) == 0 || string(f.Choice) == "null":
		return set, nil
	case json.Unmarshal(f.Choice, &choice.Type) != nil && json.Unmarshal(f.Choice, &choice) != nil:
		return nil, errors.New("tool_choice: expected auto, none, required or the name of a tool")
	}
	if choice.NoParallel != nil {
		set.Parallel = new(!*choice.NoParallel)
	}
	switch name := choice.Name + choice.Function.Name; {
	case name != "":
		set.Choice.Named = name
	case choice.Type == "any":
		set.Choice.Mode = llm.ChoiceRequired
	default:
		set.Choice.Mode = choice.Type
	}
	return set, nil
}
