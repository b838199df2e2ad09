package replay

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
)

// Recording is the requests of one load, in the order in which they came.
type Recording struct {
	// Cap is how many requests were in flight at most; 0 for an open loop.
	Cap    int
	Closed bool
	// Start and End bound the window.
	Start, End int64
	Requests   []ObservedRequest
}

// ObservedRequest is one request: when it came, how long it was, and what became of
// it. Times are nanoseconds.
type ObservedRequest struct {
	Request
	Session, Turn int
	At            int64 // sent, or due where a cap delayed it
	Counted       bool  // in the measured window, and ok
	// TTFT, TPOT and E2E are negative where they are not known.
	TTFT, TPOT, E2E float64
	First, Last     int64
}

// Record begins the recording of a load.
func Record(l result.Load) Recording {
	rec := Recording{Closed: l.Mode == "closed"}
	if l.Concurrency != nil {
		rec.Cap = *l.Concurrency
	}
	return rec
}

// Add takes in a request that was answered, or was still being answered at the
// end: the server worked on it all the same.
func (rec *Recording) Add(r *record.Record) {
	output := r.OutputTokens
	if r.Outcome == llm.Censored {
		output = max(output, r.AskedOutput)
	}
	if r.Sent == 0 || r.First == 0 && r.Outcome != llm.Censored || r.PromptTokens+r.AskedPrompt == 0 || output < 1 {
		return
	}
	o := ObservedRequest{
		Request: Request{Prompt: cmp.Or(r.PromptTokens, r.AskedPrompt), Cached: r.CachedTokens, Output: output, Adapter: r.Adapter},
		Session: r.Session, Turn: r.Turn, At: r.Sent, First: r.First, Last: r.Last,
		Counted: r.Phase == record.Measure && r.Outcome == llm.OK,
		TTFT:    -1, TPOT: -1, E2E: float64(r.Last - r.Sent),
	}
	if r.Priority != nil {
		o.Priority = *r.Priority
	}
	if r.Schema > 0 {
		o.Grammar = strconv.Itoa(r.Schema)
	}
	if r.Prefix > 0 && r.AskedPrompt > 0 { // the server may count otherwise than the workload
		o.Prefix = int(crc32.ChecksumIEEE(fmt.Append(nil, r.Prefix, r.Class))) // classes share no text
		o.Shared = r.PrefixTokens * o.Prompt / r.AskedPrompt
	}
	if rec.Cap > 0 && !rec.Closed && r.Due > 0 {
		o.At = r.Due
	}
	if r.Streamed && r.First > 0 {
		o.TTFT = float64(r.First - r.Sent)
		if n := r.TokensAfterFirst(); n >= 1 && r.Last > r.First {
			o.TPOT = float64(r.Last-r.First) / float64(n)
		}
	}
	rec.Requests = append(rec.Requests, o)
}

// Order sorts the requests by when they came.
func (rec *Recording) Order() {
	slices.SortStableFunc(rec.Requests, func(a, b ObservedRequest) int { return cmp.Compare(a.At, b.At) })
}
