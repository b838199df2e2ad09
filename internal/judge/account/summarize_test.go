package account

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
)

// handful is a window of ten seconds from the first second on, with requests
// whose figures can be worked out on paper.
var handful = []life{
	// Due before the window; its last token, gap and end fall into it.
	{due: 900, sent: 900, end: 1015, chunks: []chunk{{at: 950}, {at: 990}, {at: 1010}},
		usage: llm.Usage{PromptTokens: 700, OutputTokens: 3}, askedPrompt: 700, askedOutput: 3, class: "chat"},
	{due: 1000, sent: 1000, end: 1141, chunks: steadily(1100, 20, 3),
		usage: llm.Usage{PromptTokens: 500, CachedTokens: 100, OutputTokens: 3}, askedPrompt: 490, askedOutput: 3, class: "chat"},
	{due: 2000, sent: 2001, end: 2262, chunks: steadily(2201, 30, 3),
		usage: llm.Usage{PromptTokens: 2000, OutputTokens: 3}, askedPrompt: 1990, askedOutput: 4, class: "code"},
	{due: 3000, sent: 3000, end: 3500, outcome: llm.Rejected, askedPrompt: 1200, askedOutput: 3, class: "code", try: 2},
	{due: 4000, end: 4200, outcome: llm.Cancelled, askedPrompt: 400, askedOutput: 3, class: "chat"},
	// Due after it.
	{due: 11000, sent: 11000, end: 11200, chunks: steadily(11100, 20, 3), usage: llm.Usage{OutputTokens: 3}},
}

var handfulWindow = Options{Start: 1000 * ms, End: 11000 * ms, AskedRate: 0.5}

// two is the distribution of two values: type 7 lies on the line between them.
func two(a, b float64) *metric.Dist {
	on := func(p float64) float64 { return round(a + p*(b-a)) }
	return &metric.Dist{N: 2, Mean: on(0.5), Max: b, P: map[string]float64{
		"p50": on(0.5), "p75": on(0.75), "p90": on(0.9), "p95": on(0.95), "p99": on(0.99), "p999": on(0.999)}}
}

func same(n int, v float64) *metric.Dist {
	return &metric.Dist{N: n, Mean: v, Max: v, P: map[string]float64{
		"p50": v, "p75": v, "p90": v, "p95": v, "p99": v, "p999": v}}
}

func TestSummaryOfAHandful(t *testing.T) {
	t.Parallel()
	gaps := &metric.Dist{N: 5, Mean: 24, Max: 30, P: map[string]float64{ // 20 20 20 30 30
		"p50": 20, "p75": 30, "p90": 30, "p95": 30, "p99": 30, "p999": 30}}
	want := metric.Summary{
		// In the system, second by second: 0.156 0.262 0.5 0.2 and nothing
		// more; least squares give −3.169/82.5 a second.
		Window:   metric.Window{StartS: 1, EndS: 11, Overload: ptr(false), Growth: ptr(-0.384121)},
		Requests: metric.Requests{Due: 4, Sent: 3, OK: 2, Rejected: 1, Cancelled: 1, Retried: 1, Short: 1, Faults: map[string]int{"rejected": 1}},
		Rates:    metric.Rates{Asked: ptr(0.5), Offered: 0.4, Sent: 0.3, Completed: 0.2, Ended: 0.3},
		Latency: metric.Latency{
			TTFT: two(100, 200), TTFTDue: two(100, 201), TTFA: two(100, 200), TPOT: two(20, 30),
			ITL: gaps, ICL: gaps, Stall: two(20, 30), E2E: two(140, 260), E2EDue: two(140, 261), Decode: two(40, 60),
			Lag: &metric.Dist{N: 3, Mean: 0.333333, Max: 1, P: map[string]float64{ // 0 0 1
				"p50": 0, "p75": 0.5, "p90": 0.8, "p95": 0.9, "p99": 0.98, "p999": 0.998}},
		},
		Tokens: metric.Tokens{Prompt: 2500, Cached: 100, Output: 6, AskedPrompt: 2480, AskedOutput: 7, DuePrompt: 4080, DueOutput: 13,
			Counted: map[string]int{"usage": 2}, Events: 9, PromptLengths: two(500, 2000), OutputLengths: same(2, 3)},
		// Two of those due were answered; three answers ended in the window.
		// Seven tokens arrived; the first outputs of 400 + 100 cached and of
		// 2,000 prompt tokens.
		Throughput: metric.Throughput{Requests: 0.2, Output: 0.7, Prompt: 240, CachedPrompt: 10, Total: 240.7},
		// 15 + 141 + 261 + 500 ms in ten seconds; three sent, 902 ms together.
		Bunching:    &metric.Bunching{WithinMS: 150}, // seconds apart
		Concurrency: metric.Concurrency{Mean: 0.0917, Max: 2, Little: 0.0902},
		Interactivity: &metric.Dist{N: 2, Mean: 40, Max: 33.3333, P: map[string]float64{
			"p50": 40, "p75": 36.3636, "p90": 34.4828, "p95": 33.8983, "p99": 33.4448, "p999": 33.3445}},
		TailRatio: map[string]float64{"ttft": 1.32667, "ttft_due": 1.32884, "ttfa": 1.32667, "tpot": 1.196, "itl": 1.5,
			"icl": 1.5, "stall": 1.196, "e2e": 1.294, "e2e_due": 1.29571, "decode": 1.196},
		Ledger: &metric.Ledger{N: 2, WholeMS: 150.5, Parts: []metric.LedgerEntry{{Name: "lag", MeanMS: 0.5, N: 2}}, RestMS: 150},
		Phases: &metric.Phases{Client: 0.5 / 200.5, FirstToken: 150 / 200.5, Decode: 50 / 200.5, Dominant: metric.FirstTokenPhase},
	}
	got := summarize(t, handfulWindow, handful...)
	ignore := cmpopts.IgnoreFields(metric.Summary{}, "Buckets", "Classes", "Notes")
	expect.Same(t, want, got, ignore, cmpopts.EquateApprox(1e-5, 0))
}

