package picture

import (
	"math"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
	"redline/internal/show/chart"
)

// overTime are all charts of a load over time.
func overTime(p *result.Point) []chart.Chart {
	latency, others := OverTime(p)
	return append(latency, others...)
}

// tenSecondPoint is a load of ten seconds after two of warm-up, in bins of a second.
func tenSecondPoint() *result.Point {
	s := &result.Series{StartS: 5, BinS: 1, TTFT: &result.LatencyTrack{BinS: 2}, Running: &result.Track{At: []int{3, 4}, Values: []float64{7, 8}},
		Gaps:    &result.GapMap{BinS: 1, MS: []float64{10, 20, 40}, Counts: [][]int{{3, 0, 1}, {}}},
		Prompts: &result.ByPrompt{Tokens: []float64{100, 400}, N: []int{50, 60}, P50: []float64{80, 120}, P95: []float64{100, 200}}}
	for i := range 14 {
		s.InFlight, s.Output, s.Due, s.NotOK = append(s.InFlight, float64(i)), append(s.Output, 100), append(s.Due, 20), append(s.NotOK, i/13)
	}
	for i := range 7 {
		s.TTFT.At, s.TTFT.N = append(s.TTFT.At, i), append(s.TTFT.N, 40)
		s.TTFT.P50, s.TTFT.P95 = append(s.TTFT.P50, 100), append(s.TTFT.P95, 200+float64(i))
	}
	mean := func(ms float64, n int) *metric.Dist {
		return &metric.Dist{N: n, Mean: ms, P: map[string]float64{"p50": ms, "p95": 2 * ms, "p99": 3 * ms}}
	}
	return &result.Point{Series: s,
		Distributions: &result.Distributions{Percent: []float64{0, 50, 90, 99, 99.9, 99.99, 100}, TTFT: []float64{10, 100, 200, 300, 400, 450, 460}},
		Server:        &telemetry.ServerUse{Queue: &telemetry.Timing{Mean: 20}, Prefill: &telemetry.Timing{Mean: 60}},
		Summary: metric.Summary{Window: metric.Window{StartS: 7, EndS: 17}, Latency: metric.Latency{TTFT: mean(100, 2000), TTFTDue: mean(110, 2000), Decode: mean(900, 2000)},
			Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Unit: "ms", Limit: 500}, {Objective: "class=rag ttft:p99<2s", Scope: slo.Scope{Class: "rag"}, Unit: "ms", Limit: 2000},
				{Objective: "throughput:min>5", Unit: "tokens/s", Limit: 5}}}}
}

func findChart(t *testing.T, list []chart.Chart, name string) chart.Chart {
	t.Helper()
	for _, c := range list {
		if c.Name == name {
			if c.Title == "" || c.Description == "" {
				t.Errorf("%s has no words", name)
			}
			return c
		}
	}
	t.Fatalf("no chart %s among %d", name, len(list))
	return chart.Chart{}
}

// TestOverTime: time begins at the first request, what is not the window is
// shaded, and only objectives on all requests are drawn.
func TestOverTime(t *testing.T) {
	t.Parallel()
	list := overTime(tenSecondPoint())
	c := findChart(t, list, "ttft-over-time")
	if len(c.Spans) != 2 || c.Spans[0].To != 2 || c.Spans[1].From != 12 || c.Spans[1].To != 14 {
		t.Errorf("spans %v", c.Spans)
	}
	if len(c.Bounds) != 1 || c.Bounds[0].Y != 500 {
		t.Errorf("bounds %v", c.Bounds)
	}
	if len(c.Lines) != 2 || c.Lines[0].Points[0] != (chart.Point{X: 1, Y: 200}) || c.Lines[0].Weight != 0 || !strings.HasPrefix(c.Lines[0].Name, "p95") {
		t.Errorf("lines %v", c.Lines)
	}
	if flight := findChart(t, list, "in-flight-over-time"); len(flight.Lines) != 2 || flight.Lines[1].Points[0] != (chart.Point{X: 3.5, Y: 7}) {
		t.Errorf("in flight %v", flight.Lines)
	}
	for _, c := range list {
		if c.Name == "failures-over-time" || c.Name == "power-over-time" {
			t.Errorf("%s is drawn, and nothing of it was in the window", c.Name)
		}
	}
	if overTime(&result.Point{}) != nil || Distributions(&result.Point{}) != nil {
		t.Error("a result without series has charts")
	}
}

// TestTokensOverTime: records without the times of tokens give no line at zero.
func TestTokensOverTime(t *testing.T) {
	t.Parallel()
	p := tenSecondPoint()
	findChart(t, overTime(p), "tokens-over-time")
	clear(p.Series.Output)
	for _, c := range overTime(p) {
		if c.Name == "tokens-over-time" {
			t.Errorf("tokens are drawn, and no time of one is known: %v", c.Lines)
		}
	}
}

