package measure

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redline/docs/pages"
	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/run/consistency"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// fireRow is a fault at one strength, or none.
type fireRow struct {
	name string
	// isHealthy says that nothing is to be found.
	isHealthy bool
	// play runs it once and reports whether something is called, and by how much that is
	// wrong, in seconds or as a share of the cache.
	play func(t *testing.T, seed uint64) (alarm bool, figure float64)
}

// fireParts are the tables of FIRE.md; figure heads their last column, if they have one.
var fireParts = []struct {
	name, figure string
	format       func(float64) string
	rows         []fireRow
}{
	{"leak", "median leak per 1,000 closed", func(v float64) string { return fmt.Sprintf("%.3g%%", 100*v) }, leakRows()},
	{"recovery", "median error", formatSeconds, recoveryRows()},
	{"fleet", "median error", formatSeconds, fleetRows()},
	{"replies", "", nil, replyRows()},
}

func formatSeconds(v float64) string { return fmt.Sprintf("%.2f s", v) }

// TestFire counts how often faults are found and healthy servers accused, for make
// fire: REDLINE_FIRE is the number of runs of each row, REDLINE_FIRE_PARTS which tables.
func TestFire(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("REDLINE_FIRE"))
	if err != nil {
		t.Skip("make fire runs it")
	}
	only := os.Getenv("REDLINE_FIRE_PARTS")
	for _, part := range fireParts {
		if only != "" && !slices.Contains(strings.Split(only, ","), part.name) {
			continue
		}
		head, line := "| engine | runs | found | false alarms |", "|---|---|---|---|"
		if part.figure != "" {
			head, line = head+" "+part.figure+" |", line+"---|"
		}
		body, isWhole := head+"\n"+line+"\n", true
		for _, o := range playRows(t, part.rows, runs) {
			if len(o.figures) == 0 { // -run asks for others
				isWhole = false
				continue
			}
			found, accused := strconv.Itoa(o.alarms), ""
			if o.isHealthy {
				found, accused = "", found
			}
			body += fmt.Sprintf("| %s | %d | %s | %s |", o.name, len(o.figures), found, accused)
			if slices.Sort(o.figures); part.figure != "" {
				body += " " + part.format(o.figures[len(o.figures)/2]) + " |"
			}
			body += "\n"
		}
		t.Log("\n" + body)
		if isWhole {
			expect.OK(t, pages.Write("FIRE.md", part.name, body))
		}
	}
}

type fireOutcome struct {
	fireRow
	alarms  int
	figures []float64
}

// playRows runs every row with so many seeds, as many at a time as there are cores.
func playRows(t *testing.T, rows []fireRow, runs int) []fireOutcome {
	all := make([]fireOutcome, len(rows))
	var mu sync.Mutex
	t.Run("", func(t *testing.T) {
		for k, row := range rows {
			all[k].fireRow = row
			for i := range runs {
				t.Run(row.name, func(t *testing.T) {
					t.Parallel()
					alarm, figure := row.play(t, uint64(1000+i))
					mu.Lock()
					defer mu.Unlock()
					if alarm {
						all[k].alarms++
					}
					all[k].figures = append(all[k].figures, figure)
				})
			}
		}
	})
	return all
}

// underLoad plays the embedded engine with these flags, and judges its run.
func underLoad(flags map[string]string, judge func(*result.Point) (bool, float64)) func(*testing.T, uint64) (bool, float64) {
	return func(t *testing.T, seed uint64) (bool, float64) {
		all := map[string][]string{"rate": {"20"}, "warmup": {"0s"}, "workload": {"fixed(64,20)"}, "telemetry-interval": {"5s"}}
		for name, value := range flags {
			if all[name] = strings.Split(value, ";"); value == "" {
				delete(all, name)
			}
		}
		return judge(&runEmbedded(t, seed, all).Points[0])
	}
}

