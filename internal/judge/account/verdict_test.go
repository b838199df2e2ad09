package account

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
)

// alike gives n requests that are due 100 ms apart from 1 s on and take 50 ms,
// but for those that change alters.
func alike(n int, change func(i int, l *life)) []*record.Record {
	list := make([]*record.Record, n)
	for i := range list {
		at := 1000 + 100*int64(i)
		l := life{due: at, sent: at, end: at + 50, chunks: []chunk{{at: at + 10}, {at: at + 30}, {at: at + 50}},
			usage: llm.Usage{OutputTokens: 3, PromptTokens: 100}, askedPrompt: 100, askedOutput: 3}
		change(i, &l)
		list[i] = recordOf(l)
	}
	return list
}

func window(n int, texts ...slo.Objective) Options {
	return Options{Start: 1000 * ms, End: 1000*ms + int64(n)*100*ms, AskedRate: 10, Objectives: texts}
}

func slow(l *life) {
	l.chunks[0].at += 20
	l.chunks[1].at, l.chunks[2].at, l.end = l.chunks[1].at+900, l.chunks[2].at+1800, l.end+1800
}

func fail(l *life) {
	l.chunks, l.outcome, l.usage = nil, llm.HTTP, llm.Usage{}
}

// withoutBounds leaves out what TestVerdictsBoundTheirFigure is about.
var withoutBounds = cmpopts.IgnoreFields(slo.Verdict{}, "Bound", "Confidence", "Sees")

// TestVerdictsBoundTheirFigure: a figure that is met lies below its bound, one
// that is missed above it, each on the right side of the limit.
func TestVerdictsBoundTheirFigure(t *testing.T) {
	t.Parallel()
	r := stats.Rand(1, "bound", 0)
	scattered := func(_ int, l *life) { l.chunks[0].at += int64(r.IntN(10)) }
	records := alike(600, scattered)
	for _, text := range []string{"ttft:p95<60ms", "ttft:p95<6ms", "ttft:mean<60ms", "ttft:mean<6ms", "throughput:min>10", "throughput:min>90"} {
		o := window(600, objectives(t, text)...)
		o.Confidence = 0.9
		v := summarizeRecords(t, o, records).Objectives[0]
		if v.Bound == nil || v.Confidence != 0.9 {
			t.Fatalf("%s: %+v has no bound", text, v)
		}
		upper := (v.Standing == slo.Met) == strings.Contains(text, "<")
		if *v.Bound != *v.Value && (*v.Bound > *v.Value) != upper || (*v.Bound <= v.Limit) != upper {
			t.Errorf("%s: %s, value %g, bound %g, limit %g", text, v.Standing, *v.Value, *v.Bound, v.Limit)
		}
	}
}

