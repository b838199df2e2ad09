package simserver

import (
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"redline/internal/clock"
	"redline/internal/holdup"
	"redline/internal/llm"
	"redline/internal/twin/sim"
)

// flight is one job between its submission and its last token.
type flight struct {
	job           sim.Job
	box           mailbox
	latest        int64 // engine time of the newest token
	pendingTokens int   // tokens that are delivered with the next
	reason        string
}

// mailbox hands the progress of a job to the goroutine that writes its answer.
// The engine never waits for that goroutine: it adds to a count and leaves at
// most one wake-up call.
type mailbox struct {
	mu     sync.Mutex
	news   progress
	called bell
	writer *generation // whose events the driver writes itself; nil for none
	timed  bool        // dues are kept
	dues   []int64     // when the schedule has each token so far
}

// progress is how far a job has come.
type progress struct {
	accepted bool
	refused  error
	cut      bool // its engine is gone, and others are not
	tokens   int
	cached   int
	// preempted says that the job was put out of the batch at least once.
	preempted bool
	timing    llm.Timing // known with the first token
}

func (b *mailbox) update(change func(*progress)) {
	b.mu.Lock()
	change(&b.news)
	b.mu.Unlock()
	b.called.ring()
}

// deliver is update for the one change that comes with every token. It reports
// whether the handler is called.
func (b *mailbox) deliver(tokens, cached int, preempted bool, at int64) (called bool) {
	b.mu.Lock()
	b.news.tokens += tokens
	b.news.cached, b.news.preempted = cached, preempted
	for range tokens {
		if b.timed {
			b.dues = append(b.dues, at)
		}
	}
	if b.writer != nil && !b.writer.strike(b.news) {
		b.mu.Unlock()
		return false
	}
	b.writer = nil
	b.mu.Unlock()
	b.called.ring()
	return true
}

// time notes where the job was until its first token.
func (b *mailbox) time(t llm.Timing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.news.timing = t
}

// due is when the schedule has the last of so many tokens.
func (b *mailbox) due(tokens int) (at int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if tokens < 1 || tokens > len(b.dues) {
		return 0, false
	}
	return b.dues[tokens-1], true
}

// follow has the driver write g's events, unless tokens have come already.
func (b *mailbox) follow(g *generation) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.news.tokens > 0 || b.news.refused != nil {
		return false
	}
	b.writer = g
	return true
}

// hasWriter reports whether the driver still writes.
func (b *mailbox) hasWriter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writer != nil
}

// leave takes the answer from the driver.
func (b *mailbox) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writer = nil
}

func (b *mailbox) read() progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news
}

// bell wakes one goroutine, now or when it next waits. Ringing it again before
// that changes nothing.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// order asks the driver to submit or to cancel a flight, or to do something else with
// its core.
type order struct {
	at     int64
	flight *flight
	cancel bool
	do     func(at int64)
}

// driver owns a core and plays it against a clock. Orders carry the time at
// which they were given and every step is made at the time at which the core
// wanted it, so the core lives exactly on its own schedule; a driver that wakes
// late delivers late, and keeps count of it.
type driver struct {
	core  sim.Core
	clock *clock.Clock

	mu      sync.Mutex
	inbox   []order
	quit    bool
	stats   []sim.Stats // of each replica
	late    *hdrhistogram.Histogram
	latest  int64            // the largest lateness, which the histogram rounds
	holdups *holdup.Recorder // what was written late; nil where nobody asks
	wake    bell
	stopped chan struct{}

	// What follows belongs to the driver's goroutine.
	replicas []sim.Core // the core, or the engines of a fleet
	meters   []*meters  // of each replica
	taken    []order
	emit     func(sim.Token) // d.deliver, bound once
	next     int64           // when the core wants its next step
	poked    bool            // next was brought forward by an order
	steps    []int64         // of each replica
	tick     int64           // the least time between two wake-ups
	woke     bool            // a handler was called since the last of them
}

// A metronome wakes a hundred times a pace at most, so that under many streams
// it writes several tokens at a time; they are late by a hundredth of their
// gap, or maxLate, for that.
const (
	ticksPerPace = 100
	maxLate      = int64(500 * time.Microsecond)
)