// TestUnfinishedRequestsAreSaid: a latency falls where slow requests never end, so
// its title says whose it is.
func TestUnfinishedRequestsAreSaid(t *testing.T) {
	t.Parallel()
	p := tenSecondPoint()
	for censored, want := range map[int]string{0: "over time", 9: "over time", 120: "over time, finished requests only (120 of 200 are unfinished)"} {
		p.Requests = metric.Requests{Due: 200, Censored: censored}
		if c := findChart(t, overTime(p), "ttft-over-time"); !strings.HasSuffix(c.Title, want) {
			t.Errorf("%d unfinished: %q", censored, c.Title)
		}
	}
}

// TestLongRunsHaveMinutes: an axis of seconds ends at a quarter of an hour.
func TestLongRunsHaveMinutes(t *testing.T) {
	t.Parallel()
	p := tenSecondPoint()
	p.Series.BinS, p.Series.TTFT.BinS, p.Window.StartS, p.Window.EndS = 600, 1200, 605, 6005
	c := findChart(t, overTime(p), "ttft-over-time")
	if !strings.HasPrefix(c.X.Label, "minutes") || c.Spans[0].To != 10 || c.Lines[0].Points[0].X != 10 {
		t.Errorf("%s: %v %v", c.X.Label, c.Spans, c.Lines[0].Points[0])
	}
}

// TestDistributions: a curve ends where its values do, an objective stands at its
// percentile, and the phases add up to the time of a request.
func TestDistributions(t *testing.T) {
	t.Parallel()
	list := Distributions(tenSecondPoint())
	c := findChart(t, list, "latency-distribution")
	last := c.Lines[0].Points[len(c.Lines[0].Points)-1]
	if len(c.Lines) != 2 || math.Abs(last.X-3) > 1e-9 || last.Y != 400 { // p99.9 of 2,000
		t.Errorf("%d lines, the first ends at %v", len(c.Lines), last)
	}
	if target := c.Lines[1].Points; len(target) != 1 || math.Abs(target[0].X-2) > 1e-9 || target[0].Y != 500 {
		t.Errorf("objectives at %v", target)
	}
	if m := findChart(t, list, "gap-map"); len(m.Heat.Texts) != 2 || m.Heat.Texts[0] != "4 gaps of 10 to 20 ms" {
		t.Errorf("rows %v", m.Heat)
	}
	sum := 0.0
	for _, part := range findChart(t, list, "phases").Parts {
		sum += part.Value
	}
	if sum != 110+900 {
		t.Errorf("a request takes %g ms of 1010", sum)
	}
	findChart(t, list, "ttft-by-prompt")
}

func TestPercentAxis(t *testing.T) {
	t.Parallel()
	a := percentAxis()
	var names []string
	for _, at := range a.Ticks {
		names = append(names, a.Format(at))
	}
	if got := strings.Join(names, " "); got != "p10 p50 p75 p90 p95 p99 p99.9 p99.99 p99.999" {
		t.Error(got)
	}
}

func TestDoubles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		levels []float64
		want   bool
	}{
		{[]float64{1, 2, 4, 8, 16}, true}, {[]float64{16, 1, 8, 2, 4, 4}, true}, {[]float64{1, 2, 4}, false}, {[]float64{2, 4, 6, 8, 10}, false},
		{[]float64{1, 10, 10.5, 11, 11.5, 12}, false}, {[]float64{0, 1, 2, 4, 8, 16}, false}, {nil, false},
	} {
		if got := Doubles(c.levels); got != c.want {
			t.Errorf("%v: %v", c.levels, got)
		}
	}
}