func TestVerdictsOnPercentiles(t *testing.T) {
	t.Parallel()
	never := func(int, *life) {}
	every := func(k int, do func(*life)) func(int, *life) {
		return func(i int, l *life) {
			if i%k == k/2 {
				do(l)
			}
		}
	}
	tests := []struct {
		name      string
		n         int
		change    func(int, *life)
		objective string
		want      slo.Verdict
	}{
		{"299 without a violation", 299, never, "e2e:p99<100ms",
			slo.Verdict{Standing: slo.Met, Value: ptr(50.0), Unit: "ms", Limit: 100, N: 299, NEff: ptr(299.0)}},
		{"one fewer does not decide", 298, never, "e2e:p99<100ms",
			slo.Verdict{Standing: slo.Undecided, Value: ptr(50.0), Unit: "ms", Limit: 100, N: 298, NEff: ptr(298.0), Needed: 299, Note: "too few requests: 298 of 299 needed"}},
		{"three of 300 is at the limit", 300, every(100, slow), "e2e:p99<100ms",
			slo.Verdict{Standing: slo.Undecided, Value: ptr(68.0), Unit: "ms", Limit: 100, N: 300, Violations: 3, NEff: ptr(300.0), Note: "at the limit: 1% of requests are over it or have no full answer, 1% may"}},
		{"one in ten slow", 600, every(10, slow), "e2e:p99<100ms",
			slo.Verdict{Standing: slo.Missed, Value: ptr(1850.0), Unit: "ms", Limit: 100, N: 600, Violations: 60, NEff: ptr(600.0)}},
		{"one in ten failed is one in ten above any bound", 600, every(10, fail), "e2e:p95<10s",
			slo.Verdict{Standing: slo.Missed, Unit: "ms", Limit: 10_000, N: 600, Violations: 60, NEff: ptr(600.0)}},
		{"one in a hundred is at the limit", 600, every(100, slow), "e2e:p99<100ms",
			slo.Verdict{Standing: slo.Undecided, Value: ptr(68.0), Unit: "ms", Limit: 100, N: 600, Violations: 6, NEff: ptr(600.0), Note: "at the limit: 1% of requests are over it or have no full answer, 1% may"}},
		{"equal to the limit keeps it", 500, never, "e2e:p99<50ms",
			slo.Verdict{Standing: slo.Met, Value: ptr(50.0), Unit: "ms", Limit: 50, N: 500, NEff: ptr(500.0)}},
		{"a maximum bears no violation", 600, every(600, slow), "stall:max<500ms",
			slo.Verdict{Standing: slo.Missed, Value: ptr(920.0), Unit: "ms", Limit: 500, N: 600, Violations: 1}},
		{"gaps are pooled over requests", 600, never, "itl:p99<30ms",
			slo.Verdict{Standing: slo.Met, Value: ptr(20.0), Unit: "ms", Limit: 30, N: 1200, NEff: ptr(1200.0)}},
		{"a failed request stands for as many gaps as an ok one has", 600, every(10, fail), "itl:p99<30ms",
			slo.Verdict{Standing: slo.Missed, Unit: "ms", Limit: 30, N: 1200, Violations: 120, NEff: ptr(1200.0)}},
		{"errors over all due", 1000, every(20, fail), "error:rate<1%",
			slo.Verdict{Standing: slo.Missed, Value: ptr(0.05), Unit: "fraction", Limit: 0.01, N: 1000, Violations: 50, NEff: ptr(1000.0)}},
		{"no rejection", 500, every(20, fail), "reject:rate<1%",
			slo.Verdict{Standing: slo.Met, Value: ptr(0.0), Unit: "fraction", Limit: 0.01, N: 500, NEff: ptr(500.0)}},
		{"ten requests say nothing of a p99", 10, never, "e2e:p99<100ms",
			slo.Verdict{Standing: slo.Undecided, Value: ptr(50.0), Unit: "ms", Limit: 100, N: 10, NEff: ptr(10.0), Needed: 299, Note: "too few requests: 10 of 299 needed"}},
		{"a miss by all", 20, every(1, slow), "e2e:p99<100ms",
			slo.Verdict{Standing: slo.Missed, Value: ptr(1850.0), Unit: "ms", Limit: 100, N: 20, Violations: 20, NEff: ptr(20.0)}},
		{"few requests of a median", 9, never, "e2e:p50<100ms",
			slo.Verdict{Standing: slo.Met, Value: ptr(50.0), Unit: "ms", Limit: 100, N: 9, NEff: ptr(9.0)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := summarizeRecords(t, window(tt.n, objectives(t, tt.objective)...), alike(tt.n, tt.change)).Objectives
			tt.want.Objective = tt.objective
			expect.Same(t, []slo.Verdict{tt.want}, got, withoutBounds)
		})
	}
}

