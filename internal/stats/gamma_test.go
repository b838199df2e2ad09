package stats

import (
	"math"
	"testing"
)

// A Poisson count has its tail by summation as well.
func TestRegIncGammaIsThePoissonTail(t *testing.T) {
	t.Parallel()
	for _, mean := range []float64{0.3, 1, 7.5, 40, 144, 600} {
		term, below := math.Exp(-mean), 0.0
		for n := 1; n < 1200; n++ {
			below += term // P(X ≤ n−1)
			term *= mean / float64(n)
			if got := UpperGamma(float64(n), mean); below > 1e-290 && math.Abs(got/below-1) > 1e-9 {
				t.Fatalf("P(X ≤ %d) of mean %g is %g, want %g", n-1, mean, got, below)
			}
			if got := RegIncGamma(float64(n), mean); math.Abs(got-(1-below)) > 1e-9 {
				t.Fatalf("P(X ≥ %d) of mean %g is %g, want %g", n, mean, got, 1-below)
			}
		}
	}
}

// A chi-squared value of one degree of freedom is the square of a normal one.
func TestRegIncGammaOfAHalfIsTheErrorFunction(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{0.001, 0.2, 1, 3, 9, 25} {
		if got, want := RegIncGamma(0.5, x), math.Erf(math.Sqrt(x)); math.Abs(got-want) > 1e-12 {
			t.Errorf("P(1/2, %g) = %g, want %g", x, got, want)
		}
		if got, want := UpperGamma(0.5, x), math.Erfc(math.Sqrt(x)); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("Q(1/2, %g) = %g, want %g", x, got, want)
		}
	}
}

func TestRegIncGammaOfAnImpossibleShapeIsNaN(t *testing.T) {
	t.Parallel()
	for _, a := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got := RegIncGamma(a, 1); !math.IsNaN(got) {
			t.Errorf("P(%g, 1) = %g, want NaN", a, got)
		}
	}
	if got := RegIncGamma(3, 0); got != 0 {
		t.Errorf("P(3, 0) = %g, want 0", got)
	}
}
