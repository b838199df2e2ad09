package account

import (
	"math"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/must"
)

// errorsOf are the standard errors of 400 requests, one every 100 ms of a window
// of 40 s: each takes so many milliseconds to its first token, and none fails.
func errorsOf(t *testing.T, took func(i int) int64, session func(i int) int) metric.StandardErrors {
	t.Helper()
	var records []*record.Record
	for i := range 400 {
		due := 1000 + int64(i)*100
		l := life{due: due, begin: due, slot: due, sent: due, end: due + 1, outcome: llm.HTTP}
		if first := took(i); first > 0 {
			l.chunks, l.end, l.outcome = steadily(due+first, 10, 4), due+first+30, llm.OK
		}
		r := recordOf(l)
		r.ID, r.Session = i+1, session(i)
		records = append(records, r)
	}
	s := must.Get(Summarize(record.FromList(records), Options{Start: 1000 * ms, End: 41_000 * ms, AskedRate: 10}))(t)
	return s.StandardErrors
}

func alone(i int) int { return i + 1 }

// The expected figures are worked out by hand. Halves of 100 and 121 ms have a
// mean of 110.5: their logarithms lie 0.09985 below and 0.09077 above it, which is
// a standard error of 0.09542. Of ten tenths, five low and five high, seven more
// pairs of neighbors agree than differ: a correlation of 0.7, without the bias of
// a tenth 0.8, which makes the error nine times as large.
func TestStandardErrorByHalves(t *testing.T) {
	t.Parallel()
	got := errorsOf(t, func(i int) int64 {
		if i < 200 {
			return 100
		}
		return 121
	}, alone)
	if want := 9 * 0.09542; math.Abs(got["ttft:mean"]-want) > 1e-3 {
		t.Errorf("ttft:mean: %g, want %g", got["ttft:mean"], want)
	}
}

// All requests of the first quarter fail. Quarters of 1, 0, 0 and 0 about a share
// of 0.25 have a standard error of √(0.75/12) = 0.25; tenths of 1, 1, ½ and seven
// times 0 have a correlation of 1.0625/1.625 = 0.6538, and 0.7538 without its bias.
func TestStandardErrorByQuarters(t *testing.T) {
	t.Parallel()
	got := errorsOf(t, func(i int) int64 {
		if i < 100 {
			return 0
		}
		return 100
	}, alone)
	if want := 0.25 * 1.7538 / 0.2462; math.Abs(got["error:rate"]-want) > 2e-3 {
		t.Errorf("error:rate: %g, want %g", got["error:rate"], want)
	}
}

// Slow sessions that last all through the window show in no part of it, and in
// their own: where every tenth request is slow, it matters whether they are of
// few sessions or of all.
func TestStandardErrorBySessions(t *testing.T) {
	t.Parallel()
	took := func(i int) int64 {
		if i%10 == 0 {
			return 1000
		}
		return 100
	}
	single, few := errorsOf(t, took, alone), errorsOf(t, took, func(i int) int { return 1 + i%10 })
	if !(few["ttft:mean"] > 3*single["ttft:mean"]) {
		t.Errorf("ttft:mean: %g of ten sessions, one of which is slow, %g of 400; want several times as much", few["ttft:mean"], single["ttft:mean"])
	}
}
