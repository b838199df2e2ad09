// Package table is a run as a table of its requests, in seconds from the load's
// start, as benchmarks of inference servers look at one: what redline measured, or
// what another benchmark left in a file.
package table

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/stats"
)

// Run is what was measured of one load.
type Run struct {
	Model string
	// Started is when the load began.
	Started time.Time
	// Duration is the time from then until the last request ended, in seconds.
	Duration float64
	Requests []Request
	Jobs     []Job // where they are asked for

	Stage string // of an experiment, by its directory

	// What a file of a peer says besides; zero where it does not.
	Source, URL, Label string
	Version            string // of the benchmark that wrote it
	Rate               float64
	Arrival            string // the process of the rate, as a plan names it
	MaxInFlight        int    // requests in flight at once, as asked for
	Peak               int    // requests in flight at once, as counted
	Path               string // of the URL: which API was asked
	DueKnown           bool
	// Figures stand for the requests where the file has none.
	Figures *Figures
}

// Job is a session of which it is known how many requests it sends. Begin and End
// are seconds from the window's start, of one that was cut off the last that is
// known of it.
type Job struct {
	Session        int
	Class, Tenant  string
	Phase, Outcome string
	Begin, End     float64
	// MS are its time, serving time and first token, by name.
	MS              map[string]float64
	Requests, Turns int
	Prompt, Output  int64
	Cached, Ideal   int64
	CachedKnown     bool // the server reports cached tokens
	IdealKnown      bool // the workload says what an endless cache would have
}

// Figures are sums and spreads of a run whose requests are not known.
type Figures struct {
	OK, Failed           int
	In, Out              int64
	TTFT, TPOT, ITL, E2E *Spread // ms
}

// Spread is what a file says of one latency.
type Spread struct {
	N         int
	Mean, Max float64
	P         map[string]float64
}

// Request is one request. Times are in seconds, from the load's start where they
// are points in time.
type Request struct {
	ID       int
	Due      float64
	Start    float64 // when it may be sent: it has its slot
	Queue    float64 // waiting for a slot
	TTFT     float64 // first output − start
	Latency  float64 // last output − start
	Whole    float64 // end of the reply − start
	Gaps     []float64
	In, Out  int
	Vision   int // of In, those that stand for images
	AskedOut int
	OK       bool
	Streamed bool
	Status   int
	Outcome  string
	Error    string
	Session  int
	Turn     int
	MS       map[string]float64 // redline's own latencies by name, in ms
	// Record is redline's own, without its output events; nil of a peer's request.
	Record *record.Record
}

// FromRecords takes the measured requests of a run in the order of their ids.
// start is the load's own, in ns from the run's origin, which is at unix; latencies
// gives redline's own of a record, in ms by name.
func FromRecords(records iter.Seq2[*record.Record, error], start, unix int64, latencies func(*record.Record) map[string]float64) (*Run, error) {
	r := &Run{Started: time.Unix(0, unix+start)}
	last := start
	for rec, err := range records {
		if err != nil {
			return nil, err
		}
		if rec.Phase != record.Measure {
			continue
		}
		last = max(last, rec.End)
		q := fromRecord(rec, start)
		q.MS = latencies(rec)
		r.Requests = append(r.Requests, q)
	}
	r.Duration = float64(last-start) / 1e9
	slices.SortFunc(r.Requests, func(a, b Request) int { return cmp.Compare(a.ID, b.ID) })
	return r, nil
}

func fromRecord(rec *record.Record, start int64) Request {
	begin := max(rec.Begin, rec.Slot)
	if begin == 0 {
		begin = max(rec.Sent, rec.Due)
	}
	since := func(at int64) float64 {
		if at == 0 {
			return 0
		}
		return float64(at-begin) / 1e9
	}
	q := Request{ID: rec.ID, Due: float64(rec.Due-start) / 1e9, Start: float64(begin-start) / 1e9,
		TTFT: since(rec.First), Latency: since(cmp.Or(rec.Last, rec.End)), Whole: since(rec.End),
		In: cmp.Or(rec.PromptTokens, rec.AskedPrompt), Out: rec.OutputTokens, Vision: rec.VisionTokens, AskedOut: rec.AskedOutput,
		OK: rec.Outcome == llm.OK, Streamed: rec.Streamed, Status: rec.Status, Outcome: string(rec.Outcome),
		Error: rec.Error, Session: rec.Session, Turn: rec.Turn, Record: rec.Lean()}
	if rec.Slot > rec.Begin && rec.Begin > 0 {
		q.Queue = float64(rec.Slot-rec.Begin) / 1e9
	}
	var before int64
	for at := range rec.Chunks() {
		if before != 0 && !rec.Thinned() {
			q.Gaps = append(q.Gaps, float64(at-before)/1e9)
		}
		before = at
	}
	if !q.OK && q.Error == "" {
		q.Error = q.Outcome
	}
	return q
}

