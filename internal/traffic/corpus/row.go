package corpus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/cancel"
	"redline/internal/traffic/structured"
)

// maxOutput bounds what a row may ask for: more is a slip.
const maxOutput = 10_000_000

// parseRow reads one line of a format.
func parseRow(format Format, line []byte) (Conversation, error) {
	if !utf8.Valid(line) {
		return Conversation{}, errors.New("is not UTF-8, expected text in that encoding")
	}
	switch format {
	case ShareGPT:
		return parseShareGPT(line)
	case Batch:
		return parseBatch(line)
	case Calls:
		return parseCalls(line)
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
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType):
		// Parts that rows of several formats have in common are types of their own.
		wrongType.Field = strings.TrimPrefix(strings.TrimPrefix(wrongType.Field, "outputRequest."), "Additions.")
		return errors.New(text.Mismatch(wrongType))
	case errors.As(err, &syntax):
		return fmt.Errorf("is not JSON: %s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return err
}

// message is one as OpenAI's chat API has it.
type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
	Name    string  `json:"name"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

// content is what a message says: text, or a list of parts.
type content []llm.Part

func (c *content) UnmarshalJSON(data []byte) error {
	var plain string
	if json.Unmarshal(data, &plain) == nil {
		*c = content{{Text: plain}}
		return nil
	}
	var parts []struct {
		Type  string   `json:"type"`
		Text  string   `json:"text"`
		Image imageURL `json:"image_url"`
	}
	if json.Unmarshal(data, &parts) != nil {
		return errors.New("content: expected text or a list of parts")
	}
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text":
			*c = append(*c, llm.Part{Text: p.Text})
		case "image_url", "input_image":
			image, err := readImage("content: image_url.url", string(p.Image))
			if err != nil {
				return err
			}
			*c = append(*c, image)
		default:
			return fmt.Errorf("content: expected parts of type text or image_url, got %.40q", p.Type)
		}
	}
	return nil
}

// roles are who a message may be from.
var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

// check says what servers would refuse of m, given the tools' names by the ids of
// earlier calls.
func (m message) check(names map[string]string) error {
	if !slices.Contains(roles, m.Role) {
		return fmt.Errorf("one has the role %.40q, expected one of %s", m.Role, strings.Join(roles, ", "))
	}
	if _, called := names[m.CallID]; m.CallID != "" && !called {
		return fmt.Errorf("one has the tool_call_id %.40q, which no tool_calls before it has", m.CallID)
	}
	return nil
}

// message is m as it is sent. names has the tools' names by the ids of earlier
// calls.
func (m message) message(names map[string]string) llm.Message {
	out := llm.Message{Role: m.Role, Name: m.Name}
	for _, p := range m.Content {
		if p.Kind == llm.Text && out.Parts == nil {
			out.Content += p.Text
		} else {
			out.Parts = append(out.Parts, p)
		}
	}
	if m.Role == "tool" && m.CallID != "" {
		result := llm.Part{Kind: llm.ToolResult, Call: m.CallID, Name: cmp.Or(m.Name, names[m.CallID]), Text: out.Content}
		return llm.Message{Role: m.Role, Parts: []llm.Part{result}}
	}
	for _, call := range m.Calls {
		name := structured.ToolName(call.Function.Name)
		names[call.ID] = name
		out.Parts = append(out.Parts, llm.Part{Kind: llm.ToolCall, Call: call.ID, Name: name, Text: call.Function.Arguments})
	}
	return out
}

// parseLine reads {"prompt": …}, {"messages": …}, or {"turns": […]} of what a user says
// turn by turn, with what else it knows. A category, as sets of questions have it, is a
// class.
func parseLine(line []byte) (Conversation, error) {
	var row struct {
		Prompt   *string   `json:"prompt"`
		Messages []message `json:"messages"`
		Tenant   string    `json:"tenant"`
		Session  string    `json:"session"`
		Class    string    `json:"class"`
		Category string    `json:"category"`
		Turns    []string  `json:"turns"`
		Image    images    `json:"image"`
		Images   images    `json:"images"`
		Files    images    `json:"image_files"`
		llm.Additions
		outputRequest
	}
	if err := decode(line, &row); err != nil {
		return Conversation{}, err
	}
	c := Conversation{Tenant: row.Tenant, Session: row.Session, Class: cmp.Or(row.Class, row.Category)}
	var turn Turn
	var err error
	switch {
	case row.Prompt != nil && row.Messages != nil:
		return c, errors.New("has both prompt and messages, expected one")
	case row.Turns != nil && (row.Prompt != nil || row.Messages != nil):
		return c, errors.New("has turns beside prompt or messages, expected one of them")
	case row.Prompt != nil && *row.Prompt == "":
		return c, errors.New("prompt: is empty, expected text")
	case row.Prompt != nil:
		turn.Messages = user(*row.Prompt)
	case len(row.Turns) > 0:
		if slices.Contains(row.Turns, "") {
			return c, errors.New("turns: one is empty, expected text")
		}
		turn.Messages = user(row.Turns[0])
	default:
		if turn, err = wholeTurn(row.Messages); err != nil {
			return c, err
		}
	}
	if err := cancel.Validate(row.Additions); err != nil {
		return c, err
	}
	turn.Additions = row.Additions
	if err := row.fill(&turn); err != nil {
		return c, err
	}
	if err := turn.addImages(row.Image, row.Images, row.Files); err != nil {
		return c, err
	}
	c.Turns = []Turn{turn}
	for _, said := range row.Turns[min(1, len(row.Turns)):] {
		turn.Messages = user(said)
		c.Turns = append(c.Turns, turn)
	}
	return c, nil
}

// parseBatch reads a line of an OpenAI batch file.
func parseBatch(line []byte) (Conversation, error) {
	var row struct {
		Body *struct {
			Messages []message `json:"messages"`
			outputRequest
		} `json:"body"`
	}
	if err := decode(line, &row); err != nil {
		return Conversation{}, err
	}
	if row.Body == nil {
		return Conversation{}, errors.New(`has no body, expected {"custom_id": …, "body": {"messages": …}}`)
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

// parseCalls reads a question of the Berkeley leaderboard, whose functions go
// along as tools.
func parseCalls(line []byte) (Conversation, error) {
	var row struct {
		Question [][]message     `json:"question"`
		Function json.RawMessage `json:"function"`
	}
	if err := decode(line, &row); err != nil {
		return Conversation{}, err
	}
	if len(row.Question) != 1 || row.Function == nil {
		return Conversation{}, fmt.Errorf("expected a question of one turn and its functions, got %d turns: functions of several turns must be run, and are not here", len(row.Question))
	}
	turn, err := wholeTurn(row.Question[0])
	if err != nil {
		return Conversation{}, err
	}
	tools, err := structured.ParseFunctions(row.Function)
	if err != nil {
		return Conversation{}, fmt.Errorf("function: %w", err)
	}
	turn.Tools = &llm.Toolset{Tools: tools}
	return Conversation{Turns: []Turn{turn}}, nil
}

// wholeTurn takes a list of messages as one request; an answer at its end is
// what was replied to it.
func wholeTurn(messages []message) (Turn, error) {
	turn := Turn{Whole: true}
	names := map[string]string{}
	says := false
	for _, m := range messages {
		if err := m.check(names); err != nil {
			return Turn{}, fmt.Errorf("messages: %w", err)
		}
		turn.Messages = append(turn.Messages, m.message(names))
	}
	if last := len(turn.Messages) - 1; last >= 0 && turn.Messages[last].Role == "assistant" {
		for text := range turn.Messages[last].Texts {
			turn.Reply += text
		}
		turn.Messages = turn.Messages[:last]
	}
	for _, m := range turn.Messages {
		says = says || m.Content != "" || m.Parts != nil
	}
	if !says {
		return Turn{}, errors.New(`messages: none to send, expected "prompt" or "messages" with text`)
	}
	return turn, nil
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
		return c, errors.New(`conversations: nobody asks anything, expected one {"from": "human", "value": …}`)
	}
	return c, nil
}
