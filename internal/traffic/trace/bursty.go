package trace

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"redline/internal/stats"
	"redline/internal/text"
)

// maxMinutes bounds what a fit remembers of the rate over time: 70 days.
const maxMinutes = 100_000

// Bursty is a doubly stochastic arrival process. Each minute has its rate;
// around it the number of arrivals varies by chance; and within the minute
// they crowd: it is cut into parts whose weights are drawn at random, and each
// part again, down to a tenth of a second.
//
// The cascade, rather than one noisy rate, lets bursts of every length be as
// strong as they were: the second moment of counts in a window is that of the
// window around it times that of the part's weight, so each level is fitted by
// itself, and exactly.
type Bursty struct {
	// Rates are requests per minute. After the last the first comes again.
	Rates []float64 `yaml:"per_minute"`
	// Chance is the variance of a minute's arrivals over their number, given
	// its rate: 1 is Poisson's, 0 gives the rate itself.
	Chance float64 `yaml:"chance"`
	// Evenness is the gamma shape of gaps within a part: 1 is Poisson's, more
	// is more even.
	Evenness float64 `yaml:"evenness"`
	Levels   []Level `yaml:"bursts,omitempty"`
	// Dispersion is that of the log: variance over mean of arrivals in windows
	// of a second and of a minute, absent where it is too short to tell.
	Dispersion1s  *float64 `yaml:"dispersion_1s,omitempty"`
	Dispersion60s *float64 `yaml:"dispersion_60s,omitempty"`
}

// Level cuts each part of the level above into Parts. The weights of these
// have a symmetric Dirichlet distribution; a Crowding of 0 makes them equal,
// and 1 puts everything into one of them.
type Level struct {
	Parts    int     `yaml:"parts"`
	Crowding float64 `yaml:"crowding"`
}

// parts are the levels of every fit: tens of seconds, seconds, tenths.
var parts = []int{6, 10, 10}

// fitArrivals fits the process to ascending times from 0 in a log of that span.
func fitArrivals(times []int64, span int64) (*Bursty, error) {
	minutes := int(span / int64(time.Minute))
	if minutes > maxMinutes {
		return nil, fmt.Errorf("the logs span %v; must be at most %d days; cut them", time.Duration(span), maxMinutes/1440)
	}
	b := &Bursty{Chance: 1, Evenness: 1,
		Dispersion1s: dispersionOf(times, time.Second), Dispersion60s: dispersionOf(times, time.Minute)}
	if minutes == 0 {
		// A log of less than a minute tells its rate and no more, and one of
		// less than a second not even that.
		rate := float64(len(times))
		if span > int64(time.Second) {
			rate = max(1, rate-1) * float64(time.Minute) / float64(span)
		}
		b.Rates = []float64{text.Round(rate, 6)}
		return b, nil
	}
	counts := countIn(times, int64(time.Minute), minutes)
	b.fitRates(counts)
	b.fitLevels(times, minutes)
	return b, nil
}

// countIn counts times in n windows from 0.
func countIn(times []int64, window int64, n int) []float64 {
	counts := make([]float64, n)
	for _, t := range times {
		i := t / window
		if i >= int64(n) {
			break
		}
		counts[i]++
	}
	return counts
}

// fitRates takes what chance adds to the variance of a minute's arrivals out
// of the rates, by drawing them towards their mean: otherwise it would be
// there twice.
func (b *Bursty) fitRates(counts []float64) {
	mean, variance := stats.Mean(counts), stats.Variance(counts)
	keep := 1.0
	if len(counts) > 1 && variance > 0 {
		b.Chance = min(1, variance/mean)
		keep = math.Sqrt(max(0, variance-b.Chance*mean) / variance)
	} else if len(counts) > 1 {
		b.Chance = 0
	}
	b.Chance = round(b.Chance, 4)
	for _, c := range counts {
		b.Rates = append(b.Rates, text.Round(mean+keep*(c-mean), 6))
	}
}

// fitLevels compares the pairs that fall into a window with those in a part of
// it: their ratio is the second moment of the part's weight.
func (b *Bursty) fitLevels(times []int64, minutes int) {
	window, n := int64(time.Minute), int64(minutes)
	above := countWindows(times, window, n).pairs()
	for _, m := range parts {
		window, n = window/int64(m), n*int64(m)
		counts := countWindows(times, window, n)
		within := counts.pairs()
		crowding := 0.0
		if above > 0 {
			// m times a weight's mean square is 1/m when the parts are equal
			// and 1 when all is in one of them.
			square := within / above * float64(m)
			crowding = (square*float64(m) - 1) / float64(m-1)
		}
		b.Levels = append(b.Levels, Level{m, round(min(max(crowding, 0), 1), 6)})
		if window == int64(time.Second) {
			b.Evenness = round(evenness(counts.mean(), counts.variance()), 3)
		}
		above = within
	}
}

