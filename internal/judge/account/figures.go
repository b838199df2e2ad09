package account

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/drive/record"
	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/llm"
)

// figure numbers one request's own latencies.
type figure int

const (
	ttft figure = iota
	ttftDue
	ttfa
	ttftPerImage
	tpot
	stall
	e2e
	e2eDue
	decode
	lag
	slotWait
	upload
	connect
	tls
	gateway
	frontEnd
	waiting
	prefill
	transfer
	firstWrite
	itlTail // the request's own p99 gap, its maximum below 100 gaps
	iclTail
	figureCount
)

// requestFigure is a latency that each request has one of.
type requestFigure struct {
	name   string // as METRICS.md spells it
	figure figure
	server bool // of the server's making: it has a tail ratio
}

var requestFigures = []requestFigure{
	{"ttft", ttft, true},
	{"ttft_due", ttftDue, true},
	{"ttfa", ttfa, true},
	{"ttft_per_image", ttftPerImage, true},
	{"tpot", tpot, true},
	{"stall", stall, true},
	{"e2e", e2e, true},
	{"e2e_due", e2eDue, true},
	{"decode", decode, true},
	{"lag", lag, false},
	{"slot_wait", slotWait, false},
	{"upload", upload, false},
	{"connect", connect, false},
	{"tls", tls, false},
	{"gateway", gateway, true},
	{"front_end", frontEnd, true},
	{"queue", waiting, true},
	{"prefill", prefill, true},
	{"transfer", transfer, true},
	{"first_write", firstWrite, true},
}

// tailRatios gives p99/p50 by the names of the latencies that are of the server's
// making: gaps, and those of its figures.
func tailRatios(l metric.Latency) map[string]float64 {
	ratios := map[string]float64{}
	for name, d := range l.Each {
		if d.P["p50"] > 0 && !slices.ContainsFunc(requestFigures, func(f requestFigure) bool { return f.name == name && !f.server }) {
			ratios[name] = round(d.P["p99"] / d.P["p50"])
		}
	}
	if len(ratios) == 0 {
		return nil
	}
	return ratios
}

// name is the figure's as METRICS.md spells it.
func (f figure) name() string {
	return requestFigures[slices.IndexFunc(requestFigures, func(one requestFigure) bool { return one.figure == f })].name
}

// figures are one request's latencies in ns; NaN where undefined.
type figures [figureCount]float64

// request is what is kept of every request that was due in the window.
type request struct {
	figures
	due      int64
	session  int32
	replica  int32 // by its address
	outcome  llm.Outcome
	keys     keys
	prompt   int32
	cached   int32
	drafted  int32 // of the reply, guessed and guessed right
	accepted int32
	output   int32
	kvTokens int32   // that the key-value cache held at the end, 0 where no output came
	icl, itl int32   // how many gaps it has
	fluidity float32 // NaN where undefined
	ends     *ends   // nil where what was measured is what was
	refusal  *metric.Refusal
	mended   string // why tries before the answer were refused

	reconnects int32
	sent       int64 // 0 where it was not
	retried    bool
	short      bool
	good       [endCount]bool
	thinned    bool // the times of its tokens are not kept
	place      place
	tools      bool // went with it
	schema     bool
	called     uint8 // the places in llm.Checks, from 1, of what its reply came to
	formed     uint8

	cut cutoff
}

// CacheTokens is how many tokens of a request the key-value cache held at its
// end: its prompt, as the server counted it or else as it was asked for, and its
// output; 0 where no output came.
func CacheTokens(r *record.Record) int {
	if r.First == 0 {
		return 0
	}
	return cmp.Or(r.PromptTokens, r.AskedPrompt) + r.OutputTokens
}

// late is how long a request that was sent waited for nothing but us. Stamps of
// two clocks may differ slightly: that is no lag.
func late(r *record.Record) int64 { return max(r.Sent-max(r.Due, r.Slot, r.Conn), 0) }

