package account

import (
	"math"
	"math/rand/v2"

	"redline/internal/judge/metric"
	"redline/internal/stats"
)

// judgeSettling judges whether the window was steady. It says nothing of a window
// that is too short to tell. A level that does not move is sometimes cut deep
// by chance, so the slope must agree, where it can be known. Where requests end
// ever more seldom the level may stand still, as in a closed loop whose requests
// hang: that is not steady either, and has nothing to settle.
func judgeSettling(w *metric.Window, inFlight *spans, endings []float64, service float64, seed uint64) {
	series := inFlight.perSecond()
	cut, ok := stats.MSER5(series)
	if !ok {
		return
	}
	steady := 2*cut <= len(series)
	if !steady {
		lo, hi := slopeInterval(series, service, stats.Rand(seed, "metric settling", 0))
		steady = !math.IsInf(lo, -1) && lo <= 0 && hi >= 0
	}
	w.Steady, w.SettledS = &steady, new(float64(cut))
	if steady && fades(endings, service, stats.Rand(seed, "metric fading", 0)) {
		*w.Steady, w.SettledS = false, nil
	}
}

// fades reports whether the line through what ended each second falls by its
// mean or more over the window, as it does where it ends before five sixths of
// it, and chance is excluded.
func fades(endings []float64, service float64, r *rand.Rand) bool {
	if fall := -stats.Slope(endings) * float64(len(endings)); !(fall > 0 && fall >= stats.Mean(endings)) {
		return false
	}
	_, hi := slopeInterval(endings, service, r)
	return hi < 0
}

// overloadShare is the growth, as a share of the requests due, that a steady
// server seldom shows. At 120 % of capacity the queue keeps a sixth of them; in
// a minute of 500 requests of scattered lengths that sixth is uncertain by 6 %,
// so that a larger share would miss one overload in ten.
const overloadShare = 0.05

// overloadSwing is how far a level wanders by chance, in roots of its mean: that
// of requests which come at random and wait for nobody is spread by one root,
// and a short window may catch it at its lowest and its highest.
const overloadSwing = 3

// judgeGrowth judges whether the queue grew. It looks at requests that were due
// and had not ended, wherever they waited: under a cap the queue of a server
// that cannot keep up stands on our side.
func judgeGrowth(w *metric.Window, inSystem *spans, due int, service float64, seed uint64) {
	series := inSystem.perSecond()
	slope := stats.Slope(series)
	if math.IsNaN(slope) {
		return
	}
	growth := round(slope * float64(len(series)))
	overload := growth > max(overloadShare*float64(due), overloadSwing*math.Sqrt(stats.Mean(series)))
	w.Growth = &growth
	if overload {
		lo, _ := slopeInterval(series, service, stats.Rand(seed, "metric slope", 0))
		if math.IsInf(lo, -1) {
			return // it grew, and the window is too short to exclude chance
		}
		overload = lo > 0
	}
	w.Overload = &overload
}

// minTurnovers is how many times over a server must have had the time to
// serve all that it holds before its level says something. It is also the
// fewest blocks.
const minTurnovers = 6

// slopeInterval bounds the slope of a level by blocks of twice the service
// time, which is how long the level remembers, or shorter ones where six of
// those do not fit. Where six service times do not fit it is unbounded.
func slopeInterval(series []float64, service float64, r *rand.Rand) (lo, hi float64) {
	if minTurnovers*service > float64(len(series))*second {
		return math.Inf(-1), math.Inf(1)
	}
	block := min(int(math.Ceil(2*service/second)), len(series)/minTurnovers)
	return stats.SlopeInterval(series, max(block, 1), confidence, resamples, r)
}

// briefBelow is how many independent stretches a window must hold for each unit
// by which the requests in flight vary more than they would without a queue.
// Below it, M/M/1 at 95 % of its capacity is found in a minute two times in
// three, and at 80 % once in a hundred.
const briefBelow = 2

// levelPoints is how finely a level is looked at for what it remembers.
const levelPoints = 300

// judgeWindow asks what verdicts need to know: whether the queue grew, and whether the
// window is short for it. Where the rate changes by plan neither can be told.
func judgeWindow(w *metric.Window, c *collector, due int) {
	if w.Varies {
		return
	}
	judgeGrowth(w, &c.inSystem, due, c.meanService(), c.o.Seed)
	if c.o.InFlight != nil {
		w.Brief = brief(c.o.InFlight.series(c.o.Start, c.o.End))
	} else {
		w.Brief = brief(c.inFlight.series((c.o.End - c.o.Start) / levelPoints))
	}
}

// brief reports whether the requests in flight moved too slowly for the window.
// Independent stretches are the window over twice the time that the level
// remembers: the sum of its autocorrelation up to where that is 0.
func brief(series []float64) bool {
	mean, variance := stats.Mean(series), stats.Variance(series)
	if !(mean > 0 && variance > 0) {
		return false
	}
	memory := 0.5
	for lag := 1; lag < len(series); lag++ {
		r := stats.Autocorrelation(series, lag)
		if !(r > 0) {
			break
		}
		memory += r
	}
	return float64(len(series))/(2*memory) < briefBelow*variance/mean
}
