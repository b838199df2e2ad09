package quality

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/golden"
)

// script answers each question by its text, in turn; the last answer stays.
type script struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   []*llm.Request
}

func (s *script) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	s.mu.Lock()
	key := golden.Key(r.Messages)
	list := s.answers[key]
	said := list[0]
	if len(list) > 1 {
		s.answers[key] = list[1:]
	}
	s.asked = append(s.asked, r)
	s.mu.Unlock()
	return func(yield func(llm.Event, error) bool) {
		if name, failed := strings.CutPrefix(said, "!"); failed {
			yield(llm.Event{}, &llm.Fault{Outcome: llm.Outcome(name)})
			return
		}
		if !yield(llm.Event{Kind: llm.Output, Part: llm.Reasoning, Text: []byte("99 thoughts ")}, nil) {
			return
		}
		for _, part := range strings.SplitAfter(said, " ") {
			if !yield(llm.Event{Kind: llm.Output, Text: []byte(part)}, nil) {
				return
			}
		}
		yield(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: len(strings.Fields(said))}}, nil)
	}
}

// four are questions of two tags; the second counts three times.
const four = `{"id": "one", "prompt": "one", "expect": {"exact": "1"}, "tags": ["math"], "reference_output_tokens": 1}
{"id": "two", "prompt": "two", "expect": {"exact": "2"}, "tags": ["math"], "weight": 3}
{"id": "json", "prompt": "json", "expect": {"json_schema": {"type": "object"}}, "tags": ["structured"]}
{"id": "poem", "prompt": "poem", "expect": {"judge": "rhymes"}}
`

func newExam(t *testing.T, spec Spec, answers map[string][]string) (*Exam, *script) {
	t.Helper()
	set := must.Get(golden.Read("four", strings.NewReader(four)))(t)
	s := &script{answers: answers}
	return New(Options{Spec: spec, Set: set, Target: s, Schemas: func() bool { return true },
		Request: func() *llm.Request { return &llm.Request{Model: "m"} },
		Count:   func(text string) int { return len(strings.Fields(text)) }}), s
}

func TestScoresOfAPhase(t *testing.T) {
	t.Parallel()
	x, asked := newExam(t, Spec{Golden: "four", Repeats: 2, LengthDrift: 0.1,
		Thresholds: Thresholds{Overall: new(0.5), Slices: map[string]float64{"math": 0.8}, Determinism: new(0.9), Structured: new(1.0)}},
		map[string][]string{"one": {"1"}, "two": {"2", "two"}, "json": {"{}", "{"}, "poem": {"roses"}})
	must.Do(t, x.Whole(t.Context(), result.Alone))
	q := x.Result()
	// Right are one twice, two once of weight 3, json once: 1+1+3+1 of 10.
	share := func(n int, value, lo, hi float64) *result.QualityShare {
		return &result.QualityShare{N: n, Share: value, Interval: [2]float64{lo, hi}}
	}
	got := q.Phases[0]
	close := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 5e-4 })
	// Wilson of 0.6 of 10²/(1+1+9+9+1+1) = 4.545 answers, and so on.
	want := result.QualityPhase{Phase: result.Alone, Asked: 8, N: 6, NotJudged: 2, Covered: 3,
		Score: new(0.6), Interval: &[2]float64{0.2195, 0.8889},
		Slices: map[string]*result.QualityShare{"math": share(4, 0.625, got.Slices["math"].Interval[0], got.Slices["math"].Interval[1]),
			"structured": share(2, 0.5, 0.0945, 0.9055)},
		Structured:  share(2, 0.5, 0.0945, 0.9055),
		Determinism: share(4, 0.5, 0.1500, 0.8500),
		LengthDrift: new(0.0), UsageDrift: new(0.0)}
	expect.Same(t, want, got, close)
	standings := map[string]slo.Standing{}
	for _, g := range q.Gates {
		standings[g.Objective] = g.Standing
	}
	expect.Same(t, map[string]slo.Standing{"quality overall, alone": slo.Met, "quality math, alone": slo.Missed,
		"quality valid JSON, alone": slo.Missed, "quality determinism, alone": slo.Missed, "quality length drift, alone": slo.Met}, standings)
	if !strings.Contains(strings.Join(q.Notes, ""), "2 answers are not in the scores: no judge model is given") {
		t.Errorf("notes: %q", q.Notes)
	}
	wantOutcomes := []result.QualityOutcome{{Item: "one", Alone: new(1.0)}, {Item: "two", Alone: new(0.5)}, {Item: "json", Alone: new(0.5)}, {Item: "poem"}}
	expect.Same(t, wantOutcomes, q.Outcomes)
	for _, r := range asked.asked {
		if *r.Sampling.Temperature != 0 || !r.Natural || (golden.Key(r.Messages) == "json") != (r.Format != nil) {
			t.Errorf("asked with %+v", r)
		}
	}
}

