package account

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

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

// sections are what parts of the window say of figures.
type sections struct {
	errors metric.StandardErrors
	tenths map[string][]float64
}

// put takes in the error of a figure, and what the tenths have of it.
func (s *sections) put(name string, value float64, tenths []float64) {
	if stats.Finite(value) == nil {
		return
	}
	s.errors[name] = round(value)
	f, err := fig.Parse(name, fig.Compare)
	if err != nil || f.Share() || !slices.Contains(f.Compared, f.Stat) && f.Spread() || len(f.Compared) == 0 {
		return
	}
	list := make([]float64, len(tenths))
	for i, v := range tenths {
		if stats.Finite(v) == nil {
			return
		}
		list[i] = round(v)
	}
	s.tenths[name] = list
}

// digest sums up which requests were due, whatever their order.
type digest struct {
	sum     uint64
	unnamed bool // some belong to no session: they might be any
}

func (d *digest) add(r *record.Record) {
	d.unnamed = d.unnamed || r.Session == 0
	one := uint64(0)
	for _, n := range []int{r.Session, r.Turn, r.AskedPrompt, r.AskedOutput} {
		one = stats.Scramble(one + uint64(n) + 1)
	}
	d.sum += one
}

// sections gives the standard errors of every figure that comparisons may judge, and
// what each tenth of the window had of those that they judge unasked.
func (v view) sections() (metric.StandardErrors, *metric.Tenths) {
	s := &sections{metric.StandardErrors{}, map[string][]float64{}}
	for _, f := range fig.All {
		switch {
		case !f.Can(fig.Compare):
		case jobFigures[f.Name] != nil:
			v.jobErrors(s, f)
		case isGap(f.Name):
			if l := v.gaps.everything; f.Name == "icl" || l.mostlyKnown() {
				v.gapErrors(s, f.Name, map[string]tally{"icl": l.icl[asMeasured], "itl": l.itl[asMeasured]}[f.Name])
			}
		case f.Spread():
			if own, ok := judgedFigure[f.Name]; ok {
				v.latencyErrors(s, f.Name, func(yield func(place, float64) bool) {
					for q := range v.requests.all {
						if ns := q.at(own, asMeasured); ns == ns && !yield(q.place, ns/1e6) {
							return
						}
					}
				})
			}
		case f.Interval == fig.ByCount || f.Interval == fig.ByCrowds && v.judgesGood:
			v.shareError(s, f, func(yield func(place, bool) bool) {
				for q := range v.requests.all {
					if q.counts(f.Name) && !yield(q.place, shareOf[f.Name](q, asMeasured)) {
						return
					}
				}
			})
		}
	}
	v.throughputError(s)
	if len(s.errors) == 0 {
		return nil, nil
	}
	if v.digest.unnamed || len(s.tenths) == 0 {
		return s.errors, nil
	}
	return s.errors, &metric.Tenths{Requests: fmt.Sprintf("%016x", v.digest.sum), Values: s.tenths}
}

// latencyErrors are those of the mean and the percentiles of a figure, by its
// values in ms.
func (v view) latencyErrors(s *sections, name string, values iter.Seq2[place, float64]) {
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
	meanTenths := ratios(sums.parts(tenths), sizes.parts(tenths))
	s.put(name+":mean", max(logError(mean, ratios(sums.parts(halves), sizes.parts(halves)), meanTenths), groupError(sums.groups, sizes.groups, mean)/mean), meanTenths)
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
		inTenths := quantiles(byTenth, p)
		s.put(name+":"+metric.PercentileKey(percent), max(logError(quantile, quantiles(byHalf, p), inTenths),
			math.Log(all.quantile(p+share)/all.quantile(p-share))/2), inTenths)
	}
}

// gapErrors are those of gaps, of which sessions are not kept.
func (v view) gapErrors(s *sections, name string, gaps tally) {
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
	s.put(name+":mean", logError(all.mean, means(byHalf), means(byTenth)), means(byTenth))
	for _, percent := range v.o.percentiles() {
		p := percent / 100
		inTenths := quantiles(byTenth, p)
		s.put(name+":"+metric.PercentileKey(percent), logError(all.quantile(p), quantiles(byHalf, p), inTenths), inTenths)
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
func (v view) shareError(s *sections, f *fig.Figure, values iter.Seq2[place, bool]) {
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
	inTenths := ratios(hits.parts(tenths), sizes.parts(tenths))
	s.put(fig.Statistic{Figure: f, Stat: f.Stat}.String(), max(
		sectionError(share, ratios(hits.parts(parts), sizes.parts(parts)), inTenths), groupError(hits.groups, sizes.groups, share)), inTenths)
}

// throughputError is that of output tokens per second. The number of sessions is
// chance where they arrive at random, and each brings all its turns.
func (v view) throughputError(s *sections) {
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
	s.put("throughput", found, per(tenths))
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
	return math.Sqrt(squares/(k*(k-1))) * stats.Widening(tenths)
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
