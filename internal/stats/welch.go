package stats

import "math"

// WelchT tests whether the means of two independent samples are equal, without
// assuming that they spread alike: the Mean is that of b less that of a, and
// Freedom is Welch and Satterthwaite's. SD is what both samples spread by,
// pooled, and Dz the difference in units of it. Below two values on either
// side nothing can be said: P is NaN and the interval excludes nothing.
func WelchT(a, b []float64, level float64) TTest {
	m, n := float64(len(a)), float64(len(b))
	test := TTest{Mean: Mean(b) - Mean(a), SD: math.NaN(), T: math.NaN(),
		Freedom: math.NaN(), P: math.NaN(), Lo: math.Inf(-1), Hi: math.Inf(1), Dz: math.NaN()}
	if m < 2 || n < 2 {
		return test
	}
	va, vb := Variance(a), Variance(b)
	test.SD = math.Sqrt(((m-1)*va + (n-1)*vb) / (m + n - 2))
	doubt := math.Hypot(math.Sqrt(va/m), math.Sqrt(vb/n))
	if doubt == 0 {
		return test.withoutSpread(m + n - 2)
	}
	share := va / m / (doubt * doubt)
	test.Freedom = 1 / (share*share/(m-1) + (1-share)*(1-share)/(n-1))
	test.T, test.Dz = test.Mean/doubt, test.Mean/test.SD
	test.P = 2 * studentTail(math.Abs(test.T), test.Freedom)
	if level > 0 && level < 1 {
		reach := doubt * StudentQuantile((1+level)/2, test.Freedom)
		test.Lo, test.Hi = test.Mean-reach, test.Mean+reach
	}
	return test
}

// withoutSpread is the test of samples that do not spread at all: no doubt is left.
func (t TTest) withoutSpread(freedom float64) TTest {
	t.Freedom, t.Lo, t.Hi = freedom, t.Mean, t.Mean
	t.T, t.P, t.Dz = math.Inf(1), 0, math.Inf(1)
	if t.Mean == 0 {
		t.T, t.P, t.Dz = 0, 1, 0
	}
	if t.Mean < 0 {
		t.T, t.Dz = math.Inf(-1), math.Inf(-1)
	}
	return t
}
