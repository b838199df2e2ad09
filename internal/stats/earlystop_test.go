package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// stream runs a server that breaks its bound with the given share, asks decide
// at the given looks, and returns the first answer and when it came.
func stream(r *rand.Rand, share float64, looks []int, decide func(n, t float64) Decision) (Decision, int) {
	n, broken := 0, 0
	for _, look := range looks {
		for ; n < look; n++ {
			if r.Float64() < share {
				broken++
			}
		}
		if d := decide(float64(n), float64(broken)); d != Undecided {
			return d, n
		}
	}
	return Undecided, n
}

func every(step, most int) []int {
	var looks []int
	for n := step; n <= most; n += step {
		looks = append(looks, n)
	}
	return looks
}

// TestEarlyStoppingErrsSeldom runs servers that are just at the limit, where
// either answer is wrong, and servers well to either side of it.
func TestEarlyStoppingErrsSeldom(t *testing.T) {
	t.Parallel()
	const trials, p, alpha = 500, 0.9, 0.05
	rules := []struct {
		name  string
		looks []int
		rule  func() func(n, t float64) Decision
	}{
		{"looks", []int{50, 100, 200, 400, 800, 1600}, func() func(n, t float64) Decision {
			return (&Looks{P: p, Alpha: alpha}).Decide
		}},
		{"anytime", every(8, 1600), func() func(n, t float64) Decision { return Anytime{P: p, Alpha: alpha}.Decide }},
	}
	for _, c := range rules {
		for _, server := range []struct {
			share             float64
			mostMet, leastMet float64
			mostMissed        float64
			leastMissed       float64
		}{
			// Three standard errors above alpha.
			{share: 0.1, mostMet: alpha + 0.029, mostMissed: alpha + 0.029},
			{share: 0.05, mostMet: 1, leastMet: 0.99, mostMissed: 0.005},
			{share: 0.15, mostMissed: 1, leastMissed: 0.97, mostMet: 0.005},
		} {
			counts := map[Decision]int{}
			for trial := range uint64(trials) {
				d, _ := stream(Rand(trial, c.name, 0), server.share, c.looks, c.rule())
				counts[d]++
			}
			met, missed := float64(counts[Met])/trials, float64(counts[Missed])/trials
			if met > server.mostMet || met < server.leastMet || missed > server.mostMissed || missed < server.leastMissed {
				t.Errorf("%s of a server that breaks its p90 with a share of %g: met %g, missed %g, want met in [%g, %g], missed in [%g, %g]",
					c.name, server.share, met, missed, server.leastMet, server.mostMet, server.leastMissed, server.mostMissed)
			}
		}
	}
}

// TestEarlyStoppingIsEarly holds the number of requests that a server far from the
// limit needs low. A single look at 30 of them decides nineteen times in
// twenty.
func TestEarlyStoppingIsEarly(t *testing.T) {
	t.Parallel()
	const trials = 200
	total := 0
	for trial := range uint64(trials) {
		_, n := stream(Rand(trial, "early", 0), 0.4, every(1, 1600), Anytime{P: 0.9, Alpha: 0.01}.Decide)
		total += n
	}
	if mean := total / trials; mean > 30 {
		t.Errorf("four times the share allowed was missed after %d requests on average, want at most 30", mean)
	}
}

// TestAnytimeIsAFairBet adds up both fortunes over everything that n requests
// of a server at the limit can bring: a bettor gains nothing on average. Where
// the hypothesis holds with room to spare, she loses.
func TestAnytimeIsAFairBet(t *testing.T) {
	t.Parallel()
	for _, p := range []float64{0.5, 0.9, 0.99} {
		bet := Anytime{P: p, Alpha: 0.01}
		for _, n := range []float64{1, 7, 300} {
			atLimit := expected(n, 1-p, bet)
			near(t, atLimit[0], 1, 1e-9, "fortune against a broken p%g after %g", 100*p, n)
			near(t, atLimit[1], 1, 1e-9, "fortune against a kept p%g after %g", 100*p, n)
			if kept := expected(n, (1-p)*0.7, bet); kept[1] >= 1 {
				t.Errorf("p%g kept with room after %g: the bet that it is broken is worth %g", 100*p, n, kept[1])
			}
			if broken := expected(n, (1-p)*1.3, bet); broken[0] >= 1 {
				t.Errorf("p%g clearly broken after %g: the bet that it is kept is worth %g", 100*p, n, broken[0])
			}
		}
	}
}

func expected(n, share float64, bet Anytime) (fortunes [2]float64) {
	for t := 0.0; t <= n; t++ {
		ways := beta{t + 1, n - t + 1}
		chance := t*math.Log(share) + (n-t)*math.Log1p(-share) - ways.log() - math.Log(n+1)
		kept, broken := bet.Evidence(n, t)
		fortunes[0] += math.Exp(chance + kept)
		fortunes[1] += math.Exp(chance + broken)
	}
	return fortunes
}

func TestLooksSpendAlphaByHalves(t *testing.T) {
	t.Parallel()
	// Without a violation a p99 is met at look k once 0.99^n is at most
	// 0.01/2^k: 528, 597 and 666 requests.
	looks := &Looks{P: 0.99, Alpha: 0.01}
	for _, c := range []struct {
		n    float64
		want Decision
	}{{527, Undecided}, {596, Undecided}, {666, Met}} {
		if got := looks.Decide(c.n, 0); got != c.want {
			t.Errorf("%g requests: %v, want %v", c.n, got, c.want)
		}
	}
}

func TestAnytimeWithoutAViolation(t *testing.T) {
	t.Parallel()
	bet := Anytime{P: 0.99, Alpha: 0.01}
	n := 1.0
	for bet.Decide(n, 0) == Undecided {
		n++
	}
	if n < 600 || n > 620 {
		t.Errorf("met after %g requests, want about 610", n)
	}
	for what, d := range map[string]Decision{
		"nothing":                    bet.Decide(0, 0),
		"more violations than there": bet.Decide(3, 4),
		"no percentile":              Anytime{P: 1, Alpha: 0.01}.Decide(1000, 0),
		"no alpha":                   Anytime{P: 0.99}.Decide(1000, 0),
	} {
		if d != Undecided {
			t.Errorf("%s: %v, want undecided", what, d)
		}
	}
}