func TestVerdictsOnWholeWindows(t *testing.T) {
	t.Parallel()
	same := func(int, *life) {}
	// One reply in four has one token instead of three: 25 a second, but not
	// the same in every batch of fifteen.
	turns := func(i int, l *life) {
		if i%4 == 1 {
			l.chunks, l.usage.OutputTokens = l.chunks[:1], 1
		}
	}
	kv := func(tokens int) float64 { return float64(tokens) / 10 }
	tests := []struct {
		name      string
		change    func(int, *life)
		objective string
		kv        func(int) float64
		want      slo.Verdict
	}{
		{"throughput", same, "throughput:min>29", nil, slo.Verdict{Standing: slo.Met, Value: ptr(30.0), Unit: "tokens/s", Limit: 29, N: 600}},
		{"throughput missed", same, "throughput:min>31", nil, slo.Verdict{Standing: slo.Missed, Value: ptr(30.0), Unit: "tokens/s", Limit: 31, N: 600}},
		{"throughput at the limit", turns, "throughput:min>25.01", nil,
			slo.Verdict{Standing: slo.Undecided, Value: ptr(25.0), Unit: "tokens/s", Limit: 25.01, N: 600, Note: "at the limit"}},
		{"mean", same, "ttft:mean<11ms", nil, slo.Verdict{Standing: slo.Met, Value: ptr(10.0), Unit: "ms", Limit: 11, N: 600}},
		{"mean missed", same, "ttft:mean<9ms", nil, slo.Verdict{Standing: slo.Missed, Value: ptr(10.0), Unit: "ms", Limit: 9, N: 600}},
		{"cache of the longest request", same, "kv:max<10MB", kv, slo.Verdict{Standing: slo.Missed, Value: ptr(10.3), Unit: "MB", Limit: 10, N: 600}},
		{"cache within its room", same, "kv:max<11MB", kv, slo.Verdict{Standing: slo.Met, Value: ptr(10.3), Unit: "MB", Limit: 11, N: 600}},
		{"cache of what was asked for and never answered", func(i int, l *life) {
			if l.askedPrompt = 90; i%2 == 1 {
				l.askedPrompt, l.chunks, l.outcome, l.usage = 5000, nil, llm.Rejected, llm.Usage{}
			}
		}, "kv:max<11MB", kv, slo.Verdict{Standing: slo.Met, Value: ptr(10.3), Unit: "MB", Limit: 11, N: 300}},
		{"cache of the prompt that the server counted", func(_ int, l *life) { l.askedPrompt = 5000 }, "kv:max<11MB", kv,
			slo.Verdict{Standing: slo.Met, Value: ptr(10.3), Unit: "MB", Limit: 11, N: 600}},
		{"cache where nothing was answered", func(_ int, l *life) { l.chunks, l.outcome, l.usage = nil, llm.Rejected, llm.Usage{} }, "kv:max<11MB", kv,
			slo.Verdict{Standing: slo.NotJudged, Unit: "MB", Limit: 11, Note: "not measured: no request had any output"}},
		{"cache of an unknown model", same, "kv:max<11MB", nil,
			slo.Verdict{Standing: slo.NotJudged, Unit: "MB", Limit: 11, Note: "not measured: the model's shape is not known (--catalog names its config.json)"}},
		{"good fraction without a promise to keep", same, "good:fraction>0.9", nil,
			slo.Verdict{Standing: slo.NotJudged, Unit: "fraction", Limit: 0.9, Note: "not measured: goodput needs latency objectives that apply to every reply"}},
		{"not streamed", func(_ int, l *life) { l.whole = true }, "ttft:p99<1s", nil,
			slo.Verdict{Standing: slo.NotJudged, Unit: "ms", Limit: 1000, Note: "not measured: no reply was streamed"}},
		{"tokens of events unknown", func(_ int, l *life) { l.usage.OutputTokens = 30 }, "itl:p99<1s", nil,
			slo.Verdict{Standing: slo.NotJudged, Unit: "ms", Limit: 1000, Note: "not measured: the tokens of each event are not known; use icl"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := window(600, objectives(t, tt.objective)...)
			o.KVMB = tt.kv
			got := summarizeRecords(t, o, alike(600, tt.change)).Objectives
			tt.want.Objective = tt.objective
			expect.Same(t, []slo.Verdict{tt.want}, got, withoutBounds)
		})
	}
}

func TestGoodFractionIsJudgedOverAllDue(t *testing.T) {
	t.Parallel()
	o := window(600, objectives(t, "ttft:p99<20ms", "good:fraction>0.9")...)
	got := summarizeRecords(t, o, alike(600, func(i int, l *life) {
		if i%4 == 0 {
			slow(l)
		}
		if i%4 == 1 {
			fail(l)
		}
	}))
	want := slo.Verdict{Objective: "good:fraction>0.9", Standing: slo.Missed, Value: ptr(0.5), Unit: "fraction", Limit: 0.9,
		N: 600, Violations: 300, NEff: ptr(600.0)}
	expect.Same(t, want, got.Objectives[1], withoutBounds)
	expect.Same(t, &metric.Goodput{Requests: 5, Fraction: 0.5}, got.Goodput)
}

