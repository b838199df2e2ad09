package measure

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/docs/pages"
	"redline/internal/expect"
	"redline/internal/judge/result"
)

// fireRow is a fault at one strength, or none.
type fireRow struct {
	name  string
	flags map[string][]string
	// isHealthy says that nothing is to be found.
	isHealthy bool
	// found reports what the run found, and by how much it is wrong, in seconds or as
	// a share of the cache.
	found func(*result.Point) (alarm bool, figure float64)
}

// TestFire counts how often faults are found and healthy servers accused, for make
// fire.
func TestFire(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("REDLINE_FIRE"))
	if err != nil {
		t.Skip("make fire runs it")
	}
	seconds := func(v float64) string { return fmt.Sprintf("%.2f s", v) }
parts:
	for _, part := range []struct {
		name, figure string
		format       func(float64) string
		rows         []fireRow
	}{
		{"leak", "median leak per 1,000 closed", func(v float64) string { return fmt.Sprintf("%.3g%%", 100*v) }, leakRows()},
		{"recovery", "median error", seconds, recoveryRows()},
		{"fleet", "median error", seconds, fleetRows()},
	} {
		var b strings.Builder
		fmt.Fprintf(&b, "| engine | runs | found | false alarms | %s |\n|---|---|---|---|---|\n", part.figure)
		for _, row := range part.rows {
			alarms, figures := playRow(t, row, runs)
			if len(figures) == 0 {
				continue parts // -run asks for another
			}
			found, accused := strconv.Itoa(alarms), ""
			if row.isHealthy {
				found, accused = "", found
			}
			slices.Sort(figures)
			fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", row.name, runs, found, accused, part.format(figures[len(figures)/2]))
		}
		t.Log("\n" + b.String())
		expect.OK(t, pages.Write("FIRE.md", part.name, b.String()))
	}
}

// playRow runs a row with so many seeds.
func playRow(t *testing.T, row fireRow, runs int) (alarms int, figures []float64) {
	var mu sync.Mutex
	t.Run(row.name, func(t *testing.T) {
		for i := range runs {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				flags := map[string][]string{"rate": {"20"}, "warmup": {"0s"}, "workload": {"fixed(64,20)"}, "telemetry-interval": {"5s"}}
				for name, values := range row.flags {
					flags[name] = values
				}
				alarm, figure := row.found(&runEmbedded(t, uint64(1000+i), flags).Points[0])
				mu.Lock()
				defer mu.Unlock()
				if alarm {
					alarms++
				}
				figures = append(figures, figure)
			})
		}
	})
	return alarms, figures
}

func leakRows() (rows []fireRow) {
	for _, share := range []string{"0", "deaf", "1%", "5%", "20%", "100%"} {
		row := fireRow{name: "leaks " + share + " of closed requests", flags: map[string][]string{"duration": {"15s"}, "cancel": {"30%"}, "cancel-after": {"tokens(5)"}},
			found: func(p *result.Point) (bool, float64) { return p.Leak.Standing == result.Leaks, *p.Leak.KVPer1000 }}
		switch share {
		case "0":
			row.name, row.isHealthy = "healthy", true
		case "deaf":
			row.name, row.isHealthy = "healthy, but generates closed replies to their end", true
			row.flags["fault"] = []string{"deaf"}
		default:
			row.flags["fault"] = []string{"leak:" + share}
		}
		rows = append(rows, row)
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

// accused reports whether something is said to be lost, or to have to recover.
func accused(p *result.Point) (bool, float64) {
	e := p.Fire.Events[0]
	return e.RecoveryS == nil || *e.RecoveryS > 0 || e.Lost > 0, 0
}

// fleetRows are of replicas behind a gateway.
func fleetRows() []fireRow {
	with := func(replicas, event string) map[string][]string {
		return map[string][]string{"duration": {"60s"}, "workload": {"fixed(64,80)"}, "replicas": {replicas}, "slo": {"ttft:p95<500ms"}, "at": {"20s: " + event}}
	}
	return []fireRow{
		{name: "rolled with drain, each away for 5s", isHealthy: true, flags: with("3", "roll(5s)"), found: accused},
		{name: "1 of 3 killed", flags: with("3", "kill 1"), found: func(p *result.Point) (bool, float64) {
			found, off := foundRecovery(0)(p)
			return found && p.Fire.Events[0].Lost == p.Requests.Failed+p.Requests.Rejected, off
		}},
		{name: "the only one rolled, away for 5s", flags: with("1", "roll(5s)"), found: func(p *result.Point) (bool, float64) {
			return foundRecovery(time.Duration(p.Fire.Events[0].TookS * 1e9))(p)
		}},
	}
}

func recoveryRows() (rows []fireRow) {
	const at = 30 * time.Second
	for _, noise := range []string{"", "reset:1%"} {
		for _, down := range []time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second} {
			row := fireRow{name: fmt.Sprintf("away for %v", down), flags: map[string][]string{"duration": {"90s"}, "slo": {"ttft:p95<500ms"},
				"at": {fmt.Sprintf("%v: restart(%v)", at, down)}},
				found: foundRecovery(down)}
			if down == 0 { // to start what runs does nothing
				row.name, row.isHealthy, row.flags["at"] = "healthy", true, []string{at.String() + ": start"}
				row.found = accused
			}
			if noise != "" {
				row.name += ", 1% of streams reset anyway"
				row.flags["fault"] = []string{noise}
			}
			rows = append(rows, row)
		}
	}
	return rows
}
