package experiment_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"redline/docs/pages"
	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
)

// isolationRow is an engine that two classes share, and whether chat holds its objective
// beside the other.
type isolationRow struct {
	policy    string
	batch     int // requests/s of the other class
	objective string
	holds     bool
}

var isolationRows = []isolationRow{
	{"priority", 12, "ttft:p95<500ms", true},
	{"fcfs", 12, "ttft:p95<500ms", false},
	{"fcfs", 2, "ttft:p95<500ms", true},
	{"priority", 12, "ttft:p95<30ms", false},
}

// TestIsolation: a class that the scheduler prefers holds its objective while another
// floods the engine, and one that it does not prefer does not. make gateways counts how
// often the verdicts are right.
func TestIsolation(t *testing.T) {
	t.Parallel()
	runs, err := strconv.Atoi(os.Getenv("REDLINE_ISOLATION"))
	rows := isolationRows
	if err != nil {
		runs, rows = 1, rows[:2]
	}
	var b strings.Builder
	b.WriteString("| policy | batch | objective | chat truly | runs | held | not isolated | not decided |\n|---|---|---|---|---|---|---|---|\n")
	for _, row := range rows {
		got := row.play(t, runs)
		wrong, truth := slo.Missed, "holds"
		if !row.holds {
			wrong, truth = slo.Met, "does not"
		}
		if got[wrong]*20 > runs {
			t.Errorf("%+v: wrong in %d of %d runs", row, got[wrong], runs)
		}
		if err != nil && got[slo.Met]+got[slo.Missed] == 0 {
			t.Errorf("%+v: open", row)
		}
		fmt.Fprintf(&b, "| %s | %d requests/s | `%s` | %s | %d | %d | %d | %d |\n", row.policy, row.batch, row.objective, truth, runs, got[slo.Met], got[slo.Missed], runs-got[slo.Met]-got[slo.Missed])
	}
	if err == nil {
		expect.OK(t, pages.Write("GATEWAYS.md", "isolation", b.String()))
	}
}

// play counts how chat stands over so many seeds.
func (row isolationRow) play(t *testing.T, runs int) map[slo.Standing]int {
	var mu sync.Mutex
	got := map[slo.Standing]int{}
	t.Run(fmt.Sprint(row), func(t *testing.T) {
		for i := range runs {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				if runs > 1 {
					t.Parallel()
				}
				found := row.run(t, uint64(100+i))
				mu.Lock()
				defer mu.Unlock()
				for _, p := range found.Parties {
					if p.Name == "chat" {
						got[p.Standing]++
					}
					if p.GotShare <= 0 || p.AskedShare <= 0 || p.LongestWaitMS <= 0 {
						t.Errorf("%+v: %+v", row, p)
					}
				}
			})
		}
	})
	return got
}

func (row isolationRow) run(t *testing.T, seed uint64) (found *result.Isolation) {
	path, priority := filepath.Join(t.TempDir(), "plan.yaml"), [2]string{}
	if row.policy == "priority" {
		priority = [2]string{"priority: 0, ", "priority: 10, "}
	}
	must.Write(t, path, fmt.Sprintf(`workload:
  classes:
    - {name: chat, weight: 4, workload: 'in=fixed(200) out=fixed(8)', %sslo: ['%s']}
    - {name: batch, weight: %d, workload: 'in=fixed(200) out=fixed(64)', %sslo: ['e2e:p90<600s']}
load_profile: {rate: %d, duration: 30s, warmup: 5s, drain: 120s}
experiment: {isolation: true}
server: {sim: {max_num_seqs: 4, scheduling_policy: %s}}
`, priority[0], row.objective, row.batch, priority[1], 4+row.batch, row.policy))
	synctest.Test(t, func(t *testing.T) {
		c := must.Get(config.Resolve(config.Input{Command: "matrix", PlanPath: path, Seed: seed, Flags: map[string][]string{"out": {filepath.Join(t.TempDir(), "run")}}}))(t)
		res, _ := must.Get2(experiment.Matrix(t.Context(), experiment.Options{Options: measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: c}}))(t)
		found = res.Isolation
		for _, why := range res.Diagnosis {
			if p := res.Points[why.Point]; *p.Load.Rate != float64(4+row.batch) || strings.Contains(why.Confirm, "--plan") && !strings.HasPrefix(why.Confirm, "redline matrix --plan plan.yaml --rate ") {
				t.Errorf("of all together, at %v requests/s: %s: %s", *p.Load.Rate, why.Title, why.Confirm)
			}
		}
	})
	return found
}
