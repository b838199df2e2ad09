// Package wire holds the dialects that inference servers speak, both halves of
// each: requests to bytes and back, stream events to bytes and back. The client uses one half, the simulator the other, and one
// conformance suite drives both. It opens no connection and reads no clock.
package wire

import (
	"slices"
	"strings"
	"time"

	"redline/internal/drive/frame"
	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// Dialect is one API: how to ask, and how answers look. A new dialect is a file
// and a line in Dialects.
type Dialect struct {
	Name string // as --api names it: "openai-chat"
	Path string // the path it is served at: "/v1/chat/completions"
	// WholePath is where replies that are not streamed are asked for, if it
	// differs from Path.
	WholePath string
	// Framing is how its streams are cut into events.
	Framing frame.Framing
	// OpenEnded says that a stream's orderly end is all that closes it, where
	// no closing event is known.
	OpenEnded bool
	// KeyEnv is the environment variable that holds the key by default.
	KeyEnv string
	Features
	// messages is how parts are written, nil where prompts are text alone, and
	// needs is what else Encode has words for, beside the Features.
	messages *messageForm
	needs    []llm.Need
	// Headers gives the request headers the dialect needs beside
	// Content-Type; key is "" where none is set. Bearer by default.
	Headers func(key string) [][2]string

	// Items is how many vectors or scores r asks for; nil where text is
	// generated.
	Items func(r *llm.Request) int

	// Encode appends the JSON body that asks for r.
	Encode func(dst []byte, r *llm.Request, q Quirks) []byte
	// Adapt looks at the body of a 400 or 422 and says whether asking again
	// with other quirks would help. By default nothing does.
	Adapt func(body []byte, q Quirks) (Quirks, bool)

	// scan reads one stream event in one pass; an event that it finds odd is
	// read by tree, which defines what events mean.
	scan func(*jsonio.Scanner, *Delta)
	tree func(jsonio.Tree, *Delta)
	// whole reads a reply that was not streamed; tree by default.
	whole func(jsonio.Tree, *Delta)
	// wholeScan comes before whole, for replies that are no object or worth a
	// scan, and reports whether it has read one.
	wholeScan func(body []byte, d *Delta) (bool, error)
	// failure finds the error in an object; any dialect's shape by default.
	failure func(jsonio.Tree) (string, bool)

	// ParseRequest is the server's half of Encode. Its error is meant for the
	// client's eyes, as the message of a 400.
	ParseRequest func(body []byte) (*llm.Request, ServerOptions, error)
	// Open appends what precedes the first output event, by default nothing.
	// The prompt's part of r.Usage is already known here.
	Open func(dst []byte, r *Reply) []byte
	// Output appends one event that carries text, preceded by those that
	// switch blocks where the dialect has them. The first Tool output after
	// another part begins a call and its text is the function's name; those
	// that follow are pieces of the JSON of its arguments.
	Output func(dst []byte, r *Reply, part llm.PartKind, text string) []byte
	// Close appends the framed events that end the stream in order, usage
	// included where it was asked for.
	Close func(dst []byte, r *Reply) []byte
	// Whole appends the body of a reply that is not streamed. A tool call is
	// its function's name and then the JSON object of its arguments, which is
	// what the Tool outputs of one call are when put together.
	Whole func(dst []byte, r *Reply, text, reasoning, tool string) []byte
	// EncodeError appends an error body, by default OpenAI's.
	EncodeError func(dst []byte, status int, message string) []byte
	// EncodeErrorEvent appends a framed in-stream error, by default the body of
	// one.
	EncodeErrorEvent func(dst []byte, message string) []byte
}

// Features is what requests and replies of a dialect can say.
type Features struct {
	// Reasoning and Tools say that a reply tells reasoning and tool calls apart
	// from text; else Output and Whole write them as text.
	Reasoning, Tools bool
	// WholeCalls says that a tool call is one event of a stream, and that the reason
	// for the end does not name it.
	WholeCalls bool
	// Schemas says that a request can carry the JSON Schema that its reply is
	// to keep.
	Schemas bool
	// IgnoreEOS says that a request can ask the model not to end its reply
	// before the length that is asked for.
	IgnoreEOS bool
	// Seed and Stop say that a request can carry them.
	Seed, Stop bool
}

// Has reports whether requests can say what one needs.
func (d *Dialect) Has(need llm.Need) bool {
	return slices.Contains(d.needs, need) || need == llm.NeedFormat && d.Schemas || d.messages != nil && d.messages.has(need)
}

// complete fills in what a dialect leaves out.
func complete(list ...*Dialect) []*Dialect {
	for _, d := range list {
		if d.Headers == nil {
			d.Headers = bearer
		}
		if d.Adapt == nil {
			d.Adapt = func(_ []byte, q Quirks) (Quirks, bool) { return q, false }
		}
		if d.whole == nil {
			d.whole = d.tree
		}
		if d.failure == nil {
			d.failure = errorMessage
		}
		if d.Open == nil {
			d.Open = func(dst []byte, _ *Reply) []byte { return dst }
		}
		if d.EncodeError == nil {
			d.EncodeError = openAIErrors.encode
		}
		if d.EncodeErrorEvent == nil {
			d.EncodeErrorEvent = d.frameError
		}
	}
	return list
}

// frameError makes an event of an error body.
func (d *Dialect) frameError(dst []byte, message string) []byte {
	if d.Framing == frame.Lines {
		return append(d.EncodeError(dst, 500, message), '\n')
	}
	return append(d.EncodeError(append(dst, "data: "...), 500, message), "\n\n"...)
}

// Dialects lists the APIs that generate text.
var Dialects = complete(
	&openAIChat,
	&openAICompletions,
	&openAIResponses,
	&anthropicMessages,
	&tgiGenerate,
	&ollamaChat,
	&ollamaGenerate,
	&sglangGenerate,
	&llamaCppCompletion,
)

// Pooling lists the APIs that make figures of texts: nothing streams, and no
// tokens come out.
var Pooling = complete(
	&embeddings,
	&rerank,
)

// All lists every API that is spoken.
func All() []*Dialect { return slices.Concat(Dialects, Pooling) }

// Quirks is what a client knows about how one server wants to be asked. The
// zero value asks for everything in the dialect's usual way.
type Quirks struct {
	NoStreamOptions     bool // leave out stream_options
	MaxCompletionTokens bool // max_completion_tokens instead of max_tokens
	NoIgnoreEOS         bool // leave out ignore_eos
	Texts               bool // rerank "texts" instead of "documents"
	NoSchema            bool // leave out the schema that a reply is to keep
	NoGreedy            bool // leave out a temperature of 0, which is the default
	// Extra holds the top-level keys that the user adds or overrides.
	Extra *Extra
}

// Delta is what one event, or one whole reply, says. Several parts can be in
// one event.
type Delta struct {
	Text, Reasoning, Tool []byte
	// Usage holds what this event reports and nothing of earlier ones: a
	// stream's usage is the MergeUsage of all its events.
	Usage    llm.Usage
	HasUsage bool
	// Timing is where the server says that the request was, Served who it says has
	// served it.
	Timing llm.Timing
	Served llm.ServedBy
	// Finish is the reason the model stopped, where given: "stop", "length",
	// "tool_calls", or the server's own word where it is none of these.
	Finish []byte
	Done   bool   // the closing event of the stream, or a whole reply
	Err    []byte // an error inside the stream
	HasErr bool
	Items  int // the vectors or scores of a whole reply

	scratch []byte // unescaped and joined strings
	scanner jsonio.Scanner
	running running
	calls   *calls // of all events so far; nil for none
}

// HasOutput reports whether d carries anything that the model generated.
func (d *Delta) HasOutput() bool {
	return len(d.Text) > 0 || len(d.Reasoning) > 0 || len(d.Tool) > 0
}

func (d *Delta) reset() {
	*d = Delta{scratch: d.scratch[:0], running: d.running, calls: d.calls}
	if d.calls != nil {
		d.calls.pieces = d.calls.pieces[:0]
	}
}

// MergeUsage folds a later report of usage into an earlier one. Reports are
// cumulative and may name only some of the figures, so for each figure the
// last one that is not zero wins.
func MergeUsage(into *llm.Usage, later llm.Usage) {
	for _, f := range [...]struct {
		into  *int
		later int
	}{
		{&into.PromptTokens, later.PromptTokens},
		{&into.CachedTokens, later.CachedTokens},
		{&into.VisionTokens, later.VisionTokens},
		{&into.OutputTokens, later.OutputTokens},
		{&into.ReasoningTokens, later.ReasoningTokens},
		{&into.HostTokens, later.HostTokens},
		{&into.StorageTokens, later.StorageTokens},
		{&into.Drafted, later.Drafted},
		{&into.Accepted, later.Accepted},
	} {
		if f.later != 0 {
			*f.into = f.later
		}
	}
}

// ServerOptions is what a request body says beyond llm.Request.
type ServerOptions struct {
	IncludeUsage bool // the client wants usage at the end of the stream
	// ContinuousUsage says that it wants usage in every event (vLLM's
	// continuous_usage_stats).
	ContinuousUsage bool
	// IncludeMetrics says that it wants the times of its request (vLLM's
	// include_metrics).
	IncludeMetrics bool
	IgnoreEOS      bool
	// Base64 says that vectors are wanted as base64 of little-endian floats,
	// and Dimensions how long they shall be; 0 for the model's own length.
	Base64     bool
	Dimensions int
	// Texts says that rerank was asked for, and is answered, in the manner of
	// text-embeddings-inference.
	Texts bool
}

// Reply is the server's side of one answer. One Reply serves one stream, from
// Open to Close.
type Reply struct {
	ID      string // without the dialect's prefix
	Model   string
	Created int64 // Unix seconds
	// Usage is read at Open (the prompt's part), at Close, and, with
	// ContinuousUsage, at every Output.
	Usage  llm.Usage
	Finish string // "stop" or "length"
	// IncludeUsage says that the stream ends with usage.
	IncludeUsage bool
	// ContinuousUsage says that every event carries usage.
	ContinuousUsage bool
	// IncludeMetrics says that it ends with the times of the request.
	IncludeMetrics bool
	// Tools says that the reply holds tool calls.
	Tools bool
	// Items is how many vectors or scores the reply holds. Options says in
	// what form they were asked for.
	Items   int
	Options ServerOptions
	// Prefill and Decode are how long the engine took to the first token and
	// from there to the last, for dialects that tell.
	Prefill, Decode time.Duration
	// Timing is where the request was until its first token.
	Timing llm.Timing

	opening []byte       // what all events begin with, in dialects that have such
	part    llm.PartKind // the part the last Output carried; Text before the first
	blocks  int          // blocks begun, for dialects that number them
	calls   int          // tool calls begun
	events  int          // events written, for dialects that number them
	said    []byte       // the text so far, for dialects that repeat it
	items   []item       // the blocks so far, for dialects that repeat them
}

// say adds to the text so far, each piece as the reader will see it.
func (r *Reply) say(text string) {
	r.said = append(r.said, strings.ToValidUTF8(text, "\uFFFD")...)
}

// turn notes that the next output carries part and reports whether it begins a
// tool call.
func (r *Reply) turn(part llm.PartKind) (call bool) {
	call = part == llm.ToolCall && r.part != llm.ToolCall
	if call {
		r.calls++
	}
	r.part = part
	return call
}

// finish is the reason for stopping in a dialect's words; tools is "" where it
// has no tool calls.
func (r *Reply) finish(stop, length, tools string) string {
	switch {
	case r.Finish == "length":
		return length
	case tools != "" && (r.Tools || r.calls > 0):
		return tools
	}
	return stop
}
