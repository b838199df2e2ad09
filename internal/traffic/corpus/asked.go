package corpus

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"redline/internal/llm"
	"redline/internal/traffic/structured"
)

// outputRequest is how many output tokens a row may ask for, under any of its names.
type outputRequest struct {
	Output     *int `json:"output_tokens"`
	MaxTokens  *int `json:"max_tokens"`
	Completion *int `json:"max_completion_tokens"`

	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	Seed        *int64          `json:"seed"`
	Stop        json.RawMessage `json:"stop"`
	Tools       []struct {
		Function llm.Tool `json:"function"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Parallel   *bool           `json:"parallel_tool_calls"`
	Format     json.RawMessage `json:"response_format"`
	Priority   *int            `json:"priority"`
	Deadline   string          `json:"deadline"`
}

// fill puts everything that a row asks for into its turn.
func (a outputRequest) fill(t *Turn) (err error) {
	if t.Output, err = a.tokens(); err != nil {
		return err
	}
	t.Priority = a.Priority
	if a.Deadline != "" {
		if t.Deadline, err = time.ParseDuration(a.Deadline); err != nil || t.Deadline <= 0 {
			return fmt.Errorf("deadline: expected a time such as \"10s\", got %.40q", a.Deadline)
		}
	}
	t.Sampling = llm.Sampling{Temperature: a.Temperature, TopP: a.TopP, Seed: a.Seed}
	if t.Sampling.Stop, err = a.stops(); err != nil {
		return err
	}
	if err := t.Sampling.Validate(); err != nil {
		return err
	}
	if t.Tools, err = a.toolset(); err != nil {
		return err
	}
	if t.Format, err = a.format(); err != nil {
		return err
	}
	return cmp.Or(structured.CheckTools(t.Tools), structured.CheckFormat(t.Format))
}

// toolset is the tools of a row, nil where it has none.
func (a outputRequest) toolset() (*llm.Toolset, error) {
	set := &llm.Toolset{Parallel: a.Parallel}
	for _, tool := range a.Tools {
		if tool.Function.Name == "" {
			return nil, errors.New(`tools: expected functions with a name, such as {"type": "function", "function": {"name": "search"}}`)
		}
		tool.Function.Name = structured.ToolName(tool.Function.Name)
		set.Tools = append(set.Tools, tool.Function)
	}
	if !saysAnything(a.ToolChoice) {
		if set.Tools == nil {
			return nil, nil
		}
		return set, nil
	}
	var named struct{ Function struct{ Name string } }
	err := json.Unmarshal(a.ToolChoice, &set.Choice.Mode)
	if err != nil {
		err = json.Unmarshal(a.ToolChoice, &named)
	}
	set.Choice.Named = structured.ToolName(named.Function.Name)
	modes := []string{llm.ChoiceAuto, llm.ChoiceNone, llm.ChoiceRequired}
	if err != nil || set.Choice.Named == "" && !slices.Contains(modes, set.Choice.Mode) {
		return nil, errors.New(`tool_choice: expected "auto", "none", "required" or {"type": "function", "function": {"name": …}}`)
	}
	if free := set.Choice.Mode == llm.ChoiceAuto || set.Choice.Mode == llm.ChoiceNone; set.Tools == nil && free {
		return nil, nil // the model has nothing to call either way
	} else if set.Tools == nil {
		return nil, fmt.Errorf("tool_choice: %s: the row has no tools: add them, or take it out", cmp.Or(set.Choice.Named, set.Choice.Mode))
	}
	return set, nil
}

// saysAnything reports whether a value says anything.
func saysAnything(value json.RawMessage) bool {
	text := strings.Join(strings.Fields(string(value)), "")
	return text != "" && text != "null" && text != "[]" && text != `{"type":"text"}`
}

// stops are the texts at which a reply ends: one, or a list of them.
func (a outputRequest) stops() (list []string, err error) {
	if !saysAnything(a.Stop) {
		return nil, nil
	}
	if a.Stop[0] == '"' {
		list = []string{""}
		return list, json.Unmarshal(a.Stop, &list[0])
	}
	if json.Unmarshal(a.Stop, &list) != nil {
		return nil, errors.New("stop: expected a text or a list of texts")
	}
	return list, nil
}

// format is the form of the reply that a row wants, nil for text.
func (a outputRequest) format() (*llm.Format, error) {
	if !saysAnything(a.Format) {
		return nil, nil
	}
	var format struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string   `json:"name"`
			Strict bool     `json:"strict"`
			Schema llm.JSON `json:"schema"`
		} `json:"json_schema"`
	}
	if json.Unmarshal(a.Format, &format) != nil || !slices.Contains([]string{"json_object", "json_schema"}, format.Type) {
		return nil, errors.New(`response_format: expected an object with a type, such as {"type": "json_object"} or {"type": "json_schema", "json_schema": …}`)
	}
	in := format.JSONSchema
	if format.Type == "json_schema" && in.Schema == nil {
		return nil, errors.New(`response_format: json_schema.schema: is missing, expected a JSON Schema, or the type json_object`)
	}
	return &llm.Format{Schema: in.Schema, Name: in.Name, Strict: in.Strict}, nil
}

func (a outputRequest) tokens() (int, error) {
	for _, name := range []struct {
		key   string
		value *int
	}{{"output_tokens", a.Output}, {"max_tokens", a.MaxTokens}, {"max_completion_tokens", a.Completion}} {
		if name.value == nil {
			continue
		}
		if n := *name.value; n < 1 || n > maxOutput {
			return 0, fmt.Errorf("%s: must be 1 to %d, got %d", name.key, maxOutput, n)
		}
		return *name.value, nil
	}
	return 0, nil
}
