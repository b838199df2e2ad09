package crew

import (
	"cmp"
	"fmt"
	"slices"

	"redline/internal/drive/record"
)

type event struct {
	at  int64
	rec *record.Record
}

// merge lays what several workers tell on one line of time.
type merge struct {
	workers     []*workerNews
	mergedUntil int64 // told on up to here
	pending     []event
}

type workerNews struct {
	seq           uint64
	reportedUntil int64
	absent        bool // what others tell does not wait for it
	lost          bool // nothing waits for it
	// open are its requests that have begun and not ended, number and session the
	// last of all of them.
	open            map[int]*record.Record
	number, session int
}

func newMerge(n int) *merge {
	m := &merge{}
	for i := range n {
		m.workers = append(m.workers, &workerNews{open: map[int]*record.Record{}, number: i - n, session: i - n})
	}
	return m
}

// add takes a batch in. One that was taken in before is passed over.
func (m *merge) add(b *Batch) error {
	w := m.workers[b.Worker]
	if b.Seq <= w.seq {
		return nil
	}
	w.seq, w.reportedUntil = b.Seq, max(w.reportedUntil, b.Known)
	b.parse()
	for _, rec := range b.records {
		if n := len(m.workers); rec.ID < 0 || rec.ID%n != b.Worker || rec.ID > w.number+n*maxAhead {
			return fmt.Errorf("request %d is none of its own", rec.ID)
		}
		m.take(w, rec)
	}
	return b.err
}

// maxAhead is by how many requests a worker may number beyond its last one.
const maxAhead = 1 << 20

// take turns a line into events: a request that is new has
// begun, whatever became of it since.
func (m *merge) take(w *workerNews, rec *record.Record) {
	if w.number = max(w.number, rec.ID); rec.Turn == 0 {
		w.session = max(w.session, rec.Session)
	}
	before, known := w.open[rec.ID]
	if !known && rec.Begin != 0 {
		begun := rec.Opening()
		begun.Outcome, begun.Sent, begun.First = "", 0, 0
		m.pending = append(m.pending, event{rec.Begin, begun})
		before = begun
	}
	if rec.Outcome != "" {
		delete(w.open, rec.ID)
		m.pending = append(m.pending, event{rec.End, rec})
		return
	}
	w.open[rec.ID] = rec
	if rec.Sent != before.Sent || rec.First != before.First {
		m.pending = append(m.pending, event{max(rec.Begin, rec.Sent, rec.First), rec})
	}
}

// release gives what happened before the time up to which everything is known,
// in order. What comes later than that lies before it.
func (m *merge) release(tell func(*record.Record)) {
	floor := m.minKnown(func(w *workerNews) bool { return !w.absent && !w.lost })
	if floor <= m.mergedUntil {
		return
	}
	m.mergedUntil = floor
	slices.SortStableFunc(m.pending, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rec.ID, b.rec.ID))
	})
	n := 0
	for n < len(m.pending) && m.pending[n].at < m.mergedUntil {
		tell(m.pending[n].rec)
		n++
	}
	m.pending = slices.Delete(m.pending, 0, n)
}

// settledUntil is the time up to which nothing more can come: workers that are absent
// may come back with requests that nobody has heard of.
func (m *merge) settledUntil() int64 {
	return m.minKnown(func(w *workerNews) bool { return !w.lost })
}

// minKnown is the time up to which some workers have told everything, or all that
// was told where there are none.
func (m *merge) minKnown(of func(*workerNews) bool) int64 {
	least, any := m.mergedUntil, false
	for _, w := range m.workers {
		if of(w) && (!any || w.reportedUntil < least) {
			least, any = w.reportedUntil, true
		}
	}
	return least
}

func (m *merge) rest(tell func(*record.Record)) {
	for _, w := range m.workers {
		w.absent = true
	}
	slices.SortStableFunc(m.pending, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rec.ID, b.rec.ID))
	})
	for _, e := range m.pending {
		tell(e.rec)
	}
	m.pending = nil
}
