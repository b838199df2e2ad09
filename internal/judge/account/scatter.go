package account

import (
	"cmp"
	"iter"
	"math"

	"redline/internal/drive/record"
	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/stats"
)

// How far the next window like this one may lie from it is seen by laying parts
// of the window beside each other. The parts must be long, or what wanders more
// slowly than they last is not in them: latencies, throughput and goodput are
// compared between the two halves. Failures come in episodes, which quarters
// show. Where a tenth of the window resembles the next one, the level wanders,
// and the next window may lie further off than the parts do. Groups of sessions
// are parts too: a slow session is slow all through.
const (
	fineStretches = 20 // a whole number of them is a half, a quarter and a tenth
	halves        = 2
	tenths        = 10
	sessionGroups = 12
	// minTenths is how many tenths must have a value for their correlation to be
	// known, and maxAlike the correlation beyond which it says no more.
	minTenths = 5
	maxAlike  = 0.9
)

// place is where a request stands: its stretch of the window and its group of
// sessions.
type place struct{ stretch, group uint8 }

// placeOf places an event of a record. Records that name no session are each one,
// told apart by when they were due.
func (c *collector) placeOf(r *record.Record, at int64) place {
	return c.placeAt(cmp.Or(int64(r.Session), r.Due), at)
}

func (c *collector) placeAt(session, at int64) place {
	stretch := float64(at-c.o.Start) / float64(c.o.End-c.o.Start) * fineStretches
	return place{uint8(min(max(stretch, 0), fineStretches-1)), uint8(stats.Scramble(uint64(session)) % sessionGroups)}
}

type stretchSums struct {
	stretches [fineStretches]float64
	groups    [sessionGroups]float64
}

func (s *stretchSums) add(p place, n float64) {
	s.stretches[p.stretch] += n
	s.groups[p.group] += n
}

func (s *stretchSums) total() float64 { return sessionGroups * stats.Mean(s.groups[:]) }

// parts joins the stretches into count sums.
func (s *stretchSums) parts(count int) []float64 {
	sums := make([]float64, count)
	for i, n := range s.stretches {
		sums[i*count/fineStretches] += n
	}
	return sums
}

func put(e metric.StandardErrors, name string, value float64) {
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		e[name] = round(value)
	}
}

// standardErrors gives those of every figure that comparisons may judge.
func (v view) standardErrors() metric.StandardErrors {
	errors := metric.StandardErrors{}
	for _, f := range fig.All {
		switch {
		case !f.Can(fig.Compare):
		case jobFigures[f.Name] != nil:
			v.jobErrors(errors, f)
		case isGap(f.Name):
			if l := v.gaps.everything; f.Name == "icl" || l.mostlyKnown() {
				v.gapErrors(errors, f.Name, map[string]tally{"icl": l.icl[asMeasured], "itl": l.itl[asMeasured]}[f.Name])
			}
		case f.Spread():
			if own, ok := judgedFigure[f.Name]; ok {
				v.latencyErrors(errors, f.Name, func(yield func(place, float64) bool) {
					for q := range v.requests.all {
						if ns := q.at(own, asMeasured); ns == ns && !yield(q.place, ns/1e6) {
							return
						}
					}
				})
			}
		case f.Interval == fig.ByCount || f.Interval == fig.ByCrowds && v.judgesGood:
			v.shareError(errors, f, func(yield func(place, bool) bool) {
				for q := range v.requests.all {
					if q.counts(f.Name) && !yield(q.place, shareOf[f.Name](q, asMeasured)) {
						return
					}
				}
			})
		}
	}
	v.throughputError(errors)
	if len(errors) == 0 {
		return nil
	}
	return errors
}

// latencyErrors are those of the mean and the percentiles of a figure, by its
// values in ms.
func (v view) latencyErrors(errors metric.StandardErrors, name string, values iter.Seq2[place, float64]) {
	var keys []uint64
	var sums, sizes stretchSums
	for at, value := range values {
		ms := float32(value)
		keys = append(keys, uint64(math.Float32bits(ms))<<32|uint64(at.stretch)<<8|uint64(at.group))
		sums.add(at, float64(ms))
		sizes.add(at, 1)
	}
	if len(keys) == 0 {
		return
	}
	mean := sums.total() / sizes.total()
	put(errors, name+":mean", max(logError(mean, ratios(sums.parts(halves), sizes.parts(halves)), ratios(sums.parts(tenths), sizes.parts(tenths))),
		groupError(sums.groups, sizes.groups, mean)/mean))
	keys, _ = radixSorted(keys, make([]uint64, len(keys)))
	all, byHalf, byTenth := sample{}, make([]sample, halves), make([]sample, tenths)
	for _, k := range keys {
		value, stretch := math.Float32frombits(uint32(k>>32)), int(k>>8&0xff)
		half, tenth := &byHalf[stretch*halves/fineStretches], &byTenth[stretch*tenths/fineStretches]
		all.sorted, half.sorted, tenth.sorted = append(all.sorted, value), append(half.sorted, value), append(tenth.sorted, value)
	}
	for _, percent := range v.o.percentiles() {
		p := percent / 100
		quantile := all.quantile(p)
		var above stretchSums
		for i := len(keys) - 1; i >= 0 && float64(all.sorted[i]) > quantile; i-- {
			above.groups[keys[i]&0xff]++
		}
		share := groupError(above.groups, sizes.groups, above.total()/sizes.total())
		put(errors, name+":"+metric.PercentileKey(percent), max(logError(quantile, quantiles(byHalf, p), quantiles(byTenth, p)),
			math.Log(all.quantile(p+share)/all.quantile(p-share))/2))
	}
}