// TPOT is the time per token after the first, 0 where there is none.
func (q *Request) TPOT() float64 {
	if q.Out < 2 {
		return 0
	}
	return (q.Latency - q.TTFT) / float64(q.Out-1)
}

// OK gives the requests that succeeded.
func (r *Run) OK() iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		for i := range r.Requests {
			if r.Requests[i].OK && !yield(&r.Requests[i]) {
				return
			}
		}
	}
}

// Series are values of one figure.
type Series []float64

// Each gives a figure of every request that succeeded and has it.
func (r *Run) Each(of func(*Request) (float64, bool)) Series {
	var s Series
	for q := range r.OK() {
		if v, has := of(q); has {
			s = append(s, v)
		}
	}
	return s
}

// Gaps pools the gaps of all requests.
func (r *Run) Gaps() Series {
	var s Series
	for q := range r.OK() {
		s = append(s, q.Gaps...)
	}
	return s
}

// Sum is 0 for no values.
func (s Series) Sum() float64 {
	var sum float64
	for _, v := range s {
		sum += v
	}
	return sum
}

// Mean is 0 for no values, as peers that put a 0 in their place have it.
func (s Series) Mean() float64 {
	if len(s) == 0 {
		return 0
	}
	return s.Sum() / float64(len(s))
}

// Deviation is the standard deviation with so many values less: 0 for that of
// the values, 1 for that of a sample.
func (s Series) Deviation(less int) float64 {
	if len(s) <= less {
		return 0
	}
	mean, sum := s.Mean(), 0.0
	for _, v := range s {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(s)-less))
}

// At is a percentile by numpy's definition, 0 for no values.
func (s Series) At(percent float64) float64 {
	if len(s) == 0 {
		return 0
	}
	return stats.Quantile(slices.Sorted(slices.Values(s)), percent/100)
}

// Max is 0 for no values.
func (s Series) Max() float64 {
	if len(s) == 0 {
		return 0
	}
	return slices.Max(s)
}

// Min is 0 for no values.
func (s Series) Min() float64 {
	if len(s) == 0 {
		return 0
	}
	return slices.Min(s)
}

// Times gives the values in another unit.
func (s Series) Times(factor float64) Series {
	scaled := make(Series, len(s))
	for i, v := range s {
		scaled[i] = v * factor
	}
	return scaled
}

// Counts adds up what succeeded.
func (r *Run) Counts() (completed, failed, in, out int) {
	for i := range r.Requests {
		q := &r.Requests[i]
		if !q.OK {
			failed++
			continue
		}
		completed++
		in += q.In
		out += q.Out
	}
	return completed, failed, in, out
}

// PerSecond divides by the duration.
func (r *Run) PerSecond(n float64) float64 {
	if r.Duration <= 0 {
		return 0
	}
	return n / r.Duration
}

// Sum gives figures in the place of the requests, for a run that does not say when
// they began.
func (r *Run) Sum() *Figures {
	completed, failed, in, out := r.Counts()
	spread := func(s Series) *Spread {
		if len(s) == 0 {
			return nil
		}
		d := &Spread{N: len(s), Mean: 1e3 * s.Mean(), Max: 1e3 * s.Max(), P: map[string]float64{}}
		for _, p := range []float64{50, 75, 90, 95, 99, 99.9} {
			d.P["p"+strconv.FormatFloat(p, 'f', -1, 64)] = 1e3 * s.At(p)
		}
		return d
	}
	return &Figures{OK: completed, Failed: failed, In: int64(in), Out: int64(out), TTFT: spread(r.Each(func(q *Request) (float64, bool) { return q.TTFT, true })), TPOT: spread(r.Each(func(q *Request) (float64, bool) { return q.TPOT(), q.Out > 1 })), ITL: spread(r.Gaps()), E2E: spread(r.Each(func(q *Request) (float64, bool) { return q.Latency, true }))}
}

// HasGaps reports whether the time of every output event is known.
func (r *Run) HasGaps() bool { return len(r.Gaps()) > 0 }

// Crowd is the most requests that were in flight at once; where single requests
// are not known it is their mean.
func (r *Run) Crowd() int {
	if f := r.Figures; f != nil {
		if f.E2E == nil || r.Duration <= 0 {
			return 0
		}
		return int(math.Round(float64(f.OK) * f.E2E.Mean / 1e3 / r.Duration))
	}
	type edge struct {
		at   float64
		more int
	}
	var edges []edge
	for _, q := range r.Requests {
		edges = append(edges, edge{q.Start, 1}, edge{q.Start + q.Whole, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), a.more-b.more) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.more
		most = max(most, now)
	}
	return most
}
