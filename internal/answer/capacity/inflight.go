package capacity

import (
	"math"
	"time"

	"redline/internal/judge/result"
)

// tail99 is how many standard deviations a normal count's p99 is above its mean.
const tail99 = 2.326

// Little gives the requests in flight under a rate of requests that take so long
// on average. Their number around that mean is a Poisson count where arrivals are
// random and no request waits for another.
func Little(rate float64, latency time.Duration) (result.InFlight, error) {
	if err := (Demand{Rate: rate}).validate(); err != nil {
		return result.InFlight{}, err
	}
	if latency <= 0 || latency > 24*time.Hour {
		return result.InFlight{}, usageErrorf("latency: want the mean time of a request from its sending to its end, such as 2.5s, got %s", latency)
	}
	mean := rate * latency.Seconds()
	return result.InFlight{Rate: rate, LatencyS: latency.Seconds(), Mean: mean, P99: int(math.Ceil(mean + tail99*math.Sqrt(mean)))}, nil
}
