package arrival

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/stats"
)

// profiled holds a Spec for every kind of profile.
var profiled = []Spec{
	{Rate: 20},
	{Rate: 20, Profile: "steady"},
	{Rate: 20, Profile: "burst"},
	{Rate: 20, Profile: "burst(6)"},
	{Limit: 20, Profile: "overload"},
	{Limit: 10, Profile: "overload(3)"},
	{Rate: 20, Profile: "hot-spot"},
	{Rate: 20, Profile: "hot-spot(0.5)"},
	{Profile: "steps(10:1m,40:30s,20:90s)"},
	{Profile: "steps(0:10s,20:1m)"},
	{Profile: "ramp(1..50,5m)"},
	{Profile: "ramp(50..1,5m)"},
	{Profile: "ramp(0..30,2m)"},
	{Profile: "ramp(1..50,5m,exp)"},
	{Profile: "ramp(50..1,5m,exp)"},
	{Profile: "onoff(50:10s,5:20s)"},
	{Profile: "onoff(60:10s,0:20s)"},
	{Profile: "diurnal(5..35,10m)"},
	{Profile: "diurnal(0..40,1m)"},
}

func TestEveryProfileIsTried(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, spec := range profiled {
		if err := spec.Validate(); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
		shape, _, _ := readShape(spec.Profile)
		tried[shape.name] = true
	}
	for _, s := range shapes {
		if !tried[s.name] {
			t.Errorf("profile %s is in no test", s.name)
		}
	}
}

func TestRatesOverTime(t *testing.T) {
	t.Parallel()
	type rates map[string]float64
	for _, c := range []struct {
		spec Spec
		want rates
	}{
		{Spec{Rate: 20}, rates{"0s": 20, "10h": 20}},
		{Spec{Rate: 20, Profile: "burst"}, rates{"0s": 60, "9.9s": 60, "10s": 12, "59s": 12, "60s": 60, "1h5s": 60}},
		{Spec{Limit: 20, Profile: "overload"}, rates{"0s": 30, "1h": 30}},
		{Spec{Limit: 20, Profile: "overload(2)"}, rates{"0s": 40}},
		{Spec{Rate: 20, Profile: "hot-spot"}, rates{"0s": 20, "1h": 20}},
		{Spec{Profile: "steps(10:1m,20:1m)"}, rates{"0s": 10, "59s": 10, "60s": 20, "2m": 20, "5h": 20}},
		{Spec{Profile: "ramp(10..50,4m)"}, rates{"0s": 10, "1m": 20, "3m": 40, "4m": 50, "9h": 50}},
		{Spec{Profile: "ramp(2..32,4m,exp)"}, rates{"0s": 2, "1m": 4, "2m": 8, "3m": 16, "4m": 32, "9h": 32}},
		{Spec{Profile: "onoff(50:10s,0:20s)"}, rates{"0s": 50, "10s": 0, "29s": 0, "30s": 50, "40s": 0}},
		{Spec{Profile: "diurnal(4..20,24h)"}, rates{"0s": 4, "6h": 12, "12h": 20, "18h": 12, "24h": 4, "36h": 20}},
		{Spec{Profile: "steps(x)"}, rates{"0s": 0}},
	} {
		got := rates{}
		for at := range c.want {
			d := must.Get(time.ParseDuration(at))(t)
			got[at] = math.Round(1e9*c.spec.RateAt(d)) / 1e9
		}
		expect.NoDiff(t, cmp.Diff(c.want, got), "%+v (-want +got)", c.spec)
	}
}

func TestHotSpotShares(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]float64{"": 0, "steady": 0, "burst(2)": 0, "hot-spot": 0.8, "hot-spot(0.95)": 0.95, "hot-spot(2)": 0} {
		if got := (Spec{Rate: 5, Profile: profile}).HotSpot(); got != want {
			t.Errorf("%q turns %g to one tenant, want %g", profile, got, want)
		}
	}
}

