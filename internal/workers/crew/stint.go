package crew

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/run/measure"
	"redline/internal/text"
)

const (
	// lead is how far ahead the beginning of a stage is agreed on.
	lead = 250 * time.Millisecond
	// absentAfter is how long a worker may say nothing before the others no longer
	// wait for it, and lost how long until it is given up.
	absentAfter = 3 * time.Second
	lossAfter   = 10 * time.Second
	// soundEvery is how often clocks are compared; it is also what tells a worker
	// that its conductor is there.
	soundEvery = time.Second
)

// stint is a crew at work on one stage.
type stint struct {
	measure.Engagement
	crew         *Crew
	links        []Link
	members      []*member
	merge        *merge
	in           chan *Batch
	end          context.CancelFunc // of everything that goes on beside it
	start        int64
	resumed      bool  // its workers have begun already
	stopTime     int64 // when the sending was ended, 0 before
	stops        chan int64
	lastCheck    int64 // when workers were last looked for that say nothing
	latestReport int64 // the latest time that any of them has reported
	missing      atomic.Int32
}

type member struct {
	link       Link
	share      load.Share
	orders     chan load.Order
	clock      soundings
	sounds     chan sounding
	lastBatch  int64 // when its last batch came
	report     *Report
	lostReason string
}

func newStint(c *Crew, e measure.Engagement, links []Link) *stint {
	s := &stint{Engagement: e, crew: c, links: links, merge: newMerge(len(links)), in: make(chan *Batch, 64), stops: make(chan int64, 1)}
	for i, l := range links {
		s.members = append(s.members, &member{link: l, share: load.Share{Index: i, Of: len(links)},
			orders: make(chan load.Order, 8), sounds: make(chan sounding, 8)})
	}
	return s
}

// Size is how many workers take part.
func (s *stint) Size() int { return len(s.members) }

// LostWorkers is how many of them are lost at present.
func (s *stint) LostWorkers() int { return int(s.missing.Load()) }

// Begin has all workers begin at the same moment.
func (s *stint) Begin() (start int64, err error) {
	var ctx context.Context
	ctx, s.end = context.WithCancel(context.Background())
	lanes := make([]chan *Batch, len(s.members))
	for i := range lanes {
		lanes[i] = make(chan *Batch, 4)
		go s.read(ctx, lanes[i])
	}
	err = s.crew.post.Collect(ctx, s.Assignment.Run, func(b *Batch) {
		if b.Worker < 0 || b.Worker >= len(lanes) {
			return // of nobody who was asked
		}
		select {
		case lanes[b.Worker] <- b:
		case <-ctx.Done():
		}
	})
	if err != nil {
		s.end()
		return 0, err
	}
	if err = s.appoint(); err == nil && !s.resumed {
		err = each(s.links, func(_ int, l Link) error {
			wait, cancel := context.WithTimeout(ctx, answerWait)
			defer cancel()
			return answerError(l.Ask(wait, Question{Start: s.start}))
		})
	}
	if err != nil {
		s.end()
		return 0, err
	}
	for _, m := range s.members {
		m.lastBatch = max(s.start, s.Now())
		go m.pass(ctx)
		go m.sound(ctx, s.Now)
	}
	return s.start, nil
}

// appoint chooses when the workers begin and writes it down: a later moment where a
// slow disk leaves too little time to tell them.
func (s *stint) appoint() error {
	if s.resumed {
		return s.keep()
	}
	for ahead := int64(lead); ; ahead *= 2 {
		s.start = s.Now() + ahead
		if err := s.keep(); err != nil || s.start-s.Now() >= int64(lead)/2 {
			return err
		}
	}
}

