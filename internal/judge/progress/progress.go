// Package progress follows a run while it goes on: it takes in records as they
// end and gives snapshots of rates, percentiles and where objectives stand.
// Final figures never come from it.
package progress

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
)

// Live follows a run while it goes on. It is fed with records as they end and
// gives snapshots; final figures never come from it. Its zero value is ready,
// and it is safe for concurrent use.
type Live struct {
	// Objectives are judged in every snapshot; set before the first record.
	Objectives []slo.Objective

	mu        sync.Mutex
	measuring bool // the distributions are those of the window
	dists     [liveCount]liveDist
	recent    []recentTTFT // of the last seconds, in the order in which they came
	outcomes  map[llm.Outcome]int
	ok        int
	tokens    int64
	events    int64
	elapsed   time.Duration // of the last snapshot
	gapsLeft  int           // gaps that may still be taken in before the next snapshot
	gaps      account.Gaps
	history   []mark
}

// The distributions that are followed.
const (
	liveTTFT = iota
	liveTPOT
	liveITL
	liveE2E
	liveCount
)

// Snapshot is a run at one moment. Rates look back over the last seconds.
// Distributions are those of the measured window so far, of the warm-up before
// it, and from due, as objectives mean them.
type Snapshot struct {
	// What the engine itself knows; Answered are requests that have had output.
	Elapsed time.Duration
	Phase   record.Phase
	// PhaseLimit is how long an adaptive warm-up or the cool-down lasts at most; 0
	// elsewhere.
	PhaseLimit time.Duration
	InFlight   int
	Waiting    int
	Due        int
	Answered   int
	Events     int64 // output events of all requests
	// Workers is how many processes send the load, 0 where this one does, and
	// Lost how many of them are lost.
	Workers, Lost int
	// Open are the objectives whose decision the run goes on for; nil where it
	// has a length.
	Open []string
	// Server is what the server and its accelerators last said of themselves.
	Server Gauges

	OK int
	// Outcomes counts the other requests by how they ended, but for those that the end
	// of a stage left unfinished; nil where there are none.
	Outcomes     map[llm.Outcome]int
	OfferedPerS  float64
	RequestsPerS float64
	TokensPerS   float64

	TTFT, TPOT, ITL, E2E Spread
	// RecentTTFT is the p99 of the last seconds, in ms, NaN where none ended.
	RecentTTFT float64
	// Spoils say what would make the run invalid, or its figures doubtful, were it
	// over now.
	Spoils []string
	// HeldUp is the share of the last seconds in which this machine held redline
	// up.
	HeldUp float64
	// Objectives says where each stands by the figures so far, without
	// confidence: not judged where no figure is followed, undecided where too few
	// replies came to call it met.
	Objectives []slo.Verdict
}

// HeldUpShown is the share of the time from which on hold-ups are named.
const HeldUpShown = 0.05

// Of is how many requests have ended so far that count as c.
func (s *Snapshot) Of(c *llm.Count) int {
	if c == llm.OKs {
		return s.OK
	}
	return sum(s.Outcomes, c)
}

func sum(outcomes map[llm.Outcome]int, c *llm.Count) (n int) {
	for o, ended := range outcomes {
		if o.Count() == c {
			n += ended
		}
	}
	return n
}

// Gauges are what a server and its accelerators say of themselves; nil where
// they do not.
type Gauges struct {
	Running, Waiting, KVUsage, Watts, Utilization *float64
}

// Spread is a distribution while it grows, in ms; all NaN while it is empty.
type Spread struct {
	P50, P95, P99 float64
	// Bins counts the values; BinEdge says where each begins.
	Bins Bins
}

// Bins divide the times from 10 µs to an hour, four bins to the octave.
type Bins [4 * 29]uint32

// BinEdge is where a bin begins, in ms.
func BinEdge(i int) float64 { return 0.01 * math.Exp2(float64(i)/4) }