// gapErrors are those of gaps, of which sessions are not kept.
func (v view) gapErrors(errors metric.StandardErrors, name string, gaps tally) {
	of := func(from, to int) sample {
		return lateTally{tally: gaps[from*len(gaps)/tenths : to*len(gaps)/tenths]}.sample(&workspace{})
	}
	all, byHalf := of(0, tenths), []sample{of(0, tenths/2), of(tenths/2, tenths)}
	if all.count() == 0 {
		return
	}
	var byTenth []sample
	for i := range tenths {
		byTenth = append(byTenth, of(i, i+1))
	}
	means := func(parts []sample) (list []float64) {
		for _, s := range parts {
			list = append(list, s.mean)
		}
		return list
	}
	put(errors, name+":mean", logError(all.mean, means(byHalf), means(byTenth)))
	for _, percent := range v.o.percentiles() {
		p := percent / 100
		put(errors, name+":"+metric.PercentileKey(percent), logError(all.quantile(p), quantiles(byHalf, p), quantiles(byTenth, p)))
	}
}

// quantiles are those of each part, NaN of one that has no value.
func quantiles(parts []sample, p float64) []float64 {
	list := make([]float64, len(parts))
	for i, s := range parts {
		list[i] = math.NaN()
		if s.count() > 0 {
			list[i] = s.quantile(p)
		}
	}
	return list
}

// shareOf says of which requests a figure counts the share, at one of its ends.
var shareOf = map[string]func(*request, end) bool{
	"good":       func(q *request, e end) bool { return q.good[e] },
	"error":      func(q *request, _ end) bool { return q.outcome.Count() == llm.Failures },
	"reject":     func(q *request, _ end) bool { return q.outcome.Count() == llm.Rejections },
	"fault":      func(q *request, _ end) bool { return q.outcome.Count().Fault },
	"unfinished": func(q *request, _ end) bool { return q.outcome == llm.Censored || q.outcome == llm.Unsent },
	"retry":      func(q *request, _ end) bool { return q.retried },
	"calls_ok":   func(q *request, _ end) bool { return q.keepsCheck("calls_ok") },
	"schema_ok":  func(q *request, _ end) bool { return q.keepsCheck("schema_ok") },
}

// shareError is that of a share, by what is in it and what is not.
func (v view) shareError(errors metric.StandardErrors, f *fig.Figure, values iter.Seq2[place, bool]) {
	var hits, sizes stretchSums
	for at, hit := range values {
		sizes.add(at, 1)
		if hit {
			hits.add(at, 1)
		}
	}
	if sizes.total() == 0 {
		return
	}
	share, parts := hits.total()/sizes.total(), f.Parts()
	put(errors, fig.Statistic{Figure: f, Stat: f.Stat}.String(), max(
		sectionError(share, ratios(hits.parts(parts), sizes.parts(parts)), ratios(hits.parts(tenths), sizes.parts(tenths))),
		groupError(hits.groups, sizes.groups, share)))
}

// throughputError is that of output tokens per second. The number of sessions is
// chance where they arrive at random, and each brings all its turns.
func (v view) throughputError(errors metric.StandardErrors) {
	tokens := v.arrived.places
	if tokens.total() == 0 {
		return
	}
	mean := tokens.total() / fineStretches
	per := func(count int) []float64 {
		sums := tokens.parts(count)
		for i := range sums {
			sums[i] /= float64(fineStretches / count)
		}
		return sums
	}
	found := logError(mean, per(halves), per(tenths))
	if len(v.naming.names[byTurn]) > 1 {
		found = max(found, math.Sqrt(sessionGroups*stats.Variance(tokens.groups[:]))/tokens.total())
	}
	put(errors, "throughput", found)
}

func ratios(sums, sizes []float64) []float64 {
	list := make([]float64, len(sums))
	for i := range sums {
		list[i] = sums[i] / sizes[i]
	}
	return list
}

// logError is the error of a figure whose parts are compared by ratio.
func logError(whole float64, parts, tenths []float64) float64 {
	return sectionError(math.Log(whole), logs(parts), logs(tenths))
}

func logs(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = math.Log(v)
	}
	return list
}

// sectionError is the standard error of a figure by those of its parts
// (sectioning: the parts are laid around the whole), wider where tenths of the
// window resemble their neighbors. It is NaN where a part lacks the figure.
func sectionError(whole float64, parts, tenths []float64) float64 {
	squares := 0.0
	for _, v := range parts {
		squares += (v - whole) * (v - whole)
	}
	k := float64(len(parts))
	alike := min(max(likeness(tenths), 0), maxAlike)
	return math.Sqrt(squares/(k*(k-1))) * (1 + alike) / (1 - alike)
}

// likeness is the correlation of neighbors in a short series, without the bias
// of a level that is not known. A series of which too little is known says
// nothing.
func likeness(series []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range series {
		if stats.Finite(v) != nil {
			sum, n = sum+v, n+1
		}
	}
	if n < minTenths {
		return math.NaN()
	}
	mean, products, squares := sum/n, 0.0, 0.0
	for i, v := range series {
		if stats.Finite(v) == nil {
			continue
		}
		squares += (v - mean) * (v - mean)
		if i > 0 && stats.Finite(series[i-1]) != nil {
			products += (v - mean) * (series[i-1] - mean)
		}
	}
	if squares == 0 {
		return 0
	}
	return products/squares + 1/n
}

// groupError is the standard error of Σ sums / Σ sizes where whole groups of
// sessions are drawn.
func groupError(sums, sizes [sessionGroups]float64, ratio float64) float64 {
	squares, total := 0.0, 0.0
	for i := range sums {
		rest := sums[i] - ratio*sizes[i]
		squares += rest * rest
		total += sizes[i]
	}
	return math.Sqrt(squares*sessionGroups/(sessionGroups-1)) / total
}
