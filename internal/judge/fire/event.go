package fire

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/stats"
)

// Happening is something that was made to happen while a load went on, in ns from
// the run's origin.
type Happening struct {
	Action   string
	At, Took int64
	Failed   string
}

// Window keeps what events are judged by: the requests due in the measured window.
type Window struct {
	// Start and End bound it; Good says whether a request kept its objectives.
	Start, End int64
	Good       func(*record.Record) bool

	requests []request
	signs    []int64 // when a reply began, or ended well
	due      int
}

type request struct {
	due, sent, first, end int64
	good                  bool
	outcome               llm.Outcome
	tries, reconnects     int
}

// Add takes in one request, whenever it was due.
func (w *Window) Add(r *record.Record) {
	if r.First != 0 {
		w.signs = append(w.signs, r.First)
	}
	if r.Outcome == llm.OK {
		w.signs = append(w.signs, r.End)
	}
	if r.Due < w.Start || r.Due >= w.End {
		return
	}
	w.due++
	if c := r.Outcome.Count(); c.Judged == llm.Outside || c.Unfinished && r.Sent == 0 {
		return
	}
	w.requests = append(w.requests, request{r.Due, r.Sent, r.First, r.End, w.Good(r), r.Outcome, r.Try, r.Reconnects})
}

// Judge gives what became of each event.
func (w *Window) Judge(list []Happening) *result.Fire {
	slices.SortFunc(w.requests, func(a, b request) int { return cmp.Compare(a.due, b.due) })
	slices.Sort(w.signs)
	slices.SortFunc(list, func(a, b Happening) int { return cmp.Compare(a.At, b.At) })
	fire := &result.Fire{}
	lost := 0
	for i, h := range list {
		until := w.End
		if i+1 < len(list) {
			until = list[i+1].At
		}
		fire.Events = append(fire.Events, w.judge(h, until))
		lost += fire.Events[i].Lost
	}
	fire.RecoveryMS = longest(fire.Events)
	fire.LostRate = float64(lost) / float64(max(1, w.due))
	return fire
}

// longest is the longest recovery in ms. One that had not ended at the next event ends
// with that event's: a server that is stopped has recovered once it is started. It is
// nil where the last did not end.
func longest(list []result.Event) (ms *float64) {
	total := math.NaN()
	for i, e := range slices.Backward(list) {
		if e.RecoveryS != nil {
			total = *e.RecoveryS
		} else if i+1 < len(list) {
			total += list[i+1].AtS - e.AtS
		}
		if math.IsNaN(total) {
			return nil
		}
		if ms == nil || total*1e3 > *ms {
			ms = new(total * 1e3)
		}
	}
	return ms
}

func (w *Window) judge(h Happening, until int64) result.Event {
	seconds := func(ns int64) float64 { return float64(ns) / 1e9 }
	e := result.Event{AtS: seconds(h.At - w.Start), Action: h.Action, TookS: seconds(h.Took), Failed: h.Failed, UntilS: seconds(until - w.Start)}
	from, _ := slices.BinarySearchFunc(w.requests, h.At, func(r request, at int64) int { return cmp.Compare(r.due, at) })
	to, _ := slices.BinarySearchFunc(w.requests, until, func(r request, at int64) int { return cmp.Compare(r.due, at) })
	var before []request // what ended before it, which it cannot have hit
	for _, r := range w.requests[:from] {
		if r.end < h.At {
			before = append(before, r)
		}
	}
	after := w.requests[from:to]
	outage, back := w.outage(h.At, until)
	e.OutageS = seconds(outage)
	k, low, high := boundary(badShare(before), after)
	// When it ended between a request that was hit and the next is not known.
	last := func(k int) float64 {
		if k == 0 {
			return 0
		}
		return seconds(after[k-1].due - h.At)
	}
	next := func(k int) float64 {
		if k == len(after) {
			return seconds(until - h.At)
		}
		return seconds(after[k].due - h.At)
	}
	end := until
	if k < len(after) || len(after) == 0 {
		e.RecoveryS, e.Interval = new((last(k)+next(k))/2), &[2]float64{last(low), next(high)}
		if k == 0 {
			*e.RecoveryS = 0
		}
		end = h.At + int64(next(k)*1e9)
	}
	if k == 0 {
		end = h.At
	}
	// What takes its time, such as a rolling restart, can hit requests to its end, and so
	// can an outage that retries outlast.
	end = max(end, min(h.At+h.Took, until), back)
	e.BeforeS = e.AtS
	for _, r := range w.requests[:to] {
		if r.due < h.At && (r.end < h.At || r.sent == 0 || r.sent > h.At) || r.due >= end {
			continue
		}
		e.Due++
		if r.tries > 1 {
			e.Retried++
		}
		if r.reconnects > 0 {
			e.Repeated++
		}
		if !r.outcome.Count().Fault || until < w.End && r.end >= until {
			continue // what failed at the next event or later is not lost to this one
		}
		e.Lost++
		e.BeforeS = min(e.BeforeS, seconds(r.due-w.Start))
		if r.first != 0 {
			e.Streams++
		}
		if e.LostBy == nil {
			e.LostBy = map[string]int{}
		}
		e.LostBy[string(r.outcome)]++
	}
	e.AsBefore = failsAsBefore(before, e)
	switch {
	case len(after) == 0:
		e.Note = "no request was due after it"
	case e.RecoveryS == nil:
		e.Note = "the objectives did not hold again until the end of the stretch"
	}
	return e
}