// lateLimit is the largest lateness told apart from larger ones.
const lateLimit = int64(time.Minute)

func newDriver(core sim.Core, c *clock.Clock) *driver {
	d := &driver{
		core:    core,
		clock:   c,
		late:    hdrhistogram.New(1, lateLimit, 3),
		wake:    newBell(),
		stopped: make(chan struct{}),
		next:    sim.Idle,
	}
	d.emit = d.deliver
	d.replicas = sim.Replicas(core)
	d.steps, d.stats = make([]int64, len(d.replicas)), make([]sim.Stats, len(d.replicas))
	for i, one := range d.replicas {
		d.stats[i] = one.Stats()
	}
	if m, paced := core.(*sim.Metronome); paced {
		d.tick = min(m.Pace/ticksPerPace, maxLate)
	}
	return d
}

// submit queues f; its mailbox tells the rest.
func (d *driver) submit(f *flight) {
	f.box.called, f.box.timed = newBell(), d.holdups != nil
	d.give(order{flight: f})
}

// forget empties the prefix cache, or reports that it is in use.
func (d *driver) forget() bool {
	ok := false
	return d.ask(func(int64) {
		core, caches := d.core.(sim.Forgetful)
		ok = caches && core.Forget()
	}) && ok
}

// ask has the driver do something with its core, and reports whether it has.
func (d *driver) ask(do func(at int64)) bool {
	done := make(chan struct{})
	d.give(order{do: func(at int64) {
		do(at)
		close(done)
	}})
	select {
	case <-done:
		return true
	case <-d.stopped:
		return false
	}
}

// cancel forgets f. It is harmless once f has ended.
func (d *driver) cancel(f *flight) { d.give(order{flight: f, cancel: true}) }

// give stamps o inside the lock, so that the inbox is in the order of time.
func (d *driver) give(o order) {
	d.mu.Lock()
	o.at = d.clock.Now()
	d.inbox = append(d.inbox, o)
	d.mu.Unlock()
	d.wake.ring()
}

// stop ends run and waits for it.
func (d *driver) stop() {
	d.mu.Lock()
	d.quit = true
	d.mu.Unlock()
	d.wake.ring()
	<-d.stopped
}

// snapshot is how one of the replicas stands.
func (d *driver) snapshot(replica int) sim.Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats[replica]
}

// run plays the core until stop. It is not tied to a thread: a metronome under
// many streams wakes tens of thousands of times a second, and each time the
// runtime would have to hand over from one thread to another.
func (d *driver) run(m []*meters) {
	defer close(d.stopped)
	d.meters = m
	for {
		now, quit := d.take()
		if quit {
			return
		}
		for _, o := range d.taken {
			d.advance(o.at, now)
			d.apply(o)
		}
		d.advance(now+1, now)
		d.mu.Lock()
		for i, one := range d.replicas {
			d.stats[i] = one.Stats()
		}
		d.mu.Unlock()
		if d.tick > 0 && d.woke {
			// A short sleep keeps this thread, and who was woken waits for it.
			d.woke = false
			runtime.Gosched()
		}
		if d.next == sim.Idle {
			<-d.wake
		} else if d.tick > 0 {
			d.clock.SleepPast(max(d.next, now+d.tick), d.wake)
		} else {
			d.clock.SleepUntil(d.next, d.wake)
		}
	}
}

// take empties the inbox. The time is read inside the lock: whatever is
// ordered afterwards is not earlier.
func (d *driver) take() (now int64, quit bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.taken)
	d.taken, d.inbox = d.inbox, d.taken[:0]
	return d.clock.Now(), d.quit
}

// advance makes every step that is due before the given time.
func (d *driver) advance(before, now int64) {
	for d.next < before {
		if !d.poked {
			if d.tick > 0 {
				now = d.clock.Now() // what was written meanwhile took time as well
			}
			d.noteLateness(now - d.next)
		}
		d.poked = false
		d.next = d.core.Step(d.next, d.emit)
		for i, one := range d.replicas {
			if s := one.Stats(); s.Steps != d.steps[i] {
				d.steps[i] = s.Steps
				d.meters[i].iteration.Observe(float64(s.StepTokens))
			}
		}
	}
}