// TestCrowdedViolationsAreWorthLess: the same 60 violations in one stretch of
// time say less than 60 here and there.
func TestCrowdedViolationsAreWorthLess(t *testing.T) {
	t.Parallel()
	judge := func(slowAt func(i int) bool) slo.Verdict {
		s := summarizeRecords(t, window(3000, objectives(t, "ttft:p99<20ms")...), alike(3000, func(i int, l *life) {
			if slowAt(i) {
				l.chunks[0].at += 15
			}
		}))
		return s.Objectives[0]
	}
	scattered := judge(func(i int) bool { return i%50 == 0 })
	crowded := judge(func(i int) bool { return i >= 1000 && i < 1060 })
	if scattered.Standing != slo.Missed || scattered.Violations != 60 {
		t.Errorf("scattered: %+v, want missed with 60 violations", scattered)
	}
	if crowded.Standing != slo.Undecided || crowded.Violations != 60 || *crowded.NEff > 300 {
		t.Errorf("crowded: %+v with n_eff %v, want undecided", crowded, *crowded.NEff)
	}
	if want := "2% of requests are over it, 1% may, but they came together: run longer"; crowded.Note != want {
		t.Errorf("crowded: %q, want %q", crowded.Note, want)
	}
}

// alikeAtEnds is a mean that the machine did nothing to.
func alikeAtEnds(sums, sizes []float64) [endCount]mean {
	m := mean{sums, sizes}
	return [endCount]mean{m, m, m}
}

// Three requests say little of a mean: they have two degrees of freedom.
func TestAMeanOfFewIsWide(t *testing.T) {
	t.Parallel()
	// 9, 10 and 11 ms in stretches of their own: a standard error of 0.58 ms,
	// which 1.3 × Student's 2.92 makes 2.2 ms, and a normal-like 1.8 only 1.35.
	v := slo.Verdict{Limit: 12, Standing: slo.Undecided}
	judge{view: view{collector: &collector{}}}.decideMean(&v, alikeAtEnds([]float64{9, 0, 10, 11}, []float64{1, 0, 1, 1}), false)
	if v.Standing != slo.Undecided {
		t.Errorf("a mean of 10 ± 2.2 ms is %s beside a limit of 12 ms", v.Standing)
	}
}

// A mean that is open says why: at the limit only where it is near.
func TestWhyAMeanIsOpen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit         float64
		values, sizes []float64
		want          string
	}{
		{12, []float64{10}, []float64{1}, "too few requests, all within a twelfth of the window: run longer"},
		{12, []float64{9, 0, 10, 11}, []float64{1, 0, 1, 1}, "between 7.81 and 12.2 ms with 95% confidence: run longer"},
		{12_000, []float64{9000, 0, 10_000, 11_000}, []float64{1, 0, 1, 1}, "between 7.81 and 12.2 s with 95% confidence: run longer"},
		{10.1, []float64{9, 0, 10, 11}, []float64{1, 0, 1, 1}, "at the limit"},
	} {
		v := slo.Verdict{Limit: tt.limit, Standing: slo.Undecided, Unit: "ms"}
		judge{view: view{collector: &collector{}}}.decideMean(&v, alikeAtEnds(tt.values, tt.sizes), false)
		if v.Standing != slo.Undecided || v.Note != tt.want {
			t.Errorf("%v of a limit of %v: %s, %q, want %q", tt.values, tt.limit, v.Standing, v.Note, tt.want)
		}
	}
}

// Violations that come together miss by their number and not by what they are worth.
func TestViolationsInARowNeedMoreRequests(t *testing.T) {
	t.Parallel()
	// 45 of 600 in a row miss by their number and not by what they are worth.
	for _, text := range []string{"error:rate<5%", "ttft:p95<20ms"} {
		s := summarizeRecords(t, window(600, objectives(t, text)...), alike(600, func(i int, l *life) {
			switch {
			case i < 300 || i >= 345:
			case text[0] == 'e':
				fail(l)
			default:
				l.chunks[0].at += 15
			}
		}))
		if v := s.Objectives[0]; v.Standing != slo.Undecided || v.Note == "about 1 more request would decide" {
			t.Errorf("%s: %s, %q, want several more requests", text, v.Standing, v.Note)
		}
	}
}

