// Package record holds one request's fate: its stamps, its outcome, and the
// arrival of every output event at about four bytes each; and the log that
// keeps records while a run goes on. It takes stamped events and gives lines
// of JSON, and reads them back. It knows nothing of HTTP, windows or
// percentiles.
package record

import (
	"encoding/binary"
	"iter"

	"redline/internal/llm"
)

// Schema names the record log's format.
const Schema = "redline/record/1"

// Phase says which part of a stage a request was due in.
type Phase string

// The phases of a stage.
const (
	Warmup   Phase = "warmup"
	Measure  Phase = "measure"
	Cooldown Phase = "cooldown"
)

// Counted says where a record's output token count comes from.
type Counted string

// The sources of a token count, best first.
const (
	ByUsage     Counted = "usage"
	ByTokenizer Counted = "tokenizer"
	ByEvents    Counted = "events"
)

// Record is one request's fate. Stamps are nanoseconds from the run's origin,
// which lies before any of them: 0 means unknown.
type Record struct {
	ID      int
	Session int
	Turn    int
	Class   string
	Tenant  string
	Phase   Phase
	Try     int // tries made; 0 for a request never begun

	Due, Begin, Slot, Conn    int64
	Dialed, Secured           int64 // set-up of a new connection, else 0
	Sent, Written, Head       int64
	First, Answer, Last, End  int64
	Outcome                   llm.Outcome
	Status                    int
	PromptTokens, AskedPrompt int
	CachedTokens              int
	OutputTokens, AskedOutput int
	ReasoningTokens           int
	Counted                   Counted
	Streamed                  bool
	Coalesced                 int // output events that carry only an upper bound
	ConnNew                   bool
	Reconnects                int
	Addr                      string
	Error                     string

	chunks chunks
}

// chunks is the arrival of every output event in varints: microsecond gaps
// between rounded absolute times, so that rounding never accumulates, and the
// tokens each carried. While a request streams, weights hold text lengths;
// Settle turns them into tokens.
type chunks struct {
	n         int
	gaps      []byte
	weights   []byte // text length while streaming, tokens once settled; nil: one token each
	lastUS    int64
	spread    bool // tokens are the usage spread by text length: an estimate
	reasoning bool // some event carried reasoning
}
