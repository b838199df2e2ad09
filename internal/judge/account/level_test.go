package account

import (
	"math"
	"testing"

	"redline/internal/stats"
)

// A level by steps is that of the spans, and a sample of the requests moves less
// against its mean.
func TestLevelIsThatOfAllRequests(t *testing.T) {
	t.Parallel()
	r := stats.Rand(1, "level", 0)
	all, some := spans{end: 60 * second}, spans{end: 60 * second}
	var level Level
	// 600 a second, of which 26 to 54 are in flight: it takes half a minute to
	// go from the one to the other.
	for i := range 36_000 {
		from := int64(i) * 60 * second / 36_000
		to := from + int64((40+14*math.Sin(math.Pi*float64(i)/18_000))/600*second)
		all.add(from, to)
		level.Add(from, to)
		if r.IntN(8) == 0 {
			some.add(from, to)
		}
	}
	want, got := all.series(60*second/levelPoints), level.series(0, 60*second)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			t.Fatalf("point %d: %v, want %v", i, got[i], want[i])
		}
	}
	if !brief(got) {
		t.Error("a queue that moves so slowly is not recognised")
	}
	if brief(some.series(60 * second / levelPoints)) {
		t.Error("a sample shows it too: the test could not fail")
	}
}