// figuresOf gives the figures of a record. What we caused ourselves (lag,
// waiting, connecting) counts for every request, the server's latencies only
// where it answered.
func figuresOf(r *record.Record) figures {
	var f figures
	for i := range f {
		f[i] = math.NaN()
	}
	if r.Sent != 0 {
		f[lag] = float64(late(r))
	}
	if r.Slot != 0 {
		// A slot that was free all the time was so before the request began.
		f[slotWait] = float64(max(r.Slot-r.Begin, 0))
	}
	f[upload] = since(r.Sent, r.Written)
	f[connect] = since(dialStart(r), r.Dialed)
	f[tls] = since(r.Dialed, r.Secured)
	if r.Outcome != llm.OK {
		return f
	}
	f[e2e] = since(r.Sent, answerTime(r))
	f[e2eDue] = since(r.Due, answerTime(r))
	if !r.Streamed {
		return f
	}
	f[ttft] = since(r.Sent, r.First)
	f[ttftDue] = since(r.Due, r.First)
	f[ttfa] = since(r.Sent, r.Answer)
	if r.Images > 0 {
		f[ttftPerImage] = f[ttft] / float64(r.Images)
	}
	for _, t := range serverParts {
		f[t.figure] = orNaN(*t.of(&r.ServerTiming))
	}
	f[decode] = since(r.First, r.Last)
	if tokens := r.TokensAfterFirst(); tokens >= 1 && r.Last > r.First {
		f[tpot] = float64(r.Last-r.First) / float64(tokens)
	}
	return f
}

// dialStart is when the opening of a request's connection began: after a retry or
// a dead connection, not when the request did.
func dialStart(r *record.Record) int64 {
	return cmp.Or(r.Dialing, max(r.Begin, r.Slot)) // logs of older versions
}

// answerTime is when an ok request had its whole answer: its last output, or its
// end where the answer is no text, as an embedding is.
func answerTime(r *record.Record) int64 {
	return cmp.Or(r.Last, r.End)
}

// since is to − from, undefined where either stamp is unknown. A connection
// that was opened before its request took it has no set-up to show.
func since(from, to int64) float64 {
	if from == 0 || to == 0 || to < from {
		return math.NaN()
	}
	return float64(to - from)
}

// deadlines are the thresholds that fluidity compares tokens with, in ns; zero
// where the objectives name none.
type deadlines struct{ ttft, tpot float64 }

// fluidity is the share of tokens that came on time. A token that is early
// leaves its slack to the next ones; a late one counts once, and the next
// deadline runs from its arrival.
func (d deadlines) fluidity(r *record.Record, groups []group) float32 {
	if d.ttft <= 0 || d.tpot <= 0 || !r.Streamed || !r.TokensKnown() || r.Thinned() {
		return float32(math.NaN())
	}
	onTime, all := 0, 0
	deadline := float64(r.Due) + d.ttft
	for _, g := range groups {
		// Of the tokens of one group only the first can be late: the next
		// deadlines lie after the group's arrival.
		all += g.tokens
		onTime += g.tokens
		if at := float64(g.at); at > deadline && g.tokens > 0 {
			onTime--
			deadline = at
		}
		deadline += float64(g.tokens) * d.tpot
	}
	if all == 0 {
		return float32(math.NaN())
	}
	return float32(onTime) / float32(all)
}

// Times are the figures of one request by which it is paired with another, in
// milliseconds, as far as it has them; ttft and e2e as the user lives them, from
// when it was due. low and high are what they can have been without what the machine
// did.
func Times(r *record.Record, m Machine) (times, low, high map[string]float64) {
	q := endedRequest(r, m)
	own, e := q.figures, q.ends
	times, low, high = map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, f := range fig.All {
		at := judgedFigure[f.Name]
		ns := own[at]
		if !f.Paired || !(ns > 0) {
			continue
		}
		under, over := ns, ns
		if e != nil {
			under, over = max(ns-float64(e.over[at]), min(ns, float64(negligible))), ns+float64(e.under[at])
		}
		times[f.Name], low[f.Name], high[f.Name] = ns/1e6, under/1e6, over/1e6
	}
	return times, low, high
}
