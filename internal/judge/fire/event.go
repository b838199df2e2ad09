package fire

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
)

// Happening is something that was made to happen while a load went on, in ns from
// the run's origin.
type Happening struct {
	Action   string
	At, Took int64
	Failed   string
	Undone   bool // it did not happen, or not all of it
}

// Window keeps what events are judged by: the requests due in the measured window.
type Window struct {
	// Start and End bound it; Good says whether a request kept its objectives: as it was
	// measured, and as it may have been at best and at worst without what its machine did.
	// Late is when a request was certain to miss one, 0 where it was not before its end.
	Start, End int64
	Good       func(*record.Record) [3]bool
	Late       func(*record.Record) int64

	requests []request
	signs    []int64 // when a reply began, or ended well
	due      int
	hit      []span // what earlier events did
}

type request struct {
	due, sent, first, end int64
	good                  [3]bool
	outcome               llm.Outcome
	tries, reconnects     int
	replica               string // by its name or its address
	decided               int64  // when its fate was certain
}

// failedFrom reports whether it failed at a time or later: not by what happened before.
func (r request) failedFrom(at int64) bool { return r.end >= at && r.outcome.Count().Fault }

type span struct{ from, to int64 }

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
	// What redline itself ended had service if it had begun to be answered.
	if c := r.Outcome.Count(); c.Judged == llm.Outside || c.Unfinished && (r.Sent == 0 || r.First != 0) {
		return
	}
	one := request{r.Due, r.Sent, r.First, r.End, w.Good(r), r.Outcome, r.Try, r.Reconnects, cmp.Or(r.Served.Replica, r.Addr), r.End}
	if w.Late != nil {
		one.decided = cmp.Or(w.Late(r), r.End)
	}
	w.requests = append(w.requests, one)
}

// Judge gives what became of each event. One that comes before the objectives hold again
// after another is judged together with that.
func (w *Window) Judge(list []Happening) *result.Fire {
	slices.SortFunc(w.requests, func(a, b request) int { return cmp.Compare(a.due, b.due) })
	slices.Sort(w.signs)
	slices.SortStableFunc(list, func(a, b Happening) int { return cmp.Compare(a.At, b.At) })
	fire := &result.Fire{Missed: countBad(w.requests)}
	for len(list) > 0 {
		s := w.nextStretch(list)
		fire.Events = append(fire.Events, s.judge()...)
		list = list[len(s.events):]
	}
	lost, hit := 0, 0
	for _, e := range fire.Events {
		lost += e.Lost
		hit += e.Missed
	}
	fire.MissedElsewhere = fire.Missed - hit
	fire.LostRate = float64(lost) / float64(max(1, w.due))
	fire.RecoveryMS, fire.RecoveryInterval = longest(fire.Events)
	return fire
}

// longest is the longest recovery in ms with its interval, nil where one did not end.
func longest(list []result.Event) (ms *float64, interval *[2]float64) {
	ms, interval = new(0.0), new([2]float64)
	for _, e := range list {
		if e.RecoveryS == nil {
			return nil, nil
		}
		*ms = max(*ms, *e.RecoveryS*1e3)
		interval[0], interval[1] = max(interval[0], e.Interval[0]*1e3), max(interval[1], e.Interval[1]*1e3)
	}
	return ms, interval
}

// stretch is the time from an event to the next that finds the objectives held again, or
// to the end of the window.
type stretch struct {
	*Window
	events        []Happening
	until         int64
	before, after []request // what was decided before it and no event hit, and what was due in it
}

// nextStretch begins with the first event of a list. An event belongs to it that comes before
// the recovery, and one for which it is not known, where requests go on to be hit behind it.
func (w *Window) nextStretch(list []Happening) *stretch {
	s := &stretch{Window: w}
	for _, r := range w.dueIn(w.Start, list[0].At) {
		if r.decided < list[0].At && !slices.ContainsFunc(w.hit, func(h span) bool { return r.due >= h.from && r.due < h.to }) {
			s.before = append(s.before, r)
		}
	}
	extend := func(n int) {
		if s.events, s.until = list[:n], w.End; n < len(list) {
			s.until = list[n].At
		}
		s.after = slices.DeleteFunc(slices.Clone(w.dueIn(list[0].At, s.until)), func(r request) bool { return s.until < w.End && r.failedFrom(s.until) })
	}
	for n := 1; ; n++ {
		extend(n)
		if n == len(list) {
			return s
		}
		due := len(s.after)
		k, _, high := s.boundary(asMeasured)
		if extend(n + 1); k == due && k > 0 {
			continue
		}
		if further, _, _ := s.boundary(asMeasured); high < due || further <= due {
			extend(n)
			return s
		}
	}
}

