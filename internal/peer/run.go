package peer

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/stats"
)

// Run is what was measured of one plan, as peers look at it.
type Run struct {
	Plan  Plan
	Model string
	// Started is when the load began.
	Started time.Time
	// Duration is the time from then until the last request ended, in seconds.
	Duration float64
	Requests []Request

	Stage string // of an experiment, by its directory

	// What a file of a peer says besides; zero where it does not.
	Source, URL, Label string
	Version            string // of the benchmark that wrote it
	Rate               float64
	MaxInFlight        int // requests in flight at once
	DueKnown           bool
	// Figures stand for the requests where the file has none.
	Figures *Figures
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
		In: cmp.Or(rec.PromptTokens, rec.AskedPrompt), Out: rec.OutputTokens, AskedOut: rec.AskedOutput,
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

// ok gives the requests that succeeded.
func (r *Run) ok() iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		for i := range r.Requests {
			if r.Requests[i].OK && !yield(&r.Requests[i]) {
				return
			}
		}
	}
}

// series are values of one figure.
type series []float64

// each gives a figure of every request that succeeded and has it.
func (r *Run) each(of func(*Request) (float64, bool)) series {
	var s series
	for q := range r.ok() {
		if v, has := of(q); has {
			s = append(s, v)
		}
	}
	return s
}

func ttft(q *Request) (float64, bool)    { return q.TTFT, true }
func tpot(q *Request) (float64, bool)    { return q.TPOT(), q.Out > 1 }
func latency(q *Request) (float64, bool) { return q.Latency, true }
func whole(q *Request) (float64, bool)   { return q.Whole, true }
func queue(q *Request) (float64, bool)   { return q.Queue, true }
func inputs(q *Request) (float64, bool)  { return float64(q.In), true }
func outputs(q *Request) (float64, bool) { return float64(q.Out), true }

// gaps pools the gaps of all requests.
func (r *Run) gaps() series {
	var s series
	for q := range r.ok() {
		s = append(s, q.Gaps...)
	}
	return s
}

func (s series) sum() float64 {
	var sum float64
	for _, v := range s {
		sum += v
	}
	return sum
}

// mean is 0 for no values, as peers that put a 0 in their place have it.
func (s series) mean() float64 {
	if len(s) == 0 {
		return 0
	}
	return s.sum() / float64(len(s))
}

// deviation is the standard deviation with so many values less: 0 for that of
// the values, 1 for that of a sample.
func (s series) deviation(less int) float64 {
	if len(s) <= less {
		return 0
	}
	mean, sum := s.mean(), 0.0
	for _, v := range s {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(s)-less))
}

// at is a percentile by numpy's definition, 0 for no values.
func (s series) at(percent float64) float64 {
	if len(s) == 0 {
		return 0
	}
	return stats.Quantile(slices.Sorted(slices.Values(s)), percent/100)
}

func (s series) max() float64 {
	if len(s) == 0 {
		return 0
	}
	return slices.Max(s)
}

func (s series) min() float64 {
	if len(s) == 0 {
		return 0
	}
	return slices.Min(s)
}

// times gives the values in another unit.
func (s series) times(factor float64) series {
	scaled := make(series, len(s))
	for i, v := range s {
		scaled[i] = v * factor
	}
	return scaled
}

// counts adds up what succeeded.
func (r *Run) counts() (completed, failed, in, out int) {
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

// per divides by the duration.
func (r *Run) per(n float64) float64 {
	if r.Duration <= 0 {
		return 0
	}
	return n / r.Duration
}

// peaks are vLLM's: the most output events, and the most requests that touch it,
// of any second since the first request.
func (r *Run) peaks() (events, requests float64) {
	first, last := math.Inf(1), 0.0
	for q := range r.ok() {
		first, last = min(first, q.Start), max(last, q.Start+q.Latency)
	}
	if math.IsInf(first, 1) {
		return 0, 0
	}
	seconds := int(math.Ceil(last-first)) + 1
	arrived, touched := make(series, seconds), make(series, seconds)
	for q := range r.ok() {
		at := q.Start - first + q.TTFT
		arrived[min(int(at), seconds-1)]++
		for _, gap := range q.Gaps {
			at += gap
			arrived[min(int(at), seconds-1)]++
		}
		for s := int(q.Start - first); s <= int(q.Start-first+q.Latency) && s < seconds; s++ {
			touched[s]++
		}
	}
	return arrived.max(), touched.max()
}

// Sum gives figures in the place of the requests, for a run that does not say when
// they began.
func (r *Run) Sum() *Figures {
	completed, failed, in, out := r.counts()
	spread := func(s series) *Spread {
		if len(s) == 0 {
			return nil
		}
		d := &Spread{N: len(s), Mean: 1e3 * s.mean(), Max: 1e3 * s.max(), P: map[string]float64{}}
		for _, p := range []float64{50, 75, 90, 95, 99, 99.9} {
			d.P["p"+number(p)] = 1e3 * s.at(p)
		}
		return d
	}
	return &Figures{OK: completed, Failed: failed, In: int64(in), Out: int64(out), TTFT: spread(r.each(ttft)), TPOT: spread(r.each(tpot)), ITL: spread(r.gaps()), E2E: spread(r.each(latency))}
}

// HasGaps reports whether the time of every output event is known.
func (r *Run) HasGaps() bool { return len(r.gaps()) > 0 }

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
