package arrival

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

func TestStepsOfProfiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile string
		rate    float64
		names   []string
		at      map[string]int
	}{
		{profile: "", rate: 5},
		{profile: "overload"},
		{profile: "steps(10:1m,20:90s)", names: []string{"10/s, 0s–1m", "20/s, 1m–2m30s"}, at: map[string]int{"0s": 0, "59s": 0, "1m": 1, "3h": 1}},
		{profile: "onoff(50:10s,5:20s)", names: []string{"50/s, 0s–10s", "5/s, 10s–30s"}, at: map[string]int{"9s": 0, "10s": 1, "31s": 0, "1h15s": 1}},
		{profile: "burst(2)", rate: 5, names: []string{"10/s, 0s–10s", "4/s, 10s–1m"}, at: map[string]int{"65s": 0}},
		{profile: "ramp(10..60,5m)", names: []string{"10–20/s, 0s–1m", "20–30/s, 1m–2m", "30–40/s, 2m–3m", "40–50/s, 3m–4m", "50–60/s, 4m–5m", "60/s, from 5m"},
			at: map[string]int{"61s": 1, "1h": 5}},
		{profile: "diurnal(0..20,24h)", names: []string{"0–2.93/s, 0s–3h", "2.93–10/s, 3h–6h", "10–17.1/s, 6h–9h", "17.1–20/s, 9h–12h",
			"20–17.1/s, 12h–15h", "17.1–10/s, 15h–18h", "10–2.93/s, 18h–21h", "2.93–0/s, 21h–24h"}, at: map[string]int{"12h": 4, "36h": 4}},
	} {
		steps := Spec{Profile: c.profile, Rate: c.rate}.Steps()
		if diff := cmp.Diff(c.names, steps.Names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.profile, diff)
			continue
		}
		for text, want := range c.at {
			at := must.Get(time.ParseDuration(text))(t)
			if got := steps.At(at); got != want {
				t.Errorf("%s: %s is in part %d, want %d", c.profile, text, got, want)
			}
		}
	}
}

// A rate for every second of an hour would have more groups than anybody reads.
func TestTooManySteps(t *testing.T) {
	t.Parallel()
	for steps, want := range map[int]int{maxSteps: maxSteps, maxSteps + 1: 0} {
		profile := "steps(" + strings.TrimSuffix(strings.Repeat("1:1s,2:1s,", steps/2)+strings.Repeat("3:1s,", steps%2), ",") + ")"
		if got := len(Spec{Profile: profile}.Steps().Names); got != want {
			t.Errorf("%d steps have %d names, want %d", steps, got, want)
		}
	}
}

// A month has billions of the shortest rounds.
func TestPartsOfManyRounds(t *testing.T) {
	t.Parallel()
	got := Spec{Profile: "onoff(50:1ms,5:3ms)"}.Steps().Within(0, 720*time.Hour)
	expect.Same(t, []time.Duration{180 * time.Hour, 540 * time.Hour}, got)
}

// The parts of a window add up to it, and each has the time that a count second by
// second gives it.
func TestPartsOfAWindow(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"steps(10:7s,20:90s)", "onoff(50:10s,5:20s)", "ramp(10..60,50s)", "diurnal(0..20,80s)"} {
		steps := Spec{Profile: profile}.Steps()
		for _, window := range [][2]int{{0, 5}, {3, 500}, {95, 96}, {40, 40}} {
			want := make([]time.Duration, len(steps.Names))
			for s := window[0]; s < window[1]; s++ {
				want[steps.At(time.Duration(s)*time.Second)] += time.Second
			}
			expect.NoDiff(t, cmp.Diff(want, steps.Within(time.Duration(window[0])*time.Second, time.Duration(window[1])*time.Second)), "%s in %v (-want +got)", profile, window)
		}
	}
}
