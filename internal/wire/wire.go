// Package wire holds the dialects that inference servers speak, both halves of
// each: requests to bytes and back, stream events to bytes and back, and their
// framing. The client uses one half, the simulator the other, and one
// conformance suite drives both. It opens no connection and reads no clock.
package wire

import (
	"strings"

	"redline/internal/llm"
)

// Dialect is one API: how to ask, and how answers look. A new dialect is a file
// (two where it is long: one per half) and a line in Dialects.
type Dialect struct {
	Name string // as --api names it: "openai-chat"
	Path string // the path it is served at: "/v1/chat/completions"
	// KeyEnv is the environment variable that holds the key by default.
	KeyEnv string
	// TextOnly says that the dialect knows neither reasoning nor tool calls:
	// Output and Whole then write every part as text.
	TextOnly bool
	// Headers gives the request headers the dialect needs beside
	// Content-Type; key is "" where none is set.
	Headers func(key string) [][2]string

	// Encode appends the JSON body that asks for r.
	Encode func(dst []byte, r *llm.Request, q Quirks) []byte
	// Adapt looks at the body of a 400 or 422 and says whether asking again
	// with other quirks would help.
	Adapt func(body []byte, q Quirks) (Quirks, bool)
	// Decode reads one stream event. It overwrites *Delta, whose byte slices
	// alias data or the Delta's own scratch and live until the next call.
	Decode func(name, data []byte, d *Delta) error
	// DecodeWhole reads the body of a reply that was not streamed.
	DecodeWhole func(body []byte, d *Delta) error
	// DecodeError finds the message in an error body; "" when there is none.
	DecodeError func(body []byte) string

	// ParseRequest is the server's half of Encode. Its error is meant for the
	// client's eyes, as the message of a 400.
	ParseRequest func(body []byte) (*llm.Request, ServerOptions, error)
	// Open appends what precedes the first output event, if anything. The
	// prompt's part of r.Usage is already known here.
	Open func(dst []byte, r *Reply) []byte
	// Output appends one event that carries text, preceded by those that
	// switch blocks where the dialect has them. The first Tool output after
	// another part begins a call and its text is the function's name; those
	// that follow are pieces of the JSON of its arguments.
	Output func(dst []byte, r *Reply, part llm.Part, text string) []byte
	// Close appends the framed events that end the stream in order, usage
	// included where it was asked for.
	Close func(dst []byte, r *Reply) []byte
	// Whole appends the body of a reply that is not streamed. A tool call is
	// its function's name and then the JSON object of its arguments, which is
	// what the Tool outputs of one call are when put together.
	Whole func(dst []byte, r *Reply, text, reasoning, tool string) []byte
	// EncodeError appends an error body.
	EncodeError func(dst []byte, status int, message string) []byte
	// EncodeErrorEvent appends a framed in-stream error.
	EncodeErrorEvent func(dst []byte, message string) []byte
}

// Dialects lists every API that is spoken. Where the path of one ends with the
// path of another, the longer one stands first.
var Dialects = []*Dialect{
	&openAIChat,
	&openAICompletions,
	&anthropicMessages,
}

// ByName finds the dialect that --api names.
func ByName(name string) (*Dialect, bool) {
	for _, d := range Dialects {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}

// ByPath finds the dialect that a URL's path selects by itself. A base such as
// "", "/" or "/v1" selects none.
func ByPath(urlPath string) (*Dialect, bool) {
	urlPath = strings.TrimRight(urlPath, "/")
	for _, d := range Dialects {
		if strings.HasSuffix(urlPath, d.tail()) {
			return d, true
		}
	}
	return nil, false
}

// Resolve turns the path of a URL into the path to ask: a path that is already
// the dialect's own stays, a base that ends with a version ("/v1") keeps its
// version, and any other base is followed by the dialect's whole path.
func (d *Dialect) Resolve(urlPath string) string {
	urlPath = strings.TrimRight(urlPath, "/")
	if own, ok := ByPath(urlPath); ok && own == d {
		return urlPath
	}
	if isVersion(urlPath[strings.LastIndexByte(urlPath, '/')+1:]) {
		return urlPath + d.tail()
	}
	return urlPath + d.Path
}

// tail is the dialect's path without its version, by which it is recognised
// behind gateways that serve it under a prefix of their own.
func (d *Dialect) tail() string { return strings.TrimPrefix(d.Path, "/v1") }

func isVersion(segment string) bool {
	digits, ok := strings.CutPrefix(segment, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// Quirks is what a client knows about how one server wants to be asked. The
// zero value asks for everything in the dialect's usual way.
type Quirks struct {
	NoStreamOptions     bool // leave out stream_options
	MaxCompletionTokens bool // max_completion_tokens instead of max_tokens
	NoIgnoreEOS         bool // leave out ignore_eos
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
	// Finish is the reason the model stopped, where given: "stop", "length",
	// "tool_calls", or the server's own word where it is none of these.
	Finish []byte
	Done   bool   // the closing event of the stream, or a whole reply
	Err    []byte // an error inside the stream
	HasErr bool

	scratch []byte // unescaped and joined strings
}

// HasOutput reports whether d carries anything that the model generated.
func (d *Delta) HasOutput() bool {
	return len(d.Text) > 0 || len(d.Reasoning) > 0 || len(d.Tool) > 0
}

func (d *Delta) reset() { *d = Delta{scratch: d.scratch[:0]} }

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
		{&into.OutputTokens, later.OutputTokens},
		{&into.ReasoningTokens, later.ReasoningTokens},
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
	IgnoreEOS       bool
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
	// Tools says that the reply holds tool calls.
	Tools bool

	part   llm.Part // the part the last Output carried; Text before the first
	blocks int      // blocks begun, for dialects that number them
	calls  int      // tool calls begun
}

// turn notes that the next output carries part and reports whether it begins a
// tool call.
func (r *Reply) turn(part llm.Part) (call bool) {
	call = part == llm.Tool && r.part != llm.Tool
	if call {
		r.calls++
	}
	r.part = part
	return call
}

// finish is the reason for stopping in OpenAI's words.
func (r *Reply) finish() string {
	if r.Finish != "length" && (r.Tools || r.calls > 0) {
		return "tool_calls"
	}
	return r.textFinish()
}

// textFinish is the same where the dialect has no tool calls.
func (r *Reply) textFinish() string {
	if r.Finish == "length" {
		return "length"
	}
	return "stop"
}
