package capacity

import (
	"strings"
	"testing"
	"time"
)

// 120 requests a second that take 2.5 s each are 300 at once, and 341 cover 99%
// of a Poisson count of that mean.
func TestLittle(t *testing.T) {
	t.Parallel()
	got, err := Little(120, 2500*time.Millisecond)
	if err != nil || got.Mean != 300 || got.P99 != 341 {
		t.Errorf("got %+v, %v; want a mean of 300 and 341", got, err)
	}
	for _, bad := range []struct {
		rate    float64
		latency time.Duration
		want    string
	}{{0, time.Second, "rate: expected"}, {5, 0, "latency: expected the mean time of a request"}, {5, -time.Second, "latency: expected"}} {
		if _, err := Little(bad.rate, bad.latency); err == nil || !strings.Contains(err.Error(), bad.want) || !IsUsageError(err) {
			t.Errorf("%g/s for %s: %v; want %q", bad.rate, bad.latency, err, bad.want)
		}
	}
}
