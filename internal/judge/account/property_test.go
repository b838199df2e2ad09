package account

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/must"
)

// anyLife draws a request that was due within five seconds.
func anyLife(t *rapid.T) life {
	due := rapid.Int64Range(1000, 6000).Draw(t, "due")
	outcome := llm.OK
	if rapid.IntRange(0, 3).Draw(t, "not ok") == 0 {
		outcome = rapid.SampledFrom(llm.Outcomes).Draw(t, "outcome").Outcome
	}
	l := life{due: due, begin: due, outcome: outcome, class: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "class"),
		askedPrompt: rapid.IntRange(1, 40_000).Draw(t, "prompt"), turn: rapid.IntRange(0, 2).Draw(t, "turn")}
	if outcome == llm.Unsent {
		return l
	}
	l.slot = due + rapid.Int64Range(0, 50).Draw(t, "slot wait")
	l.sent = l.slot + rapid.Int64Range(0, 3).Draw(t, "lag")
	n := rapid.IntRange(0, 6).Draw(t, "events")
	if outcome == llm.OK {
		n = max(n, 1)
	}
	at := l.sent
	for range n {
		at += rapid.Int64Range(0, 200).Draw(t, "gap")
		l.chunks = append(l.chunks, chunk{at: at})
	}
	l.usage.OutputTokens = n
	l.end = at + rapid.Int64Range(1, 100).Draw(t, "close")
	return l
}

func anyRecords(t *rapid.T) []*record.Record {
	var list []*record.Record
	for _, l := range rapid.SliceOfN(rapid.Custom(anyLife), 1, 30).Draw(t, "lives") {
		list = append(list, recordOf(l))
	}
	return list
}

func summaryOf(t *rapid.T, records []*record.Record, start, end int64) metric.Summary {
	s := must.Get(Summarize(record.FromList(records), Options{Start: start * ms, End: end * ms, AskedRate: 1}))(t)
	return s
}

func TestTheOrderOfRecordsDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		records := anyRecords(t)
		want := summaryOf(t, records, 1000, 7000)
		got := summaryOf(t, rapid.Permutation(records).Draw(t, "order"), 1000, 7000)
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-4, 1e-9)); diff != "" {
			t.Fatalf("in order −, shuffled +:\n%s", diff)
		}
	})
}

func TestTwoWindowsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		records := anyRecords(t)
		cut := rapid.Int64Range(1001, 6999).Draw(t, "cut")
		whole, a, b := summaryOf(t, records, 1000, 7000), summaryOf(t, records, 1000, cut), summaryOf(t, records, cut, 7000)
		left, right := float64(cut-1000)/6000, float64(7000-cut)/6000
		type sums struct {
			Due, OK, Failed, Gaps int
			Output, InFlight      float64
		}
		of := func(s metric.Summary) sums {
			gaps := 0
			if s.Latency.ICL != nil {
				gaps = s.Latency.ICL.N
			}
			return sums{s.Requests.Due, s.Requests.OK, s.Requests.Failed, gaps, s.Throughput.Output, s.Concurrency.Mean}
		}
		x, y := of(a), of(b)
		got := sums{x.Due + y.Due, x.OK + y.OK, x.Failed + y.Failed, x.Gaps + y.Gaps,
			x.Output*left + y.Output*right, x.InFlight*left + y.InFlight*right}
		if diff := cmp.Diff(of(whole), got, cmpopts.EquateApprox(1e-4, 1e-9)); diff != "" {
			t.Fatalf("whole −, two parts +:\n%s", diff)
		}
		if most := max(a.Concurrency.Max, b.Concurrency.Max); most != whole.Concurrency.Max {
			t.Fatalf("at most %d in flight, %d in parts", whole.Concurrency.Max, most)
		}
	})
}

func TestGroupsAddUpToTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := summaryOf(t, anyRecords(t), 1000, 7000)
		for _, groups := range [][]metric.Group{s.Buckets, s.Classes, s.Turns} {
			due := 0
			for _, g := range groups {
				n := g.Requests
				due += n.Due
				if n.OK+n.Rejected+n.Failed+n.Abandoned+n.Cancelled+n.Censored+n.Unsent != n.Due {
					t.Fatalf("group %q: outcomes do not add up: %+v", g.Name, n)
				}
			}
			if groups != nil && due != s.Requests.Due {
				t.Fatalf("groups hold %d of %d due", due, s.Requests.Due)
			}
		}
	})
}

// BenchmarkSummarize takes a run of 10,000 requests of 200 tokens.
func BenchmarkSummarize(b *testing.B) {
	records := make([]*record.Record, 10_000)
	for i := range records {
		at := 1000 + 10*int64(i)
		chunks := make([]chunk, 200)
		for j := range chunks {
			chunks[j] = chunk{at: at + 100 + 20*int64(j) + int64((i*j)%17)}
		}
		records[i] = recordOf(life{due: at, sent: at, end: chunks[199].at + 1, chunks: chunks,
			usage: llm.Usage{OutputTokens: 200, PromptTokens: 50 * (i % 100)}, askedPrompt: 50 * (i % 100), askedOutput: 200})
	}
	o := Options{Start: 2000 * ms, End: 101_000 * ms, AskedRate: 100, Objectives: objectives(b, "ttft:p99<500ms", "itl:p99<50ms")}
	b.ReportAllocs()
	for b.Loop() {
		summarizeRecords(b, o, records)
	}
}
