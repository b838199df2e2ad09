package experiment_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redline/docs/pages"
	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
	"redline/internal/stats"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// overheadRow is a load on an engine, alone and behind a gateway that takes 3 ms, and
// how many requests something else holds up for 50 ms, on either side.
type overheadRow struct {
	rate   string
	tells  bool // how long it took, in its replies
	heldUp int  // percent
}

var overheadRows = []overheadRow{{"5", true, 10}, {"5", true, 0}, {"20", true, 10}, {"5", false, 0}, {"5", false, 10}, {"20", false, 10}}

const (
	gatewayDelay = 3 * time.Millisecond
	rounding     = 0.001 // ms, that of replies
)

// A gateway's overhead is found by the differences of the same requests, whatever holds some of
// them up; and a part that only one side has is listed. make gateways counts how often the
// interval has the truth.
func TestGatewayOverheadIsFound(t *testing.T) {
	t.Parallel()
	runs, err := strconv.Atoi(os.Getenv("REDLINE_OVERHEAD"))
	rows := overheadRows
	if err != nil {
		runs, rows = 1, rows[:1]
	}
	var b strings.Builder
	b.WriteString("| rate | the engine tells its times | held up for 50 ms | median of pairs | runs | interval has 3 ms | median half-width | means instead: has 3 ms | median half-width |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, row := range rows {
		name, tells := "ttft", "no"
		if row.tells {
			name, tells = "outside", "yes"
		}
		found := row.play(t, runs)
		held, width := coverage(found, func(d result.Difference) bool { return d.Paired && d.Name == name })
		if held*20 < runs*19 && err != nil || width > 1 {
			t.Errorf("%+v: %d of %d intervals hold 3 ms, half of them are as wide as ± %v ms", row, held, runs, width)
		}
		meanHeld, meanWidth := coverage(found, func(d result.Difference) bool { return d.Name == "ttft_due" })
		fmt.Fprintf(&b, "| %s requests/s | %s | %d%% | %s | %d | %d | %.2f ms | %d | %.2f ms |\n", row.rate, tells, row.heldUp, map[bool]string{true: "outside the engine", false: "ttft"}[row.tells], runs, held, width, meanHeld, meanWidth)
		for _, list := range found {
			if !slices.ContainsFunc(list, func(d result.Difference) bool {
				return d.Part && d.Name == "gateway" && d.A == 0 && math.Abs(d.B-3) < 0.01
			}) {
				t.Errorf("%+v: no part says what the gateway takes: %+v", row, list)
			}
		}
	}
	if err == nil {
		expect.OK(t, pages.Write("GATEWAYS.md", "overhead", b.String()))
	}
}

// coverage is how many intervals of a difference have what the gateway takes, and how wide half
// of one is at the median.
func coverage(runs [][]result.Difference, is func(result.Difference) bool) (held int, width float64) {
	var widths []float64
	for _, list := range runs {
		if i := slices.IndexFunc(list, is); i >= 0 && list[i].Interval != nil {
			lo, hi, truth := list[i].Interval[0], list[i].Interval[1], gatewayDelay.Seconds()*1000
			if widths = append(widths, (hi-lo)/2); lo-rounding <= truth && truth <= hi+rounding {
				held++
			}
		}
	}
	return held, stats.Median(widths)
}

func (row overheadRow) play(t *testing.T, runs int) (found [][]result.Difference) {
	var mu sync.Mutex
	t.Run(fmt.Sprint(row), func(t *testing.T) {
		for i := range runs {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				if runs > 1 {
					t.Parallel()
				}
				list := row.run(t, uint64(2*i+1))
				mu.Lock()
				defer mu.Unlock()
				found = append(found, list)
			})
		}
	})
	return found
}

func (row overheadRow) run(t *testing.T, seed uint64) (list []result.Difference) {
	synctest.Test(t, func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "compare")
		var options [2]experiment.Options
		for i := range options {
			spec, serve := sim.Spec{Seed: seed + uint64(i)}, simserver.ServeOptions{Clock: clock.Virtual(), Open: network.Open}
			spec.GatewayDelay = time.Duration(i) * gatewayDelay
			if row.heldUp > 0 {
				spec.Faults = []string{fmt.Sprintf("slow-head(50ms):%d%%", row.heldUp)}
			}
			engine := must.Get(simserver.Start(context.WithoutCancel(t.Context()), spec, serve))(t)
			t.Cleanup(func() { _ = engine.Close() })
			flags := map[string][]string{"url": {engine.URL()}, "rate": {row.rate}, "rounds": {"6"}, "duration": {"8s"}, "warmup": {"2s"}, "out": {out},
				"workload": {"in=uniform(50,2000) out=fixed(32)"}, "seed": {strconv.FormatUint(seed, 10)}}
			if row.tells {
				flags["extra-body"] = []string{`{"include_metrics":true}`}
			}
			options[i].Options = measure.Options{Clock: clock.Virtual(), Dial: network.Dial, Open: network.Open, Config: plan(t, flags)}
		}
		res, _ := must.Get2(experiment.Compare(t.Context(), options[0], options[1].Config))(t)
		list = res.Comparison.Differences
	})
	return list
}
