package toggle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"redline/docs/pages"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/twin/sim"
)

// studyScene is an engine whose steps take other times on both sides, and replies of some
// length: long ones leave few pieces of time.
type studyScene struct {
	output int
	// faster is by how many times the memory of one side is as fast, wander by how much the
	// machine slows a turn down.
	faster, wander float64
}

// play measures it as often as the study asks.
func (c studyScene) play(t testing.TB, trial uint64, plan *config.Config) result.Toggle {
	own := rand.New(rand.NewPCG(trial, 3))
	level := c.wander * own.NormFloat64()
	study := NewStudy(plan, "speculative_decoding", result.Side{}, result.Side{})
	for {
		turn, more := study.Next()
		if !more {
			return study.Judge()
		}
		const keep = 0.72 // a turn begins 40 s after the one before, and two minutes later all is forgotten
		level = keep*level + c.wander*math.Sqrt(1-keep*keep)*own.NormFloat64()
		spec := sim.Spec{Seed: own.Uint64(), EnablePrefixCaching: new(false)}
		if !turn.On {
			spec.MemoryShare = 0.8 / c.faster
		}
		study.Observe(turn, c.turn(t, trial*100+uint64(turn.Round), spec, math.Exp(level), Length(plan).Seconds()), "")
	}
}

// turn plays the requests of a round, of which those of the first ten seconds do not count.
func (c studyScene) turn(t testing.TB, seed uint64, spec sim.Spec, slow, seconds float64) map[Key]Answer {
	r := rand.New(rand.NewPCG(seed, 9))
	const warm = 10
	var jobs []*sim.Job
	var due []int64
	for at := 0.0; ; {
		if at += r.ExpFloat64() / 2; at > warm+seconds {
			break
		}
		prompt := zeros[:min(int(1200*math.Exp(r.NormFloat64())), len(zeros))]
		jobs, due = append(jobs, &sim.Job{ID: uint64(len(jobs)), Prompt: prompt, Output: c.output/2 + r.IntN(c.output)}), append(due, int64(at*1e9))
	}
	sim.RunOpen(must.Get(sim.NewBatching(spec))(t), func(yield func(int64, *sim.Job) bool) {
		for i, j := range jobs {
			if !yield(due[i], j) {
				return
			}
		}
	}, sim.Watch{Token: func(sim.Token) {}, Refused: func(_ *sim.Job, err error) { t.Fatal(err) }})
	answers := map[Key]Answer{}
	for i, j := range jobs {
		if due[i] >= warm*1e9 {
			answers[Key{i, 0}] = Answer{OK: true, Due: due[i], Context: len(j.Prompt), Times: Times{"ttft": slow * float64(j.First-due[i]) / 1e6,
				"tpot": slow * float64(j.Last-j.First) / 1e6 / float64(j.Output-1), "e2e": slow * float64(j.Last-due[i]) / 1e6}}
		}
	}
	return answers
}

// TestStudyRates measures how often studies decide rightly, in two rounds of a minute and
// where they end by themselves; -update tries 200 of each and writes the table.
func TestStudyRates(t *testing.T) {
	t.Parallel()
	if !*update {
		return
	}
	const trials = 200
	plans := []*config.Config{{Experiment: config.Experiment{Rounds: 2}}, {}}
	var scenes []studyScene
	for _, output := range []int{200, 800} {
		for _, wander := range []float64{0, 0.1} {
			for _, faster := range []float64{1, 1.05, 1.25} {
				scenes = append(scenes, studyScene{output, faster, wander})
			}
		}
	}
	rows := make([]string, len(scenes))
	var busy sync.WaitGroup
	for i, c := range scenes {
		busy.Go(func() { rows[i] = c.row(t, plans, trials) })
	}
	busy.Wait()
	const head = "| replies | on the machine | with it | called in two rounds of 1 min | in up to four of 30 s | no difference in two rounds | in up to four | rounds |\n|---|---|---|--:|--:|--:|--:|--:|\n"
	must.Do(t, pages.Write("RATES.md", "studies", head+strings.Join(rows, "")))
}

// row is that of a scene, by both plans.
func (c studyScene) row(t testing.TB, plans []*config.Config, trials int) string {
	var called, same, rounds [2]int
	for trial := range uint64(trials) {
		for i, plan := range plans {
			got := c.play(t, trial, plan)
			switch got.Metrics[len(got.Metrics)-1].Standing {
			case slo.Same:
				same[i]++
			case slo.Undecided:
			default:
				called[i]++
			}
			rounds[i] += got.Rounds
		}
	}
	machine, with := "nothing else", "the same engine"
	if c.wander > 0 {
		machine = "a neighbor for 2 minutes"
	}
	if c.faster > 1 {
		with = fmt.Sprintf("memory %.2f times as fast", c.faster)
	}
	share := func(n int) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(trials)) }
	return fmt.Sprintf("| about %d tokens | %s | %s | %s | %s | %s | %s | %.1f |\n", c.output, machine, with, share(called[0]), share(called[1]), share(same[0]), share(same[1]), float64(rounds[1])/float64(trials))
}
