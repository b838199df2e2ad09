package stats

import "math"

// Looks decides a bound on percentile p of a growing sample, looked at several
// times, with an overall error of at most Alpha. Look k applies Decide at
// Alpha/2^k, and these levels add up to Alpha however many looks there are.
// That holds for each wrong answer apart: a server that just breaks its promise
// is called met, or one that just keeps it missed, with a chance of at most
// Alpha.
//
// Every look halves what the next may spend, so looks belong at growing
// distances (after 10, 20, 40 seconds), and a sample may well shrink between
// them, as an effective sample size does. For a look after every request, see
// Anytime.
type Looks struct {
	P, Alpha float64
	taken    int
}

// Decide takes the next look: n independent samples so far, of which t broke
// the bound. After an answer other than Undecided the caller stops.
func (l *Looks) Decide(n, t float64) Decision {
	l.taken++
	return Decide(n, t, l.P, math.Ldexp(l.Alpha, -l.taken))
}

// Anytime decides a bound on percentile P of a growing sample of independent
// requests that may be looked at after every one of them and left at any
// moment, with a chance of at most Alpha for each wrong answer.
//
// It is a bet against each hypothesis. The fortune of a bettor who starts with
// 1 and bets that the share of violations is θ grows by the likelihood ratio of
// θ to the share allowed, q = 1 − P. Bets are spread over all θ above q (against
// "kept") and over all θ below q (against "broken") by a beta(1, 1/q − 1)
// density, whose mean is q, cut off at q. Where the hypothesis is true, its
// bettor's fortune is a supermartingale, so by Ville's inequality it ever
// reaches 1/Alpha with a chance of at most Alpha.
//
// A p99 at Alpha 0.01 without any violation is met after about 610 requests,
// against 459 for one look alone.
type Anytime struct {
	P, Alpha float64
}

// Decide says what n samples, t of which broke the bound, decide so far.
func (a Anytime) Decide(n, t float64) Decision {
	kept, broken := a.Evidence(n, t)
	enough := -math.Log(a.Alpha)
	switch {
	case !(n > 0) || math.IsNaN(kept) || !(a.Alpha > 0 && a.Alpha < 1):
		return Undecided
	case kept >= enough:
		return Met
	case broken >= enough:
		return Missed
	}
	return Undecided
}

// Evidence is the logarithm of the two fortunes: of the bettor who bets that
// the promise is kept, and of the one who bets that it is broken. It is NaN for
// counts that cannot be.
func (a Anytime) Evidence(n, t float64) (kept, broken float64) {
	q := 1 - a.P
	if !(q > 0 && q < 1) || !(t >= 0 && t <= n) || math.IsInf(n, 0) {
		return math.NaN(), math.NaN()
	}
	before, after := beta{1, 1/q - 1}, beta{1 + t, 1/q - 1 + n - t}
	ratio := after.log() - before.log() - t*math.Log(q) - (n-t)*math.Log1p(-q)
	kept = ratio + math.Log(after.below(q)) - math.Log(before.below(q))
	broken = ratio + math.Log(after.above(q)) - math.Log(before.above(q))
	return kept, broken
}

// beta is a beta density by its two exponents plus one.
type beta struct{ a, b float64 }

// log is the logarithm of the beta function, the density's scale.
func (d beta) log() float64 {
	a, _ := math.Lgamma(d.a)
	b, _ := math.Lgamma(d.b)
	both, _ := math.Lgamma(d.a + d.b)
	return a + b - both
}

func (d beta) below(x float64) float64 { return incompleteBeta(d.a, d.b, x, 1-x) }

func (d beta) above(x float64) float64 { return incompleteBeta(d.b, d.a, 1-x, x) }
