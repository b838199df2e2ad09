package workload

import (
	"math"
	"time"

	"redline/internal/stats"
)

// Arrivals is when requests would come, where the workload itself says so.
type Arrivals struct {
	SpanS float64 `json:"span_s"`
	Rate  float64 `json:"requests_per_s"`
	// Dispersion is the variance of arrivals in windows of a second and of a
	// minute over their mean: 1 is Poisson's; absent where there are too few
	// windows to tell.
	Dispersion1s  *float64 `json:"dispersion_1s,omitempty"`
	Dispersion60s *float64 `json:"dispersion_60s,omitempty"`
}

// arrivals describes the workload's own times, nil where it has none.
func (w *Workload) arrivals(sessions, requests int) *Arrivals {
	times, n := w.Times(w.seed), sessions
	if w.requestTimes != nil {
		times, n = w.RequestTimes(w.seed), requests
	}
	if times == nil || n < 2 {
		return nil
	}
	var all []int64
	for at := range times {
		if all = append(all, at); len(all) == n {
			break
		}
	}
	span := time.Duration(all[len(all)-1] - all[0])
	if span <= 0 {
		return nil
	}
	a := &Arrivals{SpanS: span.Seconds(), Rate: float64(len(all)-1) / span.Seconds() * float64(requests) / float64(n)}
	a.Dispersion1s, a.Dispersion60s = dispersion(all, time.Second), dispersion(all, time.Minute)
	return a
}

// dispersion is nil where there are too few windows to tell.
func dispersion(times []int64, window time.Duration) *float64 {
	index := stats.IndexOfDispersion(times, int64(window))
	if math.IsNaN(index) {
		return nil
	}
	return &index
}
