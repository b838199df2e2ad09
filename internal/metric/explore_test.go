package metric

import (
	"fmt"
	"iter"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"redline/internal/llm"
	"redline/internal/record"
	"redline/internal/sim"
	"redline/internal/stats"
)

type eng struct {
	name   string
	spec   sim.Spec
	prompt int
	output float64
	sigma  float64
}

func (e eng) job(r interface{ NormFloat64() float64 }, id uint64, prompt []int32) *sim.Job {
	out := max(1, int(e.output*math.Exp(e.sigma*r.NormFloat64())))
	return &sim.Job{ID: id, Prompt: prompt, Output: min(out, 2000)}
}

func (e eng) capacity(t *testing.T) float64 {
	core, err := sim.NewBatching(e.spec)
	if err != nil {
		t.Fatal(err)
	}
	r := stats.Rand(1, "cap", 0)
	prompt := make([]int32, e.prompt)
	n := e.spec.MaxNumSeqs * 60
	var last *sim.Job
	sim.RunClosed(core, 0, 2*e.spec.MaxNumSeqs, func(yield func(*sim.Job) bool) {
		for i := range n {
			last = e.job(r, uint64(i), prompt)
			if !yield(last) {
				return
			}
		}
	}, sim.Watch{})
	return float64(n-2*e.spec.MaxNumSeqs) / (float64(last.Arrived) / 1e9)
}

func (e eng) records(t *testing.T, seed uint64, rate float64, until int64) []*record.Record {
	spec := e.spec
	spec.Seed = seed
	core, err := sim.NewBatching(spec)
	if err != nil {
		t.Fatal(err)
	}
	r := stats.Rand(seed, "load", 0)
	prompt := make([]int32, e.prompt)
	var jobs []*sim.Job
	var arrivals iter.Seq2[int64, *sim.Job] = func(yield func(int64, *sim.Job) bool) {
		at := 1.0
		for at < float64(until) {
			at += stats.Exponential(r) * 1e9 / rate
			j := e.job(r, uint64(len(jobs)+1), prompt)
			jobs = append(jobs, j)
			if !yield(int64(at), j) {
				return
			}
		}
	}
	sim.RunOpen(core, arrivals, sim.Watch{})
	var list []*record.Record
	for _, j := range jobs {
		one := &record.Record{Due: j.Arrived, Streamed: true, Try: 1}
		one.Observe(llm.Event{Kind: llm.Sent, At: j.Arrived})
		one.Observe(llm.Event{Kind: llm.Output, At: j.First, Text: []byte("word")})
		one.Observe(llm.Event{Kind: llm.Output, At: j.Last, Text: []byte("word")})
		one.Observe(llm.Event{Kind: llm.End, At: j.Last})
		one.Settle()
		list = append(list, one)
	}
	return list
}

func service(col *collector) float64 {
	var took []float64
	for _, q := range col.requests {
		if !math.IsNaN(q.figures[decode]) {
			took = append(took, q.figures[decode])
		}
	}
	return stats.Mean(took)
}

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	no := false
	engines := []eng{
		{"8b/16 out60", sim.Spec{MaxNumSeqs: 16, EnablePrefixCaching: &no}, 256, 60, 0.8},
		{"8b/8 out100", sim.Spec{MaxNumSeqs: 8, EnablePrefixCaching: &no}, 256, 100, 0.8},
		{"70b/16 out100", sim.Spec{Model: "llama-3.1-70b", TP: 4, MaxNumSeqs: 16, EnablePrefixCaching: &no}, 256, 100, 0.8},
		{"8b/32 out400", sim.Spec{MaxNumSeqs: 32, EnablePrefixCaching: &no}, 256, 400, 0.8},
		{"70b/64 out400", sim.Spec{Model: "llama-3.1-70b", TP: 4, MaxNumSeqs: 64, EnablePrefixCaching: &no}, 256, 400, 0.8},
	}
	const seeds = 200
	for _, e := range engines {
		from := time.Now()
		c := e.capacity(t)
		fmt.Printf("%s capacity %.2f/s\n", e.name, c)
		for _, load := range []float64{0.7, 0.8, 0.9, 1.1, 1.2} {
			type row struct{ service, growth, lo float64; un, un2, un3 bool }
			got := map[int64][]row{}
			var mu sync.Mutex
			var wg sync.WaitGroup
			for w := range 2 {
				wg.Go(func() {
					for s := w; s < seeds; s += 2 {
						recs := e.records(t, uint64(s), load*c, 160*second)
						for _, win := range []int64{60, 120} {
							col := newCollector(Options{Start: 20 * second, End: (20 + win) * second, AskedRate: load * c})
							for _, r := range recs {
								col.add(r)
							}
							series := col.inSystem.perSecond()
							due := float64(len(col.requests))
							x := row{service: service(col) / 1e9, growth: stats.Slope(series) * float64(win) / due}
							block := min(int(win)/6, max(1, int(math.Ceil(2*x.service))))
							x.lo, _ = stats.SlopeInterval(series, block, confidence, resamples, stats.Rand(uint64(s), "x", 0))
							fl := col.inFlight.perSecond()
							cut, _ := stats.MSER5(fl)
							x.un = 2*cut > len(fl)
							lo, hi := stats.SlopeInterval(fl, block, confidence, resamples, stats.Rand(uint64(s), "y", 0))
							x.un2 = x.un && (lo > 0 || hi < 0)
							a, b := stats.Mean(fl[:cut]), stats.Mean(fl[cut:])
							x.un3 = x.un && math.Abs(a/b-1) > 0.1
							mu.Lock()
							got[win] = append(got[win], x)
							mu.Unlock()
						}
					}
				})
			}
			wg.Wait()
			for _, win := range []int64{60, 120} {
				var sv float64
				var pos, un, un2, un3 int
				at := map[float64]int{}
				for _, x := range got[win] {
					sv += x.service / seeds
					if x.un { un++ }
					if x.un2 { un2++ }
					if x.un3 { un3++ }
					if x.lo > 0 { pos++; for _, th := range []float64{.05, .06, .07, .08, .1} { if x.growth > th { at[th]++ } } }
				}
				fmt.Printf("  load %.1f window %3d: service %5.1f lo>0 %3d over at 5%% %3d 6%% %3d 7%% %3d 8%% %3d 10%% %3d | unsteady %3d &slope %3d &10%% %3d\n", load, win, sv, pos, at[.05], at[.06], at[.07], at[.08], at[.1], un, un2, un3)
			}
		}
		fmt.Println("  took", time.Since(from))
	}
}
