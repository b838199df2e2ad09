package llm

import "fmt"

// Message is one turn of a conversation as it is sent: its text, and the parts
// that follow it. Most have no parts.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// Name is that of the speaker, where several have one role.
	Name  string `json:"-"`
	Parts []Part `json:"-"`
}

// Part is one piece of a message.
type Part struct {
	Kind PartKind
	// Text is what a text says, the arguments of a call as JSON, or what a tool
	// gave back.
	Text string
	// Call joins a tool's call with its result, and Name is the tool's.
	Call, Name string
	// Data is an image or a sound, and Media its type, such as image/png.
	Data  []byte
	Media string
	// Width and Height are those of an image in pixels, 0 where they are not known.
	Width, Height int
}

// PartKind says what a part of a message is, or what an output event carries.
type PartKind uint8

// The kinds of parts. A reply is made of the first three.
const (
	Text PartKind = iota
	Reasoning
	ToolCall
	ToolResult
	Image
	Sound
)

func (k PartKind) String() string {
	names := [...]string{"text", "reasoning", "tool calls", "tool results", "images", "sounds"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("parts of kind %d", uint8(k))
}

// Images adds up the images of a request: how many, their bytes as they are
// encoded, and their pixels.
func (r *Request) Images() (count, size, pixels int) {
	for i := range r.Messages {
		for _, p := range r.Messages[i].Parts {
			if p.Kind == Image {
				count, size, pixels = count+1, size+len(p.Data), pixels+p.Width*p.Height
			}
		}
	}
	return count, size, pixels
}

// Texts yields all that m says as text: what a tokenizer sees of it.
func (m *Message) Texts(yield func(string) bool) {
	if m.Content != "" && !yield(m.Content) {
		return
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind == ToolCall && !yield(p.Name) || p.Text != "" && !yield(p.Text) {
			return
		}
	}
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is the JSON Schema of its arguments, nil where it takes none.
	Parameters JSON `json:"parameters"`
	// Strict wants arguments that keep the schema.
	Strict bool `json:"strict"`
}

// Toolset is the tools of a request and how free the model is to call them.
type Toolset struct {
	Tools  []Tool
	Choice ToolChoice
	// Parallel says whether one reply may call several; nil leaves it open.
	Parallel *bool
}

// Len is how many tools there are.
func (t *Toolset) Len() int {
	if t == nil {
		return 0
	}
	return len(t.Tools)
}

// Texts yields what a tokenizer sees of the tools, which servers write into the
// prompt.
func (t *Toolset) Texts(yield func(string) bool) {
	if t == nil {
		return
	}
	for _, tool := range t.Tools {
		if !yield(tool.Name) || !yield(tool.Description) || !yield(string(tool.Parameters)) {
			return
		}
	}
}

// ToolChoice is which tool the model has to call: Mode says it, or Named names
// it. The zero value leaves it to the server.
type ToolChoice struct {
	Mode  string
	Named string
}

// The modes of a choice.
const (
	ChoiceAuto     = "auto"
	ChoiceNone     = "none"
	ChoiceRequired = "required"
)

// Format is a reply in JSON.
type Format struct {
	// Schema is the JSON Schema that it is to keep; nil for any object.
	Schema JSON
	Name   string // of the schema
	Strict bool
	// Optional says that it may be left out where an API has no word for it.
	Optional bool
	// Number is the schema's among those of a set, from 1; 0 where there is none.
	Number int
}

// Place is the format's number, 1 where it is the only one, and 0 of no format.
func (f *Format) Place() int {
	if f == nil {
		return 0
	}
	return max(1, f.Number)
}

// JSON is a value as it is written.
type JSON []byte

// UnmarshalJSON keeps the value as it stands; null is none.
func (j *JSON) UnmarshalJSON(data []byte) error {
	if *j = nil; string(data) != "null" {
		*j = append(JSON(nil), data...)
	}
	return nil
}

// Need is something that a request asks for and not every API has a word for.
type Need string

// The needs of requests, beside the kinds of their parts.
const (
	NeedTools      Need = "tools"
	NeedToolChoice Need = "tool_choice"
	NeedParallel   Need = "parallel_tool_calls"
	NeedFormat     Need = "response_format"
	NeedName       Need = "names of messages"
	NeedAdapter    Need = "adapter"
	NeedPriority   Need = "priority"
	NeedImages     Need = "images" // as Image is called
	NeedTokenIDs   Need = "token ids as prompts"
)

// Needs lists what r asks for.
func (r *Request) Needs() []Need {
	var needs []Need
	if t := r.Tools; t != nil {
		needs = append(needs, NeedTools)
		if t.Choice != (ToolChoice{}) {
			needs = append(needs, NeedToolChoice)
		}
		if t.Parallel != nil {
			needs = append(needs, NeedParallel)
		}
	}
	if r.Format != nil && !r.Format.Optional {
		needs = append(needs, NeedFormat)
	}
	if r.Adapter != "" {
		needs = append(needs, NeedAdapter)
	}
	if r.Priority != nil {
		needs = append(needs, NeedPriority)
	}
	if r.Tokenize != nil {
		needs = append(needs, NeedTokenIDs)
	}
	for i := range r.Messages {
		if r.Messages[i].Name != "" {
			needs = append(needs, NeedName)
		}
		for _, p := range r.Messages[i].Parts {
			if p.Kind != Text {
				needs = append(needs, Need(p.Kind.String()))
			}
		}
	}
	return needs
}

// Check is what came of comparing a reply with what was asked for: its calls with
// the tools, its text with the form. It is empty where there was nothing to
// compare.
type Check string

// What a check can come to.
const (
	CheckOK          Check = "ok"
	CheckNotJSON     Check = "not_json"
	CheckSchema      Check = "schema"       // JSON that does not keep the schema
	CheckUnknownTool Check = "unknown_tool" // calls what is none of the tools
	CheckNoCall      Check = "no_call"      // calls nothing, and had to
	CheckCut         Check = "cut_off"      // no JSON, since it reached the length that was asked for
)

// Checks lists all of them.
var Checks = []Check{CheckOK, CheckNotJSON, CheckSchema, CheckUnknownTool, CheckNoCall, CheckCut}
