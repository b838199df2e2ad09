package stats

import "math"

// StudentCDF is the chance that a value of Student's t with the given degrees
// of freedom is at most t, NaN where the degrees are not positive.
func StudentCDF(t, freedom float64) float64 {
	switch {
	case math.IsNaN(t) || !(freedom > 0):
		return math.NaN()
	case math.IsInf(freedom, 1):
		return NormalCDF(t)
	case t < 0:
		return studentTail(-t, freedom)
	}
	return 1 - studentTail(t, freedom)
}

// studentTail is P(T > t) for t ≥ 0. It is computed as a tail, never as one
// less something, so that a chance of one in a billion keeps its digits.
func studentTail(t, freedom float64) float64 {
	if math.IsInf(t, 1) {
		return 0
	}
	if t == 0 {
		return 0.5
	}
	return incompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t), t*t/(freedom+t*t)) / 2
}

// farthestShift bounds the work of noncentralStudentCDF, whose series has
// about twenty terms for every unit of the shift.
const farthestShift = 500

// noncentralStudentCDF is the chance that (Z + shift)/S is at most t, where Z
// is standard normal and S² an independent chi-squared over its degrees of
// freedom: what the t statistic of a real effect does. It is Lenth's series
// (1989) of incomplete beta functions under Poisson weights; shifts beyond 500
// take the normal approximation instead.
func noncentralStudentCDF(t, freedom, shift float64) float64 {
	switch {
	case math.IsNaN(t) || math.IsNaN(shift) || !(freedom > 0):
		return math.NaN()
	case shift == 0 || math.IsInf(t, 0):
		return StudentCDF(t, freedom)
	case math.IsInf(freedom, 1):
		return NormalCDF(t - shift)
	case math.Abs(shift) > farthestShift:
		return NormalCDF((t*(1-1/(4*freedom)) - shift) / math.Sqrt(1+t*t/(2*freedom)))
	case t < 0:
		return 1 - noncentralStudentCDF(-t, freedom, -shift)
	case t == 0:
		return NormalCDF(-shift)
	}
	return min(max(NormalCDF(-shift)+aboveZero(t, freedom, shift), 0), 1)
}

// aboveZero is the chance that a noncentral t lies between 0 and t > 0. The
// weights of the whole steps are a Poisson distribution, and those of the half
// steps, which carry the sign of the shift, lie between them; the sum runs over
// nine deviations on either side of their mean.
func aboveZero(t, freedom, shift float64) float64 {
	mean := shift * shift / 2
	weight := func(k float64) float64 {
		g, _ := math.Lgamma(k + 1)
		return math.Exp(k*math.Log(mean)-mean-g) / 2
	}
	x, y := t*t/(freedom+t*t), freedom/(freedom+t*t)
	from := math.Floor(max(mean-9*math.Sqrt(mean), 0))
	total := 0.0
	for j := from; j < mean+9*math.Sqrt(mean)+40; j++ {
		total += weight(j) * incompleteBeta(j+0.5, freedom/2, x, y)
		total += math.Copysign(weight(j+0.5), shift) * incompleteBeta(j+1, freedom/2, x, y)
	}
	return total
}

// TTest is what Student's t says about the mean of a sample: whether it is 0,
// and where it lies.
type TTest struct {
	Mean    float64
	SD      float64
	T       float64
	Freedom float64
	// P is the two-sided chance of so large a T where the mean is 0.
	P float64
	// Lo and Hi bound the mean at the level asked for.
	Lo, Hi float64
	// Dz is Cohen's effect size of a paired comparison: the mean in standard
	// deviations of the differences.
	Dz float64
}

// OneSampleT tests the mean of values against 0. Below two values nothing can
// be said: P is NaN and the interval excludes nothing. Values that do not
// differ at all leave no doubt: P is 0, or 1 where they all are 0.
func OneSampleT(values []float64, level float64) TTest {
	n := len(values)
	test := TTest{
		Mean: Mean(values), SD: math.Sqrt(Variance(values)), Freedom: float64(n - 1),
		T: math.NaN(), P: math.NaN(), Lo: math.Inf(-1), Hi: math.Inf(1),
	}
	test.Dz = test.Mean / test.SD
	if n < 2 || math.IsNaN(test.SD) {
		return test
	}
	doubt := test.SD / math.Sqrt(float64(n))
	test.T = test.Mean / doubt
	test.P = 2 * studentTail(math.Abs(test.T), test.Freedom)
	if test.Mean == 0 && doubt == 0 {
		test.T, test.P, test.Dz = 0, 1, 0
	}
	if level > 0 && level < 1 {
		reach := doubt * StudentQuantile((1+level)/2, test.Freedom)
		test.Lo, test.Hi = test.Mean-reach, test.Mean+reach
	}
	return test
}
