package corpus

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/cancel"
	"redline/internal/traffic/media"
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
			image, err := readImage(string(p.Image))
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

// imageURL is where an image is: a text, or an object that has it.
type imageURL string

func (u *imageURL) UnmarshalJSON(data []byte) error {
	var nested struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(data, (*string)(u)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &nested)
	*u = imageURL(nested.URL)
	return err
}

// readImage takes an image out of a data URL, or notes the file that it is in:
// what a server would have to fetch from elsewhere is not measured.
func readImage(url string) (llm.Part, error) {
	want := func() (llm.Part, error) {
		return llm.Part{}, fmt.Errorf("content: image_url.url: expected data:image/TYPE;base64,… with the image in it, or the path of a file, got %.40q", url)
	}
	if encoded, is := strings.CutPrefix(url, "data:"); is {
		head, text, found := strings.Cut(encoded, ";base64,")
		data, err := base64.StdEncoding.DecodeString(text)
		if !found || err != nil || !strings.HasPrefix(head, "image/") {
			return want()
		}
		image, err := media.Read(data)
		switch {
		case err != nil && slices.Contains(otherImages, head): // which a server may know
			image = llm.Part{Kind: llm.Image, Data: data}
		case err != nil:
			return llm.Part{}, fmt.Errorf("content: image_url.url: %w", err)
		}
		image.Media = head
		return image, nil
	}
	path := strings.TrimPrefix(url, "file://")
	if path == "" || strings.Contains(path, "://") {
		return want()
	}
	return llm.Part{Kind: llm.Image, Name: path}, nil
}

// otherImages are the types that are sent as they are, since they are not read here.
var otherImages = []string{"image/avif", "image/bmp", "image/heic", "image/heif", "image/svg+xml", "image/tiff", "image/x-icon"}

// checkImages decodes the images of a row.
func (c *Conversation) checkImages() error {
	for _, t := range c.Turns {
		for _, m := range t.Messages {
			for i, p := range m.Parts {
				if p.Kind != llm.Image || slices.Contains(otherImages, p.Media) {
					continue
				}
				if err := media.Check(p.Data); err != nil {
					return fmt.Errorf("image %d of %d: %w", i+1, len(m.Parts), err)
				}
			}
		}
	}
	return nil
}

// loadImages reads the files that hold images; their paths are seen from the
// folder of the file that names them.
func (c *Conversation) loadImages(folder string) error {
	for t := range c.Turns {
		for _, m := range c.Turns[t].Messages {
			for k := range m.Parts {
				p := &m.Parts[k]
				if p.Kind != llm.Image || p.Data != nil {
					continue
				}
				path := p.Name
				if !filepath.IsAbs(path) {
					path = filepath.Join(folder, path)
				}
				image, err := media.Open(path)
				if err != nil {
					return err
				}
				*p = image
			}
		}
	}
	return nil
}

// addImages puts the images of a row beside the last message of the user.
func (t *Turn) addImages(lists ...images) error {
	for _, url := range slices.Concat(lists...) {
		image, err := readImage(url)
		if err != nil {
			return err
		}
		m := &t.Messages[len(t.Messages)-1]
		m.Parts = append(m.Parts, image)
	}
	return nil
}

// images are paths and data URLs: one, or a list.
type images []string

func (l *images) UnmarshalJSON(data []byte) error {
	*l = []string{""}
	if json.Unmarshal(data, &(*l)[0]) == nil {
		return nil
	}
	if json.Unmarshal(data, (*[]string)(l)) != nil {
		return errors.New("images: expected a path or data URL, or a list of them")
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
		if m.Role == "" {
			return Turn{}, errors.New("messages: one has no role, expected system, user, assistant or tool")
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
