//go:build unix

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/effort"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/workers/bus"
)

// TestWorkersServeOneConductorAfterTheOther: two that want the same two workers at
// the same time both get them, one after the other, and the workers go on.
func TestWorkersServeOneConductorAfterTheOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	hands := c.crew(2)
	both := []*conductor{c.conducts(2, "run", "--rate", "20", "--duration", "1s"), c.conducts(2, "run", "--rate", "20", "--duration", "1s")}
	ids := map[string]bool{}
	for _, one := range both {
		res := one.result()
		ids[res.ID] = true
		if n := res.Points[0].Requests; n.OK != n.Due || len(res.Workers) != 2 {
			t.Errorf("%+v by %d workers\n%s", n, len(res.Workers), one.said)
		}
	}
	for _, h := range hands {
		for id := range ids {
			if strings.Count(h.said.String(), "run "+id+": sending 1/2") != 1 {
				t.Errorf("a worker did not work for run %s once:\n%s", id, h.said)
			}
		}
	}
}

// TestBudgetsHoldOverWorkers: workers together use no more than was allowed and
// what was in flight.
func TestBudgetsHoldOverWorkers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--pace", "50ms")
	c.crew(3)
	const users, tokens, limit = 6, 20 + 20, 400
	plan := must.File(t, "plan.yaml", `
cost: {currency: USD, per_1m_prompt_tokens: 1000000, per_1m_output_tokens: 1000000}
`)
	for _, flags := range [][]string{{"--max-tokens-total", fmt.Sprint(limit)}, {"--max-spend", fmt.Sprint(limit), "--plan", plan}} {
		run := c.conducts(3, "run", append([]string{"--concurrency", fmt.Sprint(users), "--duration", "1m", "--workload", "fixed(20,20)"}, flags...)...)
		res := run.result()
		if want := flags[0] + " reached"; res.Interrupted != want || !strings.HasPrefix(run.out.String(), "MEASURED ") || !strings.Contains(run.out.String(), "by "+flags[0]+", with every request answered") {
			t.Errorf("interrupted %q:\n%s", res.Interrupted, run.out)
		}
		used := 0
		for _, r := range readRecords(t, run.dir) {
			if r.Sent != 0 {
				used += max(r.PromptTokens, r.AskedPrompt) + r.AskedOutput
			}
		}
		if used < limit/2 || used > limit+users*tokens {
			t.Errorf("%v: %d tokens asked for, of %d and %d in flight", flags, used, limit, users*tokens)
		}
	}
}

// TestServerDiesUnderWorkers: the faults of all workers together end the run.
func TestServerDiesUnderWorkers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.crew(3)
	run := c.conducts(3, "run", "--rate", "40", "--duration", "10m", "--max-error-rate", "0.5")
	run.under(100)
	c.sim.Process.Kill()
	res := run.result()
	if n := res.Points[0].Requests; !strings.Contains(res.Interrupted, "more than --max-error-rate 0.5") || n.Failed < 50 || n.OK == 0 {
		t.Errorf("interrupted %q, %+v", res.Interrupted, n)
	}
	if !strings.HasPrefix(run.out.String(), "STOPPED EARLY: ") {
		t.Errorf("the report begins otherwise:\n%s", run.out)
	}
}

// TestExperimentsWithWorkers: what measures in stages does so with workers, also
// where a stage has less to do than there are workers.
func TestExperimentsWithWorkers(t *testing.T) {
	t.Parallel()
	all := []struct {
		name   string
		flags  func(c *cluster) []string
		stages int
	}{
		{"sweep", func(*cluster) []string { return []string{"--concurrencies", "1,4", "--requests", "12"} }, 2},
		{"compare", func(c *cluster) []string {
			return []string{c.engine, c.engine, "--rate", "20", "--rounds", "2", "--duration", "1s", "--anyway"}
		}, 4},
		{"bench", func(c *cluster) []string {
			return []string{"--plan", must.File(c.t, "plan.yaml", quickBench), "--slo", "batch", "--workload", "fixed(20,4)"}
		}, 8},
	}
	for _, tc := range effort.Of(all[:1], all) {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.crew(3)
			run := c.conducts(3, tc.name, tc.flags(c)...)
			res := run.result()
			if len(res.Stages) < tc.stages || res.Interrupted != "" {
				t.Errorf("%d stages, interrupted %q, want %d\n%s", len(res.Stages), res.Interrupted, tc.stages, run.said)
			}
			most := 0
			for _, stage := range stageResults(t, run.dir) {
				n := stage.Points[0].Requests
				if n.OK != n.Due || len(stage.Workers) == 0 {
					t.Errorf("a stage has %+v by %d workers", n, len(stage.Workers))
				}
				most = max(most, len(stage.Workers))
			}
			if most != 3 {
				t.Errorf("no stage had more than %d workers", most)
			}
		})
	}
}

// stageResults are those of the stages of an experiment.
func stageResults(t *testing.T, dir string) (list []*result.Result) {
	t.Helper()
	stages := must.Get(os.ReadDir(filepath.Join(dir, "stages")))(t)
	for _, s := range stages {
		if path := filepath.Join(dir, "stages", s.Name()); exists(path, "result.json") {
			list = append(list, readResultOf(t, path))
		}
	}
	return list
}

// TestSecretsReachWorkers: a worker sends the keys that only the conductor has. They
// are written nowhere: not by it and not into the run.
func TestSecretsReachWorkers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := c.joins("w1")
	url, seen := serveChat(t)
	const key = "sk-8c2e61f09b7d44a3"
	dir := filepath.Join(t.TempDir(), "run")
	cmd, out, said := program(t, "run", "--url", url, "--model", "m", "--rate", "20", "--duration", "1s", "--warmup", "0s", "--workload", "fixed(20,4)",
		"--workers", "1", "--nats", c.nats, "--out", dir)
	cmd.Env = append(cmd.Env, bus.TokenVariable+"="+crewToken, "OPENAI_API_KEY="+key)
	startedProcess(t, cmd)
	(&conductor{Cmd: cmd, t: t, dir: dir, out: out, said: said}).result()
	for number, call := range seen.list {
		if got := call.Header.Get("Authorization"); got != "Bearer "+key {
			t.Errorf("request %s came with %q", number, got)
		}
	}
	texts := map[string]string{"the worker": h.said.String(), "the conductor": out.String() + said.String()}
	maps.Copy(texts, filesOf(t, dir))
	leaks(t, texts, key, crewToken)
}
