package metric

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/judge/slo"
	"redline/internal/llm"
)

func TestWhichFiguresAReadBlurs(t *testing.T) {
	t.Parallel()
	thought := func(at int64) chunk { return chunk{at: at, part: llm.Reasoning} }
	for _, c := range []struct {
		name      string
		chunks    []chunk
		coalesced int
		want      []figure
	}{
		{"every event in a read of its own", steadily(1100, 20, 4), 0, nil},
		{"the first with the second", []chunk{{at: 1100}, {at: 1100}, {at: 1120}, {at: 1180}}, 1, []figure{ttft, ttftDue, ttfa}},
		{"two in the middle, after a short gap", []chunk{{at: 1100}, {at: 1120}, {at: 1120}, {at: 1180}}, 1, nil},
		{"two that end the longest gap", []chunk{{at: 1100}, {at: 1120}, {at: 1180}, {at: 1180}}, 1, []figure{stall}},
		{"all in one", []chunk{{at: 1100}, {at: 1100}, {at: 1100}}, 2, []figure{ttft, ttftDue, ttfa}},
		{"the first answer with the next", []chunk{thought(1100), {at: 1150}, {at: 1150}, {at: 1300}}, 1, []figure{ttfa}},
		{"equal stamps of two reads are exact", []chunk{{at: 1100}, {at: 1100}, {at: 1120}}, 0, nil},
	} {
		r := lived(life{due: 1000, sent: 1000, end: 1400, chunks: c.chunks, coalesced: c.coalesced,
			usage: llm.Usage{OutputTokens: len(c.chunks)}})
		b := blurOf(new(tails).essence(r, grouped(r, nil), false))
		var got []figure
		for f := range figureCount {
			if b.has(f) {
				got = append(got, f)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// merge makes the first two events of a request share a read.
func merge(l *life) {
	l.chunks[0].at = l.chunks[1].at
	l.coalesced = 1
}

func TestBlurredFirstsAreNotFirm(t *testing.T) {
	t.Parallel()
	// Four in a hundred: more than the p95 (2.5 %) bears, less than the p90.
	s := summarizeRecords(t, window(2000), alike(2000, func(i int, l *life) {
		if i%25 == 7 {
			merge(l)
		}
	}))
	for name, want := range map[string][]string{
		"ttft":     {"p50", "p75", "p90"},
		"ttft_due": {"p50", "p75", "p90"},
		"ttfa":     {"p50", "p75", "p90"},
		"stall":    {"p50", "p75", "p90", "p95", "p99"}, // the gap after the merged pair is as long
		"e2e":      {"p50", "p75", "p90", "p95", "p99"},
	} {
		for each, d := range s.Latency.Each {
			if each == name && !slices.Equal(want, d.Firm) {
				t.Errorf("%s: firm are %v, want %v", name, d.Firm, want)
			}
		}
	}
	if s.Tokens.BlurredFirst != 80 || s.Tokens.BlurredStall != 0 {
		t.Errorf("%d firsts and %d stalls blurred, want 80 and 0", s.Tokens.BlurredFirst, s.Tokens.BlurredStall)
	}
	note := Note{"latency.ttft_ms.p99", "low confidence: 4% of the times are upper bounds, their timestamps merged with a later event's; p99 allows less than 0.5%"}
	if !slices.Contains(s.Notes, note) {
		t.Errorf("no note %q among %q", note, s.Notes)
	}
}

// TestBlurredTimesNeverMissAnObjective: a bound above the limit is no proof
// that the time was, while a bound below it is proof enough.
func TestBlurredTimesNeverMissAnObjective(t *testing.T) {
	t.Parallel()
	blurry := func(k int) func(int, *life) {
		return func(i int, l *life) {
			if i%k == 0 {
				merge(l)
			}
		}
	}
	late := func(i int, l *life) {
		if i%10 == 0 {
			l.chunks[0].at += 15 // and not blurred
		}
	}
	for _, c := range []struct {
		name, objective string
		change          func(int, *life)
		want            slo.Standing
		note            string
	}{
		{"one in ten late", "ttft:p99<20ms", late, slo.Missed, ""},
		{"one in ten perhaps late", "ttft:p99<20ms", blurry(10), slo.Undecided,
			"10% of the times are only bounded: their events arrived merged with a later one"},
		{"in time even so", "ttft:p99<40ms", blurry(10), slo.Met, ""},
		{"gaps in which a long one may hide", "itl:p99<40ms", blurry(10), slo.Undecided,
			"3.3% of the times are only bounded: their events arrived merged with a later one"},
		{"gaps between events only look longer", "icl:p99<40ms", blurry(10), slo.Met, ""},
	} {
		got := summarizeRecords(t, window(1000, objectives(t, c.objective)...), alike(1000, c.change)).Objectives[0]
		if got.Standing != c.want || got.Note != c.note {
			t.Errorf("%s: %s stands %s (%s), want %s (%s)", c.name, c.objective, got.Standing, got.Note, c.want, c.note)
		}
	}
}