func TestMeansPeaksAndSpans(t *testing.T) {
	t.Parallel()
	type figures struct {
		Mean, Peak float64
		Span       time.Duration
	}
	for _, c := range []struct {
		spec Spec
		want figures
	}{
		{Spec{Rate: 20}, figures{20, 20, 0}},
		{Spec{Rate: 20, Profile: "burst(5)"}, figures{20, 100, time.Minute}},
		{Spec{Limit: 20, Profile: "overload"}, figures{30, 30, 0}},
		{Spec{Profile: "steps(10:1m,40:30s)"}, figures{20, 40, 90 * time.Second}},
		{Spec{Profile: "ramp(10..50,4m)"}, figures{30, 50, 4 * time.Minute}},
		{Spec{Profile: "onoff(50:10s,5:20s)"}, figures{20, 50, 30 * time.Second}},
		{Spec{Profile: "diurnal(4..20,24h)"}, figures{12, 20, 24 * time.Hour}},
		{Spec{Profile: "nonsense"}, figures{}},
	} {
		got := figures{math.Round(1e9*c.spec.Mean()) / 1e9, c.spec.Peak(), c.spec.Span()}
		if c.spec.Varies() != (c.want.Span > 0) {
			t.Errorf("%+v varies: %t", c.spec, c.spec.Varies())
		}
		expect.NoDiff(t, cmp.Diff(c.want, got), "%+v (-want +got)", c.spec)
	}
	exp := Spec{Profile: "ramp(2..32,4m,exp)"}.Mean()
	if want := 30 / math.Log(16); math.Abs(exp-want) > 1e-9 { // (32 − 2) / ln(32/2)
		t.Errorf("the mean of an exponential ramp is %g, want %g", exp, want)
	}
	if got := (Spec{Profile: "ramp(10..50,4m)"}).MeanOver(time.Minute, 2*time.Minute); got != 25 {
		t.Errorf("the second minute has a mean of %g, want 25", got)
	}
	if got := (Spec{Rate: 5}).MeanOver(time.Minute, time.Minute); got != 0 {
		t.Errorf("no time at all has a mean of %g", got)
	}
}

// TestMeansAreIntegrals adds the rate up in small slices, across the joints.
func TestMeansAreIntegrals(t *testing.T) {
	t.Parallel()
	for _, spec := range profiled {
		for _, to := range []time.Duration{7 * time.Second, time.Minute, 437 * time.Second} {
			const slices = 20_000
			sum, slice := 0.0, float64(to)/slices
			for i := range slices {
				sum += spec.RateAt(time.Duration((float64(i) + 0.5) * slice))
			}
			if got, want := spec.MeanOver(0, to), sum/slices; math.Abs(got-want) > 5e-3*(1+spec.Peak()) {
				t.Errorf("%+v: mean over %v is %g, slices say %g", spec, to, got, want)
			}
		}
	}
}

func TestAConstantProcessFollowsItsProfileExactly(t *testing.T) {
	t.Parallel()
	ms := func(list ...float64) []int64 {
		times := make([]int64, len(list))
		for i, v := range list {
			times[i] = int64(math.Round(v * 1e6))
		}
		return times
	}
	root := func(v float64) float64 { return 1000 * math.Sqrt(v) }
	for profile, want := range map[string][]int64{
		"steps(2:1s,4:1s)":     ms(0, 500, 1000, 1250, 1500, 1750, 2000, 2250),
		"steps(0:3s,2:1s)":     ms(3000, 3500, 4000, 4500),
		"onoff(2:1s,0:2s)":     ms(0, 500, 3000, 3500, 6000, 6500),
		"ramp(0..2,2s)":        ms(0, root(2), 2000, 2500, 3000), // t²/2 arrivals by t
		"ramp(1..16,1s,exp)":   ms(0, 1000*math.Log(1+math.Log(16))/math.Log(16), 1000*math.Log(1+2*math.Log(16))/math.Log(16)),
		"diurnal(0..2,4s)":     ms(0), // a whole wave holds four arrivals, two of them before its middle
		"onoff(0.5:1s,0.5:1s)": ms(0, 2000, 4000, 6000),
	} {
		got := take(Spec{Process: "constant", Profile: profile}.Times(1), len(want))
		for i := range got {
			if d := got[i] - want[i]; d < -1 || d > 1 {
				t.Errorf("%s gives %v, want %v", profile, got, want)
				break
			}
		}
	}
	wave := take(Spec{Process: "constant", Profile: "diurnal(0..2,4s)"}.Times(1), 9)
	expect.NoDiff(t, cmp.Diff(ms(2000, 4000, 6000, 8000), []int64{wave[2], wave[4], wave[6], wave[8]}), "middles and ends of waves (-want +got)")
}

// TestProfilesStretchOnePattern: by each arrival a profile expects as many as
// the same seed has at a rate of one.
func TestProfilesStretchOnePattern(t *testing.T) {
	t.Parallel()
	for _, process := range []string{"poisson", "constant", "gamma(0.5)"} {
		pattern := take(Spec{Rate: 1, Process: process}.Times(9), 3000)
		for _, spec := range profiled {
			spec.Process = process
			p := must.Get(spec.profile())(t)
			for i, at := range take(spec.Times(9), len(pattern)) {
				got, want := p.count(time.Duration(at)), float64(pattern[i])/second
				if math.Abs(got-want) > 1e-6 {
					t.Errorf("%+v: %g arrivals expected by arrival %d, want %g", spec, got, i, want)
					break
				}
			}
		}
	}
}