func TestGroupsOfAHandful(t *testing.T) {
	t.Parallel()
	got := summarize(t, handfulWindow, handful...)
	type row struct {
		Name     string
		Requests metric.Requests
		TTFT     float64
		Gaps     int
		OutputPS float64
	}
	rows := func(list []metric.Group) []row {
		var out []row
		for _, g := range list {
			out = append(out, row{g.Name, g.Requests, g.Latency.TTFT.P["p50"], g.Latency.ICL.N, g.OutputPS})
		}
		return out
	}
	chat := metric.Requests{Due: 2, Sent: 1, OK: 1, Cancelled: 1}
	code := metric.Requests{Due: 2, Sent: 2, OK: 1, Rejected: 1, Retried: 1, Short: 1, Faults: map[string]int{"rejected": 1}}
	want := [][]row{
		{{"<1k", chat, 100, 3, 0.4}, {"1k-4k", code, 200, 2, 0.3}},
		{{"chat", chat, 100, 3, 0.4}, {"code", code, 200, 2, 0.3}},
		nil, nil,
	}
	all := [][]row{rows(got.Buckets), rows(got.Classes), rows(got.Tenants), rows(got.Turns)}
	expect.Same(t, want, all)
	if ttft := got.Buckets[0].Latency.TTFT; ttft.P["p95"] != 100 || ttft.P["p99"] != 100 || ttft.IsFirm("p99") {
		t.Errorf("a group of one request has %v, relied on %v; want its one value, and no confidence in it", ttft.P, ttft.Firm)
	}
}

func TestTurnsAndTenantsAreOrdered(t *testing.T) {
	t.Parallel()
	var lives []life
	for i, turn := range []int{10, 2, 0, 2} {
		at := int64(2000 + 100*i)
		lives = append(lives, life{due: at, sent: at, end: at + 50, chunks: steadily(at+10, 10, 2),
			usage: llm.Usage{OutputTokens: 2}, turn: turn, tenant: []string{"b", "a"}[i%2]})
	}
	got := summarize(t, handfulWindow, lives...)
	names := func(list []metric.Group) (out []string) {
		for _, g := range list {
			out = append(out, g.Name)
		}
		return out
	}
	expect.Same(t, [][]string{{"0", "2", "10"}, {"a", "b"}}, [][]string{names(got.Turns), names(got.Tenants)})
	if got.Requests.Sessions != 1 || got.Arrivals() != 1 {
		t.Errorf("%d sessions, %d arrivals; only one request is a first turn", got.Requests.Sessions, got.Arrivals())
	}
	if later := summarize(t, handfulWindow, lives[:2]...); later.Arrivals() != 0 {
		t.Errorf("%d arrivals in a window of later turns alone, want none", later.Arrivals())
	}
}

func TestDueIsTheSumOfAllOutcomes(t *testing.T) {
	t.Parallel()
	var lives []life
	for i, o := range llm.Outcomes {
		for range i + 1 {
			lives = append(lives, life{due: 2000, sent: 2000, end: 2500, outcome: o.Outcome})
		}
	}
	n := summarize(t, handfulWindow, lives...).Requests
	want := metric.Requests{Due: 136, Sent: 136, OK: 1, Rejected: 2, Failed: 75, Abandoned: 13, Cancelled: 14, Censored: 15, Unsent: 16,
		Faults: map[string]int{"rejected": 2, "http": 3, "connect": 4, "tls": 5, "dns": 6, "timeout": 7, "reset": 8,
			"truncated": 9, "malformed": 10, "error_event": 11, "empty": 12}}
	expect.Same(t, want, n)
	if sum := n.OK + n.Rejected + n.Failed + n.Abandoned + n.Cancelled + n.Censored + n.Unsent; sum != n.Due {
		t.Errorf("outcomes add up to %d of %d due", sum, n.Due)
	}
}

