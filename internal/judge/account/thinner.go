package account

import (
	"iter"
	"math"
	"sync"

	"redline/internal/drive/record"
)

// Thinner takes the times of single tokens out of most records: what grows with
// the tokens of a reply, and not with the requests. Every figure of a request
// stays as it was; gaps between tokens are then those of the rest.
type Thinner struct {
	// Share of the requests keeps them, by their numbers; 0 means all.
	Share float64
	space sync.Pool
}

// thinning is memory for one record at a time.
type thinning struct {
	tails  tails
	groups []group
}

// Of gives the record as it is to be kept. It is safe for concurrent use, and
// changes nothing of the record that it is given.
func (t *Thinner) Of(r *record.Record) *record.Record {
	if t.Share == 0 || !r.Streamed || r.Thinned() || record.InShare(r.ID, t.Share) {
		return r
	}
	own, _ := t.space.Get().(*thinning)
	if own == nil {
		own = &thinning{}
	}
	defer t.space.Put(own)
	own.groups = appendGroups(r, own.groups[:0])
	return r.Thin(own.tails.essence(r, own.groups, true))
}

// essence is what the figures of a request need of its events.
func (t *tails) essence(r *record.Record, groups []group, withTails bool) (e record.Essence) {
	if r.Thinned() {
		return r.Essence()
	}
	var ends group
	e.Stall, ends = maxGap(groups)
	noteMerged(&e, r, groups, ends)
	if withTails {
		e.ICLTail, e.ITLTail = t.of(r, groups)
	}
	return e
}

func orNaN(ns int64) float64 {
	if ns == 0 {
		return math.NaN()
	}
	return float64(ns)
}

// withTimes are the requests whose token times are kept.
func withTimes(requests iter.Seq[*request]) iter.Seq[*request] {
	return func(yield func(*request) bool) {
		for q := range requests {
			if !q.thinned && !yield(q) {
				return
			}
		}
	}
}