func leakRows() (rows []fireRow) {
	leaks := func(p *result.Point) (bool, float64) { return p.Leak.Standing == result.Leaks, *p.Leak.KVPer1000 }
	for _, row := range [][2]string{{"healthy", ""}, {"healthy, but generates closed replies to their end", "deaf"},
		{"leaks 1% of closed requests", "leak:1%"}, {"leaks 5% of closed requests", "leak:5%"}, {"leaks 20% of closed requests", "leak:20%"}, {"leaks 100% of closed requests", "leak"}} {
		rows = append(rows, fireRow{row[0], strings.HasPrefix(row[0], "healthy"),
			underLoad(map[string]string{"duration": "15s", "cancel": "30%", "cancel-after": "tokens(5)", "fault": row[1]}, leaks)})
	}
	return rows
}

// foundRecovery reports whether a recovery is within 1 s or 5% of the truth.
func foundRecovery(truth time.Duration) func(*result.Point) (bool, float64) {
	return func(p *result.Point) (bool, float64) {
		if p.Fire.RecoveryMS == nil {
			return false, math.Inf(1)
		}
		off := math.Abs(*p.Fire.RecoveryMS/1e3 - truth.Seconds())
		return off <= max(1, 0.05*truth.Seconds()), off
	}
}

// accused reports whether more is said to be lost than fails anyway, or something to have
// to recover, or service to have been away.
func accused(p *result.Point) (bool, float64) {
	return slices.ContainsFunc(p.Fire.Events, func(e result.Event) bool {
		return e.RecoveryS == nil || *e.RecoveryS > 0 || e.Lost > 0 && !e.AsBefore || e.OutageS > 0
	}), 0
}

const noise = ", 1% of streams reset anyway"

func recoveryRows() (rows []fireRow) {
	const at = 30 * time.Second
	for _, fault := range []string{"", "reset:1%"} {
		for _, down := range []time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second} {
			row, judge, event := fireRow{name: fmt.Sprintf("away for %v", down)}, foundRecovery(down), fmt.Sprintf("%v: restart(%v)", at, down)
			if down == 0 { // to start what runs does nothing
				row.name, row.isHealthy, judge, event = "healthy", true, accused, at.String()+": start"
			}
			if fault != "" {
				row.name += noise
			}
			row.play = underLoad(map[string]string{"duration": "90s", "slo": "ttft:p95<500ms", "at": event, "fault": fault}, judge)
			rows = append(rows, row)
		}
	}
	// The start is another event: it loses nothing, and the recovery counts from the kill.
	rows = append(rows, fireRow{name: "killed, and started after 5s", play: underLoad(map[string]string{"duration": "90s", "slo": "ttft:p95<500ms", "at": "30s: kill;35s: start"},
		func(p *result.Point) (bool, float64) {
			found, off := foundRecovery(5 * time.Second)(p)
			return found && p.Fire.Events[1].Lost == 0 && p.Fire.Events[0].Lost == p.Requests.Failed+p.Requests.Rejected, off
		})})
	return rows
}

// fleetRows are of replicas behind a gateway.
func fleetRows() (rows []fireRow) {
	add := func(name string, isHealthy bool, flags map[string]string, judge func(*result.Point) (bool, float64)) {
		all := map[string]string{"duration": "60s", "workload": "fixed(64,80)", "replicas": "3", "slo": "ttft:p95<500ms"}
		for name, value := range flags {
			all[name] = value
		}
		rows = append(rows, fireRow{name, isHealthy, underLoad(all, judge)})
	}
	// killed has lost what failed, and nothing else where nothing fails anyway.
	killed := func(truth time.Duration, exact bool) func(*result.Point) (bool, float64) {
		return func(p *result.Point) (bool, float64) {
			found, off := foundRecovery(truth)(p)
			return found && (!exact || p.Fire.Events[0].Lost == p.Requests.Failed+p.Requests.Rejected), off
		}
	}
	add("rolled with drain, each away for 5s", true, map[string]string{"at": "20s: roll(5s)"}, accused)
	add("rolled with drain, each away for 5s"+noise, true, map[string]string{"at": "20s: roll(5s)", "fault": "reset:1%"}, accused)
	add("1 of 3 drained, back after 15s", true, map[string]string{"at": "20s: drain 1;35s: start 1"}, accused)
	add("1 of 3 killed", false, map[string]string{"at": "20s: kill 1"}, killed(0, true))
	add("1 of 3 killed"+noise, false, map[string]string{"at": "20s: kill 1", "fault": "reset:1%"}, killed(0, false))
	for _, router := range []string{sim.LeastOutstanding, sim.RoundRobin} {
		add("1 of 3 killed, the gateway ("+router+") notices after 5s", false, map[string]string{"at": "20s: kill 1", "failover": "5s", "router": router}, killed(5*time.Second, true))
	}
	add("1 of 8 killed, the gateway ("+sim.RoundRobin+") notices after 10s", false,
		map[string]string{"replicas": "8", "at": "20s: kill 1", "failover": "10s", "router": sim.RoundRobin}, killed(10*time.Second, false))
	rolled := func(p *result.Point) (bool, float64) {
		return foundRecovery(time.Duration(p.Fire.Events[0].TookS * 1e9))(p)
	}
	add("the only one rolled, away for 5s", false, map[string]string{"replicas": "1", "at": "20s: roll(5s)"}, rolled)
	add("the only one rolled, away for 5s"+noise, false, map[string]string{"replicas": "1", "at": "20s: roll(5s)", "fault": "reset:1%"}, rolled)
	return rows
}

