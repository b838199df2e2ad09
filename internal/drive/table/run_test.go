package table

import (
	"math"
	"testing"
)

func TestNoValuesAreZeros(t *testing.T) {
	var none Series
	if none.Mean() != 0 || none.At(99) != 0 || none.Max() != 0 || none.Deviation(1) != 0 {
		t.Error("a figure without values is not 0")
	}
	if got := (Series{1, 3}).Deviation(0); got != 1 {
		t.Errorf("deviation %v, want 1", got)
	}
	if got := (Series{1, 3}).Deviation(1); math.Abs(got-math.Sqrt2) > 1e-12 {
		t.Errorf("deviation of a sample %v, want √2", got)
	}
}
