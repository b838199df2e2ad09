// Package record holds one request's fate: its stamps, its outcome, and the
// arrival of every output event at about four bytes each; and the log that
// keeps records while a run goes on. It takes stamped events and gives lines
// of JSON, and reads them back. It knows nothing of HTTP, windows or
// percentiles.
package record

import (
	"iter"
	"strconv"
	"strings"

	"redline/internal/llm"
)

// Schema names the record log's format.
const Schema = "redline/record/2"

// firstSchema is the format before logs knew what was in flight.
const firstSchema = "redline/record/1"

// Phase says which part of a stage a request was due in.
type Phase string

// The phases of a stage.
const (
	Warmup   Phase = "warmup"
	Measure  Phase = "measure"
	Cooldown Phase = "cooldown"
)

// CountSource says where a record's output token count comes from.
type CountSource string

// The sources of a token count, best first.
const (
	ByUsage     CountSource = "usage"
	ByTokenizer CountSource = "tokenizer"
	ByEvents    CountSource = "events"
)

// Record is one request's fate. Stamps are nanoseconds from the run's origin,
// which lies before any of them: 0 means unknown.
type Record struct {
	ID      int
	Session int
	Turn    int
	// Turns is how many turns its session sends in all, 0 where that is not known.
	Turns int
	// Depth is 0 for the agent of a job, 1 for its subagents, 2 for theirs.
	Depth int
	// Inputs is how many texts an answer that is no text itself was asked for:
	// to embed, or to rank; 0 otherwise.
	Inputs int
	// Natural says that the model was to end its reply by itself: AskedOutput
	// only bounds it.
	Natural bool
	Class   string
	Tenant  string
	Phase   Phase
	Try     int // tries made; 0 for a request never begun

	// Images is how many images the request has; ImageBytes are those of all as they
	// are encoded, ImagePixels what they show.
	Images, ImageBytes, ImagePixels int

	Due, Begin, Slot, Conn   int64
	Dialing, Dialed, Secured int64 // set-up of a new connection, else 0
	Sent, Written, Head      int64
	First, Answer, Last, End int64
	// Lengths of time, in ns: the quickest round trip on a connection, with the first reply on
	// it, and what the server says of itself.
	Trip         int64
	ServerTiming llm.Timing

	Outcome      llm.Outcome
	Status       int
	PromptTokens int
	AskedPrompt  int
	CachedTokens int
	VisionTokens int // of the prompt, those that stand for images; 0 also where not told
	IdealCached  int // of the prompt, in an endless prefix cache; 0 also where not known
	// HostTokens and StorageTokens are cached ones that lay behind the device, Drafted
	// and Accepted those of the reply that were guessed, and guessed right; 0 also where
	// not told.
	HostTokens, StorageTokens int
	Drafted, Accepted         int
	OutputTokens              int
	AskedOutput               int
	ReasoningTokens           int
	// StreamedTokens is OutputTokens less the reasoning that usage reports but
	// no delta carried.
	StreamedTokens int
	// LocalTokens is the local tokenizer's count of the output, where it ran, and
	// LocalByEvent the sum of what it counts in each event alone.
	LocalTokens, LocalByEvent int
	// TextSum is a sum of the text that was counted, the same for the same text; 0
	// where not all of it was.
	TextSum int
	// Claimed is how many of them streamed by usage, where the model's own
	// tokenizer finds another number, which is StreamedTokens then; else 0.
	Claimed int
	// FirstEstimate is the tokens of the first output event by the tokenizer,
	// where the server does not tell them; 0 if unknown.
	FirstEstimate int
	Counted       CountSource
	// KVBytes is what its tokens take in the key-value cache by the shape of the
	// model; 0 where that is not known.
	KVBytes int
	// Apart says that usage counts reasoning beside the output tokens and not in
	// them: OutputTokens is the sum. Repeats says that every event held the whole
	// text so far.
	Apart, Repeats bool
	Streamed       bool
	// Adapter and Priority are what was asked for, as far as it was.
	Adapter  string
	Priority *int
	// Prefix is which shared text the prompt begins with, from 1, and PrefixTokens how
	// long that was meant to be.
	Prefix, PrefixTokens int
	// Tools is how many definitions of tools went with the request, Schema which
	// schema its reply was to keep, from 1, and Calls how many calls came back.
	Tools, Schema, Calls int
	// Called and Formed are how the calls compare with the tools, and the text with
	// the schema.
	Called, Formed llm.Check
	// Garbage is what is wrong with the text, "" where it was not looked at.
	Garbage    llm.Garbage
	Coalesced  int // output events whose time is only an upper bound
	ConnNew    bool
	Reconnects int
	Addr       string
	Served     llm.ServedBy
	Error      string
	// Reason is why a gateway refused the request, and RetryAfter how long it asks
	// to be left alone, in nanoseconds.
	Reason     string
	RetryAfter int64
	// Refused are the reasons of the tries before the last that were refused, with reasonBreak between them.
	Refused string

	chunks chunks
	thin   thin
}

