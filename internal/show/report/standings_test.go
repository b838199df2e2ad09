package report

import (
	"bytes"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// A level that was left out keeps its own word beside what is believed of the
// others.
func TestLeftOutLevelIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := limitSample()
	last := len(r.Curve.Points) - 1
	r.Points[r.Curve.Points[last]].Invalid = "lag"
	r.Curve.Standing, r.Limit.Held = nil, nil
	for range r.Curve.Points {
		r.Curve.Standing = append(r.Curve.Standing, "undecided")
	}
	var out bytes.Buffer
	must.Do(t, Terminal(&out, r, TerminalOptions{}))
	_, levels, _ := strings.Cut(out.String(), "\nrequests/s  ")
	levels, _, _ = strings.Cut(levels, "latencies in ms")
	if got := strings.Count(levels, "too close to call"); got != last {
		t.Errorf("%d levels too close to call, want %d\n%s", got, last, levels)
	}
	if strings.Count(levels, "not valid") != 1 {
		t.Errorf("want one level not valid\n%s", levels)
	}
}

// Where a level's verdict is not that of its own figures, a note says how levels
// are judged; and latency passes no limit that no level's figure passed.
func TestLevelsJudgedTogetherSaySo(t *testing.T) {
	t.Parallel()
	searched := func(change func(*result.Result)) string {
		r := limitSample()
		r.Limit.Edge = result.EdgeSlope
		r.Curve.Standing = nil
		for _, i := range r.Curve.Points {
			r.Curve.Standing = append(r.Curve.Standing, slo.Overall(r.Points[i].Objectives))
		}
		change(r)
		var out bytes.Buffer
		must.Do(t, Terminal(&out, r, TerminalOptions{Width: 200, Explain: true}))
		return out.String()
	}
	const note, slope = "verdict: what all levels together say of a load", "latency passes the objective gradually"
	if text := searched(func(*result.Result) {}); strings.Contains(text, note) || !strings.Contains(text, slope) {
		t.Errorf("want no %q and %q in\n%s", note, slope, text)
	}
	text := searched(func(r *result.Result) {
		for _, i := range r.Curve.Points {
			if v := &r.Points[i].Objectives[0]; *v.Value > v.Limit {
				*v.Value = 191
			}
		}
		r.Curve.Standing[1] = slo.Met
	})
	if !strings.Contains(text, note) || strings.Contains(text, "slope") {
		t.Errorf("want %q and no slope in\n%s", note, text)
	}
}
