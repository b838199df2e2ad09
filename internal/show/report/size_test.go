package report

import (
	"testing"

	"redline/internal/judge/result"
)

// TestAReportFitsAMail: with as many bins as a series can have, in charts over time
// and in the map of gaps, a page has a million bytes at most.
func TestAReportFitsAMail(t *testing.T) {
	t.Parallel()
	const bins, columns, rows = 240, 120, 40
	res := metSample()
	s := res.Points[0].Series
	long := func(n int, digits float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = digits + float64(i*37%1000)/7
		}
		return out
	}
	count := func(n int) []int {
		out := make([]int, n)
		for i := range out {
			out[i] = i * 7919 % 100_000
		}
		return out
	}
	at := make([]int, bins)
	for i := range at {
		at[i] = i
	}
	s.BinS, s.InFlight, s.Output, s.Due, s.NotOK = 360, long(bins, 1000), long(bins, 100_000), count(bins), count(bins)
	for _, track := range []*result.LatencyTrack{s.TTFT, s.TPOT, s.E2E} {
		*track = result.LatencyTrack{BinS: 720, At: at[:columns], N: count(columns), P50: long(columns, 1e4), P95: long(columns, 2e4), P99: long(columns, 3e4), Max: long(columns, 4e4)}
	}
	for _, track := range []*result.Track{s.Running, s.Waiting, s.KVUsage, s.Watts} {
		*track = result.Track{At: at, Values: long(bins, 100)}
	}
	s.Gaps = &result.GapMap{BinS: 720, MS: long(rows+1, 1)}
	for i := range s.Gaps.MS {
		s.Gaps.MS[i] = float64(int(1) << (i / 3) * (4 + i%3))
	}
	for range rows {
		s.Gaps.Counts = append(s.Gaps.Counts, count(columns))
	}
	page := written(t, Format{"html", HTML}, res)
	t.Logf("%d bytes", len(page))
	if len(page) > 1_000_000 || len(page) < 150_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
}
