package toggle

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"redline/docs/pages"
	"redline/internal/answer/compare"
	"redline/internal/catalog"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

var update = flag.Bool("update", false, "measure how often intervals hold the truth, and write it into the manual")

// scene is an engine, the same without an optimization, and a load on which the
// two differ in a way that is known.
type scene struct {
	name   string
	metric string
	rate   float64
	spec   sim.Spec
	with   func(*sim.Spec)
	// without is the other side.
	without func(*sim.Spec)
	// then is what the optimization does above its threshold, "" where it has
	// none and does all along as standing says.
	then, standing slo.Standing
	// shared is how many tokens prompts begin with in common.
	shared int
}

// constants is an engine of round figures: ten milliseconds a step, a prompt of a
// thousand tokens fifty.
func constants() sim.Spec {
	return sim.Spec{Law: &catalog.Law{WeightsUS: 10_000, TokenUS: 50, ContextUS: 0.05, Corner: 1},
		EnablePrefixCaching: new(false), NumGPUBlocksOverride: 1 << 16, MaxNumBatchedTokens: 20_000, MaxModelLen: 20_000}
}

var scenes = []scene{
	{name: "guesses that fail in long texts", metric: "tpot", rate: 1, spec: constants(), then: slo.Hurts,
		with: func(s *sim.Spec) {
			s.Speculation = sim.Speculation{Tokens: 3, Acceptance: 0.8, Context: 3000, DraftShare: new(0.1)}
		}},
	{name: "prompts that a draft model reads too", metric: "e2e", rate: 1, spec: constants(), then: slo.Hurts,
		with: func(s *sim.Spec) {
			s.Speculation = sim.Speculation{Tokens: 1, Acceptance: 0.4, DraftShare: new(0.2)}
		}},
	{name: "prompts in pieces", metric: "stall", rate: 0.8, spec: constants(), standing: slo.Pays,
		with:    func(s *sim.Spec) { s.MaxNumBatchedTokens = 1024 },
		without: func(s *sim.Spec) { s.EnableChunkedPrefill = new(false) }},
	{name: "prompts in pieces, their own first token", metric: "ttft", rate: 0.8, spec: constants(), standing: slo.Hurts,
		with:    func(s *sim.Spec) { s.MaxNumBatchedTokens = 1024 },
		without: func(s *sim.Spec) { s.EnableChunkedPrefill = new(false) }},
	{name: "a shared beginning", metric: "ttft", rate: 1, spec: constants(), standing: slo.Pays, shared: 800,
		with: func(s *sim.Spec) { s.EnablePrefixCaching = new(true) }},
	{name: "batches that are run to their end", metric: "e2e", rate: 1, spec: constants(), standing: slo.Pays,
		without: func(s *sim.Spec) { s.StaticBatching = true }},
}

// requests plays the same jobs to both engines in virtual time.
func (c scene) requests(t testing.TB, seed uint64, n int) []Request {
	t.Helper()
	out := make([]Request, n)
	for side, change := range []func(*sim.Spec){c.with, c.without} {
		spec := c.spec
		spec.Seed = seed
		if change != nil {
			change(&spec)
		}
		core := must.Get(sim.NewBatching(spec))(t)
		jobs, due := c.jobs(seed, n)
		gaps := gaps{latest: make([]int64, n), longest: make([]int64, n)}
		sim.RunOpen(core, func(yield func(int64, *sim.Job) bool) {
			for i, j := range jobs {
				if !yield(due[i], j) {
					return
				}
			}
		}, sim.Watch{Token: gaps.note, Refused: func(_ *sim.Job, err error) { t.Fatal(err) }})
		for i, j := range jobs {
			times := Times{"ttft": float64(j.First-due[i]) / 1e6, "e2e": float64(j.Last-due[i]) / 1e6,
				"stall": float64(gaps.longest[i]) / 1e6, "tpot": float64(j.Last-j.First) / 1e6 / float64(j.Output-1)}
			out[i].Context, out[i].Due = len(j.Prompt), due[i]
			if side == 0 {
				out[i].With = times
			} else {
				out[i].Without = times
			}
		}
	}
	return out
}

// gaps are the longest ones between the tokens of each job.
type gaps struct{ latest, longest []int64 }

func (g gaps) note(t sim.Token) {
	if i := t.Job.ID; t.Index == 0 {
		g.latest[i] = t.At
	} else {
		g.longest[i] = max(g.longest[i], t.At-g.latest[i])
		g.latest[i] = t.At
	}
}