// failsAsBefore reports whether requests failed before the event, too, and no more of them
// were lost to it than failed anyway: of both together, each has its share.
func failsAsBefore(before []request, e result.Event) bool {
	const alpha = 0.02
	failed := 0
	for _, r := range before {
		if r.outcome.Count().Fault {
			failed++
		}
	}
	share := float64(e.Due) / float64(max(1, e.Due+len(before)))
	return failed > 0 && e.Lost > 0 && stats.BinomialAtLeast(float64(e.Lost), float64(e.Lost+failed), share) > alpha
}

// badShare is the share of requests that miss an objective, kept off 0 and 1.
func badShare(list []request) float64 {
	bad := 0
	for _, r := range list {
		if !r.good {
			bad++
		}
	}
	return (float64(bad) + 0.5) / (float64(len(list)) + 1)
}

// hits are the shares of requests that may miss an objective while a server is not
// itself: nearly all, or those of one of several replicas.
var hits = []float64{0.8, 0.4, 0.2, 0.1}

// minRatio is how much more likely an event that hit requests must be than one that hit
// none, as a logarithm: failures that come anyway do not look like it in 98% of runs.
const minRatio = 3.9

// boundary is the most likely number of requests behind an event that it hit: those
// miss objectives with one of the chances of hits, the others as often as before it. low
// and high bound the number with 95% confidence, by the ratio of likelihoods.
func boundary(usual float64, list []request) (k, low, high int) {
	const within = 1.92 // half the 95% quantile of chi-square with one degree of freedom
	best, sums := minRatio, []float64(nil)
	for i, hit := range hits {
		if i > 0 && hit < 4*usual {
			break
		}
		if n, ratio, all := likeliestHit(min(usual, hit/2), hit, list); ratio > best {
			best, k, sums = ratio, n, all
		}
	}
	low, high = k, k
	for i, s := range sums {
		if s >= best-within {
			low, high = min(low, i), max(high, i)
		}
	}
	return k, low, high
}

// likeliestHit is the number of requests at which the sum of their logarithms, of the
// chance under a hit over the usual one, is largest; with all sums.
func likeliestHit(usual, hit float64, list []request) (k int, best float64, sums []float64) {
	bad, good := math.Log(hit/usual), math.Log((1-hit)/(1-usual))
	sum := 0.0
	sums = append(sums, 0)
	for i, r := range list {
		if r.good {
			sum += good
		} else {
			sum += bad
		}
		if sums = append(sums, sum); sum > best {
			best, k = sum, i+1
		}
	}
	return k, best, sums
}

// outage is the longest time without a sign of service after at and its end, 0 where
// one before was as long, or chance makes one and nobody asked in vain in it. Long gaps between signs fall off as those between replies do, of which each has
// two: n after the event have one that is longer than the longest of m before it by x
// times the mean of those in n/m * exp(-x) of runs.
func (w *Window) outage(at, until int64) (longest, back int64) {
	const alpha = 0.01
	usual := int64(0)
	m, n := 0, 0
	last := w.Start
	for _, s := range append(slices.Clone(w.signs), until) {
		if s < w.Start || s > until {
			continue
		}
		if s <= at {
			usual = max(usual, s-last)
			m++
		} else {
			n++
			if away := s - max(last, at); away > longest {
				longest, back = away, s
			}
		}
		last = s
	}
	if m > 1 {
		mean := max(2*float64(at-w.Start)/float64(m), float64(usual)/math.Log(float64(m)))
		byChance := float64(longest) <= float64(usual)+mean*math.Log(max(1, float64(n)/float64(m))/alpha)
		if longest <= usual || byChance && !w.askedInVain(back-longest, back) {
			return 0, 0
		}
	}
	return longest, back
}

// askedInVain reports whether a request due in that time failed, or was sent again.
func (w *Window) askedInVain(from, to int64) bool {
	return slices.ContainsFunc(w.requests, func(r request) bool {
		return r.due >= from && r.due < to && (r.tries > 1 || r.outcome.Count().Fault)
	})
}
