package trace

import (
	"math"
	"time"

	"redline/internal/stats"
)

// windows is what the counts of arrivals in n windows of one length add up to.
// It is kept instead of the counts, because a log may span years.
type windows struct{ n, sum, squares float64 }

// countWindows counts ascending times in the first n windows from 0.
func countWindows(times []int64, window, n int64) windows {
	w := windows{n: float64(n)}
	for from := 0; from < len(times); {
		index := times[from] / window
		if index >= n {
			break
		}
		to := from + 1
		for to < len(times) && times[to]/window == index {
			to++
		}
		c := float64(to - from)
		w.sum, w.squares = w.sum+c, w.squares+c*c
		from = to
	}
	return w
}

func (w windows) mean() float64 { return w.sum / w.n }

// variance is that of a sample, NaN below two windows.
func (w windows) variance() float64 {
	if w.n < 2 {
		return math.NaN()
	}
	return max(0, w.squares-w.sum*w.sum/w.n) / (w.n - 1)
}

// pairs is the mean number of ordered pairs of arrivals within a window.
func (w windows) pairs() float64 { return (w.squares - w.sum) / w.n }

// dispersionOf is the variance over the mean of arrivals in whole windows, nil
// below two of them.
func dispersionOf(times []int64, window time.Duration) *float64 {
	if len(times) == 0 {
		return nil
	}
	w := countWindows(times, int64(window), times[len(times)-1]/int64(window))
	return stats.Finite(round(w.variance()/w.mean(), 4))
}