// dueIn are the requests that were due in a time.
func (w *Window) dueIn(from, to int64) []request {
	find := func(at int64) int {
		i, _ := slices.BinarySearchFunc(w.requests, at, func(r request, at int64) int { return cmp.Compare(r.due, at) })
		return i
	}
	return w.requests[find(from):max(find(from), find(to))]
}

func (w *Window) seconds(at int64) float64 { return float64(at-w.Start) / 1e9 }

// judge gives the events of the stretch. Requests that fail are lost to the first, and to a
// later one where more fail from it on.
func (s *stretch) judge() (list []result.Event) {
	recovery, interval, end := s.recovery()
	owner := 0
	for i, h := range s.events {
		e := result.Event{AtS: s.seconds(h.At), Action: h.Action, TookS: float64(h.Took) / 1e9, Failed: h.Failed, Undone: h.Undone, UntilS: s.seconds(s.until), BeforeS: s.seconds(h.At)}
		if shift := float64(h.At-s.events[0].At) / 1e9; recovery != nil {
			e.RecoveryS, e.Interval = new(max(0, *recovery-shift)), &[2]float64{max(0, interval[0]-shift), max(0, interval[1]-shift)}
		}
		if len(s.after) == 0 {
			e.Note = "no request was due after it"
		}
		if i > 0 {
			if since := s.dueIn(s.events[owner].At, h.At); failsNoMore(since, s.dueIn(h.At, end)) {
				e.Continues = new(s.seconds(s.events[owner].At))
			} else {
				s.addLosses(&list[owner], s.events[owner:i], h.At, end)
				owner = i
			}
		}
		list = append(list, e)
	}
	s.addLosses(&list[owner], s.events[owner:], s.until, end)
	ended := slices.DeleteFunc(slices.Clone(s.before), func(r request) bool { return r.end >= s.events[0].At })
	failed := countFailed(ended)
	list[0].AsBefore = owner == 0 && list[0].Lost > 0 && failed > 0 && noMore(failed, len(ended), list[0].Lost, list[0].Due)
	s.hit = append(s.hit, span{s.Start + int64(list[0].BeforeS*1e9), end})
	return list
}

// recovery is the time from the first event until requests keep the objectives as before,
// nil where they did not, and when that was. When it was between a request that was hit and
// the next is not known; nor what of it this machine did.
func (s *stretch) recovery() (recovery *float64, interval *[2]float64, end int64) {
	at := s.events[0].At
	last := func(k int) int64 {
		if k == 0 {
			return at
		}
		return s.after[k-1].due
	}
	next := func(k int) int64 {
		if k == len(s.after) {
			return s.until
		}
		return s.after[k].due
	}
	from, to, isOver := int64(math.MaxInt64), at, len(s.after) == 0
	for _, which := range []int{asMeasured, atBest, atWorst} {
		k, low, high := s.boundary(which)
		isOver = isOver || k < len(s.after)
		from, to = min(from, last(low)), max(to, next(high))
	}
	k, _, _ := s.boundary(asMeasured)
	if end = next(k); k == 0 {
		end = at
	}
	if !isOver {
		return nil, nil, end
	}
	seconds := func(ns int64) float64 { return float64(ns) / 1e9 }
	if recovery = new(seconds((last(k)+next(k))/2 - at)); k == 0 {
		*recovery = 0
	}
	return recovery, &[2]float64{seconds(from - at), seconds(to - at)}, end
}

// addLosses counts what an event hit, with those that continue it: until the recovery, and as
// long as they go on, as a rolling restart does, or service is away.
func (s *stretch) addLosses(e *result.Event, events []Happening, until, end int64) {
	at := events[0].At
	outage, back := s.outage(at, until)
	e.OutageS = float64(outage) / 1e9
	recovered := min(end, until)
	end = max(recovered, back)
	for _, h := range events {
		end = max(end, min(h.At+h.Took, until))
	}
	for _, r := range s.dueIn(s.Start, end) {
		if r.due < at && (r.end < at || r.sent == 0 || r.sent > at) {
			continue
		}
		e.Due++
		if r.tries > 1 {
			e.Retried++
		}
		if r.reconnects > 0 {
			e.Repeated++
		}
		if until < s.End && r.end >= until {
			continue // what failed at the next event or later is not lost to this one
		}
		isLost := r.outcome.Count().Fault
		if !r.good[asMeasured] && r.decided >= at && (isLost || r.due < recovered) {
			e.Missed++
		}
		if isLost {
			s.addLost(e, r)
		}
	}
}

