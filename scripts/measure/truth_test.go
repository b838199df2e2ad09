//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/must"
)

func TestParseTruth(t *testing.T) {
	t.Parallel()
	got := must.Get(parseTruth(strings.NewReader(`{"id":"a","arrived_ns":9,"before_ns":[10,30],"after_ns":[11,32]}
{"id":"b","before_ns":[],"after_ns":[]}
`)))(t)
	want := []reply{
		{ID: "a", Arrived: 9, Before: []int64{10, 30}, After: []int64{11, 32}},
		{ID: "b", Before: []int64{}, After: []int64{}},
	}
	expect.Same(t, want, got)
}

func TestParseTruthRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a cut line":     `{"id":"a","before_ns":[1`,
		"unequal counts": `{"id":"a","before_ns":[1,2],"after_ns":[1]}`,
	} {
		if _, err := parseTruth(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: error %v, want one that names line 1", name, err)
		}
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	l := reply{Before: []int64{123 * ms, 141 * ms, 162 * ms}}
	if diff := cmp.Diff([]float64{18, 21}, l.gaps()); diff != "" {
		t.Error("gaps:", diff)
	}
	if got := l.tpot(); got != 19.5 {
		t.Errorf("tpot %v, want 19.5", got)
	}
	if got := (reply{Before: []int64{5}}).tpot(); got != 0 {
		t.Errorf("tpot of one token %v, want 0", got)
	}
}

func TestBusyTime(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]time.Duration{
		"cpu  100 20 3 5000 70 4 5 6 0 0": 1320 * time.Millisecond,
		"cpu  100 20 x 5000 70 4 5 6 0 0": 0,
		"cpu0 100 20 3 5000 70 4 5 6 0 0": 0,
		"cpu  100":                        0,
		"":                                0,
	} {
		if got := busyTime(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// requestAt is a request sent at 10 ms whose tokens arrived at these times.
func requestAt(at ...int64) *record.Record {
	r := &record.Record{Phase: record.Measure}
	r.Observe(llm.Event{Kind: llm.Sent, At: 10 * ms})
	for _, a := range at {
		r.Observe(llm.Event{Kind: llm.Output, At: a, Text: []byte("word")})
	}
	return r
}

func TestComparisonAdd(t *testing.T) {
	t.Parallel()
	point := &result.Point{}
	point.Window.EndS = 0.061
	c := &comparison{outcome: &outcome{point: point}}
	// The first token is stamped 2 µs late, the second shares the third's
	// stamp, and the fourth is stamped 3 µs early and after the window.
	r := requestAt(30*ms+12_000, 60*ms+5_000, 60*ms+5_000, 70*ms-3_000)
	line := reply{}
	for _, at := range []int64{30 * ms, 50 * ms, 60 * ms, 70 * ms} {
		line.Before = append(line.Before, origin+at)
		line.After = append(line.After, origin+at+10_000)
	}
	c.add(r, line, origin)
	want := &comparison{outcome: c.outcome,
		latencies:   latencies{ttft: []float64{20}, tpot: []float64{40.0 / 3}, itl: []float64{20, 10}},
		stampErrors: []float64{1.5, 0, 2.5}, events: 4, shared: 1,
	}
	expect.Same(t, want, c, cmp.AllowUnexported(comparison{}, outcome{}, usage{}, accuracyTrial{}, latencies{}))
}

func TestWrongAndFirm(t *testing.T) {
	t.Parallel()
	dist := func(p99 float64, firm ...string) *metric.Dist {
		return &metric.Dist{P: map[string]float64{"p50": 20, "p99": p99}, Firm: firm}
	}
	truly := []float64{20}
	c := &comparison{trial: accuracyTrial{title: "1k", busy: true}, latencies: latencies{truly, truly, truly}, outcome: &outcome{point: &result.Point{Summary: metric.Summary{
		Latency: metric.Latency{TTFT: dist(22, "p99"), TPOT: dist(20.5, "p99"), ITL: dist(30, "p50")},
	}}}}
	want := []string{"ttft p99 at 1k, busy cores"}
	expect.Same(t, want, wrongAndFirm([]*comparison{c}, 5))
}