func TestCommas(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1204: "1,204", 1234567: "1,234,567"} {
		if got := text.Count(n); got != want {
			t.Errorf("text.Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	same := func(int, *life) {}
	half := func(o Options) Options { o.AskedRate = 20; return o }
	closed := func(o Options) Options { o.AskedRate = 0; return o }
	plain := func(o Options) Options { return o }
	tests := []struct {
		name   string
		n      int
		change func(int, *life)
		o      func(Options) Options
		want   metric.Note
	}{
		{"short window", 5, same, plain, metric.Note{Figure: "latency", Text: "low confidence in every percentile: the window is too short, 10 × the mean e2e where 20 × are needed; run longer"}},
		{"steadiness not known", 100, same, plain, metric.Note{Figure: "window.steady", Text: "not known: the window is shorter than 55 s"}},
		{"closed loop", 100, same, closed, metric.Note{Figure: "latency.e2e_due_ms", Text: "a closed loop throttles itself: a slow server is asked less often"}},
		{"later turns", 100, func(i int, l *life) { l.turn = i % 2 }, plain,
			metric.Note{Figure: "latency.e2e_due_ms", Text: "later turns are due when the one before has ended: a late turn delays only its own session"}},
		{"half the rate asked for", 100, same, half, metric.Note{Figure: "rates.offered", Text: "-50.0% off the rate asked for, more than random variation (± 20.0%)"}},
		{"half of a plain run's window", 100, same, func(o Options) Options { o.Plain = true; return half(o) },
			metric.Note{Figure: "rates.offered", Text: "the window of a plain run lasts until its last request has ended; nothing comes due in the rest of it"}},
		{"no usage", 100, func(_ int, l *life) { l.usage = llm.Usage{} }, plain,
			metric.Note{Figure: "latency.tpot_ms", Text: "100 replies' tokens were counted by events: no usage was reported and no tokenizer ran"}},
		{"tokens per event not known", 100, func(_ int, l *life) { l.usage.OutputTokens = 30 }, plain,
			metric.Note{Figure: "latency.itl_ms", Text: "unknown: the tokens of each event are not known; see icl"}},
		{"tokens without an event", 100, func(_ int, l *life) { l.chunks, l.usage.OutputTokens = steadily(1100, 10, 40), 42 }, plain,
			metric.Note{Figure: "latency.itl_ms", Text: "4.8% of tokens had no event of their own, such as half a character; each counts with the next one"}},
		{"two counts of the output", 100, func(i int, l *life) {
			if i == 0 {
				l.local = 6
			}
		}, plain, metric.Note{Figure: "tokens.output", Text: "the local tokenizer counts +100% against the server's usage, on 1 reply"}},
		{"too few for a p999", 600, same, plain, metric.Note{Figure: "latency.ttft_ms.p999", Text: "low confidence in p99.9: at least 5 independent values must lie beyond; run longer"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := summarizeRecords(t, tt.o(window(tt.n)), alike(tt.n, tt.change)).Notes
			if !slices.Contains(got, tt.want) {
				t.Errorf("want\n%q\namong\n%s", tt.want, fmt.Sprintf("%q", got))
			}
		})
	}
}

func TestACalmRunNeedsNoNoteOnItsPercentilesUpToThe99th(t *testing.T) {
	t.Parallel()
	s := summarizeRecords(t, window(600), alike(600, func(int, *life) {}))
	for _, n := range s.Notes {
		if n.Figure == "latency" || n.Figure == "rates.offered" || n.Figure == "window.steady" {
			t.Errorf("note %q on a calm run", n)
		}
	}
	expect.NoDiff(t, cmp.Diff([]string{"p50", "p75", "p90", "p95", "p99"}, s.Latency.E2EDue.Firm), "firm, want −, got +")
}

// A price that nobody gave is asked for by the flag that gives it.
func TestCostWithoutAPriceIsNotJudged(t *testing.T) {
	t.Parallel()
	o := Options{Start: 1 * ms, End: 20_000 * ms, AskedRate: 10, Objectives: objectives(t, "cost:max<$2.50")}
	got := summarizeRecords(t, o, queue(poisson(1, 100, 25_000), 70, 0)).Objectives[0]
	if want := "not measured: no price is given (--price-per-gpu-hour, or cost in a plan)"; got.Standing != slo.NotJudged || got.Note != want {
		t.Errorf("%s: %q, want %q", got.Standing, got.Note, want)
	}
}

// What is met needs no advice: latencies that wander far below their limit are no
// reason to run longer.
func TestAMetObjectiveCarriesNoAdvice(t *testing.T) {
	t.Parallel()
	wave := func(i int, l *life) {
		more := int64(200 + 100*math.Sin(2*math.Pi*float64(i)/600))
		for at := range l.chunks {
			l.chunks[at].at += more
		}
		l.end += more
	}
	v := summarizeRecords(t, window(600, objectives(t, "ttft:p50<20s")...), alike(600, wave)).Objectives[0]
	if v.Standing != slo.Met || v.Bound != nil || v.Note != "" {
		t.Errorf("%s, bound %v, %q; want met, without a bound as the values wander, and without a note", v.Standing, v.Bound, v.Note)
	}
}
