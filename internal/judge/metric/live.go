package metric

import (
	"math"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// Live follows a run while it goes on. It is fed with records as they end and
// gives snapshots; final figures never come from it. Its zero value is ready,
// and it is safe for concurrent use.
type Live struct {
	mu      sync.Mutex
	ttft    *hdr.Histogram
	ok      int
	errors  int // without rejected
	refused int
	tokens  int64
	events  int64
	history []mark
}

// Snapshot is a run at one moment. Rates look back over the last seconds;
// percentiles over the whole run so far are NaN while there are none.
type Snapshot struct {
	// What the engine itself knows; Answered are requests that have had output.
	Elapsed  time.Duration
	Phase    record.Phase
	InFlight int
	Waiting  int
	Due      int
	Answered int
	// Open are the objectives whose decision the run goes on for; nil where it
	// has a length.
	Open []string

	OK           int
	Errors       int // failed, without those rejected
	Rejected     int
	RequestsPerS float64
	TokensPerS   float64
	TTFTp50      float64 // ms
	TTFTp99      float64 // ms
}

// mark is what had happened by a moment.
type mark struct {
	elapsed time.Duration
	ok      int
	events  int64
}

const (
	// lookBack is how far back a snapshot's rates reach: long enough to read,
	// short enough to follow.
	lookBack = 5 * time.Second
	// The histogram holds 1 µs to 1 h with three digits.
	liveLowest, liveHighest, liveDigits = 1, int64(time.Hour / time.Microsecond), 3
)

// Observe takes in a record that has ended.
func (l *Live) Observe(r *record.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens += int64(r.StreamedTokens)
	l.events += int64(r.ChunkCount())
	switch {
	case r.Outcome == llm.OK:
		l.ok++
	case r.Outcome == llm.Rejected:
		l.refused++
	case r.Outcome.Failed():
		l.errors++
	}
	if ns := measured(r)[ttft]; ns == ns {
		if l.ttft == nil {
			l.ttft = hdr.New(liveLowest, liveHighest, liveDigits)
		}
		us := min(max(int64(ns)/1000, liveLowest), liveHighest)
		// The value was just brought into the histogram's range.
		_ = l.ttft.RecordValue(us)
	}
}

// Snapshot adds what was observed to what the engine itself knows; events are
// the output events so far, of all requests.
func (l *Live) Snapshot(s Snapshot, events int64) Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.OK, s.Errors, s.Rejected, s.TTFTp50, s.TTFTp99 = l.ok, l.errors, l.refused, math.NaN(), math.NaN()
	if l.ttft != nil {
		s.TTFTp50 = float64(l.ttft.ValueAtPercentile(50)) / 1000
		s.TTFTp99 = float64(l.ttft.ValueAtPercentile(99)) / 1000
	}
	now := mark{s.Elapsed, l.ok, events}
	before := l.lookBack(now)
	perEvent := 1.0 // tokens, by what the events of ended requests carried
	if l.events > 0 {
		perEvent = float64(l.tokens) / float64(l.events)
	}
	if seconds := (now.elapsed - before.elapsed).Seconds(); seconds > 0 {
		s.RequestsPerS = float64(now.ok-before.ok) / seconds
		s.TokensPerS = float64(now.events-before.events) / seconds * perEvent
	}
	return s
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