// jobs come at random, with prompts of 100 to 16,000 tokens, as many of any
// length as of twice that.
func (c scene) jobs(seed uint64, n int) (jobs []*sim.Job, due []int64) {
	r := rand.New(rand.NewPCG(seed, 7))
	at := 0.0
	for i := range n {
		at += r.ExpFloat64() / c.rate
		length := int(100 * math.Exp(r.Float64()*math.Log(160)))
		prompt := zeros[:length]
		if c.shared > 0 {
			prompt = make([]int32, length)
			for k := c.shared; k < length; k++ {
				prompt[k] = int32(r.Uint32())
			}
		}
		jobs = append(jobs, &sim.Job{ID: uint64(i), Prompt: prompt, Output: 40 + r.IntN(81)})
		due = append(due, int64(at*1e9))
	}
	return jobs, due
}

var zeros = make([]int32, 16_001)

// truth is where the mean of many requests crosses no change: means of narrow
// classes of length, and nothing of the fit that is on trial.
func (c scene) truth(t testing.TB, n int) float64 {
	t.Helper()
	const width = 0.1
	sum, count := map[int]float64{}, map[int]float64{}
	of := func(t Times) float64 { return t[c.metric] }
	for seed := range uint64(4) {
		for _, r := range c.requests(t, 1000+seed, n/4) {
			k := int(math.Log(float64(r.Context)) / width)
			sum[k] += math.Log(of(r.With) / of(r.Without))
			count[k]++
		}
	}
	var classes []int
	for k := range sum {
		if count[k] > 20 {
			classes = append(classes, k)
		}
	}
	slices.Sort(classes)
	crossing := math.NaN()
	for i := 1; i < len(classes); i++ {
		a, b := classes[i-1], classes[i]
		ya, yb := sum[a]/count[a], sum[b]/count[b]
		if ya*yb < 0 {
			x := (float64(a) + 0.5) * width
			crossing = math.Exp(x + width*float64(b-a)*ya/(ya-yb))
		}
	}
	return crossing
}

func (c scene) judgeE2E(t testing.TB, seed uint64, n int) result.ToggleMetric {
	t.Helper()
	var got result.Toggle
	judge(&got, c.requests(t, seed, n), compare.DefaultTolerance, 1)
	for _, m := range got.Metrics {
		if m.Name == c.metric {
			return m
		}
	}
	t.Fatalf("%s: no %s in %+v", c.name, c.metric, got)
	return result.ToggleMetric{}
}

// The interval of a threshold holds the true one, and the answer is the right
// one on either side.
func TestThresholdsHoldTheTruth(t *testing.T) {
	t.Parallel()
	const trials = 6
	for _, c := range scenes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.try(t, trials, 20_000); got.right < trials-1 {
				t.Errorf("right in %d of %d trials, the truth is %.0f tokens", got.right, trials, got.truth)
			}
		})
	}
}

// score is how often a scene was judged rightly.
type score struct {
	truth                 float64
	right, silent, trials int
	// width is how far the interval reaches, as a ratio of its ends, on
	// average.
	width float64
}

func (c scene) try(t *testing.T, trials, long int) score {
	t.Helper()
	s := score{trials: trials, truth: math.NaN()}
	if c.then != "" {
		if s.truth = c.truth(t, long); math.IsNaN(s.truth) {
			t.Fatal("there is no threshold")
		}
	}
	for seed := range trials {
		m := c.judgeE2E(t, uint64(seed), perTrial)
		switch {
		case c.then == "":
			if m.Standing == c.standing {
				s.right++
			}
		case len(m.Thresholds) == 0:
			s.silent++
		default:
			found := m.Thresholds[0]
			s.width += found.Interval[1] / found.Interval[0]
			if len(m.Thresholds) == 1 && found.Then == c.then && found.Interval[0] <= s.truth && s.truth <= found.Interval[1] {
				s.right++
			}
		}
	}
	s.width /= float64(max(1, trials-s.silent))
	return s
}

// perTrial is the requests of one trial: ten minutes at one a second.
const perTrial = 600

// RATES.md says how often each scene is judged rightly; -update finds out.
func TestManualSaysHowOftenItIsRight(t *testing.T) {
	t.Parallel()
	const page, name = "RATES.md", "trials"
	if !*update {
		listed := must.Get(pages.Read(page, name))(t)
		for _, c := range scenes {
			if !strings.Contains(listed, "| "+c.name+" |") {
				t.Errorf("%s says nothing of %q: run go test ./internal/answer/toggle -update", page, c.name)
			}
		}
		return
	}
	table := "| scene | metric | the truth | right | wrong | none claimed | interval, upper end over lower |\n|---|---|---|--:|--:|--:|--:|\n"
	for _, c := range scenes {
		s := c.try(t, 200, 200_000)
		truth, width := string(c.standing)+" at all lengths", "–"
		if c.then != "" {
			truth, width = fmt.Sprintf("%s from %.0f tokens", c.then, s.truth), fmt.Sprintf("%.2f", s.width)
		}
		table += fmt.Sprintf("| %s | %s | %s | %d of %d | %d | %d | %s |\n", c.name, c.metric, truth, s.right, s.trials, s.trials-s.right-s.silent, s.silent, width)
	}
	must.Do(t, pages.Write(page, name, table))
}