// TestComparison: what was tested has its interval, what was not judged is hollow,
// and names of sides are shown as they are.
func TestComparison(t *testing.T) {
	t.Parallel()
	a := &result.Distributions{Percent: []float64{50, 99, 100}, TTFT: []float64{100, 200, 300}}
	b := &result.Distributions{Percent: []float64{50, 99, 100}, TTFT: []float64{110, 400, 900}}
	list := Comparison(&result.Comparison{A: result.Side{Name: "old\x1b[31m", Distributions: a}, B: result.Side{Name: "B", Distributions: b}, Metrics: []result.Change{
		{Name: "ttft:p50", Ratio: new(1.1), Interval: &[2]float64{1.05, 1.15}, P: new(0.01)},
		{Name: "ttft:p99", Ratio: new(2.0), Interval: &[2]float64{0.5, 3}},
		{Name: "ttft:p99", Load: "8/s", Ratio: new(5.0), Interval: &[2]float64{4, 6}},
		{Name: "throughput", Ratio: new(1.0), Interval: &[2]float64{0.9, 1.1}}}})
	c := findChart(t, list, "shift-by-percentile")
	if len(c.Lines) != 2 || len(c.Lines[0].Points) != 2 || math.Abs(c.Lines[0].Points[1].Y-100) > 1e-9 {
		t.Fatalf("%v", c.Lines)
	}
	if p := c.Lines[1].Points; len(p) != 2 || p[0].Hollow || !p[1].Hollow || math.Abs(p[0].Low-5) > 1e-9 || math.Abs(p[0].High-15) > 1e-9 {
		t.Errorf("%v", p)
	}
	both := findChart(t, list, "ttft-distribution")
	if len(both.Lines) != 2 || both.Lines[0].Role != "sideA" || strings.Contains(both.Lines[0].Name, "\x1b") || both.Lines[1].Name != "B" {
		t.Errorf("%v", both.Lines)
	}
	for _, sides := range [][4]string{ // runs of A and B, and how they are drawn
		{"old/runs/first/chat", "old/runs/second/chat", "A: first/chat", "B: second/chat"},
		{"runs/a", "else/where/a", "A: runs/a", "B: else/where/a"},
		{"runs/a/a", "runs/a", "A: a/a", "B: a"},
	} {
		same := &result.Comparison{A: result.Side{Name: "h200", Runs: sides[:1], Distributions: a}, B: result.Side{Name: "h200", Runs: sides[1:2], Distributions: b}}
		if lines := findChart(t, Comparison(same), "ttft-distribution").Lines; lines[0].Name != sides[2] || lines[1].Name != sides[3] {
			t.Errorf("%s and %s of one label are %q and %q", sides[0], sides[1], lines[0].Name, lines[1].Name)
		}
	}
	if got := Comparison(&result.Comparison{}); got != nil {
		t.Errorf("nothing gives %v", got)
	}
}

// TestDrift: each figure that changed is drawn with its levels and where they
// meet.
func TestDrift(t *testing.T) {
	t.Parallel()
	d := &result.Drift{Changes: []result.MetricShift{{Metric: "tpot:p95", Unit: "ms", Before: 20, After: 23, Ratio: new(1.15), Since: "c", At: time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)},
		{Metric: "error:rate", Before: 0.01, After: 0.03, Difference: new(0.02), Since: "b"}}}
	for i, id := range []string{"a", "b", "c", "d"} {
		d.Values = append(d.Values, result.RunValues{ID: id, Values: map[string]float64{"tpot:p95": 20 + 3*float64(i/2), "error:rate": 0.01}})
	}
	list := Drift(d)
	c := findChart(t, list, "drift-tpot:p95")
	if len(list) != 2 || len(c.Marks) != 1 || c.Marks[0].X != 2.5 || c.Marks[0].Text != "since 2026-03-01" {
		t.Errorf("%d charts; marks %v", len(list), c.Marks)
	}
	if level := c.Lines[1].Points; len(level) != 4 || level[0].Y != 20 || level[3] != (chart.Point{X: 4, Y: 23}) {
		t.Errorf("levels %v", level)
	}
	if share := findChart(t, list, "drift-error:rate"); share.Lines[0].Points[0].Y != 1 || share.Lines[1].Points[3].Y != 3 {
		t.Errorf("a share is not in percent: %v", share.Lines)
	}
	if Drift(&result.Drift{}) != nil {
		t.Error("no change is drawn")
	}
}

// A series that came to no other level is drawn with its median, on an axis that
// does not make change of noise.
func TestASteadySeries(t *testing.T) {
	t.Parallel()
	d := &result.Drift{}
	for i, v := range []float64{1000, 1002, 999, 1001, 1000} {
		d.Values = append(d.Values, result.RunValues{ID: string(rune('a' + i)), Values: map[string]float64{"throughput": v, "ttft:p95": 40}})
	}
	list := Steady(d)
	c := findChart(t, list, "drift-throughput")
	if len(list) != 2 || len(c.Marks) != 0 || c.Lines[1].Points[0] != (chart.Point{X: 1, Y: 1000}) || c.Lines[1].Points[1] != (chart.Point{X: 5, Y: 1000}) {
		t.Errorf("%d charts; level %v", len(list), c.Lines[1])
	}
	if data := c.Data(); data.Y.MinSpan != minSpan || !data.Y.Free {
		t.Errorf("the axis is %+v", data.Y)
	}
	if Steady(&result.Drift{Values: d.Values[:1]}) != nil {
		t.Error("one run is drawn as a series")
	}
}
