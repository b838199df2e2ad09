package metric

import (
	"math/rand/v2"
	"testing"
)

// A window of a minute is a minute, wherever it begins: of its ends in seconds
// the difference is a hair less in one case of six.
func TestAMinuteIsAMinute(t *testing.T) {
	t.Parallel()
	r, shorter := rand.New(rand.NewPCG(1, 2)), 0
	for range 10_000 {
		start := r.Int64N(3600 * second)
		w := Window{StartS: float64(start) / second, EndS: float64(start+60*second) / second}
		if w.EndS-w.StartS < 60 {
			shorter++
		}
		if w.Seconds() != 60 {
			t.Fatalf("from %d ns on: %v s", start, w.Seconds())
		}
	}
	if shorter == 0 {
		t.Error("no difference fell short: the test shows nothing")
	}
}
