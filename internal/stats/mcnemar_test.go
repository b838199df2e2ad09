package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestPairedSharesMirrorAndHoldWhatWasSeen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		b := rapid.IntRange(0, n).Draw(t, "b")
		c := rapid.IntRange(0, n-b).Draw(t, "c")
		lo, hi := PairedShares(n, b, c, 0.95)
		left, right := PairedShares(n, c, b, 0.95)
		if math.Abs(lo+right) > 1e-12 || math.Abs(hi+left) > 1e-12 {
			t.Fatalf("(%g, %g), mirrored (%g, %g)", lo, hi, left, right)
		}
		if seen := float64(b-c) / float64(n); !(-1 <= lo && lo <= seen && seen <= hi && hi <= 1) {
			t.Fatalf("(%g, %g) around %g", lo, hi, seen)
		}
		if wideLo, wideHi := PairedShares(n, b, c, 0.99); wideLo > lo || wideHi < hi {
			t.Fatalf("(%g, %g) at 0.99 inside of (%g, %g) at 0.95", wideLo, wideHi, lo, hi)
		}
		if McNemar(b, c) != McNemar(c, b) {
			t.Fatalf("McNemar(%d, %d) depends on the order", b, c)
		}
	})
}

func TestPairedSharesCoverTheDifference(t *testing.T) {
	t.Parallel()
	const trials, items = 1000, 60
	held := 0
	for trial := range uint64(trials) {
		r := Rand(trial, "paired-shares", 0)
		var b, c int
		for range items {
			switch u := r.Float64(); {
			case u < 0.10:
				b++
			case u < 0.13:
				c++
			}
		}
		if lo, hi := PairedShares(items, b, c, 0.95); lo <= 0.07 && 0.07 <= hi {
			held++
		}
	}
	if held < trials*93/100 || held > trials*98/100 {
		t.Errorf("the 95 %% interval holds the difference in %d of %d", held, trials)
	}
}

func TestPairedAnswersThatCannotBe(t *testing.T) {
	t.Parallel()
	if p := McNemar(-1, 3); !math.IsNaN(p) {
		t.Errorf("McNemar of a negative count is %g", p)
	}
	if p := McNemar(0, 0); p != 1 {
		t.Errorf("McNemar of pairs that all agree is %g, want 1", p)
	}
	for _, c := range []struct {
		n, b, c int
		level   float64
	}{{0, 0, 0, 0.95}, {5, 4, 4, 0.95}, {5, -1, 0, 0.95}, {5, 1, 1, 1}} {
		if lo, hi := PairedShares(c.n, c.b, c.c, c.level); lo != -1 || hi != 1 {
			t.Errorf("PairedShares(%d, %d, %d, %g) = (%g, %g), want every difference", c.n, c.b, c.c, c.level, lo, hi)
		}
	}
}
