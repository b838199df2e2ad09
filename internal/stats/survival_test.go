package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
)

// The remission times of Freireich's 21 patients on 6-MP, as every textbook has
// them: a plus is one who was still in remission.
func TestProductLimitOfTheTextbook(t *testing.T) {
	t.Parallel()
	ages := []float64{6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35}
	went := []bool{true, true, true, false, true, false, true, false, false, true, true, false, false, false, true, true, false, false, false, false, false}
	shares := ProductLimit(ages, func(i int) bool { return went[i] })
	survive := func(age float64) float64 {
		left := 1.0
		for i, share := range shares {
			if went[i] && ages[i] <= age {
				left -= share
			}
		}
		return left
	}
	for age, want := range map[float64]float64{6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448} {
		if got := survive(age); math.Abs(got-want) > 0.0006 {
			t.Errorf("%.0f weeks: %.3f of them are left, want %.3f", age, got, want)
		}
	}
	sum, behind := 0.0, 0.0
	for i, share := range shares {
		sum += share
		if ages[i] > 23 {
			behind += share
		}
	}
	if math.Abs(sum-1) > 1e-12 || math.Abs(behind-survive(23)) > 1e-12 {
		t.Errorf("shares add up to %g, those behind the last end to %g; want 1 and %g", sum, behind, survive(23))
	}
}

// Where every life was seen to its end each is one of all.
func TestProductLimitWithoutCutLives(t *testing.T) {
	t.Parallel()
	got := ProductLimit([]float64{3, 1, 1, 2}, func(int) bool { return true })
	expect.Same(t, []float64{0.25, 0.25, 0.25, 0.25}, got, cmpopts.EquateApprox(0, 1e-12))
}
