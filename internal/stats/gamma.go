package stats

import "math"

// RegIncGamma is the regularised incomplete gamma function P(a, x): the chance
// that a gamma value of shape a is at most x, and that a Poisson count of mean
// x is at least a. It is NaN for a shape that is not positive and finite.
func RegIncGamma(a, x float64) float64 {
	switch {
	case !(a > 0) || math.IsInf(a, 0) || math.IsNaN(x):
		return math.NaN()
	case x <= 0:
		return 0
	case math.IsInf(x, 1):
		return 1
	case x < a+1:
		return gammaPower(a, x) * gammaSeries(a, x)
	}
	return 1 - gammaPower(a, x)*gammaFraction(a, x)
}

// UpperGamma is 1 − RegIncGamma(a, x), exact also where that is tiny.
func UpperGamma(a, x float64) float64 {
	if !(a > 0) || math.IsInf(a, 0) || !(x >= a+1) || math.IsInf(x, 0) {
		return 1 - RegIncGamma(a, x)
	}
	return gammaPower(a, x) * gammaFraction(a, x)
}

// gammaPower is x^a·e^−x / Γ(a), in the saddle-point form of betaPower.
func gammaPower(a, x float64) float64 {
	return math.Sqrt(a/(2*math.Pi)) * math.Exp(-stirlingError(a)-deviance(a, x))
}

// gammaSeries is the sum of x^k / (a·(a+1)…(a+k)).
func gammaSeries(a, x float64) float64 {
	term, total := 1/a, 1/a
	for n := a + 1; term > total*1e-17; n++ {
		term *= x / n
		total += term
	}
	return total
}

// gammaFraction evaluates the continued fraction of the upper tail by Lentz's
// method.
func gammaFraction(a, x float64) float64 {
	const tiny, steps = 1e-300, 1_000_000
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	f := d
	for i := 1; i < steps; i++ {
		n := float64(i)
		b += 2
		d = 1 / (n*(a-n)*d + b)
		c = b + n*(a-n)/c
		f *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return f
}