// replyRows are of redline consistency.
func replyRows() (rows []fireRow) {
	for _, row := range []struct{ name, want, faults string }{
		{"healthy", "", ""},
		{"healthy, 1% of replies change anyway", "", "lie:1%"},
		{"healthy, 10% of replies change anyway", "", "lie:10%"},
		{"healthy, beside preemptions", "", ""},
		{"5% of replies change in a batch", consistency.FullBatch, "lie-batch:5%"},
		{"10% of replies change in a batch", consistency.FullBatch, "lie-batch:10%"},
		{"10% of replies change in a batch, 1% anyway", consistency.FullBatch, "lie:1%;lie-batch:10%"},
		{"15% of replies change in a batch, 10% anyway", consistency.FullBatch, "lie:10%;lie-batch:15%"},
		{"25% of replies change in a batch, 10% anyway", consistency.FullBatch, "lie:10%;lie-batch:25%"},
		{"10% of replies change on a cache hit", consistency.CacheHit, "lie-cache:10%"},
		{"all replies change after a preemption", consistency.Preemption, "lie-preempted"},
		{"0.5% of replies have another request's text", consistency.AnothersLabel, "mix:0.5%"},
		{"1% of replies have another request's text", consistency.AnothersLabel, "mix:1%"},
	} {
		rows = append(rows, fireRow{row.name, row.want == "", func(t *testing.T, seed uint64) (bool, float64) {
			o := consistency.Options{Prompts: consistency.DefaultPrompts, Tokens: 8, Batch: consistency.DefaultBatch, Seed: seed}
			spec := sim.Spec{Seed: seed}
			if row.faults != "" {
				spec.Faults = strings.Split(row.faults, ";")
			}
			if row.want == consistency.Preemption || strings.HasSuffix(row.name, "preemptions") {
				o.Prompts, o.Preempt, o.Tokens, o.Batch, spec.NumGPUBlocksOverride = 40, 24, 24, 16, 600
			}
			if row.want == consistency.AnothersLabel {
				o.Tokens = 16 // the label fits
			}
			r := examine(t, spec, o)
			anothers := len(r.Garbage[consistency.AnothersLabel]) > 0
			return anothers && (row.want == "" || row.want == consistency.AnothersLabel) || slices.ContainsFunc(r.Conditions, func(c consistency.Condition) bool {
				return c.Standing == slo.Worse && (row.want == "" || c.Name == row.want)
			}), 0
		}})
	}
	return rows
}

// examine asks a simulated engine whether its replies change, in virtual time.
func examine(t *testing.T, spec sim.Spec, o consistency.Options) (r *consistency.Report) {
	synctest.Test(t, func(t *testing.T) {
		var net pipe.Network
		running := must.Get(simserver.Start(context.WithoutCancel(t.Context()), spec, simserver.ServeOptions{Listen: "sim:80", Clock: clock.Virtual(), Open: net.Open}))(t)
		defer running.Close()
		o.Target, o.Clock, o.Dial = client.Spec{URLs: []string{"http://sim:80"}}, clock.Virtual(), net.Dial
		r = must.Get(consistency.Run(t.Context(), o))(t)
	})
	return r
}
