package sim

import (
	"math"
	"strings"
	"testing"

	"redline/internal/catalog"
	"redline/internal/expect"
	"redline/internal/must"

	"github.com/google/go-cmp/cmp"
)

// speculativeSpec is an engine whose steps take ten milliseconds, whatever is in them.
func speculativeSpec(s Speculation) Spec {
	none := 0.0
	return Spec{Jitter: &none, Speculation: s, Law: &catalog.Law{WeightsUS: 10_000, Corner: 1}}
}

// alone runs one request and gives what became of it.
func alone(t *testing.T, s Spec, prompt, output int) (*Job, Stats) {
	t.Helper()
	core := must.Get(NewBatching(s))(t)
	j := &Job{ID: 1, Prompt: make([]int32, prompt), Output: output}
	RunOpen(core, func(yield func(int64, *Job) bool) { yield(0, j) }, Watch{})
	return j, core.Stats()
}

// With guesses that are always right every step brings a whole draft and one
// token more; with guesses that never are, one token and the cost of guessing.
func TestStepsOfADraft(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name         string
		s            Speculation
		output       int
		first, last  float64 // milliseconds
		drafts, took int64
	}{
		{"none", Speculation{}, 11, 10, 110, 0, 0},
		// The prompt costs the draft model a tenth, four passes four tenths.
		{"always right", Speculation{Tokens: 4, Acceptance: 1, DraftShare: new(0.1)}, 11, 11, 11 + 2*14, 2, 8},
		{"for nothing", Speculation{Tokens: 4, Acceptance: 1, DraftShare: new(0.0)}, 11, 10, 30, 2, 8},
		// The last token of an answer is not worth a guess, nor is one beyond it.
		{"almost at its end", Speculation{Tokens: 4, Acceptance: 1, DraftShare: new(0.1)}, 4, 11, 11 + 12, 1, 2},
		{"never right", Speculation{Tokens: 1, Acceptance: 1e-12, DraftShare: new(0.1)}, 3, 11, 11 + 11 + 10, 1, 0},
	} {
		j, st := alone(t, speculativeSpec(row.s), 100, row.output)
		got := []float64{float64(j.First) / 1e6, float64(j.Last) / 1e6}
		if diff := cmp.Diff([]float64{row.first, row.last}, got); diff != "" || st.SpecDrafts != row.drafts || st.SpecAccepted != row.took {
			t.Errorf("%s: %d drafts, %d tokens of them taken, want %d and %d; first and last (-want +got):\n%s",
				row.name, st.SpecDrafts, st.SpecAccepted, row.drafts, row.took, diff)
		}
	}
}

// The tokens that a draft brings follow the curve.
func TestAcceptanceFollowsItsCurve(t *testing.T) {
	t.Parallel()
	halved := func(s Speculation) Speculation { s.Context = 1000; return s }
	for _, row := range []struct {
		name   string
		s      Speculation
		prompt int
		want   []float64 // share of drafts in which the guess at each place is taken
	}{
		{"by a rate", Speculation{Tokens: 4, Acceptance: 0.7}, 10, []float64{0.7, 0.49, 0.343, 0.2401}},
		{"by measured means", Speculation{Tokens: 3, Curve: []float64{1.79, 2.27, 2.49, 2.54}}, 10, []float64{0.79, 0.48, 0.22}},
		{"halved by the context", halved(Speculation{Tokens: 2, Acceptance: 0.8}), 100_000, []float64{0, 0}},
	} {
		_, st := alone(t, speculativeSpec(row.s), row.prompt, 30_000)
		for i, want := range row.want {
			got := float64(st.SpecAcceptedAt[i]) / float64(st.SpecDrafts)
			if tolerance := 4*math.Sqrt(want*(1-want)/float64(st.SpecDrafts)) + 1e-3; math.Abs(got-want) > tolerance {
				t.Errorf("%s: guess %d taken in %.4f of %d drafts, want %.4f ± %.4f", row.name, i+1, got, st.SpecDrafts, want, tolerance)
			}
		}
	}
}