// TestPoissonCountsFollowTheProfile uses that counts of disjoint windows are
// independent Poisson variables, each with the integral of the rate as its
// mean: their squared, standardised distances add up to chi-square.
func TestPoissonCountsFollowTheProfile(t *testing.T) {
	t.Parallel()
	const window, windows = 7 * time.Second, 300
	for _, spec := range profiled {
		for _, seed := range seeds {
			counts := countWindows(spec, seed, window, windows)
			chi, spread, n := 0.0, 0.0, 0.0
			for i, got := range counts {
				want := spec.MeanOver(time.Duration(i)*window, time.Duration(i+1)*window) * window.Seconds()
				if want < 1e-9 {
					if got > 0 {
						t.Errorf("%+v seed %d: %d arrivals in window %d, where the rate is 0", spec, seed, got, i)
					}
					continue
				}
				chi += (float64(got) - want) * (float64(got) - want) / want
				spread += 2 + 1/want // the variance of that term
				n++
			}
			if off := math.Abs(chi - n); off > 5*math.Sqrt(spread) {
				t.Errorf("%+v seed %d: chi-square of counts is %.0f, want %.0f ± %.0f", spec, seed, chi, n, 5*math.Sqrt(spread))
			}
		}
	}
}

// TestPoissonTimesFollowTheProfile uses that the times of n arrivals are n
// draws from the integral of the rate, by the distance of Kolmogorov and
// Smirnov.
func TestPoissonTimesFollowTheProfile(t *testing.T) {
	t.Parallel()
	const length = 10 * time.Minute
	for _, spec := range profiled {
		p := must.Get(spec.profile())(t)
		var times []int64
		for at := range spec.Times(5) {
			if at >= int64(length) {
				break
			}
			times = append(times, at)
		}
		n, far := float64(len(times)), 0.0
		for i, at := range times {
			share := p.count(time.Duration(at)) / p.count(length)
			far = max(far, math.Abs(share-float64(i)/n), math.Abs(share-float64(i+1)/n))
		}
		if far*math.Sqrt(n) > 1.95 { // exceeded once in a thousand draws
			t.Errorf("%+v: the times of %g arrivals lie %g off their distribution", spec, n, far)
		}
	}
}

// TestEveryProcessKeepsTheProfilesTotal: a renewal process of n arrivals has a
// variance near n times the squared spread of its gaps.
func TestEveryProcessKeepsTheProfilesTotal(t *testing.T) {
	t.Parallel()
	const length = 20 * time.Minute
	for _, th := range theories {
		for _, spec := range profiled {
			spec.Process = th.process
			want := spec.MeanOver(0, length) * length.Seconds()
			got := float64(countWindows(spec, 3, length, 1)[0])
			if room := 5*th.cv*math.Sqrt(want) + 1 + th.cv*th.cv; math.Abs(got-want) > room {
				t.Errorf("%s: %g arrivals, want %g ± %g", spec, got, want, room)
			}
		}
	}
}

func countWindows(spec Spec, seed uint64, window time.Duration, windows int) []int {
	counts := make([]int, windows)
	for at := range spec.Times(seed) {
		i := int(at / int64(window))
		if i >= windows {
			break
		}
		counts[i]++
	}
	return counts
}

func TestPiecesInvert(t *testing.T) {
	t.Parallel()
	r := stats.Rand(1, "pieces", 0)
	for _, kind := range []curve{straight, exponential, wave} {
		for range 2000 {
			p := piece{from: math.Exp(10*r.Float64() - 5), to: math.Exp(10*r.Float64() - 5),
				length: time.Duration(math.Exp(20 * r.Float64() * 1.5)), curve: kind}
			if p.length < minLength {
				continue
			}
			n := p.total() * r.Float64()
			at := p.when(n)
			if at < 0 || at > p.length.Seconds()*(1+1e-9) {
				t.Errorf("%+v: count %g is reached at %g s", p, n, at)
			}
			if got := p.count(at); math.Abs(got-n) > 1e-9*(1+p.total()) {
				t.Errorf("%+v: count %g is reached at %g s, when it is %g", p, n, at, got)
			}
		}
	}
}

func TestRareArrivalsAreFoundAcrossManyRounds(t *testing.T) {
	t.Parallel()
	spec := Spec{Process: "constant", Profile: "onoff(0.000002:1ms,0:1ms)"}
	// A round of 2 ms holds 2e-9 arrivals: one comes in a million seconds.
	for k, at := range take(spec.Times(1), 4) {
		if seconds := float64(at) / second; math.Abs(seconds-1e6*float64(k)) > 0.01 {
			t.Errorf("arrival %d comes after %g s", k, seconds)
		}
	}
	last := int64(0)
	for at := range spec.Times(1) {
		last = at
	}
	if years := float64(last) / second / (365.25 * 86400); years < 200 {
		t.Errorf("the schedule ends after %g years", years)
	}
}

func BenchmarkProfiles(b *testing.B) {
	for _, spec := range profiled {
		b.Run(spec.String(), func(b *testing.B) {
			n := 0
			for range spec.Times(1) {
				if n++; n > b.N {
					break
				}
			}
		})
	}
}
