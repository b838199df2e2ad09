//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/scripts/truth"
)

const ms = int64(time.Millisecond)

// reply is a request sent at 10 ms whose tokens arrived at these times.
func reply(at ...int64) *record.Record {
	r := &record.Record{Phase: record.Measure}
	r.Observe(llm.Event{Kind: llm.Sent, At: 10 * ms})
	for _, a := range at {
		r.Observe(llm.Event{Kind: llm.Output, At: a, Text: []byte("word")})
	}
	return r
}

func TestAdd(t *testing.T) {
	t.Parallel()
	const origin = int64(1e18)
	c := &comparison{}
	c.reported.Window.EndS = 0.061
	// The first token is stamped 2 µs late, the second shares the third's
	// stamp, and the fourth is stamped 3 µs early and after the window.
	r := reply(30*ms+12_000, 60*ms+5_000, 60*ms+5_000, 70*ms-3_000)
	line := truth.Line{}
	for _, at := range []int64{30 * ms, 50 * ms, 60 * ms, 70 * ms} {
		line.Before = append(line.Before, origin+at)
		line.After = append(line.After, origin+at+10_000)
	}
	c.add(r, line, origin)
	want := &comparison{
		ttft: []float64{20}, tpot: []float64{40.0 / 3}, gaps: []float64{20, 10},
		errors: []float64{1.5, 0, 2.5}, events: 4, shared: 1,
	}
	want.reported.Window.EndS = 0.061
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(comparison{}, trial{})); diff != "" {
		t.Error(diff)
	}
}

func TestWrongAndFirm(t *testing.T) {
	t.Parallel()
	dist := func(p99 float64, firm ...string) *metric.Dist {
		return &metric.Dist{P: map[string]float64{"p50": 20, "p99": p99}, Firm: firm}
	}
	truly := []float64{20}
	c := &comparison{trial: trial{title: "1k", busy: true}, ttft: truly, tpot: truly, gaps: truly, reported: result.Point{Summary: metric.Summary{
		Latency: metric.Latency{TTFT: dist(22, "p99"), TPOT: dist(20.5, "p99"), ITL: dist(30, "p50")},
	}}}
	want := []string{"ttft p99 at 1k, busy cores"}
	if diff := cmp.Diff(want, wrongAndFirm([]*comparison{c}, 5)); diff != "" {
		t.Error(diff)
	}
}