// A draft multiplies the tokens of a step, and reads the cache once.
func TestVerificationIsCounted(t *testing.T) {
	t.Parallel()
	s := speculativeSpec(Speculation{Tokens: 4, Acceptance: 1, DraftShare: new(0.0)})
	s.Law = &catalog.Law{WeightsUS: 1000, TokenUS: 100, ContextUS: 1, Corner: 1}
	j, _ := alone(t, s, 100, 6)
	// 1 ms and 100 tokens; then 1 ms, 5 tokens, and 105 cached ones read once.
	if first, last := 11_000.0, 11_000.0+1605; math.Round(float64(j.First)/1e3) != first || math.Round(float64(j.Last)/1e3) != last {
		t.Errorf("first at %d ns, last at %d ns, want %v and %v µs", j.First, j.Last, first, last)
	}
}

func TestBadSpeculationSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		s    Speculation
		want string
	}{
		{Speculation{Tokens: 17}, "speculative_tokens: must be 1 to 16 tokens, or 0 for no speculation, got 17"},
		{Speculation{Tokens: -1}, "speculative_tokens: must be 1 to 16"},
		{Speculation{Tokens: 2, Acceptance: 1.5}, "speculative_acceptance: expected a chance from 0 to 1, got 1.5"},
		{Speculation{Tokens: 2, Acceptance: math.NaN()}, "speculative_acceptance: expected a chance"},
		{Speculation{Tokens: 2, DraftShare: new(2.0)}, "speculative_draft_share: expected a share from 0 to 1, got 2"},
		{Speculation{Tokens: 2, Context: -5}, "speculative_context: expected a number of tokens"},
		{Speculation{Tokens: 2, Curve: []float64{1.8}}, "speculative_curve: has 1 figures for drafts of 2 tokens"},
		{Speculation{Tokens: 2, Curve: []float64{1.2, 1.8}}, "speculative_curve: 1.8 at draft length 2"},
		{Speculation{Tokens: 1, Curve: []float64{1.8}, Acceptance: 0.5}, "speculative_curve: speculative_acceptance is given too"},
	} {
		if err := speculativeSpec(row.s).Validate(); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: %v, want %q", row.s, err, row.want)
		}
	}
}

// A batch is run to its end: whoever comes meanwhile waits, and then all who
// wait are the next one.
func TestStaticBatches(t *testing.T) {
	t.Parallel()
	s := speculativeSpec(Speculation{})
	s.StaticBatching, s.MaxNumSeqs = true, 2
	core := must.Get(NewBatching(s))(t)
	job := func(id uint64, output int) *Job { return &Job{ID: id, Prompt: ids(int(id)*100, 10), Output: output} }
	short, long, third, fourth, fifth := job(1, 2), job(2, 10), job(3, 2), job(4, 2), job(5, 1)
	RunOpen(core, func(yield func(int64, *Job) bool) {
		for _, j := range []*Job{short, long, third, fourth} {
			yield(0, j)
		}
		yield(105e6, fifth)
	}, Watch{})
	var got [][2]int64
	for _, j := range []*Job{short, long, third, fourth, fifth} {
		got = append(got, [2]int64{j.Scheduled / 1e6, j.Last / 1e6})
	}
	want := [][2]int64{{0, 20}, {0, 100}, {100, 120}, {100, 120}, {120, 130}}
	expect.NoDiff(t, cmp.Diff(want, got), "scheduled and last, in milliseconds (-want +got)")
}

// The prompts of a batch may take several steps.
func TestStaticBatchOfLongPrompts(t *testing.T) {
	t.Parallel()
	s := speculativeSpec(Speculation{})
	s.StaticBatching, s.MaxNumBatchedTokens, s.MaxNumSeqs = true, 100, 8
	core := must.Get(NewBatching(s))(t)
	first, second := &Job{ID: 1, Prompt: ids(0, 150), Output: 5}, &Job{ID: 2, Prompt: ids(1000, 50), Output: 1}
	RunOpen(core, func(yield func(int64, *Job) bool) { yield(0, first); yield(0, second) }, Watch{})
	if got, want := [2]int64{first.First, second.First}, [2]int64{20e6, 20e6}; got != want {
		t.Errorf("first tokens at %v, want %v", got, want)
	}
}
