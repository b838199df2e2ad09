package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"redline/internal/llm"
	"redline/internal/text"
)

// maxOutput bounds what a row may ask for: more is a slip.
const maxOutput = 10_000_000

// parseRow reads one line of a format.
func parseRow(format Format, line []byte) (Conversation, error) {
	if !utf8.Valid(line) {
		return Conversation{}, errors.New("is not UTF-8, want text in that encoding")
	}
	switch format {
	case ShareGPT:
		return parseShareGPT(line)
	case Batch:
		return parseBatch(line)
	case Golden:
		if line[0] != '{' {
			return Conversation{Turns: []Turn{{Messages: user(string(line))}}}, nil
		}
	}
	return parseLine(line)
}

func user(text string) []llm.Message { return []llm.Message{{Role: "user", Content: text}} }

// decode reads JSON and says in one line why it cannot.
func decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType):
		return errors.New(text.Mismatch(wrongType))
	}
	return fmt.Errorf("is not JSON: %s", strings.ReplaceAll(err.Error(), "\n", " "))
}

// content is a message's text, given plainly or as a list of parts.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(c))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(data, &parts) != nil {
		return errors.New("content: want text or a list of text parts")
	}
	var text strings.Builder
	for _, p := range parts {
		if p.Type != "text" && p.Type != "input_text" {
			return fmt.Errorf("content: want parts of type text, got %.40q", p.Type)
		}
		text.WriteString(p.Text)
	}
	*c = content(text.String())
	return nil
}

type message struct {
	Role    string          `json:"role"`
	Content content         `json:"content"`
	Calls   json.RawMessage `json:"tool_calls"`
	CallID  json.RawMessage `json:"tool_call_id"`
	Name    json.RawMessage `json:"name"`
}

// fields are what a message says besides its text.
func (m message) fields() (list []llm.Field, err error) {
	for _, f := range []struct {
		name  string
		value json.RawMessage
		opens byte
		want  string
	}{{"tool_calls", m.Calls, '[', "a list of calls"}, {"tool_call_id", m.CallID, '"', "text"}, {"name", m.Name, '"', "text"}} {
		switch {
		case !given(f.value):
		case f.value[0] != f.opens:
			return nil, fmt.Errorf("messages.%s: want %s", f.name, f.want)
		default:
			list = append(list, llm.Field{Name: f.name, JSON: f.value})
		}
	}
	return list, nil
}

// asked is how many output tokens a row may ask for, under any of its names.
type asked struct {
	Output     *int `json:"output_tokens"`
	MaxTokens  *int `json:"max_tokens"`
	Completion *int `json:"max_completion_tokens"`

	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	Seed        *int64          `json:"seed"`
	Stop        json.RawMessage `json:"stop"`
	Tools       json.RawMessage `json:"tools"`
	ToolChoice  json.RawMessage `json:"tool_choice"`
	Parallel    json.RawMessage `json:"parallel_tool_calls"`
	Format      json.RawMessage `json:"response_format"`
}

// fill puts everything that a row asks for into its turn.
func (a asked) fill(t *Turn) (err error) {
	if t.Output, err = a.tokens(); err != nil {
		return err
	}
	t.Sampling = llm.Sampling{Temperature: a.Temperature, TopP: a.TopP, Seed: a.Seed}
	if t.Sampling.Stop, err = a.stops(); err != nil {
		return err
	}
	if given(a.Tools) && a.Tools[0] != '[' {
		return errors.New("tools: want a list of tools")
	}
	if t.Schema, err = a.schema(); err != nil {
		return err
	}
	for _, f := range []llm.Field{{Name: "tools", JSON: a.Tools}, {Name: "tool_choice", JSON: a.ToolChoice},
		{Name: "parallel_tool_calls", JSON: a.Parallel}, {Name: "response_format", JSON: a.Format}} {
		if given(f.JSON) {
			t.Fields = append(t.Fields, f)
		}
	}
	return nil
}

// given reports whether a value says anything.
func given(value json.RawMessage) bool {
	text := strings.Join(strings.Fields(string(value)), "")
	return text != "" && text != "null" && text != "[]" && text != `{"type":"text"}`
}

// stops are the texts at which a reply ends: one, or a list of them.
func (a asked) stops() (list []string, err error) {
	if !given(a.Stop) {
		return nil, nil
	}
	if a.Stop[0] == '"' {
		list = []string{""}
		return list, json.Unmarshal(a.Stop, &list[0])
	}
	if json.Unmarshal(a.Stop, &list) != nil {
		return nil, errors.New("stop: want a text or a list of texts")
	}
	return list, nil
}

// schema is the JSON Schema of a response_format, nil where it has none.
func (a asked) schema() ([]byte, error) {
	if !given(a.Format) {
		return nil, nil
	}
	var format struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if json.Unmarshal(a.Format, &format) != nil || format.Type == "" {
		return nil, errors.New(`response_format: want an object with a type, such as {"type": "json_object"}`)
	}
	return format.JSONSchema.Schema, nil
}

