// Package llm is the vocabulary of the program: what is asked of a language
// model, what streams back, and how it fails. It knows no provider, no wire
// format and no clock; times are nanoseconds from the run's origin.
package llm

import (
	"fmt"
	"slices"
	"time"
)

// Sampling holds the generation knobs. A nil pointer leaves the server's own
// default in force.
type Sampling struct {
	Temperature *float64
	TopP        *float64
	Seed        *int64
	Stop        []string
}

// Validate says which knob no server takes.
func (s Sampling) Validate() error {
	if t := s.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		return fmt.Errorf("temperature: must be 0 to 2, got %v", *t)
	}
	if p := s.TopP; p != nil && !(*p > 0 && *p <= 1) {
		return fmt.Errorf("top_p: must be above 0 and up to 1, got %v", *p)
	}
	if slices.Contains(s.Stop, "") {
		return fmt.Errorf("stop: expected texts that are not empty, got %q", s.Stop)
	}
	return nil
}

// Request is one generation that is asked for.
type Request struct {
	// ID is sent as X-Request-Id and joins records with a server's own log.
	ID       string
	Model    string
	Messages []Message
	// MaxTokens is the output length asked for.
	MaxTokens int
	Stream    bool
	Sampling  Sampling

	// PromptTokens is the designed prompt length, in tokens of the workload's
	// own vocabulary.
	PromptTokens int
	Class        string
	Tenant       string
	// Session names the conversation, the same in all its turns; "" for a
	// request that stands alone.
	Session string
	// Headers go with this request alone and win over the provider's own, as do
	// the members of Body: those of its Additions, or what keeps a session on
	// one replica.
	Headers [][2]string
	Body    map[string]any
	// Key, Adapter, Priority and Deadline are those of its Additions.
	Key      string
	Adapter  string
	Priority *int
	Deadline time.Duration
	// Inputs is how many texts the request asks about, where its answer is no
	// text itself but vectors or scores; 0 otherwise.
	Inputs int
	// Natural leaves the end of the reply to the model: MaxTokens only bounds
	// it.
	Natural bool
	// Tools are what the model may call, nil for none.
	Tools *Toolset
	// Format is the form that the reply is to have, nil for text.
	Format *Format
	// Check compares what a reply says and calls with Format and Tools; nil where
	// nothing is to be compared.
	Check func(text string, calls []Part) (called, formed Check)
	// Tokenize writes the prompt as token ids, where those are sent in the place of
	// text; PromptIDs are what a server got.
	Tokenize  func(text string) []int32
	PromptIDs []int32
	// Cancel is when redline closes it before its end; nil for never.
	Cancel *Cancel
	// Prepared is what a target has made of the request ahead of its due time;
	// nobody else knows what it is.
	Prepared any
}

// Cancel is the moment at which a request is closed by redline: as a user does who
// closes the page. The zero value is as soon as the request is written.
type Cancel struct {
	// Tokens is after so many of the reply; 0 does not wait for output.
	Tokens int
	// After is the time since the request was written.
	After time.Duration
	// Prefill is the share of the time to first token, as other requests had it, that
	// passes before.
	Prefill float64
}

// RequestID joins a run's id and a request's number. A run id of the first four
// groups of a UUID makes it one: some servers refuse any other.
func RequestID(run string, number int) string { return fmt.Sprintf("%s-%012d", run, number) }

// Usage is what the server says it counted. Zero fields were not reported.
type Usage struct {
	PromptTokens int
	CachedTokens int // part of PromptTokens
	// VisionTokens are the part of PromptTokens that stands for images.
	VisionTokens int
	OutputTokens int
	// ReasoningTokens is part of OutputTokens; some vendors count it beside them,
	// which only what streamed can tell.
	ReasoningTokens int
	// HostTokens and StorageTokens are the parts of CachedTokens that lay in a tier
	// behind the device.
	HostTokens, StorageTokens int
	// Drafted tokens were guessed, Accepted of them were right.
	Drafted, Accepted int
}

// ServedBy is who served a request behind a gateway, as the reply names it; "" where it
// does not.
type ServedBy struct {
	// Replica is the engine that generated, Prefiller the one that read the prompt,
	// where it is another.
	Replica, Prefiller string
}

// RankOf is the name of a rank of a replica.
func RankOf(replica, rank string) string {
	switch {
	case rank == "":
		return replica
	case replica == "":
		return "rank " + rank
	}
	return replica + "/" + rank
}

// Merge takes what a later part of the reply tells.
func (s *ServedBy) Merge(later ServedBy) {
	if later.Replica != "" {
		s.Replica = later.Replica
	}
	if later.Prefiller != "" {
		s.Prefiller = later.Prefiller
	}
}

// Timing is where a server says that a request was until its first token, in ns:
// lengths by its own clock, never points in time. 0 is not told; a length of nothing
// that is told is 1.
type Timing struct {
	Gateway, FrontEnd, Queue, Prefill, Transfer, Write int64
}

// TimingNS is a length of time in a Timing, of one in ms: 0 for what is no length.
func TimingNS(ms float64) int64 {
	if !(ms >= 0 && ms < 1e9) {
		return 0
	}
	return max(1, int64(ms*1e6))
}

