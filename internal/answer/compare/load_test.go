package compare

import (
	"testing"

	"redline/internal/judge/result"
)

func TestLoadsAreTheSameOrNot(t *testing.T) {
	t.Parallel()
	open := func(rate float64) result.Load { return result.Load{Mode: "open", Rate: &rate} }
	closed := func(n int) result.Load { return result.Load{Mode: "closed", Concurrency: &n} }
	capped := func(rate float64, n int) result.Load {
		return result.Load{Mode: "capped", Rate: &rate, Concurrency: &n}
	}
	rate := 10.0
	ramp := result.Load{Mode: "open", Rate: &rate, Profile: "ramp 5/s to 15/s"}
	for _, c := range []struct {
		a, b  result.Load
		same  bool
		aName string
	}{
		{open(10), open(10), true, "10/s"},
		{open(10), open(10.05), true, "10/s"},
		{open(10), open(10.2), false, "10/s"},
		{open(10), closed(10), false, "10/s"},
		{closed(8), closed(8), true, "8 in flight"},
		{closed(8), closed(16), false, "8 in flight"},
		{capped(10, 8), capped(10, 8), true, "10/s, 8 in flight"},
		{capped(10, 8), capped(12, 8), false, "10/s, 8 in flight"},
		{ramp, open(10), false, "10/s, ramp 5/s to 15/s"},
		{result.Load{Mode: "open"}, result.Load{Mode: "open"}, true, "open"},
		{result.Load{Mode: "open"}, open(10), false, "open"},
	} {
		if got, back := sameLoad(c.a, c.b), sameLoad(c.b, c.a); got != c.same || back != c.same {
			t.Errorf("%s and %s: the same load: %v, the other way round %v; want %v", loadName(c.a), loadName(c.b), got, back, c.same)
		}
		if got := loadName(c.a); got != c.aName {
			t.Errorf("load is named %q, want %q", got, c.aName)
		}
	}
}