func (s *stretch) addLost(e *result.Event, r request) {
	e.Lost++
	e.BeforeS = min(e.BeforeS, s.seconds(r.due))
	if r.first != 0 {
		e.Streams++
	}
	if e.LostBy == nil {
		e.LostBy, e.LostOn = map[string]int{}, map[string]int{}
	}
	e.LostBy[string(r.outcome)]++
	if r.replica != "" {
		e.LostOn[r.replica]++
	}
}

func countFailed(list []request) (n int) {
	for _, r := range list {
		if r.outcome.Count().Fault {
			n++
		}
	}
	return n
}

func countBad(list []request) (n int) {
	for _, r := range list {
		if !r.good[asMeasured] {
			n++
		}
	}
	return n
}

// failsNoMore reports whether requests fail no more often than others.
func failsNoMore(others, list []request) bool {
	return noMore(countFailed(others), len(others), countFailed(list), len(list))
}

// noMore reports whether so many of a number may have failed by the share of others that did:
// of both together, each has its share.
func noMore(othersFailed, others, failed, n int) bool {
	const alpha = 0.02
	share := float64(n) / float64(max(1, n+others))
	return stats.BinomialAtLeast(float64(failed), float64(failed+othersFailed), share) > alpha
}

// The ways in which a request is judged, as Good gives them.
const (
	asMeasured = iota
	atBest
	atWorst
)

// hits are the shares of requests that may miss an objective while a server is not
// itself: nearly all, or those of one of several replicas.
var hits = []float64{0.8, 0.4, 0.2, 0.1}

// minRatio is how much more likely an event that hit requests must be than one that hit
// none, as a logarithm: failures that come anyway do not look like it in 98% of runs.
const minRatio = 3.9

// boundary is the most likely number of requests that the stretch's events hit.
func (s *stretch) boundary(which int) (k, low, high int) {
	bad := func(list []request) []bool { return text.Each(list, func(r request) bool { return !r.good[which] }) }
	return boundary(badShare(bad(s.before)), bad(s.after))
}

// badShare is the share of requests that miss an objective, kept off 0 and 1.
func badShare(list []bool) float64 {
	bad := 0
	for _, isBad := range list {
		if isBad {
			bad++
		}
	}
	return (float64(bad) + 0.5) / (float64(len(list)) + 1)
}

// boundary is the most likely number of requests behind an event that it hit: those
// miss objectives with one of the chances of hits, the others as often as before it. low
// and high bound the number with 95% confidence, by the ratio of likelihoods.
func boundary(usual float64, list []bool) (k, low, high int) {
	const within = 1.92 // half the 95% quantile of chi-square with one degree of freedom
	best, sums := minRatio, []float64(nil)
	for i, hit := range hits {
		if i == 0 {
			hit = max(hit, (1+usual)/2) // of a server that misses much anyway
		} else if hit < 4*usual {
			break
		}
		if n, ratio, all := likeliestHit(usual, hit, list); ratio > best {
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
func likeliestHit(usual, hit float64, list []bool) (k int, best float64, sums []float64) {
	bad, good := math.Log(hit/usual), math.Log((1-hit)/(1-usual))
	sum := 0.0
	sums = append(sums, 0)
	for i, isBad := range list {
		if isBad {
			sum += bad
		} else {
			sum += good
		}
		if sums = append(sums, sum); sum > best {
			best, k = sum, i+1
		}
	}
	return k, best, sums
}

// outage is the longest time without a sign of service after at and its end, 0 where
// one before was as long, or chance makes one and nobody asked in vain in it. Long gaps
// between signs fall off as those between replies do, of which each has two: n after the
// event have one that is longer than the longest of m before it by x times the mean of
// those in n/m * exp(-x) of runs.
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
			if !slices.ContainsFunc(w.hit, func(h span) bool { return last < h.to && s > h.from }) {
				usual = max(usual, s-last)
			}
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
