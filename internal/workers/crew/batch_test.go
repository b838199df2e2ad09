package crew

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/run/measure"
)

// pile is an outlet that refuses batches from a number on.
type pile struct {
	Outlet
	got   []*Batch
	until int
}

func (p *pile) Publish(b *Batch) error {
	if len(p.got) == p.until {
		return errors.New("too much waits")
	}
	p.got = append(p.got, b)
	return nil
}

func endedRecord(id int, errorText string) *record.Record {
	r := &record.Record{ID: id, Session: id, Due: int64(id + 1), Begin: int64(id + 1)}
	r.Fail(&llm.Fault{Outcome: llm.Outcome("error"), At: int64(id + 2), Message: errorText})
	return r
}

func idleJob(out Outlet) *job {
	return &job{worker: &Worker{}, clock: clock.New(), assignment: measure.Assignment{Run: "r", Share: load.Share{Index: 1, Of: 3}}, outlet: out,
		orders: make(chan load.Order, 1), ended: make(chan struct{}), news: map[int]*record.Record{}}
}

// TestLargeBatchesAreSplit: what ends in one beat may be more than a message
// holds, and comes in several without a gap.
func TestLargeBatchesAreSplit(t *testing.T) {
	t.Parallel()
	out := &pile{until: 100}
	j := idleJob(out)
	for i := range 50 {
		j.sink(endedRecord(1+3*i, strings.Repeat("x", 20<<10)))
	}
	j.publish(&Report{})
	m := newMerge(3)
	for i, b := range out.got {
		if len(b.Lines) > largeBatch+21<<10 || b.Seq != uint64(i+1) {
			t.Errorf("batch %d has number %d and %d bytes", i, b.Seq, len(b.Lines))
		}
		if last := i == len(out.got)-1; (b.Done != nil) != last {
			t.Errorf("batch %d of %d is the last: %v", i, len(out.got), b.Done != nil)
		}
		expect.OK(t, m.add(b))
	}
	if len(out.got) < 4 || len(m.pending) != 100 { // each begins and ends
		t.Errorf("%d batches with %d events", len(out.got), len(m.pending))
	}
}

// TestAStuckWorkerStops: a batch that nobody takes may not leave a hole.
func TestAStuckWorkerStops(t *testing.T) {
	t.Parallel()
	out := &pile{until: 2}
	j := idleJob(out)
	for range 5 {
		j.publish(nil)
	}
	if len(out.got) != 2 || j.seq != 2 || !strings.Contains(j.endReason(), "too much waits") {
		t.Errorf("%d batches, number %d, ended by %q", len(out.got), j.seq, j.endReason())
	}
	if o := <-j.orders; !o.End || !o.Stopped {
		t.Errorf("ordered %+v", o)
	}
}

// TestMergeRefusesAliens: no worker can end the requests of another, nor make the
// conductor keep room for what is absurd.
func TestMergeRefusesAliens(t *testing.T) {
	t.Parallel()
	for _, id := range []int{-2, 0, 2, 1 << 60} {
		b := &Batch{Worker: 1, Seq: 1, Lines: endedRecord(id, "").AppendLine(nil)}
		if err := newMerge(3).add(b); err == nil || !strings.Contains(err.Error(), fmt.Sprint(id)) {
			t.Errorf("request %d: %v", id, err)
		}
	}
	s := newStint(&Crew{}, measure.Engagement{Now: func() int64 { return int64(time.Second) }, Say: func(string, ...any) {}}, []Link{&wire{}})
	s.add(&Batch{Seq: 1, Lines: []byte("{}}\n")})
	if m := s.members[0]; m.lostReason == "" || !s.isOver() {
		t.Errorf("a worker that cannot be read counts as %q", m.lostReason)
	}
}

// TestWhatCannotBeReadStaysLost: a worker with a hole in what it told is not back when
// it ends in order, and what it was doing is accounted for at the time it was last heard of.
func TestWhatCannotBeReadStaysLost(t *testing.T) {
	t.Parallel()
	var said []string
	e := measure.Engagement{Now: func() int64 { return int64(time.Second) }, Stage: &load.Stage{},
		Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	s := newStint(&Crew{}, e, []Link{&wire{hello: Hello{Name: "w0"}}})
	s.end = func() {}
	open := &record.Record{Due: 1, Begin: 1, Sent: 2}
	s.in <- &Batch{Seq: 1, Known: 100, Lines: open.AppendLine(nil)}
	s.in <- &Batch{Seq: 2, Known: 200, Lines: []byte("{}}\n")}
	var last *record.Record
	s.News(func(n load.News) {
		if n.Record != nil {
			last = n.Record
		}
	})
	s.add(&Batch{Seq: 3, Known: 300, Output: 7, Done: &Report{}})
	if lost := s.Reports()[0].Lost; !strings.Contains(lost, "cannot be read") || s.LostWorkers() != 1 || len(said) != 1 {
		t.Errorf("lost: %q, %d workers, said %q", lost, s.LostWorkers(), said)
	}
	if last == nil || last.Outcome != llm.Censored || last.End != 200 {
		t.Errorf("the request on its way: %+v", last)
	}
}
