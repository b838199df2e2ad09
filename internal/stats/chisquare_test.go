package stats

import (
	"math"
	"testing"
)

// The values are those of printed tables.
func TestChiSquareQuantile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ p, degrees, want float64 }{
		{0.95, 3, 7.815}, {0.95, 11, 19.675}, {0.5, 11, 10.341}, {0.99, 30, 50.892},
	} {
		if got := ChiSquareQuantile(c.p, c.degrees); math.Abs(got/c.want-1) > 0.01 {
			t.Errorf("%g of %g degrees: %g, want %g", c.p, c.degrees, got, c.want)
		}
	}
}

func TestFewestToMeet(t *testing.T) {
	t.Parallel()
	for p, want := range map[float64]int{0.99: 299, 0.95: 59, 0.9: 29} {
		if got := FewestToMeet(p, 0.05); got != want {
			t.Errorf("p%g: %d, want %d", 100*p, got, want)
		}
	}
}