// loadScene is an engine with and without speculation, closed loops of several sizes,
// and where it stops paying.
type loadScene struct {
	name   string
	spec   sim.Speculation
	levels []int
}

var loadScenes = []loadScene{
	{"drafts of 3 tokens, each right in 60%", sim.Speculation{Tokens: 3, Acceptance: 0.6, DraftShare: new(0.05)}, []int{16, 32, 64, 96, 128, 192, 256, 512}},
	{"drafts of 5 tokens, each right in 80%", sim.Speculation{Tokens: 5, Acceptance: 0.8, DraftShare: new(0.02)}, []int{16, 32, 64, 96, 128, 192, 256, 512}},
}

// requests plays jobs to both engines, so many at a time.
func (c loadScene) requests(t testing.TB, seed uint64, inFlight, jobs int) []Request {
	t.Helper()
	out := make([]Request, jobs)
	for side := range 2 {
		spec := constants()
		spec.Seed, spec.MaxNumSeqs, spec.NumGPUBlocksOverride = seed, 1024, 1<<17
		if side == 0 {
			spec.Speculation = c.spec
		}
		r := rand.New(rand.NewPCG(seed, uint64(inFlight)))
		core := must.Get(sim.NewBatching(spec))(t)
		sim.RunClosed(core, 0, inFlight, func(yield func(*sim.Job) bool) {
			for i := range jobs {
				if !yield(&sim.Job{ID: uint64(i), Prompt: zeros[:50+r.IntN(100)], Output: 40 + r.IntN(81)}) {
					return
				}
			}
		}, sim.Watch{Token: func(tok sim.Token) {
			if j := tok.Job; tok.Last {
				times := Times{"ttft": float64(j.First-j.Received) / 1e6, "e2e": float64(j.Last-j.Received) / 1e6, "tpot": float64(j.Last-j.First) / 1e6 / float64(j.Output-1)}
				one := &out[j.ID]
				one.Context = len(j.Prompt)
				if side == 0 {
					one.With = times
				} else {
					one.Without, one.Due = times, j.Received
				}
			}
		}, Refused: func(_ *sim.Job, err error) { t.Fatal(err) }})
	}
	return slices.DeleteFunc(out[min(inFlight, jobs/4):], func(r Request) bool { return r.With == nil || r.Without == nil })
}

// change is the mean change of e2e at a load, over many requests.
func (c loadScene) change(t testing.TB, inFlight int) float64 {
	sum, n := 0.0, 0.0
	for _, r := range c.requests(t, 1000, inFlight, 20*inFlight) {
		sum, n = sum+math.Log(r.With["e2e"]/r.Without["e2e"]), n+1
	}
	return sum / n
}

// The load at which speculation stops paying lies in the interval that is reported.
// -update tries 100 seeds of each scene and writes the table.
func TestLoadThresholdsHoldTheTruth(t *testing.T) {
	t.Parallel()
	trials := 2
	if *update {
		trials = 100
	}
	table := "| scene | the truth | right | wrong | none claimed | interval, upper end over lower |\n|---|---|--:|--:|--:|--:|\n"
	for i, c := range loadScenes {
		if i > 0 && !*update {
			break
		}
		low, high := c.levels[0], c.levels[len(c.levels)-1]
		for high-low > max(1, low/50) {
			if middle := (low + high) / 2; c.change(t, middle) < 0 {
				low = middle
			} else {
				high = middle
			}
		}
		truth, right, silent, width := float64(low+high)/2, 0, 0, 0.0
		for seed := range uint64(trials) {
			var list []result.Toggle
			for _, n := range c.levels {
				one := result.Toggle{Name: "speculative_decoding", Load: &result.Load{Mode: "closed", Concurrency: &n}}
				judge(&one, c.requests(t, seed, n, 10*n+400), compare.DefaultTolerance, 1)
				list = append(list, one)
			}
			all := OverLoads(list)
			m := all[0].Metrics[len(all[0].Metrics)-1]
			switch th := m.Threshold; {
			case th == nil:
				silent++
			case th.Then == slo.Hurts && th.Interval[0] <= truth && truth <= th.Interval[1]:
				right++
				width += th.Interval[1] / th.Interval[0]
			default:
				width += th.Interval[1] / th.Interval[0]
			}
		}
		if right < trials*9/10 {
			t.Errorf("%s: right in %d of %d trials, %d claim nothing; the truth is %.0f", c.name, right, trials, silent, truth)
		}
		table += fmt.Sprintf("| %s | stops paying at %.0f in flight | %d of %d | %d | %d | %.2f |\n", c.name, truth, right, trials, trials-right-silent, silent, width/float64(max(1, trials-silent)))
	}
	if *update {
		must.Do(t, pages.Write("RATES.md", "load trials", table))
	}
}