// Beside a load a question is asked for each so many requests, in an order that
// mixes the set; what was asked before tells what came out the same.
// What was asked is paid for, answered or not, by the server's count where it
// gives one; and nothing is asked that is not paid for.
func TestSpent(t *testing.T) {
	t.Parallel()
	x, asked := newExam(t, Spec{Golden: "four"}, map[string][]string{"one": {"1 and more"}, "two": {"!timeout"}, "json": {"{}"}, "poem": {"roses"}})
	poor := errors.New("no more")
	x.Afford = func() error {
		if prompt, output := x.TokensUsed(); prompt+output >= 5 {
			return poor
		}
		return nil
	}
	if err := x.Whole(t.Context(), result.Alone); !errors.Is(err, poor) {
		t.Errorf("ended by %v", err)
	}
	// One token of each prompt, three of the first answer, none of the second.
	if prompt, output := x.TokensUsed(); prompt != 2 || output != 3 || len(asked.asked) != 2 {
		t.Errorf("%d and %d tokens for %d questions, want 2 and 3 for 2", prompt, output, len(asked.asked))
	}
}

func TestBesideALoad(t *testing.T) {
	t.Parallel()
	x, asked := newExam(t, Spec{Golden: "four", UnderLoadShare: 0.25, Thresholds: Thresholds{Overall: new(0.9)}},
		map[string][]string{"one": {"1"}, "two": {"2", "3"}, "json": {"{}"}, "poem": {"!reset"}})
	for i := range 4 {
		x.keep(result.Alone, x.ask(t.Context(), i))
	}
	sent := make(chan struct{}, 15)
	stop := x.AskUnderLoad(t.Context(), func() { sent <- struct{}{} })
	for i := range 15 {
		x.Tick()
		if i%4 == 3 {
			<-sent // one at a time, so that none is passed over
		}
	}
	stop(false)
	if len(sent) != 0 || len(asked.asked) != 4+3 {
		t.Fatalf("%d were asked, want 4 before the load and 3 for 15 requests at a share of 0.25", len(asked.asked))
	}
	under := x.Result().Phase(result.UnderLoad)
	if under == nil || under.Asked != 3 {
		t.Fatalf("under load: %+v", under)
	}
	if gates := x.Result().Gates; len(gates) != 1 || gates[0].Objective != "quality overall, alone" {
		t.Errorf("three answers decided something: %+v", gates)
	}
}