// apply carries out one order and has the core look at its queue at once.
func (d *driver) apply(o order) {
	f := o.flight
	switch {
	case o.do != nil:
		o.do(o.at)
		return
	case !o.cancel:
		if err := d.core.Submit(o.at, &f.job); err != nil {
			f.box.update(func(p *progress) { p.refused = err })
			return
		}
		f.job.Owner = f
		f.box.update(func(p *progress) { p.accepted = true })
		d.woke = true
	case f.job.Owner != nil:
		d.core.Cancel(o.at, f.job.ID)
		f.job.Owner = nil
		d.meters[f.job.Replica].end("abort")
	default:
		return
	}
	if o.at < d.next {
		d.next, d.poked = o.at, true
	}
}

// deliver takes one token from the core.
func (d *driver) deliver(t sim.Token) {
	f, _ := t.Job.Owner.(*flight)
	if f == nil {
		return
	}
	if t.Cut {
		f.job.Owner = nil
		f.box.update(func(p *progress) { p.cut = true })
		d.woke = true
		return
	}
	if t.More {
		f.pendingTokens++
		return
	}
	if t.Index == 0 {
		d.meters[f.job.Prefiller].firstToken.Observe(seconds(t.At - f.job.Received))
	} else {
		d.meters[f.job.Replica].interToken.Observe(seconds(t.At - f.latest))
	}
	if f.latest == 0 {
		f.box.time(timingOf(&f.job, t.At))
	}
	f.latest = t.At
	if t.Last {
		f.job.Owner = nil
		d.meters[f.job.Replica].observeJob(&f.job, t.At, f.reason, d.meters[f.job.Prefiller])
	}
	d.woke = f.box.deliver(1+f.pendingTokens, t.Job.Cached, t.Job.Preempted > 0, t.At) || d.woke
	f.pendingTokens = 0
}

// timingOf is where a job was until its first token came out; nothing of an engine that
// keeps no such times.
func timingOf(j *sim.Job, out int64) llm.Timing {
	if j.First == 0 {
		return llm.Timing{}
	}
	told := func(from, to int64) int64 { return max(1, to-from) }
	t := llm.Timing{FrontEnd: told(j.Received, j.Arrived), Queue: told(j.Arrived, j.Scheduled), Prefill: told(j.Scheduled, j.Prefilled), Write: told(j.First, out)}
	if j.AtGateway > 0 {
		t.Gateway = told(j.AtGateway, j.Received)
	}
	if j.First > j.Prefilled {
		t.Transfer = told(j.Prefilled, j.First)
	}
	return t
}

func (d *driver) noteLateness(late int64) {
	d.meters[0].late.Observe(seconds(max(late, 0)))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest = max(d.latest, late)
	// Every value is inside the histogram's range, which is all it can fail on.
	_ = d.late.RecordValue(min(max(late, 0), lateLimit))
}

// noteWrite records how many tokens of a job have been written.
func (d *driver) noteWrite(f *flight, tokens int) {
	if due, ok := f.box.due(tokens); ok {
		d.holdups.Add(holdup.Holdup{Kind: holdup.Engine, Start: due, End: d.clock.Now()})
	}
}

// Lateness says how late the engine woke against its own schedule.
type Lateness struct {
	Steps    int64 // wake-ups counted
	P99, Max time.Duration
}

// lateness gives the account of all drivers and begins another.
func (s *Server) lateness() Lateness {
	all, largest := hdrhistogram.New(1, lateLimit, 3), int64(0)
	for _, d := range s.drivers {
		d.mu.Lock()
		all.Merge(d.late)
		largest = max(largest, d.latest)
		d.late.Reset()
		d.latest = 0
		d.mu.Unlock()
	}
	return Lateness{Steps: all.TotalCount(), P99: time.Duration(min(all.ValueAtQuantile(99), largest)), Max: time.Duration(largest)}
}

// snapshot is the counts of a replica; those of a metronome's drivers are summed.
func (s *Server) snapshot(replica int) sim.Stats {
	all := s.drivers[0].snapshot(replica)
	for _, d := range s.drivers[1:] {
		one := d.snapshot(replica)
		all.Running += one.Running
		all.PromptTokens += one.PromptTokens
		all.OutputTokens += one.OutputTokens
		all.Finished += one.Finished
	}
	return all
}
