package account

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// driftingRecords is a request a second whose first token takes longer by so many ms
// each minute, beside a wobble of 2 ms, and of whose prompt the cache holds
// less and less.
func driftingRecords(minutes int, perMinute float64, lostPerMinute float64) []*record.Record {
	var list []*record.Record
	for second := range int64(minutes * 60) {
		due := 1000 * (second + 1)
		sofar := float64(second) / 60
		first := due + 100 + int64(math.Round(perMinute*sofar)) + second*7%5 - 2
		cached := 800 - int(lostPerMinute*sofar) + int(second*7%5)
		list = append(list, recordOf(life{due: due, begin: due, sent: due, end: first + 400, chunks: []chunk{{at: first, tokens: 1}, {at: first + 400, tokens: 4}},
			usage: llm.Usage{PromptTokens: 1000, CachedTokens: cached, OutputTokens: 5}}))
	}
	return list
}

func TestDrift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		minutes         int
		slower, colder  float64
		varies          bool
		figures, drifts []string
	}{
		{name: "five minutes of the same", minutes: 5, figures: []string{"ttft_p50", "tpot_p50", "e2e_p50", "prefix_hit_rate"}},
		{name: "ttft rises by 2 ms of 100 a minute", minutes: 5, slower: 2,
			figures: []string{"ttft_p50", "tpot_p50", "e2e_p50", "prefix_hit_rate"}, drifts: []string{"ttft_p50"}},
		{name: "the cache loses 2 points a minute", minutes: 5, colder: 20,
			figures: []string{"ttft_p50", "tpot_p50", "e2e_p50", "prefix_hit_rate"}, drifts: []string{"prefix_hit_rate"}},
		{name: "a trend too small to matter", minutes: 30, slower: 0.1,
			figures: []string{"ttft_p50", "tpot_p50", "e2e_p50", "prefix_hit_rate"}},
		{name: "too short", minutes: 4, slower: 50},
		{name: "the rate changes by plan", minutes: 5, slower: 50, varies: true},
	} {
		records := driftingRecords(c.minutes, c.slower, c.colder)
		s := summarizeRecords(t, Options{Start: 1000 * ms, End: int64(1000+60_000*c.minutes) * ms, AskedRate: 1, Varies: c.varies}, records)
		var figures, drifts []string
		for _, d := range s.Drift {
			figures = append(figures, d.Figure)
			if d.Drifts {
				drifts = append(drifts, d.Figure)
			}
		}
		if diff := cmp.Diff([][]string{c.figures, c.drifts}, [][]string{figures, drifts}); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%+v", c.name, diff, s.Drift)
		}
	}
}

// TestTheSlopeOfADrift: 2 ms a minute on a median of 105 ms, and 2 points.
func TestTheSlopeOfADrift(t *testing.T) {
	t.Parallel()
	s := summarizeRecords(t, Options{Start: 1000 * ms, End: 301_000 * ms, AskedRate: 1}, driftingRecords(5, 2, 20))
	if d := s.Drift[0]; math.Abs(d.PerMinute-2.0/105) > 0.002 || d.Blocks != 10 || !(d.P < 0.001) {
		t.Errorf("%+v, want 0.019 a minute", d)
	}
	if d := s.Drift[3]; math.Abs(d.PerMinute+0.02) > 0.002 {
		t.Errorf("%+v, want two points a minute down", d)
	}
}
