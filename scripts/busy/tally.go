//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/stats"
	"redline/internal/text"
)

// slack is what a true value may lie outside the ends: the way over loopback,
// which is in figures that begin with the request, and stamps in whole
// microseconds on both sides.
func slack(figure string, v float64) float64 {
	ms := 0.1
	if strings.HasPrefix(figure, "ttft") || strings.HasPrefix(figure, "e2e") {
		ms = 0.3
	}
	return max(ms, 0.01*v)
}

// covered reports whether the truth lies between the ends.
func (r reading) covered(figure string) bool {
	s := slack(figure, r.True)
	return r.True >= r.Low-s && r.True <= r.High+s
}

// alone is the reading as if it had no ends.
func (r reading) alone() reading {
	r.Low, r.High = r.Measured, r.Measured
	return r
}

// width is how far the ends are apart, as a share of what was measured.
func (r reading) width() float64 { return (r.High - r.Low) / r.Measured }

// share counts how often something was so.
type share struct{ is, all int }

func (s *share) add(is bool) {
	s.all++
	if is {
		s.is++
	}
}

func (s share) value() float64 { return float64(s.is) / float64(s.all) }

func (s share) String() string {
	if s.all == 0 {
		return "–"
	}
	return percent(s.value())
}

func percent(v float64) string { return text.Percentage(fmt.Sprintf("%.1f", 100*v)) }

// wrong counts verdicts by a truth: those of limits that the truth exceeds and
// that are called met, and the reverse.
type wrong struct{ met, missed share }

// add takes in a verdict whose figure is truly this.
func (w *wrong) add(v verdict, called bool, truth float64) {
	switch {
	case truth > v.Limit:
		w.met.add(called && v.Standing == slo.Met)
	case truth < v.Limit:
		w.missed.add(called && v.Standing == slo.Missed)
	}
}

// ends is how well the ends of figures did.
type ends struct {
	covered share
	widths  []float64
}

// spread is the median and the p90 of the widths.
func (e *ends) spread() string {
	sorted := slices.Sorted(slices.Values(e.widths))
	return percent(stats.Quantile(sorted, 0.5)) + ", " + percent(stats.Quantile(sorted, 0.9))
}

// tally is what a table says of some runs.
type tally struct {
	ends  map[string]map[string]*ends // by figure and percentile
	alone share
	// same judges verdicts by the truth of the same requests, every by that of
	// all runs of the load.
	same, every wrong
	decided     share
	exits       map[int]int
	invalid     map[string]int // runs, by check
	absent      map[string]int // percentiles that were not given, by figure
	held, steal []float64      // shares of the window
	lag         []float64
	runs        int
}

func newTally() *tally {
	t := &tally{ends: map[string]map[string]*ends{}, exits: map[int]int{}, invalid: map[string]int{}, absent: map[string]int{}}
	for _, name := range figureNames {
		t.ends[name] = map[string]*ends{}
		for _, at := range percentiles {
			t.ends[name][at.key] = &ends{}
		}
	}
	return t
}

// add takes in one run.
func (t *tally) add(o outcome, typical typicals) {
	t.runs++
	t.exits[o.Exit]++
	if o.Valid == result.Invalid {
		for _, reason := range o.Reasons {
			check, _, _ := strings.Cut(reason, ":")
			t.invalid[check]++
		}
	}
	if o.Figures == nil {
		return
	}
	t.held, t.steal, t.lag = append(t.held, o.Held), append(t.steal, o.Steal), append(t.lag, o.LagP99)
	for _, name := range figureNames {
		for _, at := range percentiles {
			r, given := o.Figures[name][at.key]
			if !given {
				t.absent[name]++
				continue
			}
			e := t.ends[name][at.key]
			e.covered.add(r.covered(name))
			e.widths = append(e.widths, r.width())
			t.alone.add(r.alone().covered(name))
		}
	}
	for _, v := range o.Verdicts {
		r, given := o.Figures[truly(v.Figure)][v.Percentile]
		if !given {
			continue
		}
		called := o.Valid != result.Invalid
		t.decided.add(called && (v.Standing == slo.Met || v.Standing == slo.Missed))
		t.same.add(v, called, r.True)
		t.every.add(v, called, typical.of(o, truly(v.Figure), v.Percentile))
	}
}

// truly is the figure that an objective means: the form from due.
func truly(figure string) string {
	if figure == "ttft" || figure == "e2e" {
		return figure + "_due"
	}
	return figure
}

// at is the ends of all figures at a percentile.
func (t *tally) at(key string) *ends {
	all := &ends{}
	for _, of := range t.ends {
		all.covered.is, all.covered.all = all.covered.is+of[key].covered.is, all.covered.all+of[key].covered.all
		all.widths = append(all.widths, of[key].widths...)
	}
	return all
}

// typicals are the means of true percentiles over all runs of a load and a
// setting, with and without stamps.
type typicals map[string][]float64

func typicalKey(o outcome, figure, percentile string) string {
	return strings.Join([]string{o.Setting, o.Load, figure, percentile}, "/")
}

func newTypicals(all []outcome) typicals {
	t := typicals{}
	for _, o := range all {
		for name, of := range o.Figures {
			for key, r := range of {
				t[typicalKey(o, name, key)] = append(t[typicalKey(o, name, key)], r.True)
			}
		}
	}
	return t
}

func (t typicals) of(o outcome, figure, percentile string) float64 {
	sum, values := 0.0, t[typicalKey(o, figure, percentile)]
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