// cutOff ends a request whose end is not in the log: it was on its way at at.
func (r *Record) cutOff(at int64) {
	r.Outcome, r.Error = llm.Censored, "still running when the run was cut off"
	if r.Sent == 0 {
		r.Outcome, r.Error = llm.Unsent, "not sent when the run was cut off"
	}
	r.End = max(at, r.Due, r.Begin, r.Sent, r.First)
}

// Reset makes r ready for another request and keeps its memory.
func (r *Record) Reset() {
	*r = Record{chunks: r.chunks.reset()}
}

// Observe takes in one event of the request's life.
func (r *Record) Observe(ev llm.Event) {
	switch ev.Kind {
	case llm.Reconnect:
		r.Reconnects++
	case llm.Dialed:
		r.Dialing, r.Dialed, r.Secured, r.ConnNew = ev.Since, ev.At, 0, true
	case llm.Secured:
		r.Secured = ev.At
	case llm.Ready:
		r.Conn, r.Addr = ev.At, ev.Addr
	case llm.Sent:
		r.Sent = ev.At
		if ev.Retried {
			r.Try++
		}
	case llm.Written:
		r.Written = ev.At
	case llm.Head:
		r.Head, r.Status, r.Trip = ev.At, ev.Status, ev.Trip
	case llm.Placed:
		r.Served.Merge(*ev.By)
	case llm.Output:
		r.output(ev)
	case llm.UsageSeen:
		r.usage(ev.Usage)
	case llm.Timed:
		r.ServerTiming.Merge(ev.Timing)
	case llm.End:
		r.End, r.Outcome = ev.At, llm.OK
	}
}

func (r *Record) output(ev llm.Event) {
	if r.First == 0 {
		r.First = ev.At
	}
	if r.Answer == 0 && ev.Part != llm.Reasoning {
		r.Answer = ev.At
	}
	r.Last = ev.At
	if ev.Coalesced {
		r.Coalesced++
	}
	r.chunks.add(ev.At, r.Sent, len(ev.Text), ev.Part == llm.Reasoning)
}

// usage keeps the last non-zero value of each field: servers report them
// cumulatively and in pieces.
func (r *Record) usage(u llm.Usage) {
	keep := func(field *int, seen int) {
		if seen != 0 {
			*field = seen
		}
	}
	keep(&r.PromptTokens, u.PromptTokens)
	keep(&r.CachedTokens, u.CachedTokens)
	keep(&r.VisionTokens, u.VisionTokens)
	keep(&r.HostTokens, u.HostTokens)
	keep(&r.StorageTokens, u.StorageTokens)
	keep(&r.Drafted, u.Drafted)
	keep(&r.Accepted, u.Accepted)
	keep(&r.ReasoningTokens, u.ReasoningTokens)
	keep(&r.OutputTokens, u.OutputTokens)
	r.chunks.count(r.OutputTokens)
}

// Fail ends the request with a fault.
func (r *Record) Fail(f *llm.Fault) {
	r.Outcome, r.End, r.Error = f.Outcome, f.At, f.Message
	r.Reason, r.RetryAfter = f.Reason, int64(f.RetryAfter)
	if f.Status != 0 {
		r.Status = f.Status
	}
}

// reasonBreak stands between reasons.
const reasonBreak = "; "

// RefusalReason is why the request was rejected: as the gateway names it, else by its status;
// "" where the record has neither.
func (r *Record) RefusalReason() string {
	switch {
	case r.Reason != "":
		return strings.ReplaceAll(r.Reason, reasonBreak, ", ")
	case r.Status == 0:
		return ""
	case r.Status == 200:
		return "overloaded"
	}
	return "HTTP " + strconv.Itoa(r.Status)
}

// RefusedBefore is why tries before the last were refused, with that of the last where it was.
func (r *Record) RefusedBefore() string {
	reason := ""
	if r.Outcome == llm.Rejected {
		reason = r.RefusalReason()
	}
	if r.Refused != "" && reason != "" {
		reason = reasonBreak + reason
	}
	return r.Refused + reason
}

// Reasons gives those of Refused one by one.
func Reasons(refused string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for reason := range strings.SplitSeq(refused, reasonBreak) {
			if reason != "" && !yield(reason) {
				return
			}
		}
	}
}

// Short reports whether an ok reply is not of the length that was asked for.
func (r *Record) Short() bool {
	return r.Outcome == llm.OK && !r.Natural && r.AskedOutput > 0 && r.OutputTokens != r.AskedOutput
}
