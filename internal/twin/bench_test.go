package twin

import (
	"math/rand/v2"
	"testing"

	"redline/internal/catalog"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// likeH100 is the law of an 8B model on one H100, in round figures.
func likeH100() sim.Spec {
	return sim.Spec{MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192,
		Law: &catalog.Law{WeightsUS: 6000, TokenUS: 22.5, Corner: 1.5, SequenceUS: 4, ContextUS: 0.065, PairUS: 0.0005}}
}

// BenchmarkInstanceDay is one instance through a day at 20 chat requests per
// second, near what it can bear.
func BenchmarkInstanceDay(b *testing.B) {
	for b.Loop() {
		answers := 0
		e, err := replay.NewInstance(likeH100(), func(replay.Answer) { answers++ })
		if err != nil {
			b.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		for at := 0.0; at < 86400e9; at += r.ExpFloat64() / 20 * 1e9 {
			e.Advance(int64(at) - 1)
			e.Submit(int64(at), replay.Request{Prompt: 100 + r.IntN(900), Output: 50 + r.IntN(400)}, int64(at))
		}
		e.Advance(replay.Idle - 1)
		b.ReportMetric(float64(e.Steps), "steps")
		b.ReportMetric(float64(answers), "answers")
		b.ReportMetric(float64(e.Busy)/86400e9, "busy")
	}
}

// BenchmarkFleetDay is a day of four instances, each with its share of a
// diurnal load, as a plan is rehearsed: per instance-day.
func BenchmarkFleetDay(b *testing.B) {
	objectives := must.Get(slo.ParseAll([]string{"ttft:p99<500ms", "tpot:p95<30ms"}))(b)
	mix := make([]replay.Request, 500)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range mix {
		mix[i] = replay.Request{Prompt: 100 + r.IntN(900), Output: 50 + r.IntN(400)}
	}
	const instances = 4
	for b.Loop() {
		day := Day(20*instances, 12*instances, 1)
		out, err := Fleet{Spec: likeH100(), Instances: instances}.Run(b.Context(), Traffic{Times: day.Times, Span: day.Span, Mix: single(mix...)}, objectives)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(out.Requests), "requests")
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/instances, "s/instance-day")
}
