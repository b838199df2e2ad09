package account

import (
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
)

// TestCutOff: a request that the end of the drain, or the user, cut off counts as a
// violation, and is told apart from one that had broken the bound by then.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		objective  string
		first      int64 // after due, 0: none came
		age        int64
		violations int
		want       int
	}{
		{"ttft:p90<500ms", 300, 60_000, 0, 0}, // its first token is known
		{"ttft:p90<500ms", 700, 60_000, 1, 0},
		{"ttft:p90<500ms", 0, 60_000, 1, 0},
		{"ttft:p90<500ms", 0, 400, 1, 1},
		{"e2e:p90<30s", 300, 60_000, 1, 0},
		{"e2e:p90<90s", 300, 60_000, 1, 1},
		{"tpot:p90<60ms", 300, 60_000, 1, 0}, // 101 tokens were asked for
		{"tpot:p90<60ms", 300, 6_000, 1, 1},
		{"stall:p90<5s", 300, 60_000, 1, 0},
		{"stall:p90<5s", 300, 5_000, 1, 1},
		{"tpot:p90<60ms", 0, 60_000, 1, 1},
		{"icl:p90<60ms", 300, 60_000, 0, 0},
	} {
		o := must.Get(slo.Parse(c.objective))(t)
		ok := life{due: 1500, begin: 1500, sent: 1500, end: 1900, chunks: []chunk{{at: 1600, tokens: 1}, {at: 1650, tokens: 4}}}
		for _, outcome := range []llm.Outcome{llm.Censored, llm.Cancelled} {
			cutOff := life{due: 2000, begin: 2000, sent: 2000, end: 2000 + c.age, outcome: outcome, askedOutput: 101}
			if c.first > 0 {
				cutOff.chunks = []chunk{{at: 2000 + c.first}, {at: 2000 + c.first + 10}}
			}
			v := summarize(t, Options{Start: 1000 * ms, End: 3000 * ms, AskedRate: 1, Objectives: []slo.Objective{o}}, ok, cutOff).Objectives[0]
			if v.Violations != c.violations || v.CutOff != c.want {
				t.Errorf("%s, %s, first after %d ms, cut off at %d ms: %d violations, %d cut off; want %d and %d", c.objective, outcome, c.first, c.age, v.Violations, v.CutOff, c.violations, c.want)
			}
		}
	}
}

// TestGoodOfTheCutOff: of good requests one that was cut off lacks only what it had
// broken by then.
func TestGoodOfTheCutOff(t *testing.T) {
	t.Parallel()
	o := Options{Start: 1000 * ms, End: 3000 * ms, AskedRate: 1, Objectives: objectives(t, "ttft:p90<500ms", "tpot:p90<60ms", "good:fraction>0.9")}
	ok := life{due: 1500, begin: 1500, sent: 1500, end: 1900, chunks: []chunk{{at: 1600, tokens: 1}, {at: 1650, tokens: 4}}}
	for _, c := range []struct {
		first, age int64 // after due; a first of 0: none came
		want       int
	}{
		{300, 6_000, 1},
		{700, 6_000, 0},  // its first token was late
		{300, 60_000, 0}, // 101 tokens were asked for: its pace is broken
		{0, 400, 1},
		{0, 600, 0},
	} {
		cutOff := life{due: 2000, begin: 2000, sent: 2000, end: 2000 + c.age, outcome: llm.Censored, askedOutput: 101}
		if c.first > 0 {
			cutOff.chunks = []chunk{{at: 2000 + c.first}, {at: 2000 + c.first + 10}}
		}
		if v := summarize(t, o, ok, cutOff).Objectives[2]; v.Violations != 1 || v.CutOff != c.want {
			t.Errorf("first after %d ms, cut off at %d ms: %d violations, %d cut off; want 1 and %d", c.first, c.age, v.Violations, v.CutOff, c.want)
		}
	}
}

// Where all were cut off no gap is known, and nothing is judged by them.
func TestGapsOfNobody(t *testing.T) {
	t.Parallel()
	cutOff := life{due: 2000, begin: 2000, sent: 2000, end: 9000, outcome: llm.Censored, chunks: []chunk{{at: 2100}, {at: 2110}}}
	o := Options{Start: 1000 * ms, End: 3000 * ms, AskedRate: 1, Objectives: objectives(t, "itl:p99<50ms", "icl:p99<50ms", "itl:max<50ms")}
	for _, v := range summarize(t, o, cutOff).Objectives {
		if v.Standing != slo.NotJudged {
			t.Errorf("%+v, want it not judged", v)
		}
	}
}

// TestTheDrainAloneMissesNothing: an objective that only requests cut off would
// break is undecided, and the note says what to do.
func TestTheDrainAloneMissesNothing(t *testing.T) {
	t.Parallel()
	o := must.Get(slo.Parse("e2e:p99<500ms"))(t)
	var lives []life
	for i := range int64(4000) {
		due := 1000 + 25*i
		one := life{due: due, begin: due, sent: due, end: due + 300, chunks: []chunk{{at: due + 100}, {at: due + 300}}, usage: llm.Usage{OutputTokens: 5}}
		if i%20 == 0 {
			one.outcome = llm.Censored
		}
		lives = append(lives, one)
	}
	got := summarize(t, Options{Start: 1000 * ms, End: 101_000 * ms, AskedRate: 40, Objectives: []slo.Objective{o}}, lives...).Objectives[0]
	want := slo.Verdict{Objective: o.Text, Standing: slo.Undecided, Unit: "ms", Limit: 500, N: 4000, Violations: 200, CutOff: 200,
		Note: "200 unfinished requests count as over it: let the run end, and allow a longer drain"}
	got.NEff = nil
	expect.Same(t, want, got, withoutBounds)
}