// A part of the set decides for or against a server only beyond chance.
func TestStandings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		right, n, covered, all int
		limit                  float64
		want                   slo.Standing
	}{
		{10, 10, 10, 10, 1, slo.Met},
		{9, 10, 10, 10, 0.95, slo.Missed}, // the whole set
		{9, 10, 10, 10, 0.9, slo.Met},
		{0, 0, 0, 10, 0.9, slo.NotJudged},
		{4, 4, 4, 10, 0.5, slo.Undecided}, // too few
		{9, 10, 10, 20, 0.95, slo.Undecided},
		{5, 10, 10, 20, 0.95, slo.Missed},
		{10, 10, 10, 20, 0.95, slo.Undecided}, // one of the others may be wrong
		{5, 5, 5, 25, 0.9, slo.Undecided},
		{24, 24, 24, 25, 0.9, slo.Met},
		{40, 40, 40, 100, 0.8, slo.Met},
	} {
		s := &share{covered: c.covered, all: c.all}
		for i := range c.n {
			s.add(1, *truth(i < c.right))
		}
		if got, _ := standing(s, c.limit); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

// A part of a set that misses its threshold by one question passes in at most 5 %
// of the draws without replacement, whatever the set, the part and the threshold.
func TestAPartSeldomPassesWrongly(t *testing.T) {
	t.Parallel()
	choose := func(n, k int) float64 {
		ways := 1.0
		for i := range k {
			ways *= float64(n-i) / float64(i+1)
		}
		return ways
	}
	for _, all := range []int{10, 25, 50, 100} {
		for _, limit := range []float64{0.7, 0.8, 0.9, 0.95, 1} {
			right := int(math.Ceil(limit*float64(all)-1e-9)) - 1
			for n := minAnswers; n < all; n++ {
				chance := 0.0
				for k := max(0, n-(all-right)); k <= min(n, right); k++ {
					s := &share{covered: n, all: all}
					for i := range n {
						s.add(1, *truth(i < k))
					}
					if got, _ := standing(s, limit); got == slo.Met {
						chance += choose(right, k) * choose(all-right, n-k) / choose(all, n)
					}
				}
				if chance > 0.05 {
					t.Errorf("%d of %d questions, of which %d are answered rightly: a gate of %g passes in %.1f%%", n, all, right, limit, 100*chance)
				}
			}
		}
	}
}

func TestThresholdsAreReadBack(t *testing.T) {
	t.Parallel()
	var got Thresholds
	must.Do(t, got.Set([]string{"overall >= 95%", "math≥0.8", "determinism>=1", "structured_validity>=1"}))
	want := Thresholds{Overall: new(0.95), Slices: map[string]float64{"math": 0.8}, Determinism: new(1.0), Structured: new(1.0)}
	expect.Same(t, want, got)
	var again Thresholds
	if err := again.Set(got.Texts()); err != nil || !cmp.Equal(again, got) {
		t.Errorf("%q becomes %+v (%v)", got.Texts(), again, err)
	}
	for _, text := range []string{"", "overall", "overall>0.9", "overall>=", "overall>=nan", "overall>=2", "overall>=0", "overall>=120%", ">=0.5"} {
		if err := got.Set([]string{text}); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestShareFollowsTheLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given           float64
		items, requests int
		want            float64
	}{{0, 30, 600, 0.05}, {0, 30, 60_000, 0.02}, {0, 30, 100, 0.1}, {0, 30, 0, 0.05}, {0.2, 30, 600, 0.2}, {-1, 30, 600, 0}} {
		if got := (&Spec{UnderLoadShare: c.given}).share(c.items, c.requests); got != c.want {
			t.Errorf("%+v: got %g", c, got)
		}
	}
}

func TestSpecMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Repeats: 2}, "golden: is not given"},
		{Spec{Golden: "g", UnderLoadShare: 0.6}, "under_load_share: must be at most 0.5"},
		{Spec{Golden: "g", Repeats: -1}, "repeats: expected a number from 1 to 100"},
		{Spec{Golden: "g", LengthDrift: -0.1}, "length_drift: expected a share"},
		{Spec{Golden: "g", LengthDrift: math.NaN()}, "length_drift: expected a share"},
		{Spec{Golden: "g", Thresholds: Thresholds{Overall: new(1.5)}}, "thresholds.overall: expected a share above 0 and up to 1"},
		{Spec{Golden: "g", Thresholds: Thresholds{Slices: map[string]float64{"a": 0}}}, "thresholds.slices.a: expected a share"},
		{Spec{Golden: "g", Thresholds: Thresholds{Determinism: new(1.0)}}, "repeats: must be 2 or more"},
		{Spec{Golden: "g", Judge: &Judge{Model: "m"}}, "judge.url: expected"},
		{Spec{Golden: "g", Judge: &Judge{URL: "http://a"}}, "judge.model: expected"},
	} {
		if err := c.spec.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.spec, err, c.want)
		}
	}
	expect.OK(t, (&Spec{}).Validate())
}

// A server that hangs costs three time limits, not one for every question.
func TestASilentServerIsGivenUp(t *testing.T) {
	t.Parallel()
	x, s := newExam(t, Spec{Golden: "four", Repeats: 5}, map[string][]string{})
	for i := range x.Set.Items {
		s.answers[golden.Key(x.Set.Items[i].Messages)] = []string{"!timeout"}
	}
	must.Do(t, x.Whole(t.Context(), result.After))
	if len(s.asked) != 3 {
		t.Errorf("asked %d times, want 3", len(s.asked))
	}
	if notes := strings.Join(x.Result().Notes, "\n"); !strings.Contains(notes, "3 questions in a row") {
		t.Errorf("notes %q do not say that the phase was given up", notes)
	}
}
