package search

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/docs/pages"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/stats"
	"redline/internal/traffic/job"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// agent is a job of an agent: requests that follow each other, each with the whole
// prompt of the one before, what was said since and what a tool brought. The first
// systemTokens are the same in all jobs.
type agent struct {
	tokens []int32
	turns  []shape
	pauses []int64 // before each
}

const (
	systemTokens = 2000
	maxContext   = 38_000
)

// newAgent draws a job: 5 to 25 requests, pauses of 6 s in the median.
func newAgent(r *rand.Rand) *agent {
	within := func(median, sigma float64, lo, hi int) int {
		return min(max(int(stats.LogNormal(r, math.Log(median), sigma)), lo), hi)
	}
	a := &agent{}
	prompt := systemTokens + within(6000, 0.5, 500, 20_000)
	for n := 5 + r.IntN(21); len(a.turns) < n; {
		output := within(200, 0.7, 20, 1500)
		a.turns = append(a.turns, shape{prompt, output})
		a.pauses = append(a.pauses, int64(within(6000, 1, 200, 60_000))*int64(time.Millisecond))
		prompt = min(prompt+output+within(800, 0.8, 50, 8000), maxContext)
	}
	a.tokens = make([]int32, prompt)
	for i := range a.tokens {
		if a.tokens[i] = int32(i); i >= systemTokens {
			a.tokens[i] = int32(r.Uint32() >> 1)
		}
	}
	return a
}

// agents is an engine that serves such jobs, so many at a time.
func agents(name string, spec sim.Spec) engine {
	r := stats.Rand(1, "agents", 0)
	const many = 2000
	turns := 0
	for range many {
		turns += len(newAgent(r).turns)
	}
	return engine{name: name, lengths: func() Lengths { return Lengths{} }, turns: float64(turns) / many, lanes: lanes(spec)}
}

// stagger is the time over which agents begin.
const stagger = 5 * time.Second

// lanes plays so many agents: each begins at some request of its first job, with
// the one before as its warm-up, and each job is followed by another, until the
// window's requests have ended or the drain is over.
func lanes(spec sim.Spec) func(t testing.TB, seed uint64, live int, warmup, window, drain time.Duration) stage {
	return func(t testing.TB, seed uint64, live int, warmup, window, drain time.Duration) stage {
		spec.Seed = seed
		core := must.Get(sim.NewBatching(spec))(t)
		type ready struct {
			at      int64
			job     *agent
			no      int
			session int
		}
		g := stage{start: int64(warmup), stop: int64(warmup + window)}
		var waiting []ready // by time
		var sent []ready    // by trip
		wait := func(one ready) {
			i, _ := slices.BinarySearchFunc(waiting, one.at, func(w ready, at int64) int { return cmp.Compare(w.at, at) })
			waiting = slices.Insert(waiting, i, one)
		}
		draws := stats.Rand(seed, "jobs", 0)
		for session := range live {
			job := newAgent(draws)
			wait(ready{draws.Int64N(int64(stagger)), job, draws.IntN(len(job.turns)), session})
		}
		jobs := live
		open, step := 0, int64(sim.Idle)
		emit := func(k sim.Token) {
			one := g.trips[k.Job.ID]
			if k.Index == 0 {
				one.first = k.At
			}
			if !k.Last {
				return
			}
			one.end = k.At
			if one.due >= g.start && one.due < g.stop {
				open--
			}
			last := sent[k.Job.ID]
			next := ready{job: last.job, no: last.no + 1, session: last.session}
			if next.no == len(next.job.turns) {
				next = ready{job: newAgent(draws), session: jobs}
				jobs++
			}
			next.at = k.At + next.job.pauses[next.no]
			wait(next)
		}
		for now := int64(0); now < g.stop || open > 0 && now < g.stop+int64(drain); {
			if len(waiting) == 0 || step <= waiting[0].at {
				now = step
				step = core.Step(step, emit)
				continue
			}
			next := waiting[0]
			now, waiting = next.at, waiting[1:]
			turn := next.job.turns[next.no]
			one := &trip{id: len(g.trips), due: now, prompt: turn.prompt, output: turn.output, session: next.session, turn: next.no, turns: len(next.job.turns)}
			g.trips, sent = append(g.trips, one), append(sent, next)
			if one.due >= g.start && one.due < g.stop {
				open++
			}
			must.Do(t, core.Submit(now, &sim.Job{ID: uint64(one.id), Prompt: next.job.tokens[:one.prompt], Output: one.output}))
			step = min(step, now)
			g.over = now
		}
		g.over = min(max(g.over, g.stop), g.stop+int64(drain))
		g.cutOff()
		return g
	}
}

