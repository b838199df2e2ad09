package arrival

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
)

func TestConstantIsAMetronome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate float64
		want []int64
	}{
		{10, []int64{0, 100_000_000, 200_000_000, 300_000_000}},
		{3, []int64{0, 333_333_333, 666_666_667, 1_000_000_000}},
		{0.5, []int64{0, 2_000_000_000, 4_000_000_000, 6_000_000_000}},
		{1e6, []int64{0, 1000, 2000, 3000}},
	} {
		got := take(Spec{Rate: c.rate, Process: "constant"}.Times(1), len(c.want))
		expect.NoDiff(t, cmp.Diff(c.want, got), "rate %g (-want +got)", c.rate)
	}
}

// TestConstantKeepsItsPlaceForDays compares late arrivals with exact rational
// arithmetic: at an awkward rate, 200,000 arrivals and 230 days in.
func TestConstantKeepsItsPlaceForDays(t *testing.T) {
	t.Parallel()
	const rate, n = 0.01000000000000003, 200_000
	times := take(Spec{Rate: rate, Process: "constant"}.Times(1), n)
	for _, k := range []int64{1, 99_999, n - 1} {
		exact := new(big.Rat).SetFrac64(k*second, 1)
		exact.Quo(exact, new(big.Rat).SetFloat64(rate))
		want, _ := exact.Float64()
		if d := math.Abs(float64(times[k]) - want); d > 4 { // a float64 of this size is 4 ns coarse
			t.Errorf("arrival %d is %g ns off", k, d)
		}
	}
}

func TestBadSpecsSayWhatToWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		part string
	}{
		{Spec{}, "rate: expected a number of requests per second above 0, got 0"},
		{Spec{Rate: -5}, "above 0, got -5"},
		{Spec{Rate: math.NaN()}, "above 0, got NaN"},
		{Spec{Rate: math.Inf(1)}, "above 0, got +Inf"},
		{Spec{Rate: 2e6}, "at most 1000000 requests per second, got 2e+06"},
		{Spec{Rate: 1e-9}, "at least 1e-06 requests per second"},
		{Spec{Rate: 1, Process: "gamma"}, "gamma needs its shape, got \"gamma\"; write it as in gamma(0.5)"},
		{Spec{Rate: 1, Process: "gamma()"}, "write it as in gamma(0.5)"},
		{Spec{Rate: 1, Process: "gamma(x)"}, "write it as in gamma(0.5)"},
		{Spec{Rate: 1, Process: "gamma(1"}, "closing parenthesis"},
		{Spec{Rate: 1, Process: "gamma(0)"}, "from 0.01 to 1000"},
		{Spec{Rate: 1, Process: "gamma(-1)"}, "from 0.01 to 1000"},
		{Spec{Rate: 1, Process: "gamma(NaN)"}, "from 0.01 to 1000"},
		{Spec{Rate: 1, Process: "gamma(1e9)"}, "from 0.01 to 1000"},
		{Spec{Rate: 1, Process: "poisson(2)"}, "poisson takes no number"},
		{Spec{Rate: 1, Process: "poison"}, "did you mean poisson?"},
		{Spec{Rate: 1, Process: "gama(0.5)"}, "did you mean gamma?"},
		{Spec{Rate: 1, Process: "uniform"}, "expected poisson, constant, gamma(0.5)"},
	} {
		err := c.spec.Validate()
		if err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.part)
		}
		for at := range c.spec.Times(1) {
			t.Errorf("%+v gives a time, %d", c.spec, at)
			break
		}
	}
}

func TestStringNamesTheProcess(t *testing.T) {
	t.Parallel()
	for process, want := range map[string]string{
		"":              "Poisson",
		"poisson":       "Poisson",
		"Poisson":       "Poisson",
		"constant":      "constant",
		"gamma(0.5)":    "gamma(0.5)",
		" Gamma( .5 ) ": "gamma(0.5)",
		"nonsense":      "nonsense",
	} {
		if got := (Spec{Rate: 1, Process: process}).String(); got != want {
			t.Errorf("%q is shown as %q, want %q", process, got, want)
		}
	}
}

func TestTheScheduleEndsBeforeItsOffsetsOverflow(t *testing.T) {
	t.Parallel()
	for _, process := range []string{"constant", "poisson", "gamma(0.01)"} {
		last := int64(0)
		for at := range (Spec{Rate: 1e-6, Process: process}).Times(1) {
			if at < last {
				t.Fatalf("%s: %d after %d", process, at, last)
			}
			last = at
		}
		if years := float64(last) / second / (365.25 * 86400); years < 200 {
			t.Errorf("%s: the schedule ends after %g years", process, years)
		}
	}
}

// FuzzProcess holds every process that is accepted to a name that is accepted
// again and shown the same.
func FuzzProcess(f *testing.F) {
	for _, text := range []string{"", "poisson", "constant", "gamma(0.5)", "gamma", "gamma(", ")(", "gamma(1e-2)", "Gamma (0x1p3)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec := Spec{Rate: 1, Process: text}
		if spec.Validate() != nil {
			return
		}
		again := Spec{Rate: 1, Process: spec.String()}
		if err := again.Validate(); err != nil || again.String() != spec.String() {
			t.Fatalf("%q is shown as %q, and that as %q: %v", text, spec, again, err)
		}
		if times := take(spec.Times(1), 10); len(times) != 10 || !slices.IsSorted(times) {
			t.Fatalf("%q gives %v", text, times)
		}
	})
}

func BenchmarkTimes(b *testing.B) {
	for _, process := range []string{"constant", "poisson", "gamma(0.5)"} {
		b.Run(process, func(b *testing.B) {
			n := 0
			for range (Spec{Rate: 100, Process: process}).Times(1) {
				if n++; n > b.N {
					break
				}
			}
		})
	}
}