func (a asked) tokens() (int, error) {
	for _, name := range []struct {
		key   string
		value *int
	}{{"output_tokens", a.Output}, {"max_tokens", a.MaxTokens}, {"max_completion_tokens", a.Completion}} {
		if name.value == nil {
			continue
		}
		if n := *name.value; n < 1 || n > maxOutput {
			return 0, fmt.Errorf("%s: want 1 to %d, got %d", name.key, maxOutput, n)
		}
		return *name.value, nil
	}
	return 0, nil
}

// parseLine reads {"prompt": …} or {"messages": …} with what else it knows.
func parseLine(line []byte) (Conversation, error) {
	var row struct {
		Prompt   *string   `json:"prompt"`
		Messages []message `json:"messages"`
		Tenant   string    `json:"tenant"`
		Session  string    `json:"session"`
		Class    string    `json:"class"`
		asked
	}
	if err := decode(line, &row); err != nil {
		return Conversation{}, err
	}
	c := Conversation{Tenant: row.Tenant, Session: row.Session, Class: row.Class}
	var turn Turn
	var err error
	switch {
	case row.Prompt != nil && row.Messages != nil:
		return c, errors.New("has both prompt and messages, want one")
	case row.Prompt != nil && *row.Prompt == "":
		return c, errors.New("prompt: is empty, want text")
	case row.Prompt != nil:
		turn.Messages = user(*row.Prompt)
	default:
		if turn, err = wholeTurn(row.Messages); err != nil {
			return c, err
		}
	}
	if err := row.fill(&turn); err != nil {
		return c, err
	}
	c.Turns = []Turn{turn}
	return c, nil
}

// parseBatch reads a line of an OpenAI batch file.
func parseBatch(line []byte) (Conversation, error) {
	var row struct {
		Body *struct {
			Messages []message `json:"messages"`
			asked
		} `json:"body"`
	}
	if err := decode(line, &row); err != nil {
		return Conversation{}, err
	}
	if row.Body == nil {
		return Conversation{}, errors.New(`has no body, want {"custom_id": …, "body": {"messages": …}}`)
	}
	turn, err := wholeTurn(row.Body.Messages)
	if err != nil {
		return Conversation{}, fmt.Errorf("body.%w", err)
	}
	if err := row.Body.fill(&turn); err != nil {
		return Conversation{}, fmt.Errorf("body.%w", err)
	}
	return Conversation{Turns: []Turn{turn}}, nil
}

// wholeTurn takes a list of messages as one request; an answer at its end is
// what was replied to it.
func wholeTurn(messages []message) (Turn, error) {
	turn := Turn{Whole: true}
	for _, m := range messages {
		if m.Role == "" {
			return Turn{}, errors.New("messages: one has no role, want system, user, assistant or tool")
		}
		fields, err := m.fields()
		if err != nil {
			return Turn{}, err
		}
		turn.Messages = append(turn.Messages, llm.Message{Role: m.Role, Content: string(m.Content), Fields: fields})
	}
	if last := len(turn.Messages) - 1; last >= 0 && turn.Messages[last].Role == "assistant" {
		turn.Reply = turn.Messages[last].Content
		if given(messages[last].Calls) {
			turn.Reply += string(messages[last].Calls)
		}
		turn.Messages = turn.Messages[:last]
	}
	for _, m := range turn.Messages {
		if m.Content != "" {
			return turn, nil
		}
	}
	return Turn{}, errors.New(`messages: none to send, want "prompt" or "messages" with text`)
}

// parseShareGPT reads one conversation. Tools that write such files call the
// two sides by several names.
func parseShareGPT(data []byte) (Conversation, error) {
	var row struct {
		Conversations []struct {
			From  string `json:"from"`
			Value string `json:"value"`
		} `json:"conversations"`
	}
	if err := decode(bytes.TrimSpace(data), &row); err != nil {
		return Conversation{}, err
	}
	var c Conversation
	var before []llm.Message
	for _, said := range row.Conversations {
		last := len(c.Turns) - 1
		switch said.From {
		case "system":
			before = append(before, llm.Message{Role: "system", Content: said.Value})
		case "human", "user":
			if said.Value != "" {
				c.Turns = append(c.Turns, Turn{Messages: append(before, user(said.Value)...)})
				before = nil
			}
		default:
			// An answer to nothing is left over where a long conversation was
			// cut into pieces.
			if last >= 0 {
				c.Turns[last].Reply += said.Value
			}
		}
	}
	if len(c.Turns) == 0 {
		return c, errors.New(`conversations: nobody asks anything, want one {"from": "human", "value": …}`)
	}
	return c, nil
}
