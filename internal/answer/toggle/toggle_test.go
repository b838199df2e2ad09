package toggle

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/answer/compare"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
)

// makeRequests are requests a second apart, whose time with the optimization is that
// without times a factor of their length and some noise.
func makeRequests(seed uint64, n int, noise float64, factor func(context float64) float64) []Request {
	r := rand.New(rand.NewPCG(seed, 1))
	var out []Request
	for i := range n {
		context := 100 * math.Exp(r.Float64()*math.Log(160))
		out = append(out, Request{Due: int64(i) * 1e9, Context: int(context), Without: Times{"e2e": 1000},
			With: Times{"e2e": 1000 * factor(context) * math.Exp(noise*r.NormFloat64())}})
	}
	return out
}

func judgedE2E(requests []Request) result.ToggleMetric {
	var t result.Toggle
	judge(&t, requests, compare.DefaultTolerance, 1)
	return t.Metrics[len(t.Metrics)-1]
}

// Each row is a factor whose answer can be seen.
func TestStandings(t *testing.T) {
	t.Parallel()
	slope := func(at, power float64) func(float64) float64 {
		return func(c float64) float64 { return math.Pow(c/at, power) }
	}
	for _, row := range []struct {
		name     string
		factor   func(float64) float64
		standing slo.Standing
		then     []slo.Standing
		at       []float64
	}{
		{"a tenth faster", func(float64) float64 { return 0.9 }, slo.Pays, nil, nil},
		{"a tenth slower", func(float64) float64 { return 1.1 }, slo.Hurts, nil, nil},
		{"the same", func(float64) float64 { return 1 }, slo.Same, nil, nil},
		{"one in a hundred slower", func(float64) float64 { return 1.01 }, slo.Same, nil, nil},
		{"worse with length", slope(2000, 0.2), slo.Depends, []slo.Standing{slo.Hurts}, []float64{2000}},
		{"better with length", slope(800, -0.2), slo.Depends, []slo.Standing{slo.Pays}, []float64{800}},
		{"good in the middle", func(c float64) float64 { return math.Exp(0.15 * (math.Pow(math.Log(c/1265), 2) - 1)) }, slo.Depends,
			[]slo.Standing{slo.Pays, slo.Hurts}, []float64{1265 / math.E, 1265 * math.E}},
	} {
		m := judgedE2E(makeRequests(3, 1000, 0.05, row.factor))
		if m.Standing != row.standing || len(m.Thresholds) != len(row.then) {
			t.Errorf("%s: %s, %d thresholds (%s), want %s and %d", row.name, m.Standing, len(m.Thresholds), m.Verdict, row.standing, len(row.then))
			continue
		}
		for i, found := range m.Thresholds {
			if found.Then != row.then[i] || found.Interval[0] > row.at[i] || found.Interval[1] < row.at[i] || math.Abs(math.Log(found.Tokens/row.at[i])) > 0.15 {
				t.Errorf("%s: %+v, want %s from %.0f", row.name, found, row.then[i], row.at[i])
			}
		}
	}
}

// A side that was held up is not judged by what may have held it up: the requests took
// half as long again with the optimization, and may all have been late by that.
func TestHoldupsAreNoVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		over     float64 // by which factor the times with it may be too high
		standing slo.Standing
	}{{1, slo.Hurts}, {1.1, slo.Hurts}, {1.6, slo.Undecided}} {
		requests := makeRequests(5, 600, 0.05, func(float64) float64 { return 1.5 })
		for i := range requests {
			r := &requests[i]
			e2e := r.With["e2e"]
			on, off := Answer{Times: r.With, Low: Times{"e2e": e2e / c.over}, High: r.With}, Answer{Times: r.Without, Low: r.Without, High: r.Without}
			r.Down, r.Up = slack(on, off), slack(off, on)
		}
		m := judgedE2E(requests)
		if m.Standing != c.standing || strings.Contains(m.Verdict, "hold-ups of the machine leave it open") != (c.standing == slo.Undecided) {
			t.Errorf("too high by %g: %s, %s", c.over, m.Standing, m.Verdict)
		}
	}
}

// Noise alone is called a difference no more often than the level allows.
func TestNoiseIsNotCalled(t *testing.T) {
	t.Parallel()
	const trials = 150
	called := 0
	for seed := range uint64(trials) {
		switch judgedE2E(makeRequests(seed, 300, 0.8, func(float64) float64 { return 1 })).Standing {
		case slo.Same, slo.Undecided:
		default:
			called++
		}
	}
	if called > trials/10 {
		t.Errorf("%d of %d series of mere noise were called a difference, want at most %d", called, trials, trials/10)
	}
}

