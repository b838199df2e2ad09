package report

import (
	"bytes"
	"strings"
	"testing"
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
	if err := Terminal(&out, r, TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	_, levels, _ := strings.Cut(out.String(), "levels, ")
	levels, _, _ = strings.Cut(levels, "latencies in ms")
	if got := strings.Count(levels, "too close to call"); got != last {
		t.Errorf("%d levels too close to call, want %d\n%s", got, last, levels)
	}
	if strings.Count(levels, "not valid") != 1 {
		t.Errorf("want one level not valid\n%s", levels)
	}
}
