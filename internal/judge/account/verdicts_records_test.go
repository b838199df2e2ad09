package account

import (
	"iter"
	"syscall"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/stats"

	"github.com/google/go-cmp/cmp"
)

// keepLog holds a log in memory, as a run does that is looked at.
func (tr traffic) keepLog() func() iter.Seq2[*record.Record, error] {
	random := stats.Rand(1, "traffic", 0)
	list := make([]*record.Record, tr.requests)
	for i := range list {
		list[i] = &record.Record{}
		tr.fill(list[i], i, func() float64 { return stats.Exponential(random) })
	}
	return record.FromList(list)
}

// A look and the report judge alike.
func TestVerdictsAreThoseOfTheSummary(t *testing.T) {
	tr := traffic{requests: 3000, gaps: 30, least: 5 * time.Millisecond, spread: 5 * time.Millisecond}
	log, o := tr.keepLog(), tr.options(t)
	o.Objectives = objectives(t, "ttft:p99<500ms", "itl:p99<20ms", "tpot:p95<9ms", "e2e:mean<1s", "error:rate<1%",
		"throughput:min>100", "good:fraction>0.9", "stall:p50<25ms")
	s := must.Get(Summarize(log, o))(t)
	verdicts, _ := must.Get2(Verdicts(log, o))(t)
	expect.NoDiff(t, cmp.Diff(s.Objectives, verdicts), "the summary's and a look's differ")
}

// BenchmarkLook is the most that a look is handed, of replies of 200 tokens;
// fewer of them where every gap counts. It reports the CPU time, which a busy
// machine does not lengthen.
func BenchmarkLook(b *testing.B) {
	for _, bench := range []struct {
		requests int
		texts    []string
	}{{LookedAt, []string{"ttft:p99<500ms", "tpot:p95<50ms"}}, {1 << 10, []string{"ttft:p99<500ms", "itl:p99<50ms"}}} {
		tr := traffic{requests: bench.requests, gaps: 200, least: 5 * time.Millisecond, spread: 5 * time.Millisecond}
		log, o := tr.keepLog(), tr.options(b)
		o.Objectives = objectives(b, bench.texts...)
		b.Run(bench.texts[1], func(b *testing.B) {
			before := cpuTime(b)
			for b.Loop() {
				if _, _, err := Verdicts(log, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