// codingAgents is an engine that serves the jobs of the preset coding_agent, with their
// subagents and pauses of 10 s at most. The first are met in the middle, as often as
// they are long.
func codingAgents(name string, spec sim.Spec) engine {
	const context, meanTurns = 131_072, 39
	preset := sync.OnceValues(func() (*job.Generator, error) {
		data, err := os.ReadFile("../../traffic/workload/agents/coding_agent.yaml")
		if err != nil {
			return nil, err
		}
		return job.ReadGenerator("coding_agent", data)
	})
	tooLong := func(j *job.Job) bool {
		return slices.ContainsFunc(j.Requests, func(r job.Request) bool { return r.Prompt+r.Output > context })
	}
	draw := func(t testing.TB, seed uint64, live int) []*job.Job {
		file := must.Get(preset())(t).Sample(name, seed, 8*live+20)
		file.Jobs = slices.DeleteFunc(file.Jobs, tooLong)
		ends := make([]float64, len(file.Jobs))
		for i, j := range file.Jobs {
			for k := range j.Requests {
				j.Requests[k].Pause = min(j.Requests[k].Pause, 10*time.Second)
			}
			for _, span := range j.Schedule(file.Took) {
				ends[i] = max(ends[i], float64(span.Start))
			}
		}
		r := stats.Rand(seed, "lanes", 0)
		var underWay []*job.Job
		for range live {
			i := stats.Choose(r, ends)
			rest, _ := file.Jobs[i].Rest(file.Jobs[i].Schedule(file.Took), time.Duration(r.Float64()*ends[i]))
			underWay, ends[i] = append(underWay, rest), 0
		}
		return append(underWay, file.Jobs...)
	}
	play := func(t testing.TB, seed uint64, live int, warmup, window, drain time.Duration) stage {
		spec.Seed = seed
		g := stage{start: int64(warmup), stop: int64(warmup + window)}
		g.over = g.stop
		load := replay.Agents{Jobs: draw(t, seed, live), Live: live, End: g.stop + 2*int64(drain+time.Minute)}
		replay.PlayJobs([]sim.Core{must.Get(sim.NewBatching(spec))(t)}, load, func(r replay.Turn) {
			g.trips = append(g.trips, &trip{id: len(g.trips), due: r.Due, first: r.First, end: r.Last, prompt: r.Prompt, output: r.Output,
				session: r.Session, turn: r.Number, turns: len(load.Jobs[r.Session%len(load.Jobs)].Requests)})
			if r.Due >= g.start && r.Due < g.stop {
				g.over = min(max(g.over, r.Last), g.stop+int64(drain))
			}
		})
		g.trips = slices.DeleteFunc(g.trips, func(one *trip) bool { return one.due >= g.over })
		g.cutOff()
		return g
	}
	return engine{name: name, lengths: func() Lengths { return Lengths{} }, turns: meanTurns, lanes: play}
}

// agentBudgets are those of searches for a number of agents, of which only coverage
// and time are asked; those from jobBudget on are of the rows whose objectives are
// about jobs: three of the runs that these make, and as many as a search makes by itself.
var agentBudgets = []asked{{budget: 5 * time.Minute}, {budget: 10 * time.Minute}, {budget: 30 * time.Minute}, {budget: jobBudget}, {budget: jobLevels * jobRun}}

const (
	jobRun    = 15*time.Minute + 24*time.Second
	jobBudget = 3 * jobRun
)