// Merge takes what a later report tells.
func (t *Timing) Merge(later Timing) {
	for _, f := range [...]struct {
		into  *int64
		later int64
	}{{&t.Gateway, later.Gateway}, {&t.FrontEnd, later.FrontEnd}, {&t.Queue, later.Queue}, {&t.Prefill, later.Prefill}, {&t.Transfer, later.Transfer}, {&t.Write, later.Write}} {
		if f.later != 0 {
			*f.into = f.later
		}
	}
}

// EventKind names a moment in the life of one request on the wire.
type EventKind uint8

// The events a target yields, in the order in which they can come. Dialed and
// Secured come only where a connection had to be opened; Reconnect where a
// kept-alive connection turned out to be dead and was opened again.
const (
	Reconnect EventKind = iota + 1
	Dialed
	Secured
	Ready
	Sent
	Written
	Head
	Placed
	Output
	UsageSeen
	Timed
	End
)

// Event is one stamped moment of a request. Text is valid only until the next
// event is asked for.
type Event struct {
	Kind EventKind
	// Coalesced marks an output event that shared its read with an earlier
	// one: of k events from one read only one has its true time, and for the
	// others At is an upper bound.
	Coalesced bool
	Part      PartKind
	Retried   bool // with Sent: asked again in another form after a 400
	// At is the arrival, or the moment of sending, from the run's origin.
	At     int64
	Text   []byte
	Usage  Usage     // with UsageSeen: cumulative
	Timing Timing    // with Timed: what the reply says of itself
	Status int       // with Head
	Trip   int64     // with Head of a connection's first reply: its quickest round trip, in ns
	Addr   string    // with Ready: the peer's address
	By     *ServedBy // with Placed
	Since  int64     // with Dialed: when its opening began
	Calls  []Part    // with End: the tool calls of the reply, put together
}

// Fault is a request that did not succeed: data for a record, not an error of
// the program. It satisfies error so that a target can yield it.
type Fault struct {
	Outcome    Outcome
	At         int64 // when it was known
	Status     int
	Message    string
	RetryAfter time.Duration
	Reason     string // of a rejection, as a gateway names it
}

func (f *Fault) Error() string {
	if f.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d): %s", f.Outcome, f.Status, f.Message)
	}
	return fmt.Sprintf("%s: %s", f.Outcome, f.Message)
}

// Reply is what a session learns about its previous turn.
type Reply struct {
	Outcome Outcome
	// Text and Calls are what it says and which tools it calls, only where the
	// turn asked to keep them.
	Text  string
	Calls []Part
	// Turn is the turn's number, Due when it was due and End when it ended, from the
	// run's origin.
	Turn     int
	Due, End int64
}

// Turn is one request of a session and the time that passes before it.
type Turn struct {
	Request *Request
	// Write gives Request its messages, where it has none yet: those of long prompts
	// are written shortly before they are sent, and let go when the reply has begun.
	Write func() []Message
	// Ahead says that Write is quick and the body large, as with images: both are
	// made well before the turn is due.
	Ahead bool
	// Think is the user's or tool's time between the previous turn's end and
	// this turn's due time; the first turn has none.
	Think time.Duration
	// KeepReply asks for the reply's text to be handed to the next turn.
	KeepReply bool
	// Number is the turn's place in its session, larger than that of every turn
	// that it waits for; 0 is one behind the turn before.
	Number int
	// Of is how many turns the session sends in all, 0 where that is not known.
	Of int
	// Depth is 0 for the agent of a job, 1 for its subagents, 2 for theirs.
	Depth int
	// Ideal is how many tokens of the prompt an endless prefix cache would have; 0
	// for none, and where that is not known.
	Ideal int
	// Prefix is which text the prompt begins with that other sessions share, from 1, and
	// PrefixTokens how long that is; 0 for none, and where that is not known.
	Prefix, PrefixTokens int
	// After is when the last of several turns that it waits for ended, from the
	// run's origin; 0 where it waits for the turn before alone.
	After int64
	// Beside are turns that may be sent at the same time. The first turn's count
	// their Think from its due time.
	Beside []*Turn
}

// Compose writes the request's messages where they are not.
func (t *Turn) Compose() {
	if t.Write != nil && t.Request.Messages == nil {
		t.Request.Messages = t.Write()
	}
}

// LetGo forgets the messages that Compose can write again.
func (t *Turn) LetGo() {
	if t.Write != nil {
		t.Request.Messages = nil
	}
}

// Session is a conversation, whose turns come one after another, each knowing
// how the one before it went; or a graph of turns, several of which may be under
// way at once.
type Session interface {
	// Next gives the turn, with others beside it, that the end of a turn makes
	// ready, or nil where it makes none ready: the session is over when no turn is
	// under way. prev is nil before the first turn. A session that ever gives
	// turns beside others is asked from several goroutines.
	Next(prev *Reply) *Turn
}

// Single is the session of exactly one request.
func Single(r *Request) Session { return &single{r} }

type single struct{ r *Request }

func (s *single) Next(prev *Reply) *Turn {
	if prev != nil {
		return nil
	}
	return &Turn{Request: s.r}
}
