package report

import (
	"bytes"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// excerpt is the part of a report from one text to another.
func excerpt(t *testing.T, r *result.Result, from, to string) string {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, Terminal(&out, r, TerminalOptions{Width: 80, Explain: true}))
	_, rest, found := strings.Cut(out.String(), from)
	text, _, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("no part from %q to %q in\n%s", from, to, &out)
	}
	return from + text
}

// Requests that never ended are no errors, and have a column where there are
// any: half of the requests of a server that hangs must not read "errors 0%".
func TestUnansweredRequestsHaveColumns(t *testing.T) {
	t.Parallel()
	head := func(change func(*result.Result)) string {
		levels := excerpt(t, changed(curveSample(), change), "requests/s  ", "latencies in ms")
		line, _, _ := strings.Cut(levels, "\n")
		return line
	}
	if got := head(func(*result.Result) {}); strings.Contains(got, "unfinished") || strings.Contains(got, "rejected") {
		t.Errorf("all ended: %s", got)
	}
	hung := changed(curveSample(), func(r *result.Result) {
		n := &r.Points[3].Requests
		n.Censored, n.OK = n.Due/2, n.Due/2
		m := &r.Points[2].Requests
		m.Rejected, m.OK = m.Due/4, 3*m.Due/4
	})
	levels := excerpt(t, hung, "requests/s  ", "latencies in ms")
	for _, line := range strings.Split(levels, "\n") {
		fields := strings.Fields(line)
		switch {
		case strings.Contains(line, "● 20 "):
			if !strings.Contains(strings.Join(fields, " "), "0% 0% 50%") {
				t.Errorf("half of the requests hung: %s", line)
			}
		case strings.Contains(line, "● 16 "):
			if !strings.Contains(strings.Join(fields, " "), "0% 25% 0%") {
				t.Errorf("a quarter of the requests was rejected: %s", line)
			}
		}
	}
	if got := head(func(r *result.Result) { *r = *hung }); !strings.Contains(got, "errors  rejected  unfinished") {
		t.Errorf("columns: %s", got)
	}
}

// The sustained run that the headline relies on has one word wherever it stands.
func TestTheHeldRunHasOneWord(t *testing.T) {
	t.Parallel()
	r := limitSample()
	for range r.Curve.Points {
		r.Curve.Standing = append(r.Curve.Standing, slo.Undecided)
	}
	r.Points[4].Objectives[0].Standing, r.Points[4].Objectives[0].Note = slo.Undecided, "about 271 more requests would decide"
	levels := excerpt(t, r, "requests/s  ", "latencies in ms")
	for _, line := range strings.Split(levels, "\n")[1:] {
		if strings.Contains(line, "21.2") != strings.HasSuffix(line, " held") {
			t.Errorf("level: %q", line)
		}
	}
	objectives := excerpt(t, r, "objectives  ", "latency, ms")
	if strings.Contains(objectives, openPhrase) || strings.Contains(objectives, "271") || !strings.Contains(objectives, "held") {
		t.Errorf("of the sustained run:\n%s", objectives)
	}
}

// Nothing is measured by a ramp, so nothing is said against it.
func TestARampIsNotJudged(t *testing.T) {
	t.Parallel()
	r := limitSample()
	ramp, other := r.Points[0], r.Points[1]
	ramp.Name, ramp.Invalid, other.Name = "ramp from 1 requests/s", "lag", "burst"
	r.Points = append(r.Points, ramp, other)
	r.Stages = []result.Stage{{Name: ramp.Name, Purpose: "ramp", Point: new(8)}, {Name: "burst", Point: new(9)}}
	stages := excerpt(t, r, "stages  ", "latencies in ms")
	if strings.Contains(stages, "not valid") || !strings.Contains(stages, " ramp\n") {
		t.Errorf("%s", stages)
	}
}

func TestSoFar(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit result.Limit
		want  string
	}{
		{result.Limit{Rate: 20, Interval: [2]float64{17, 24}, Standing: result.LimitWide}, "limit so far 17.0–24.0 requests/s"},
		{result.Limit{Rate: 64, Interval: [2]float64{60, 64}, Standing: result.LimitAtLeast}, "limit so far at least 64.0 requests/s"},
		{result.Limit{Interval: [2]float64{0, 0.5}, Standing: result.LimitBelow}, "limit so far below 0.500 requests/s"},
	} {
		if got := SoFar(&tt.limit); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.limit, got, tt.want)
		}
	}
}

// TestLevelsKeepWhatIsAskedFor: tpot and throughput are in a table of levels at any
// width, both percentiles where there is room for them, and all figures where there is
// more.
func TestLevelsKeepWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	for width, heads := range map[int][]string{72: {"ttft p99", "tpot p99", "out tok/s", "verdict"},
		100: {"ttft p50", "ttft p99", "tpot p50", "tpot p99", "out tok/s", "errors", "verdict"},
		200: {"due/s", "ttft p50", "ttft p99", "tpot p50", "tpot p99", "e2e p99", "goodput/s", "out tok/s", "in flight", "errors", "verdict"}} {
		var out bytes.Buffer
		must.Do(t, Terminal(&out, curveSample(), TerminalOptions{Width: width}))
		_, head, _ := strings.Cut(out.String(), "\nrequests/s  ")
		head, _, _ = strings.Cut(head, "\n")
		for _, want := range heads {
			if !strings.Contains(head, want) {
				t.Errorf("at %d columns the levels have %q, without %s", width, head, want)
			}
		}
		if !strings.Contains(out.String(), "+ p50") {
			t.Errorf("at %d columns the curve does not have the median:\n%s", width, &out)
		}
	}
}

// A level that the machine spoiled is marked, and the worst one stands with the
// answer, whatever the others were like.
func TestALevelThatTheMachineSpoiled(t *testing.T) {
	t.Parallel()
	r := changed(curveSample(), func(r *result.Result) {
		r.Client.HeldUp = &result.Holdups{Times: 3, TotalS: 0.1}
		p := &r.Points[1]
		p.Name = "12 requests/s"
		d := p.Latency.JudgedDist("ttft")
		median, _ := d.Get("p50")
		d.Low = map[string]float64{"p50": median / 2}
		for i := range r.Points {
			r.Stages = append(r.Stages, result.Stage{Name: "a level", Point: new(i), HeldUp: &result.Holdups{TotalS: 0.001}})
		}
		r.Stages[len(r.Stages)-len(r.Points)+1].HeldUp.TotalS = p.Window.Seconds() * 0.8
	})
	head := excerpt(t, r, "HELD", "workload")
	if want := "kept redline from running 80% of the time at 12 requests/s"; !strings.Contains(strings.Join(strings.Fields(head), " "), want) {
		t.Errorf("no %q in\n%s", want, head)
	}
	levels := excerpt(t, r, "requests/s  ", "max QPS")
	marked := 0
	for _, line := range strings.Split(levels, "\n") {
		if sign, _, _ := strings.Cut(strings.TrimSpace(line), " "); (sign == FullSign || sign == HollowSign) && strings.Contains(line, "¹") {
			marked++
		}
	}
	if note := "¹ this machine kept redline from running 80% of the time: it added up to"; marked != 1 || !strings.Contains(levels, note) {
		t.Errorf("%d levels are marked, want one with the note %q:\n%s", marked, note, levels)
	}
}