func binOf(ms float64) int {
	return min(max(int(4*math.Log2(ms/0.01)), 0), len(Bins{})-1)
}

type liveDist struct {
	hist *hdr.Histogram // µs
	bins Bins
}

func (d *liveDist) add(ms float64) {
	if d.hist == nil {
		d.hist = hdr.New(liveLowest, liveHighest, liveDigits)
	}
	// The value is brought into the histogram's range.
	_ = d.hist.RecordValue(min(max(int64(ms*1000), liveLowest), liveHighest))
	d.bins[binOf(ms)]++
}

func (d *liveDist) spread() Spread {
	if d.hist == nil {
		return Spread{P50: math.NaN(), P95: math.NaN(), P99: math.NaN()}
	}
	return Spread{d.percentile(0.5), d.percentile(0.95), d.percentile(0.99), d.bins}
}

func (d *liveDist) percentile(p float64) float64 {
	return float64(d.hist.ValueAtPercentile(100*p)) / 1000
}

// recentTTFT is a reply's, with when the snapshot before it was taken.
type recentTTFT struct {
	after time.Duration
	ms    float64
}

// mark is what had happened by a moment.
type mark struct {
	elapsed time.Duration
	due, ok int
	events  int64
}

const (
	// lookBack is how far back a snapshot's rates reach: long enough to read,
	// short enough to follow.
	lookBack = 5 * time.Second
	// A histogram holds 1 µs to 1 h within 0.5%.
	liveLowest, liveHighest, liveDigits = 1, int64(time.Hour / time.Microsecond), 2
	// maxRecent bounds what is kept of the last seconds.
	maxRecent = 1024
	// maxLiveGaps bounds the gaps between tokens that are taken in for each
	// snapshot, so that a fast server costs no more than a slow one: those of
	// the replies that end first, each whole, until there are so many.
	maxLiveGaps = 1024
)

// Observe takes in a record that has ended.
func (l *Live) Observe(r *record.Record) {
	ttft, tpot, e2e := account.Latencies(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens += int64(r.StreamedTokens)
	l.events += int64(r.ChunkCount())
	switch {
	case r.Outcome == llm.OK:
		l.ok++
	case !r.Outcome.Count().Unfinished:
		if l.outcomes == nil {
			l.outcomes = map[llm.Outcome]int{}
		}
		l.outcomes[r.Outcome]++
	}
	if r.Phase == record.Measure && !l.measuring {
		l.measuring, l.dists = true, [liveCount]liveDist{}
	}
	if l.measuring && r.Phase != record.Measure {
		return
	}
	for i, ms := range [liveCount]float64{liveTTFT: ttft, liveTPOT: tpot, liveITL: math.NaN(), liveE2E: e2e} {
		if ms == ms {
			l.dists[i].add(ms)
		}
	}
	if ttft == ttft {
		if len(l.recent) == maxRecent {
			l.recent = slices.Delete(l.recent, 0, maxRecent/2)
		}
		l.recent = append(l.recent, recentTTFT{l.elapsed, ttft})
	}
	l.observeGaps(r)
}

func (l *Live) observeGaps(r *record.Record) {
	if r.Outcome != llm.OK || !r.Streamed || r.Thinned() || l.gapsLeft <= 0 {
		return
	}
	l.gapsLeft -= r.ChunkCount()
	_, gaps := l.gaps.Of(r)
	for _, ms := range gaps {
		l.dists[liveITL].add(float64(ms))
	}
}

// Snapshot adds what was observed to what the engine itself knows; events are
// the output events so far, of all requests.
func (l *Live) Snapshot(s Snapshot, events int64) Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.elapsed, l.gapsLeft, s.Events = s.Elapsed, maxLiveGaps, events
	s.OK, s.Outcomes = l.ok, maps.Clone(l.outcomes)
	s.TTFT, s.TPOT = l.dists[liveTTFT].spread(), l.dists[liveTPOT].spread()
	s.ITL, s.E2E = l.dists[liveITL].spread(), l.dists[liveE2E].spread()
	s.RecentTTFT = l.recentP99()
	for _, o := range l.Objectives {
		s.Objectives = append(s.Objectives, l.judge(o))
	}
	now := mark{s.Elapsed, s.Due, l.ok, events}
	before := l.lookBack(now)
	perEvent := 1.0 // tokens, by what the events of ended requests carried
	if l.events > 0 {
		perEvent = float64(l.tokens) / float64(l.events)
	}
	if seconds := (now.elapsed - before.elapsed).Seconds(); seconds > 0 {
		s.OfferedPerS = float64(now.due-before.due) / seconds
		s.RequestsPerS = float64(now.ok-before.ok) / seconds
		s.TokensPerS = float64(now.events-before.events) / seconds * perEvent
	}
	return s
}

