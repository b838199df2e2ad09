// Package wire holds the dialects that inference servers speak, both halves of
// each: requests to bytes and back, stream events to bytes and back, and their
// framing. The client uses one half, the simulator the other, and one
// conformance suite drives both. It opens no connection and reads no clock.
package wire

import (
	"redline/internal/llm"
)

// Dialect is one API: how to ask, and how answers look. A new dialect is one
// file and one line in Dialects.
type Dialect struct {
	Name string // as --api names it: "openai-chat"
	Path string // the path it is served at: "/v1/chat/completions"
	// KeyEnv is the environment variable that holds the key by default.
	KeyEnv string
	// Headers gives the request headers the dialect needs beside
	// Content-Type; key is "" where none is set.
	Headers func(key string) [][2]string

	// Encode appends the JSON body that asks for r.
	Encode func(dst []byte, r *llm.Request, q Quirks) []byte
	// Adapt looks at the body of a 400 and says whether asking again with
	// other quirks would help.
	Adapt func(body []byte, q Quirks) (Quirks, bool)
	// Decode reads one stream event. It overwrites *Delta, whose byte slices
	// alias data or the Delta's own scratch and live until the next call.
	Decode func(name, data []byte, d *Delta) error
	// DecodeWhole reads the body of a reply that was not streamed.
	DecodeWhole func(body []byte, d *Delta) error
	// DecodeError finds the message in an error body; "" when there is none.
	DecodeError func(body []byte) string

	// ParseRequest is the server's half of Encode.
	ParseRequest func(body []byte) (*llm.Request, ServerOptions, error)
	// Open appends what precedes the first output event, if anything.
	Open func(dst []byte, r *Reply) []byte
	// Output appends one framed event that carries d's output.
	Output func(dst []byte, r *Reply, part llm.Part, text string) []byte
	// Close appends the framed events that end the stream in order, usage
	// included where it was asked for.
	Close func(dst []byte, r *Reply) []byte
	// Whole appends the body of a reply that is not streamed.
	Whole func(dst []byte, r *Reply, text, reasoning, tool string) []byte
	// EncodeError appends an error body.
	EncodeError func(dst []byte, status int, message string) []byte
	// EncodeErrorEvent appends a framed in-stream error.
	EncodeErrorEvent func(dst []byte, message string) []byte
}

// Quirks is what a client learns about a server that does not know all of a
// dialect. The zero value asks for everything.
type Quirks struct {
	NoStreamOptions     bool // leave out stream_options
	MaxCompletionTokens bool // max_completion_tokens instead of max_tokens
	NoIgnoreEOS         bool // leave out ignore_eos
}

// Delta is what one event, or one whole reply, says. Several parts can be in
// one event.
type Delta struct {
	Text, Reasoning, Tool []byte
	Usage                 llm.Usage
	HasUsage              bool
	Finish                []byte // the reason the model stopped, where given
	Done                  bool   // the closing event of the stream
	Err                   []byte // an error inside the stream
	HasErr                bool

	scratch []byte // unescaped strings
}

// ServerOptions is what a request body says beyond llm.Request.
type ServerOptions struct {
	IncludeUsage bool // the client wants usage in the stream
	IgnoreEOS    bool
}

// Reply is the server's side of one answer.
type Reply struct {
	ID      string
	Model   string
	Created int64 // Unix seconds
	Usage   llm.Usage
	Finish  string // "stop" or "length"
	// IncludeUsage says that the stream ends with usage.
	IncludeUsage bool
	// Tools says that the reply holds tool calls.
	Tools bool

	opened llm.Part // the part the last Output carried, for dialects with blocks
	blocks int
}
