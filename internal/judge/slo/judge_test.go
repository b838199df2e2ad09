package slo

import (
	"math"
	"testing"

	"redline/internal/must"
)

func objective(t *testing.T, text string) Objective {
	t.Helper()
	o := must.Get(Parse(text))(t)
	return o
}

func TestJudge(t *testing.T) {
	t.Parallel()
	// Each figure of this request is its own number of milliseconds, so that
	// no two of them can be mixed up.
	type request struct {
		answered bool
		figures  map[string]float64
	}
	ok := request{true, map[string]float64{"ttft": 1 * ms, "ttfa": 2 * ms, "tpot": 3 * ms, "itl": 4 * ms, "icl": 5 * ms, "stall": 6 * ms, "e2e": 7 * ms, "decode": 8 * ms}}
	oneToken := request{true, map[string]float64{"ttft": 1 * ms, "tpot": -1, "itl": math.NaN(), "decode": 0}}
	failed := request{false, map[string]float64{"ttft": 1 * ms, "tpot": -1}}
	type answer struct{ ok, judged bool }
	kept, broken, unjudged := answer{true, true}, answer{false, true}, answer{false, false}
	for _, c := range []struct {
		what string
		text string
		r    request
		want answer
	}{
		{"first token in time", "ttft:p99<1.5ms", ok, kept},
		{"first token exactly at its limit", "ttft:p99<1ms", ok, kept},
		{"first token late", "ttft:p99<0.5ms", ok, broken},
		{"first answer in time", "ttfa:p99<2.5ms", ok, kept},
		{"first answer late", "ttfa:p99<1.5ms", ok, broken},
		{"tokens fast enough", "tpot:p50<3.5ms", ok, kept},
		{"tokens too slow", "tpot:p50<2.5ms", ok, broken},
		{"gaps short", "itl:p99<4.5ms", ok, kept},
		{"gaps long", "itl:p99<3.5ms", ok, broken},
		{"chunk gaps short", "icl:p99<5.5ms", ok, kept},
		{"chunk gaps long", "icl:p99<4.5ms", ok, broken},
		{"short stall", "stall:max<6.5ms", ok, kept},
		{"long stall", "stall:max<5.5ms", ok, broken},
		{"done in time", "latency:p95<7.5ms", ok, kept},
		{"done late", "latency:p95<6.5ms", ok, broken},
		{"short stream", "decode:p95<8.5ms", ok, kept},
		{"long stream", "decode:p95<7.5ms", ok, broken},
		{"one token has no pace", "tpot:p99<40ms", oneToken, unjudged},
		{"one token has no gap", "itl:p99<40ms", oneToken, unjudged},
		{"a first token at once is a figure", "decode:p99<40ms", oneToken, kept},
		{"a failure is above any bound", "ttft:p99<1h", failed, broken},
		{"also where its figure is undefined", "tpot:p99<1h", failed, broken},
		{"no request keeps a mean", "ttft:mean<1h", ok, unjudged},
		{"no request keeps a throughput", "throughput:min>45", failed, unjudged},
		{"no request keeps an error rate", "error:rate<1%", failed, unjudged},
		{"no request keeps a cost", "cost:max<$1", ok, unjudged},
		{"no request keeps a good fraction", "good:fraction>0.9", ok, unjudged},
		{"no request keeps a memory bound", "kv:max<1MB", ok, unjudged},
	} {
		o := objective(t, c.text)
		ok, judged := o.Judge(c.r.answered, c.r.figures[o.Metric])
		if got := (answer{ok, judged}); got != c.want {
			t.Errorf("%s: %s gives %+v, want %+v", c.what, c.text, got, c.want)
		}
		if judged && !o.PerRequest() {
			t.Errorf("%s judged a request but is not per request", c.text)
		}
	}
}

func TestTheZeroObjectiveJudgesNothing(t *testing.T) {
	t.Parallel()
	if ok, judged := (Objective{}).Judge(true, 1); ok || judged {
		t.Errorf("Judge = %t, %t, want false, false", ok, judged)
	}
}

func TestOverall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		standings []Standing
		want      Standing
	}{
		{nil, "none"},
		{[]Standing{Met}, "met"},
		{[]Standing{Met, Met}, "met"},
		{[]Standing{Met, Undecided}, "undecided"},
		{[]Standing{Undecided, Missed, Met}, "missed"},
		{[]Standing{NotJudged}, "undecided"},
		{[]Standing{NotJudged, NotJudged}, "undecided"},
		{[]Standing{NotJudged, Met}, "undecided"},
		{[]Standing{NotJudged, Missed}, "missed"},
	} {
		var verdicts []Verdict
		for _, standing := range c.standings {
			verdicts = append(verdicts, Verdict{Standing: standing})
		}
		if got := Overall(verdicts); got != c.want {
			t.Errorf("Overall of %v = %q, want %q", c.standings, got, c.want)
		}
	}
	skipped := Verdict{Standing: NotJudged, Skipped: true}
	for want, others := range map[Standing][]Verdict{Met: {{Standing: Met}}, Missed: {{Standing: Missed}}, Undecided: nil} {
		if got := Overall(append(others, skipped)); got != want {
			t.Errorf("Overall of %v beside one that is skipped = %q, want %q", others, got, want)
		}
	}
}

func TestTooFew(t *testing.T) {
	t.Parallel()
	met, few, near := Verdict{Standing: Met}, Verdict{Standing: Undecided, Needed: 299}, Verdict{Standing: Undecided}
	for _, c := range []struct {
		verdicts []Verdict
		want     bool
	}{{nil, false}, {[]Verdict{met}, false}, {[]Verdict{met, few}, true}, {[]Verdict{few, near}, false}} {
		if got := TooFew(c.verdicts); got != c.want {
			t.Errorf("%+v: %v", c.verdicts, got)
		}
	}
}
