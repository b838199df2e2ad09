package load

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/llm"
)

// instant is a target that answers at once with one token, on a real clock.
type instant struct{ clock *clock.Clock }

func (t instant) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		_ = yield(llm.Event{Kind: llm.Ready, At: t.clock.Now()}, nil) &&
			yield(llm.Event{Kind: llm.Sent, At: t.clock.Now()}, nil) &&
			yield(llm.Event{Kind: llm.Output, At: t.clock.Now(), Text: word}, nil) &&
			yield(llm.Event{Kind: llm.End, At: t.clock.Now()}, nil)
	}
}

var word = []byte("word")

// TestRealTime asserts nothing about how long anything takes.
func TestRealTime(t *testing.T) {
	c := clock.New()
	p := drive(t.Context(), t, c, instant{c}, Stage{Arrivals: every(2 * ms), Warmup: durationPointer(100 * ms), Duration: 900 * ms, Drain: time.Minute})
	if n := p.by()[record.Measure][llm.OK]; n != 450 {
		t.Errorf("%d requests were measured and ok, want 450", n)
	}
	if n := p.by()[record.Warmup][llm.OK]; n != 50 {
		t.Errorf("%d requests were ok in the warm-up, want 50", n)
	}
	for i, r := range p.records {
		if want := p.Start + int64(i)*int64(2*ms); r.Session != i || r.Due != want {
			t.Fatalf("the %d-th record is of session %d, due at %d; want %d", i, r.Session, r.Due, want)
		}
		if r.Outcome == llm.OK && (r.Begin < r.Due || r.Sent < r.Begin || r.End < r.Sent) {
			t.Fatalf("request %d: stamps out of order: %+v", i, r)
		}
	}
}

// BenchmarkDispatch shows what a request costs the engine itself, with a
// target that costs next to nothing.
func BenchmarkDispatch(b *testing.B) {
	request := &llm.Request{MaxTokens: 1, Stream: true}
	for _, loop := range []struct {
		name  string
		stage Stage
	}{
		{"open", Stage{Arrivals: every(0)}},
		{"capped", Stage{Arrivals: every(0), Cap: 16}},
		{"closed", Stage{Cap: 16}},
	} {
		b.Run(loop.name, func(b *testing.B) {
			s := loop.stage
			s.Warmup, s.Requests, s.Drain = durationPointer(0), b.N, time.Minute
			s.Session = func(i int) llm.Session {
				if i == b.N {
					return &conversation{} // no more
				}
				own := *request // an id of its own
				return llm.Single(&own)
			}
			var n atomic.Int64
			c := clock.New()
			b.ReportAllocs()
			b.ResetTimer()
			if _, err := Run(b.Context(), c, instant{c}, s, &Progress{}, func(*record.Record) { n.Add(1) }); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(n.Load())/float64(b.N), "requests/op")
		})
	}
}

// BenchmarkLag reports how late requests leave at 2,000 a second.
func BenchmarkLag(b *testing.B) {
	var lags []int64
	for b.Loop() {
		c := clock.New()
		var mu sync.Mutex
		_, err := Run(b.Context(), c, instant{c}, Stage{Session: singles, Arrivals: every(500 * time.Microsecond),
			Warmup: durationPointer(100 * ms), Duration: time.Second, Drain: time.Minute}, &Progress{}, func(r *record.Record) {
			if r.Phase == record.Measure && r.Sent != 0 {
				mu.Lock()
				lags = append(lags, r.Sent-max(r.Due, r.Slot, r.Conn))
				mu.Unlock()
			}
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(lags)
	for _, q := range []struct {
		unit  string
		share float64
	}{{"lag-p50-µs", 0.5}, {"lag-p99-µs", 0.99}, {"lag-max-µs", 1}} {
		b.ReportMetric(float64(lags[int(q.share*float64(len(lags)-1))])/1e3, q.unit)
	}
}