// TestSearchesFindTheAgents is TestSearchesFindTheLimit for numbers of agents, with
// the same settings; its table is a part of the page.
func TestSearchesFindTheAgents(t *testing.T) {
	t.Parallel()
	seeds := count(t, "REDLINE_LIMIT")
	if seeds == 0 {
		for _, c := range cases(t, true) {
			if c.budget != 10*time.Minute {
				continue
			}
			o := c.play(t, firstSeed)
			if o.Interval[0] > c.Limit || o.Interval[1] < c.Limit || o.Clock > (1+maxOverrun)*c.budget.Seconds() {
				t.Errorf("%s %s: %v (%v) in %.0f s, the limit is %v", c.Engine, c.Objective, o.Rate, o.Interval, o.Clock, c.Limit)
			}
		}
		return
	}
	list := cases(t, true)
	var b strings.Builder
	fmt.Fprintf(&b, agentHead, seeds, firstSeed)
	for _, r := range tally(list, playAll(t, list, seeds)) {
		t.Logf("%-5v %s", r.budget, r)
		fmt.Fprintf(&b, "| %s | %s | `%s` | %.0f | %d of %d | %s | %s | %s | %d | %.1f | %d | %.0f%% |\n", spell(r.budget), strings.TrimSuffix(r.Engine, " agents"), r.Objective, r.Limit, r.covered, r.trials,
			percent(quantile(r.halves, 0.5)), percent(quantile(r.errors, 0.5)), percent(quantile(r.errors, 0.9)), r.held, quantile(r.peaks, 1), r.open, 100*quantile(r.clocks, 1))
	}
	if os.Getenv("REDLINE_LIMIT_ONLY")+os.Getenv("REDLINE_LIMIT_CHOSEN") == "" {
		must.Do(t, pages.Write("LIMIT.md", "agents", b.String()))
	}
}

const agentHead = `Up to %d seeds for each row, from %d on.

| budget | engine | objective | agents | interval covers | half-width, median | error, median | p90 | held | level, worst | open | clock |
|---|---|---|---|---|---|---|---|---|---|---|---|
`

// TestJobsDecideALevel: of an objective on jobs the share counts that their verdict
// estimates, not how many were seen to end; where no job ended nothing is known, and
// the answer says so. Levels and runs are long enough for what it allows jobs.
func TestJobsDecideALevel(t *testing.T) {
	objective := parse(t, "job:p90<10m")
	verdict := func(n int, beyond ...float64) Observation {
		return Observation{Requests: 300, Objectives: []slo.Verdict{{Objective: objective.Text, Standing: slo.Undecided, N: n, CutOff: 20, Beyond: beyond}}}
	}
	if e := verdict(40, 0.05, 0.08).evidence(objective); e.n != 40 || e.low != 0.05 || e.high != 0.08 {
		t.Errorf("the share of 0.05 to 0.08 is read as %+v", e)
	}
	if e := verdict(0).evidence(objective); e.n != 0 {
		t.Errorf("no job ended, and %+v is read", e)
	}
	s := must.Get(New(Spec{Agents: true}, []slo.Objective{objective}))(t)
	if level, _ := s.Next(); level.Duration < 20*time.Minute || level.Drain > time.Minute {
		t.Errorf("jobs of 10 minutes are judged in %v, and a drain of %v", level.Duration, level.Drain)
	}
	if _, err := New(Spec{Agents: true, Sustained: 5 * time.Minute, Budget: 2 * time.Hour}, []slo.Objective{objective}); err == nil || !strings.Contains(err.Error(), "runs of 5m0s are too short for job:p90<600s") || !strings.Contains(err.Error(), "22m0s (--sustained)") {
		t.Errorf("runs of 5 minutes: %v", err)
	}
	ok := parse(t, "job_ok:fraction>0.99")
	s = must.Get(New(Spec{Agents: true}, []slo.Objective{ok, parse(t, "ttft:p95<1s")}))(t)
	level, _ := s.Next()
	s.Observe(level, Observation{Requests: 30, Objectives: []slo.Verdict{{Objective: ok.Text, Standing: slo.Undecided}, {Objective: "ttft:p95<1s", Standing: slo.Met, N: 30}}})
	if notes := strings.Join(s.Answer().Notes, "\n"); !strings.Contains(notes, ok.Text+" was not judged: no job began and ended") {
		t.Errorf("notes are %q", notes)
	}
}