// recentP99 is that of the replies of the last seconds.
func (l *Live) recentP99() float64 {
	l.recent = slices.DeleteFunc(l.recent, func(r recentTTFT) bool { return l.elapsed-r.after > lookBack })
	if len(l.recent) == 0 {
		return math.NaN()
	}
	values := make([]float64, len(l.recent))
	for i, r := range l.recent {
		values[i] = r.ms
	}
	slices.Sort(values)
	return values[max(int(math.Ceil(0.99*float64(len(values))))-1, 0)]
}

// judge says where an objective stands by the figure so far.
func (l *Live) judge(o slo.Objective) slo.Verdict {
	v := slo.Verdict{Objective: o.Text, Scope: o.Scope, Standing: slo.NotJudged}
	value, unit := l.figure(o)
	if value != value || o.Scope != (slo.Scope{}) {
		return v
	}
	v.Value, v.Unit, v.Limit = &value, unit, o.Limit
	if unit == "ms" {
		v.Limit /= 1e6
	}
	v.Standing = o.JudgeExact(value, v.Limit)
	if p := o.P; v.Standing == slo.Met && p > 0 && p < 1 && l.replies() < stats.MinToMeet(p, 1-confidence) {
		v.Standing = slo.Undecided
	}
	return v
}

// confidence is that with which a run is usually called met: fewer replies than it
// takes are too few to say so.
const confidence = 0.95

// replies counts the requests that have ended.
func (l *Live) replies() int {
	ended := l.ok
	for _, n := range l.outcomes {
		ended += n
	}
	return ended
}

// figure is what an objective is about, NaN where it is not followed.
func (l *Live) figure(o slo.Objective) (value float64, unit string) {
	share := func(c *llm.Count) float64 {
		return float64(sum(l.outcomes, c)) / float64(l.replies()) // NaN where none has
	}
	at := map[string]int{"ttft": liveTTFT, "tpot": liveTPOT, "itl": liveITL, "e2e": liveE2E}
	i, timed := at[o.Metric]
	switch {
	case timed && l.dists[i].hist == nil:
	case timed && o.P > 0:
		return l.dists[i].percentile(o.P), "ms"
	case timed && o.Stat == "mean":
		return l.dists[i].hist.Mean() / 1000, "ms"
	case timed && o.Stat == "max":
		return float64(l.dists[i].hist.Max()) / 1000, "ms"
	case o.Metric == "error":
		return share(llm.Failures), "fraction"
	case o.Metric == "reject":
		return share(llm.Rejections), "fraction"
	}
	return math.NaN(), ""
}

// lookBack notes a moment and gives the youngest one that lies far enough
// back, or the start of the run.
func (l *Live) lookBack(now mark) mark {
	l.history = append(l.history, now)
	start := 0
	for i, m := range l.history {
		if now.elapsed-m.elapsed >= lookBack {
			start = i
		}
	}
	l.history = l.history[start:]
	if now.elapsed-l.history[0].elapsed < lookBack {
		return mark{}
	}
	return l.history[0]
}