func TestWhatLittleSays(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		requests []Request
		want     result.Toggle
	}{
		{"nothing", nil, result.Toggle{Metrics: []result.ToggleMetric{}, Buckets: []result.ToggleBucket{},
			Verdict: "not compared: no request was answered on both sides"}},
		{"one request", []Request{{Context: 5000, With: Times{"e2e": 90}, Without: Times{"e2e": 100}}}, result.Toggle{
			Requests: 1, Batches: 1, Range: [2]int{5000, 5000},
			Metrics: []result.ToggleMetric{{Name: "e2e", TogglePair: result.TogglePair{WithP50MS: 90, WithoutP50MS: 100, WithMS: 90, WithoutMS: 100}, Change: -0.1,
				Standing: slo.Undecided,
				Verdict:  "too few requests to tell"}},
			Buckets: []result.ToggleBucket{{Name: "4k-16k", Requests: 1, Metrics: map[string]result.TogglePair{"e2e": {WithP50MS: 90, WithoutP50MS: 100, WithMS: 90, WithoutMS: 100}}}},
			Verdict: "e2e too few requests to tell: measure each setting for 1 minute or more"}},
		{"no times", []Request{{Context: 10}}, result.Toggle{Requests: 1, Batches: 1, Range: [2]int{10, 10}, Metrics: []result.ToggleMetric{},
			Buckets: []result.ToggleBucket{{Name: "<1k", Requests: 1, Metrics: map[string]result.TogglePair{}}},
			Verdict: "not compared: no request has a time"}},
	} {
		var got result.Toggle
		judge(&got, row.requests, compare.DefaultTolerance, 1)
		if len(got.Metrics) > 0 {
			got.Metrics[0].Change = math.Round(got.Metrics[0].Change*1e9) / 1e9
		}
		expect.NoDiff(t, cmp.Diff(row.want, got), "%s (-want +got)", row.name)
	}
}

// Prompts of one length, or of a few, have an answer too.
// Three of the batches that the mean needs came in one minute: it takes two, and the
// answer says so once.
func TestTooFewRequestsSaysHowLong(t *testing.T) {
	t.Parallel()
	var requests []Request
	for i := range 73 {
		times := Times{"ttft": 100, "e2e": 12_000}
		requests = append(requests, Request{Due: int64(i) * 1e9, Context: 1000, With: times, Without: times})
	}
	var got result.Toggle
	judge(&got, requests, compare.DefaultTolerance, 1)
	const want = "e2e too few requests to tell for sure, 0% (0 … 0%) so far: measure each setting for 3 minutes or more"
	if got.Batches != 3 || got.Verdict != want {
		t.Errorf("%d batches, %q, want 3 and %q", got.Batches, got.Verdict, want)
	}
	for _, m := range got.Metrics {
		if strings.Contains(m.Verdict, "minute") {
			t.Errorf("%s: %q repeats the advice", m.Name, m.Verdict)
		}
	}
}

func TestFewLengths(t *testing.T) {
	t.Parallel()
	for _, lengths := range [][]int{{1000}, {500, 8000}, {512, 2048, 8192, 16384, 32768}} {
		requests := makeRequests(1, 400, 0.05, func(float64) float64 { return 0.8 })
		for i := range requests {
			requests[i].Context = lengths[i%len(lengths)]
		}
		if m := judgedE2E(requests); m.Standing != slo.Pays {
			t.Errorf("lengths %v: %s", lengths, m.Verdict)
		}
	}
}

// Sides begin rounds in turn, a round that is not valid on one side is skipped, and
// requests that one side lost are counted.
func TestStudy(t *testing.T) {
	t.Parallel()
	c := &config.Config{Experiment: config.Experiment{Rounds: 2}}
	s := NewStudy(c, "prefix_caching", result.Side{Name: "on"}, result.Side{Name: "off"})
	both, one := map[Key]Answer{{1, 0}: {OK: true}, {2, 0}: {OK: true}}, map[Key]Answer{{1, 0}: {OK: true}, {3, 0}: {}}
	var names []string
	for invalid := "lag"; ; invalid = "" {
		turn, more := s.Next()
		if !more {
			break
		}
		answers := one
		if turn.On {
			answers = both
		}
		names = append(names, turn.Name)
		if over := s.Observe(turn, answers, invalid); over != (len(names)%2 == 0) {
			t.Errorf("%s: the round is over: %v", turn.Name, over)
		}
	}
	if want := []string{"off 1 prefix caching", "on 1 prefix caching", "on 2 prefix caching", "off 2 prefix caching"}; !slices.Equal(names, want) {
		t.Errorf("turns %q, want %q", names, want)
	}
	got := s.Judge()
	if got.Rounds != 1 || got.Requests != 1 || got.Unpaired != 2 || !slices.Equal(got.Skipped, []string{"round 1 off: not valid: lag"}) {
		t.Errorf("%+v", got)
	}
}

// Few batches decide by their mean where they do plainly, and such an answer ends a study
// whose length the plan leaves open before its last round.
func TestPlainAnswersEndAStudy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		factor float64
		noise  float64
		want   slo.Standing
		ends   bool
	}{{"a fifth faster", 0.8, 0.02, slo.Pays, true}, {"half slower", 1.5, 0.02, slo.Hurts, true}, {"the same", 1, 0.01, slo.Same, true}, {"noise", 1, 1, slo.Undecided, false}} {
		r := rand.New(rand.NewPCG(2, 2))
		s := NewStudy(&config.Config{}, "prefix_caching", result.Side{}, result.Side{})
		for {
			turn, more := s.Next()
			if !more {
				break
			}
			answers := map[Key]Answer{}
			for i := range 30 {
				e2e := 4500 * math.Exp(c.noise*r.NormFloat64())
				if turn.On {
					e2e *= c.factor
				}
				answers[Key{turn.Round*100 + i, 0}] = Answer{OK: true, Due: int64(i) * 1e9, Context: 1000, Times: Times{"e2e": e2e}}
			}
			s.Observe(turn, answers, "")
		}
		got := s.Judge()
		if m := got.Metrics[0]; m.Standing != c.want || got.Rounds < 4 != c.ends || (got.Ended != "") != c.ends {
			t.Errorf("%s: %s after %d rounds, %d batches: %s (%s)", c.name, m.Standing, got.Rounds, got.Batches, got.Verdict, got.Ended)
		}
	}
}