func TestNothingStreamedIsNull(t *testing.T) {
	t.Parallel()
	got := summarize(t, handfulWindow, life{due: 2000, sent: 2000, end: 2500, whole: true,
		chunks: []chunk{{at: 2500}}, usage: llm.Usage{OutputTokens: 40}})
	want := metric.Latency{E2E: same(1, 500), E2EDue: same(1, 500), Lag: same(1, 0)}
	expect.Same(t, want, got.Latency)
	if got.Throughput.Output != 4 {
		t.Errorf("output %v tokens/s, want 4", got.Throughput.Output)
	}
}

func TestATokenOfAFailedRequestIsThroughputAndNoLatency(t *testing.T) {
	t.Parallel()
	got := summarize(t, handfulWindow, life{due: 2000, sent: 2000, end: 2500, outcome: llm.Reset,
		chunks: steadily(2100, 10, 5), usage: llm.Usage{OutputTokens: 5}})
	if got.Throughput.Output != 0.5 || got.Latency.ICL != nil || got.Latency.TTFT != nil {
		t.Errorf("output %v tokens/s, icl %v, ttft %v; want 0.5 and nothing else",
			got.Throughput.Output, got.Latency.ICL, got.Latency.TTFT)
	}
}

func TestGoodputAndFluidity(t *testing.T) {
	t.Parallel()
	o := handfulWindow
	o.Objectives = objectives(t, "ttft:p99<150ms", "tpot:p99<25ms")
	got := summarize(t, o, handful...)
	// One of four due is within both; of the ok ones the second has its first
	// token at 201 ms instead of 150, then 30 ms steps instead of 25.
	expect.NoDiff(t, cmp.Diff(&metric.Goodput{Requests: 0.1, Fraction: 0.25}, got.Goodput), "goodput, want −, got +")
	expect.NoDiff(t, cmp.Diff(ptr(0.5), got.Fluidity), "fluidity, want −, got +")
	o.Objectives = objectives(t, "error:rate<1%", "ttft:mean<150ms")
	if got := summarize(t, o, handful...); got.Goodput != nil || got.Fluidity != nil {
		t.Errorf("goodput %v, fluidity %v without a per-request objective; want none", got.Goodput, got.Fluidity)
	}
}

func TestGoodputIsAbsentWhereAPromiseWasNotMeasured(t *testing.T) {
	t.Parallel()
	o := handfulWindow
	o.Objectives = objectives(t, "ttft:p99<150ms", "e2e:p99<10s", "good:fraction>0.9")
	got := summarize(t, o, life{due: 2000, sent: 2000, end: 2500, whole: true,
		chunks: []chunk{{at: 2500}}, usage: llm.Usage{OutputTokens: 40}})
	if got.Goodput != nil {
		t.Errorf("goodput %+v of a reply that shows no ttft, want none", *got.Goodput)
	}
	if s := got.Objectives[2].Standing; s != slo.NotJudged {
		t.Errorf("good:fraction stands %q, want not judged", s)
	}
}

func objectives(t testing.TB, texts ...string) []slo.Objective {
	t.Helper()
	list := must.Get(slo.ParseAll(texts))(t)
	return list
}

func TestBadOptionsAndBadRecordsAreErrors(t *testing.T) {
	t.Parallel()
	broken := func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) { yield(nil, errors.New("line 7: cut")) }
	}
	tests := []struct {
		name string
		o    Options
		from func() iter.Seq2[*record.Record, error]
		want string
	}{
		{"empty window", Options{Start: 5, End: 5}, record.FromList(nil), "it must end after its start"},
		{"window that ends before it starts", Options{Start: 5000 * ms, End: 1000 * ms}, record.FromList(nil), "it must end after its start"},
		{"percentile given as 100", Options{End: 1, Percentiles: []float64{100}}, record.FromList(nil), "write 99.9 for the p999"},
		{"percentile that would share its key", Options{End: 1, Percentiles: []float64{2.5}}, record.FromList(nil), "2.5 is not one of"},
		{"unreadable record", Options{End: 1}, broken, "records: line 7: cut"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Summarize(tt.from, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestAnEmptyWindowHasNoFigures(t *testing.T) {
	t.Parallel()
	o := handfulWindow
	o.Objectives = objectives(t, "ttft:p99<1s", "throughput:min>5", "error:rate<1%")
	got := summarize(t, o)
	expect.NoDiff(t, cmp.Diff(metric.Latency{}, got.Latency), "latency, want −, got +")
	for _, v := range got.Objectives {
		if v.Standing == slo.Met || v.Standing == slo.Missed {
			t.Errorf("%s is %s without a single request", v.Objective, v.Standing)
		}
	}
}

func TestPercentileKeys(t *testing.T) {
	t.Parallel()
	for percent, want := range map[float64]string{50: "p50", 99.9: "p999", 99.99: "p9999", 5: "p5", 97.5: "p975"} {
		if got := metric.PercentileKey(percent); got != want {
			t.Errorf("PercentileKey(%v) = %q, want %q", percent, got, want)
		}
	}
}
