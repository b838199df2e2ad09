package account

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/stats"
)

// traffic is a log that is made up as it is read: nothing of it is held. One
// request comes every 10 ms.
type traffic struct {
	requests, gaps int // gaps of each
	// spread is the mean by which a gap exceeds the least, exponentially.
	least, spread time.Duration
	// done is called when the last record was taken, by the number of times
	// that the log was read.
	done func(pass int)
}

func (tr traffic) log() func() iter.Seq2[*record.Record, error] {
	pass := 0
	return func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			var r record.Record
			random := stats.Rand(1, "traffic", 0)
			for i := range tr.requests {
				if tr.fill(&r, i, func() float64 { return stats.Exponential(random) }); !yield(&r, nil) {
					return
				}
			}
			pass++
			if tr.done != nil {
				tr.done(pass)
			}
		}
	}
}

func (tr traffic) fill(r *record.Record, i int, exponential func() float64) {
	at := 1000*ms + int64(i)*10*ms
	r.Reset()
	r.Due, r.Begin, r.Slot, r.Try, r.Streamed = at, at, at, 1, true
	r.AskedPrompt, r.AskedOutput = 50*(i%100), tr.gaps+1
	r.Observe(llm.Event{Kind: llm.Sent, At: at})
	at += 100 * ms
	r.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte("word")})
	for range tr.gaps {
		at += int64(tr.least) + int64(float64(tr.spread)*exponential())
		r.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte("word")})
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: tr.gaps + 1, PromptTokens: r.AskedPrompt}})
	r.Observe(llm.Event{Kind: llm.End, At: at})
	r.Settle()
}

func (tr traffic) options(t testing.TB) Options {
	return Options{Start: 1000 * ms, End: 1000*ms + int64(tr.requests)*10*ms, AskedRate: 100,
		Objectives: objectives(t, "ttft:p99<500ms", "itl:p99<50ms")}
}

// memoryHeld is the memory in use when the last record was read for the last time.
func (tr traffic) memoryHeld(t *testing.T) (bytes int64) {
	t.Helper()
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := inUse()
	tr.done = func(int) { bytes = inUse() - before }
	must.Get(Summarize(tr.log(), tr.options(t)))(t)
	return bytes
}

// TestMemoryDoesNotGrowWithTheTokens runs by itself: other tests would share
// its memory. The same requests, as long and twice as fast, bring a million
// gaps more; four bytes for each would be 4 MB.
func TestMemoryDoesNotGrowWithTheTokens(t *testing.T) {
	slow := traffic{requests: 4000, gaps: 250, least: 4 * time.Millisecond, spread: 100 * time.Microsecond}
	fast := traffic{requests: 4000, gaps: 500, least: 2 * time.Millisecond, spread: 50 * time.Microsecond}
	one, two := slow.memoryHeld(t), fast.memoryHeld(t)
	t.Logf("1 million gaps: %d kB, 2 million: %d kB", one/1000, two/1000)
	if two-one > 1_000_000 {
		t.Errorf("a second million of gaps takes %d kB more, want less than 1,000", (two-one)/1000)
	}
	if most := int64(15_000_000); two > most {
		t.Errorf("4,000 requests of 500 gaps take %d kB, want at most %d", two/1000, most/1000)
	}
}

// peakHeap watches the heap until it is told to stop.
func peakHeap() (stop func() uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	quit, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-quit:
				peak <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(quit); return <-peak }
}

// BenchmarkMemory shows the largest heap of a summary. Most of the time goes
// into making up the log.
func BenchmarkMemory(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	for _, spread := range []time.Duration{500 * time.Microsecond, 15 * time.Millisecond} {
		for _, requests := range []int{25_000, 100_000} {
			tr := traffic{requests: requests, gaps: 200, least: 10 * time.Millisecond, spread: spread}
			b.Run(fmt.Sprintf("%dM-gaps-of-10ms+%v", requests*tr.gaps/1_000_000, spread), func(b *testing.B) {
				o := tr.options(b)
				runtime.GC()
				stop := peakHeap()
				for b.Loop() {
					if _, err := Summarize(tr.log(), o); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(stop())/1e6, "peak-MB")
			})
		}
	}
}

// BenchmarkTraffic is what making up a log takes of BenchmarkMemory's time, at
// each reading.
func BenchmarkTraffic(b *testing.B) {
	tr := traffic{requests: 25_000, gaps: 200, least: 10 * time.Millisecond, spread: 15 * time.Millisecond}
	for b.Loop() {
		for range tr.log()() {
		}
	}
}