// read parses one worker's batches beside those of the others: whoever lays all
// of them on one line of time has enough to do.
func (s *stint) read(ctx context.Context, lane <-chan *Batch) {
	for {
		select {
		case b := <-lane:
			b.parse()
			select {
			case s.in <- b:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// pass hands orders on, one after the other, and again where no answer came.
func (m *member) pass(ctx context.Context) {
	for {
		select {
		case o := <-m.orders:
			for ctx.Err() == nil {
				wait, cancel := context.WithTimeout(ctx, answerWait)
				_, err := m.link.Ask(wait, Question{Order: &o})
				cancel()
				if err == nil {
					break
				}
				pause(ctx, beat)
			}
		case <-ctx.Done():
			return
		}
	}
}

// sound compares clocks while the stint goes on.
func (m *member) sound(ctx context.Context, now func() int64) {
	for pause(ctx, soundEvery) {
		wait, cancel := context.WithTimeout(ctx, soundEvery)
		one, err := sound(wait, m.link, now)
		cancel()
		if err != nil {
			continue
		}
		select {
		case m.sounds <- one:
		default:
		}
	}
}

// pause waits, and reports whether ctx is still active.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Order hands an order to every worker.
func (s *stint) Order(o load.Order) {
	if o.Halt {
		s.stops <- s.Now()
	}
	if o.Stopped {
		s.crew.stopped.Store(true)
	}
	for _, m := range s.members {
		m.orders <- o
	}
}

// News tells what the workers tell, until all of them have ended or are lost.
func (s *stint) News(take func(load.News)) {
	defer s.end()
	tell := func(rec *record.Record) { take(load.News{Record: rec}) }
	look := time.NewTicker(beat * 5)
	defer look.Stop()
	for known := int64(0); !s.isOver(); {
		select {
		case b := <-s.in:
			take(load.News{Output: s.add(b)})
			if b.Done != nil {
				take(load.News{Gone: s.lostRequests()})
			}
		case s.stopTime = <-s.stops:
			continue
		case <-look.C:
			if s.look() {
				take(load.News{Gone: s.lostRequests()})
			}
		}
		s.merge.release(tell)
		if at := s.merge.settledUntil(); at > known {
			known = at
			take(load.News{Known: known})
		}
	}
	s.merge.rest(tell)
	for i, m := range s.members {
		if m.lostReason != "" {
			s.account(m, s.merge.workers[i], tell)
		}
	}
}

// Forget gives back what was kept of the stage until its result was written.
func (s *stint) Forget() { s.crew.post.Forget(s.Assignment.Run) }

// add takes a batch in and gives how many output events it brings. A worker's first
// report is its last word: what comes after what cannot be read has a hole before it.
func (s *stint) add(b *Batch) (output int64) {
	m, w := s.members[b.Worker], s.merge.workers[b.Worker]
	if m.report != nil {
		return 0
	}
	m.lastBatch, s.latestReport = s.Now(), max(s.latestReport, b.Known)
	if err := s.merge.add(b); err != nil {
		b.Done = &Report{Error: fmt.Sprintf("what it sends cannot be read (%v)", err)}
	}
	if b.Done != nil {
		m.report = b.Done
		why := b.Done.Error
		if why == "" {
			w.reportedUntil = 1<<63 - 1
		} else {
			why += fmt.Sprintf(", %s into the run", text.Length(time.Duration(cmp.Or(b.Known, m.lastBatch)-s.start)))
		}
		s.setLost(b.Worker, why)
	}
	w.absent = false
	return b.Output
}

func (s *stint) lostRequests() []int {
	ids := []int{}
	for i, m := range s.members {
		if m.lostReason != "" {
			ids = slices.AppendSeq(ids, maps.Keys(s.merge.workers[i].open))
		}
	}
	return ids
}

// look notices workers that say nothing. It reports whether one of them is lost by
// that, or back.
func (s *stint) look() (changed bool) {
	now := s.Now()
	if away := now - s.lastCheck; s.lastCheck != 0 && away > int64(absentAfter) {
		// This process was suspended: what the workers told meanwhile is yet to be read.
		for _, m := range s.members {
			m.lastBatch = min(now, m.lastBatch+away)
		}
	}
	s.lastCheck = now
	limit := s.patience(now)
	for i, m := range s.members {
		for more := true; more; {
			select {
			case one := <-m.sounds:
				m.clock.add(one)
			default:
				more = false
			}
		}
		quiet := time.Duration(now - m.lastBatch)
		if m.report != nil {
			continue
		}
		s.merge.workers[i].absent = quiet > absentAfter
		how := s.crew.howDied(m.link.Hello().Name)
		switch {
		case (quiet > limit || how != "" && quiet > 5*beat) && m.lostReason == "":
			s.setLost(i, fmt.Sprintf("%s %s into the run", cmp.Or(how, "nothing heard from it since"), text.Length(time.Duration(m.lastBatch-s.start))))
			changed = true
		case how == "" && quiet <= min(lossAfter, limit) && m.lostReason != "":
			s.setLost(i, "")
			changed = true
		}
	}
	return changed
}

// setLost holds a worker for lost, or for present where why is empty.
func (s *stint) setLost(i int, why string) {
	m := s.members[i]
	switch {
	case why != "" && m.lostReason == "":
		s.Say("worker %s is lost: %s", name(m.link.Hello()), why)
		s.missing.Add(1)
	case why == "" && m.lostReason != "":
		s.Say("worker %s is back", name(m.link.Hello()))
		s.missing.Add(-1)
	}
	m.lostReason = why
	s.merge.workers[i].lost = why != ""
}

// patience is how long a worker may say nothing before it is lost: longer where
// nothing is heard from any of them, as perhaps the way to here is cut, and less where
// the user has stopped the run.
func (s *stint) patience(now int64) time.Duration {
	if s.crew.stopped.Load() {
		return stoppedWait
	}
	for _, m := range s.members {
		if m.report != nil || now-m.lastBatch <= int64(absentAfter) {
			return lossAfter
		}
	}
	return silence
}

func (s *stint) isOver() bool {
	return !slices.ContainsFunc(s.members, func(m *member) bool { return m.report == nil && m.lostReason == "" })
}
