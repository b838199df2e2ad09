package listing

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"redline/internal/answer/pareto"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/show/document"
)

// frontSample is two sweeps: the second is faster but more expensive, and its last
// level floods it.
func frontSample() []*pareto.Front {
	sweep := func(id string, accelerators int, speed, output float64, loads ...float64) *result.Result {
		r := &result.Result{ID: id, Hardware: result.Hardware{Count: accelerators}, Verdict: result.Verdict{Valid: "yes"}, Workload: result.Workload{Name: "chat"}}
		for i, rate := range loads {
			slower := 1 + float64(i)/2
			r.Points = append(r.Points, result.Point{Load: result.Load{Mode: "open", Rate: new(rate)}, Probe: i == 0, Summary: metric.Summary{
				Interactivity: &metric.Dist{P: map[string]float64{"p50": speed / slower}}, Throughput: metric.Throughput{Output: output * rate},
				Window: metric.Window{EndS: 60, Overload: new(rate > 40)}}})
		}
		return r
	}
	series := []pareto.Series{
		{Name: "one H100", Runs: []*result.Result{sweep("r1", 1, 90, 180, 2, 8, 12)}},
		{Name: "four <H100> | `tp`", Runs: []*result.Result{sweep("r4", 4, 190, 185, 4, 16, 32, 48)}},
	}
	return []*pareto.Front{pareto.Of(series, pareto.Pairs()[0])}
}

func TestFrontGoldens(t *testing.T) {
	t.Parallel()
	for _, g := range []struct{ format, file string }{{"terminal", "front.txt"}, {"csv", "front.csv"}, {"markdown", "front.md"}, {"html", "front.html"}} {
		for _, f := range FrontFormats {
			if f.Name != g.format {
				continue
			}
			var out bytes.Buffer
			must.Do(t, f.Write(&out, frontSample(), document.TerminalOptions{}))
			golden(t, g.file, out.Bytes())
		}
	}
}

// People read too close to call where the document has undecided.
func TestFrontsSayTooCloseToCall(t *testing.T) {
	t.Parallel()
	fronts := frontSample()
	fronts[0].Points[0].Objectives = slo.Undecided
	var out bytes.Buffer
	must.Do(t, FrontFormats[0].Write(&out, fronts, document.TerminalOptions{}))
	if text := out.String(); strings.Contains(text, "undecided") || !strings.Contains(text, "too close to call") {
		t.Error(text)
	}
}

// Each format shows every point, dominated and left out ones too.
func TestFrontsKeepEveryPoint(t *testing.T) {
	t.Parallel()
	points := len(frontSample()[0].Points)
	counts := map[string]func(string) int{
		"terminal": func(s string) int {
			return strings.Count(s, "\n  a  ") + strings.Count(s, "\n  A  ") + strings.Count(s, "\n  b  ") + strings.Count(s, "\n  B  ")
		},
		"json": func(s string) int {
			var read struct {
				Pareto []struct{ Points []json.RawMessage }
			}
			expect.OK(t, json.Unmarshal([]byte(s), &read))
			return len(read.Pareto[0].Points)
		},
		"csv": func(s string) int {
			rows, err := csv.NewReader(strings.NewReader(s)).ReadAll()
			expect.OK(t, err)
			return len(rows) - 1
		},
		"markdown": func(s string) int {
			return strings.Count(s, "\n| a ") + strings.Count(s, "\n| A ") + strings.Count(s, "\n| b ") + strings.Count(s, "\n| B ")
		},
		"html": func(s string) int {
			return strings.Count(s, "<tr>") - 1
		},
	}
	for _, f := range FrontFormats {
		var out bytes.Buffer
		must.Do(t, f.Write(&out, frontSample(), document.TerminalOptions{}))
		if got := counts[f.Name](out.String()); got != points {
			t.Errorf("%s shows %d of %d points:\n%s", f.Name, got, points, out.String())
		}
	}
}

func TestFrontOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 100} {
		var out bytes.Buffer
		must.Do(t, FrontFormats[0].Write(&out, frontSample(), document.TerminalOptions{Width: width}))
		if out.Len() == 0 {
			t.Errorf("nothing is shown on a terminal of %d", width)
		}
		for line := range strings.Lines(out.String()) {
			if n := document.Visible(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns on a terminal of %d: %q", n, width, line)
			}
		}
	}
}

// Who is best where is said first.
func TestFrontHeadline(t *testing.T) {
	t.Parallel()
	two := pareto.Front{X: pareto.Figure{Title: "speed", More: true}, Y: pareto.Figure{Title: "output"}, Series: []string{"old", "new"}}
	point := func(series int, standing string) pareto.Point {
		return pareto.Point{Series: series, Standing: standing, Why: "the run is not valid"}
	}
	each := pareto.Front{Points: []pareto.Point{point(0, pareto.OnFrontier), point(1, pareto.OnFrontier)},
		Held: []pareto.Stretch{{Series: 0, From: 1, To: 2, Points: 1}, {Series: 1, From: 3, To: 9, Points: 1}}}
	wait := each
	wait.X = pareto.Figure{Title: "wait"}
	for _, tt := range []struct {
		name  string
		front pareto.Front
		want  string
	}{
		{"one everywhere", pareto.Front{Points: []pareto.Point{point(0, pareto.Dominated), point(1, pareto.OnFrontier)}, Held: []pareto.Stretch{{Series: 1, Points: 1}}},
			"B (new) is best throughout"},
		{"each somewhere", each, "A (old) is best up to 2 speed, B (new) up to 9; 2 of 2 points"},
		{"each somewhere, less is better", wait, "A (old) is best from 1 wait, B (new) from 3; 2 of 2 points"},
		{"none", pareto.Front{Points: []pareto.Point{point(0, pareto.LeftOut)}}, "the run is not valid"},
	} {
		if tt.front.X.Title == "" {
			tt.front.X = two.X
		}
		tt.front.Y, tt.front.Series = two.Y, two.Series
		if _, _, got := frontHeadline(&tt.front); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q in it", tt.name, got, tt.want)
		}
	}
}