// evenness is the gamma shape of gaps whose counts have the given mean and
// variance, by the variance of a renewal process with more than a few arrivals
// in a window.
func evenness(mean, variance float64) float64 {
	if mean <= 0 || !(variance < mean) {
		return 1
	}
	low, high := 1.0, 1000.0
	for range 60 {
		k := (low + high) / 2
		if mean/k+(1-1/(k*k))/6 > variance {
			low = k
		} else {
			high = k
		}
	}
	return low
}

// mean is the mean number of requests per second.
func (b *Bursty) mean() float64 { return stats.Mean(b.Rates) / 60 }

// Times gives when sessions begin, in nanoseconds, ascending and without end: the
// same for the same seed, and new ones each time the minutes come round again. It
// is nil for a workload without arrivals.
func (f *FittedWorkload) Times(seed uint64) iter.Seq[int64] {
	if f.Converses() {
		return f.Sessions.Arrivals.times(seed)
	}
	return f.RequestTimes(seed)
}

// RequestTimes gives when requests come, as Times does: later turns of sessions
// are among them.
func (f *FittedWorkload) RequestTimes(seed uint64) iter.Seq[int64] { return f.Arrivals.times(seed) }

func (b *Bursty) times(seed uint64) iter.Seq[int64] {
	if b == nil || !(b.mean() > 0) {
		return nil
	}
	return func(yield func(int64) bool) {
		const last = math.MaxInt64/int64(time.Minute) - 1
		for minute := int64(0); minute < last; minute++ {
			rate := b.Rates[minute%int64(len(b.Rates))]
			r := stats.Rand(seed, "fitted", uint64(minute))
			for _, place := range b.minute(rate, r) {
				if !yield(minute*int64(time.Minute) + int64(place*float64(time.Minute))) {
					return
				}
			}
		}
	}
}

// minute gives the places of one minute's arrivals within it, from 0 to 1.
func (b *Bursty) minute(rate float64, r *rand.Rand) []float64 {
	weights := []float64{1} // of each of the smallest parts of the cascade
	for _, level := range b.Levels {
		next := make([]float64, 0, len(weights)*level.Parts)
		for _, w := range weights {
			next = append(next, level.split(w, r)...)
		}
		weights = next
	}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	certain := math.Floor(rate * (1 - b.Chance)) // the rest is drawn by Poisson
	n := int(certain)
	for left := rate - certain - r.ExpFloat64(); left > 0; left -= r.ExpFloat64() {
		n++
	}
	gap := r.ExpFloat64
	if b.Evenness > 1 {
		gap = func() float64 { return stats.Gamma(r, b.Evenness) }
	}
	places := spacings(n, total, gap)
	cell, before, width := 0, 0.0, 1/float64(len(weights))
	for i, p := range places {
		for cell < len(weights)-1 && p >= before+weights[cell] {
			before += weights[cell]
			cell++
		}
		share := 0.0
		if weights[cell] > 0 {
			share = min((p-before)/weights[cell], 1)
		}
		places[i] = min((float64(cell)+share)*width, 1-1e-12)
	}
	return places
}

// split divides a weight among the parts of a level.
func (l Level) split(weight float64, r *rand.Rand) []float64 {
	list := make([]float64, l.Parts)
	sum := 0.0
	if weight > 0 && l.Crowding > 0 && l.Crowding < 1 {
		// The mean square of a weight among m is (a+1)/(m(ma+1)).
		shape := (1 - l.Crowding) / (float64(l.Parts) * l.Crowding)
		for i := range list {
			list[i] = stats.Gamma(r, shape)
			sum += list[i]
		}
	}
	switch {
	case sum > 0:
		for i := range list {
			list[i] *= weight / sum
		}
	case l.Crowding > 0:
		// Shapes so small that every draw is 0 put all into one part.
		list[r.IntN(l.Parts)] = weight
	default:
		for i := range list {
			list[i] = weight / float64(l.Parts)
		}
	}
	return list
}
