package stats

import "math"

// regIncBeta is the regularised incomplete beta function I_x(a, b) for
// positive a and b: the chance that a beta(a, b) value is at most x. It is NaN
// for parameters that are not positive and finite.
func regIncBeta(a, b, x float64) float64 {
	switch {
	case !(a > 0 && b > 0) || math.IsInf(a, 0) || math.IsInf(b, 0) || math.IsNaN(x):
		return math.NaN()
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	}
	return incompleteBeta(a, b, x, 1-x)
}

// incompleteBeta takes y = 1 − x apart from x, so that a caller who knows the
// smaller of the two loses no digits. The continued fraction converges fast
// only below the mean of the distribution; above it the mirrored one is used.
func incompleteBeta(a, b, x, y float64) float64 {
	if x*(b+1) < (a+1)*y {
		return betaPower(a, b, x, y) * betaFraction(a, b, x) / a
	}
	return 1 - betaPower(b, a, y, x)*betaFraction(b, a, y)/b
}

// betaPower is x^a·y^b / B(a, b). It is written as Loader's saddle-point form,
// because the difference of log-gammas of large arguments would lose as many
// digits as the sample size has.
func betaPower(a, b, x, y float64) float64 {
	n := a + b
	far := deviance(a, n*x) + deviance(b, n*y)
	scale := stirlingError(n) - stirlingError(a) - stirlingError(b)
	return math.Sqrt(a/n*b/(2*math.Pi)) * math.Exp(scale-far)
}

// deviance is k·ln(k/m) + m − k: how far a count k lies from its mean m.
func deviance(k, m float64) float64 {
	d := (m - k) / k
	if math.Abs(d) > 0.1 {
		return k*math.Log(k/m) + m - k
	}
	// d − ln(1+d) by its series, where the two terms nearly cancel.
	total, power := 0.0, d*d
	for i := 2; i < 40; i++ {
		term := power / float64(i)
		if total+term == total {
			break
		}
		total += term
		power *= -d
	}
	return k * total
}

// stirlingError is ln Γ(z+1) less Stirling's approximation to it.
func stirlingError(z float64) float64 {
	if z < 16 {
		g, _ := math.Lgamma(z + 1)
		return g - (z+0.5)*math.Log(z) + z - 0.5*math.Log(2*math.Pi)
	}
	q := 1 / (z * z)
	return (1.0/12 - q*(1.0/360-q*(1.0/1260-q*(1.0/1680-q/1188)))) / z
}

// betaFraction evaluates the continued fraction of the incomplete beta
// function by Lentz's method. It needs about sqrt(max(a, b)) steps.
func betaFraction(a, b, x float64) float64 {
	const tiny, steps = 1e-300, 1_000_000
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for i := 1; i < steps; i++ {
		m := float64(i)
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+even*d)
		c = away(1 + even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+odd*d)
		c = away(1 + odd/c)
		f *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return f
}

// BinomialAtMost is P(X ≤ t) for X of n trials of chance q each. Both n and t
// may be fractional, as effective sample sizes are: the incomplete beta
// function carries the tail between the whole numbers.
func BinomialAtMost(t, n, q float64) float64 {
	switch {
	case math.IsNaN(t) || math.IsNaN(n) || !(q >= 0 && q <= 1):
		return math.NaN()
	case t < 0:
		return 0
	case t >= n || q == 0:
		return 1
	case q == 1:
		return 0
	}
	return incompleteBeta(n-t, t+1, 1-q, q)
}

// BinomialAtLeast is P(X ≥ t), the other tail; it includes t, so the two tails
// of one t add up to more than 1.
func BinomialAtLeast(t, n, q float64) float64 {
	switch {
	case math.IsNaN(t) || math.IsNaN(n) || !(q >= 0 && q <= 1):
		return math.NaN()
	case t <= 0:
		return 1
	case t >= n+1 || q == 0:
		return 0
	case q == 1:
		return 1
	}
	return incompleteBeta(t, n-t+1, q, 1-q)
}

// NormalQuantile is the p-quantile of the standard normal distribution.
func NormalQuantile(p float64) float64 {
	return -math.Sqrt2 * math.Erfcinv(2*p)
}

// NormalCDF is the chance that a standard normal value is at most z.
func NormalCDF(z float64) float64 {
	return math.Erfc(-z/math.Sqrt2) / 2
}

// StudentQuantile is the p-quantile of Student's t with the given degrees of
// freedom, NaN for a p outside (0, 1).
func StudentQuantile(p, freedom float64) float64 {
	if !(p > 0 && p < 1 && freedom > 0) {
		return math.NaN()
	}
	switch {
	case p == 0.5:
		return 0
	case p < 0.5:
		return -StudentQuantile(1-p, freedom)
	}
	// P(T > t) = I_w(freedom/2, 1/2)/2 with w = freedom/(freedom + t²). Newton's steps
	// find w from that of the normal quantile; one that leaves the range in which it
	// must lie is replaced by half of that.
	a, tail := freedom/2, 2*(1-p)
	lnBeta := lnGamma(a) + lnGamma(0.5) - lnGamma(a+0.5)
	low, high := 0.0, 1.0
	z := NormalQuantile(p)
	w := freedom / (freedom + z*z)
	for range 200 {
		off := regIncBeta(a, 0.5, w) - tail
		if off < 0 {
			low = w
		} else {
			high = w
		}
		next := w - off/math.Exp((a-1)*math.Log(w)-math.Log1p(-w)/2-lnBeta)
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		done := math.Abs(next-w) <= 1e-15*w
		if w = next; done {
			break
		}
	}
	return math.Sqrt(freedom * (1 - w) / w)
}

func lnGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
