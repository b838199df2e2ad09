package stats

import (
	"math"
	"math/rand/v2"
)

// settling is the batch length of MSER-5.
const settling = 5

// minSettled is how many batches at least must be left after the cut, and a
// third of them all: the statistic of a few last ones is small by chance
// alone. So bounded, a steady minute is called unsettled about once in twelve
// times, and five steady minutes less than once in a hundred.
const minSettled = 5

// MSER5Shortest is the length of the shortest series that MSER5 judges.
const MSER5Shortest = settling * (2*minSettled + 1)

// MSER5 finds how many leading points of a series to leave out so that the
// mean of the rest is known best (White's marginal standard error rule on
// batch means of five). A cut beyond half of the series means that it never
// settled. It is not ok below eleven batches, where no cut can reach so far.
func MSER5(series []float64) (cut int, ok bool) {
	means := make([]float64, len(series)/settling)
	for i := range means {
		means[i] = Mean(series[i*settling : (i+1)*settling])
	}
	if len(series) < MSER5Shortest {
		return 0, false
	}
	left := max(minSettled, len(means)/3)
	best := math.Inf(1)
	for d := 0; d <= len(means)-left; d++ {
		rest := means[d:]
		n := float64(len(rest))
		if se := Variance(rest) * (n - 1) / (n * n); se < best {
			best, cut = se, d*settling
		}
	}
	return cut, true
}

// Slope is the least-squares growth per step of a series, NaN below two
// points.
func Slope(series []float64) float64 {
	if len(series) < 2 {
		return math.NaN()
	}
	mid, mean := float64(len(series)-1)/2, Mean(series)
	across, along := 0.0, 0.0
	for i, y := range series {
		x := float64(i) - mid
		across += x * (y - mean)
		along += x * x
	}
	return across / along
}

// minBlocks is how many blocks a slope interval needs: two are spent on the
// line itself, and fewer than four more say nothing about the spread.
const minBlocks = 6

// SlopeInterval is a confidence interval of the slope of a series whose
// neighbours depend on one another over fewer than block steps. It is
// (-Inf, +Inf) where the series is shorter than six blocks.
//
// The residuals from the fitted line are drawn again in blocks, wrapped round
// the end, and laid on the line at the original places. Drawing (time, value)
// pairs instead would shuffle the time axis itself, which is not random: the
// question is whether the queue grows along just these seconds.
func SlopeInterval(series []float64, block int, level float64, resamples int, r *rand.Rand) (lo, hi float64) {
	n := len(series)
	block = max(block, 1)
	blocks := n / block
	if blocks < minBlocks {
		return math.Inf(-1), math.Inf(1)
	}
	slope := Slope(series)
	noise := residuals(series, slope)
	// The line was fitted to the same noise and took two degrees of freedom of
	// the few that independent blocks have.
	k := float64(blocks)
	widen := math.Sqrt(k / (k - 2))
	figures := make([]float64, max(resamples, 0))
	mid, along := float64(n-1)/2, float64(n)*(float64(n)*float64(n)-1)/12
	for i := range figures {
		across := 0.0
		for at := 0; at < n; at += block {
			from := r.IntN(n)
			for j := at; j < min(at+block, n); j++ {
				across += (float64(j) - mid) * noise[(from+j-at)%n]
			}
		}
		figures[i] = slope + widen*across/along
	}
	return percentileInterval(figures, level, blocks-1)
}

// residuals are what is left of a series without its line.
func residuals(series []float64, slope float64) []float64 {
	mid, mean := float64(len(series)-1)/2, Mean(series)
	rest := make([]float64, len(series))
	for i, y := range series {
		rest[i] = y - mean - slope*(float64(i)-mid)
	}
	return rest
}

// Autocorrelation is that of a series with itself so many steps later, NaN
// where it does not vary.
func Autocorrelation(series []float64, lag int) float64 {
	mean := Mean(series)
	across, along := 0.0, 0.0
	for i, y := range series {
		along += (y - mean) * (y - mean)
		if i >= lag {
			across += (y - mean) * (series[i-lag] - mean)
		}
	}
	if along == 0 {
		return math.NaN()
	}
	return across / along
}

// IndexOfDispersion is the variance over the mean of how many of the ascending
// times fall into each whole window from 0 to the last of them: 1 for Poisson
// arrivals, more for bursts, 0 for a metronome. It is NaN below two windows.
func IndexOfDispersion(times []int64, window int64) float64 {
	if len(times) == 0 || window <= 0 || times[len(times)-1]/window < 2 {
		return math.NaN()
	}
	counts := make([]float64, times[len(times)-1]/window)
	for _, t := range times {
		if i := t / window; i >= 0 && i < int64(len(counts)) {
			counts[i]++
		}
	}
	return Variance(counts) / Mean(counts)
}
