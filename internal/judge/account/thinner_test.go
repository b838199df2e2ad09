package account

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
)

// anyStreams draws numbered requests, some with several tokens an event and some
// whose events share reads.
func anyStreams(t *rapid.T) []*record.Record {
	var list []*record.Record
	for i, l := range rapid.SliceOfN(rapid.Custom(anyLife), 1, 40).Draw(t, "lives") {
		l.coalesced = rapid.IntRange(0, len(l.chunks)).Draw(t, "coalesced")
		switch rapid.IntRange(0, 3).Draw(t, "tokens") {
		case 0: // more than events: spread
			l.usage.OutputTokens *= 3
		case 1: // told with every event
			l.usage.OutputTokens = 0
			for j := range l.chunks {
				l.chunks[j].tokens = rapid.IntRange(1, 4).Draw(t, "carried")
			}
		}
		r := recordOf(l)
		r.ID = i
		list = append(list, r)
	}
	return list
}

// thinRecords gives records as a run with --token-times keeps them, through the log.
func thinRecords(t rapid.TB, records []*record.Record, share float64) (all, timed []*record.Record) {
	thin := &Thinner{Share: share}
	for _, r := range records {
		read := must.Get(record.ParseLine(thin.Of(r).AppendLine(nil)))(t)
		if all = append(all, read); !read.Thinned() {
			timed = append(timed, r)
		}
	}
	return all, timed
}

// perRequest leaves out what is of gaps and of single tokens.
func perRequest(s metric.Summary) metric.Summary {
	bare := func(l metric.Latency) metric.Latency {
		l.ITL, l.ICL = nil, nil
		return l
	}
	s.Latency, s.TailRatio, s.Fluidity = bare(s.Latency), tailRatios(bare(s.Latency)), nil
	s.Throughput.Output, s.Throughput.Total = 0, 0
	maps.DeleteFunc(s.StandardErrors, func(name string, _ float64) bool { return isGap(name[:3]) || name == "throughput" })
	s.Tokens.Events, s.Tokens.Coalesced = 0, 0 // of requests with a token in the window
	for _, groups := range []*[]metric.Group{&s.Buckets, &s.Classes, &s.Tenants, &s.Turns} {
		var list []metric.Group
		for _, g := range *groups {
			g.Latency, g.OutputPS, g.Objectives = bare(g.Latency), 0, withoutGaps(g.Objectives)
			list = append(list, g)
		}
		*groups = list
	}
	var notes []metric.Note
	for _, n := range s.Notes {
		if !strings.HasPrefix(n.Figure, "latency.itl") && !strings.HasPrefix(n.Figure, "latency.icl") {
			notes = append(notes, n)
		}
	}
	s.Notes, s.Objectives = notes, withoutGaps(s.Objectives)
	return s
}

func withoutGaps(list []slo.Verdict) (verdicts []slo.Verdict) {
	for _, v := range list {
		if !isGap(v.Objective[:3]) {
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// ofGaps is what a summary says of gaps, without what the window makes of it.
func ofGaps(s metric.Summary) (list []any) {
	for _, d := range []*metric.Dist{s.Latency.ITL, s.Latency.ICL} {
		if d == nil {
			list = append(list, nil)
			continue
		}
		list = append(list, d.N, d.Mean, d.Max, d.P)
	}
	for _, v := range s.Objectives {
		if isGap(v.Objective[:3]) {
			list = append(list, v.Value, v.N, v.Violations)
		}
	}
	return list
}

// Whatever the requests, a run that keeps the token times of some says the same of
// all requests, and of gaps what those some say alone.
func TestThinningChangesNoFigureOfARequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		records := anyStreams(t)
		all, timed := thinRecords(t, records, rapid.SampledFrom([]float64{0.05, 0.3, 0.7}).Draw(t, "share"))
		o := Options{Start: rapid.Int64Range(900, 2000).Draw(t, "start") * ms, End: rapid.Int64Range(5000, 8000).Draw(t, "end") * ms, AskedRate: 1,
			Machine:    func(*record.Record) Machine { return Machine{Watched: true} },
			Objectives: parseObjectives(t, "ttft:p90<150ms", "tpot:p50<90ms", "stall:p90<150ms", "good:fraction>50%", "itl:p90<60ms", "icl:p50<150ms")}
		want, got := summaryWith(t, records, o), summaryWith(t, all, o)
		if diff := cmp.Diff(perRequest(want), perRequest(got)); diff != "" {
			t.Fatalf("with all token times −, with some +:\n%s", diff)
		}
		if len(timed) > 0 && got.Requests.Due > 0 {
			if diff := cmp.Diff(ofGaps(summaryWith(t, timed, o)), ofGaps(got)); diff != "" {
				t.Fatalf("gaps of the requests with token times −, of all +:\n%s", diff)
			}
		}
		edge := 0.0 // tokens of replies that the window cuts
		for _, r := range all {
			if r.Thinned() && (r.First < o.Start && r.Last >= o.Start || r.First < o.End && r.Last >= o.End) {
				edge += float64(max(r.StreamedTokens, r.ChunkCount()) + 1)
			}
		}
		seconds := float64(o.End-o.Start) / 1e9
		if off := math.Abs(want.Throughput.Output-got.Throughput.Output) * seconds; off > edge+0.01 {
			t.Fatalf("%.3f tokens more or less in the window, %g at its edges", off, edge)
		}
	})
}

func parseObjectives(t *rapid.T, texts ...string) []slo.Objective {
	list := must.Get(slo.ParseAll(texts))(t)
	return list
}

func summaryWith(t *rapid.T, records []*record.Record, o Options) metric.Summary {
	s := must.Get(Summarize(record.FromList(records), o))(t)
	return s
}

// A verdict on gaps counts the requests whose token times are kept, and no others.
func TestVerdictsOnGapsAreOfTheTimed(t *testing.T) {
	t.Parallel()
	var records []*record.Record
	for i := range 6000 {
		at := 1000 + 10*int64(i)
		r := recordOf(life{due: at, sent: at, end: at + 500, chunks: steadily(at+100, 20, 10), usage: llm.Usage{OutputTokens: 10}})
		r.ID = i
		records = append(records, r)
	}
	o := Options{Start: 1000 * ms, End: 62_000 * ms, AskedRate: 100, Objectives: objectives(t, "itl:p99.9<21ms")}
	all := summarizeRecords(t, o, records).Objectives[0]
	if all.Standing != slo.Met {
		t.Fatalf("with all token times %+v", all)
	}
	some, timed := thinRecords(t, records, 0.1)
	s := summarizeRecords(t, o, some)
	// 2,995 requests without a violation decide a p99.9: 600 do not.
	if v := s.Objectives[0]; v.Standing != slo.Undecided || v.N != 9*len(timed) || !strings.Contains(v.Note, "too few requests whose token times are kept: 599 of 2,995 needed") {
		t.Errorf("with a tenth of them %s of %d: %s", v.Standing, v.N, v.Note)
	}
	note := false
	for _, n := range s.Notes {
		note = note || strings.HasPrefix(n.Text, "itl and icl cover 10% of the requests")
	}
	if !note {
		t.Errorf("nothing says so: %+v", s.Notes)
	}
	none, _ := thinRecords(t, records[1:2], 0.01)
	if v := summarizeRecords(t, o, none).Objectives[0]; v.Standing != slo.NotJudged || !strings.Contains(v.Note, "--token-times") {
		t.Errorf("with none of them %+v", v)
	}
}
