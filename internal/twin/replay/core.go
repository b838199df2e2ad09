package replay

import (
	"fmt"

	"redline/internal/twin/sim"
)

// Engines are instances of a spec as the engines of a fleet. cached says how much of a
// job's prompt an engine has in its prefix cache.
type Engines struct {
	blank  *blank
	cached func(engine int, j *sim.Job) int
	raised []*core
}

// NewEngines gives the engines of a spec, which must have a law.
func NewEngines(spec sim.Spec, cached func(engine int, j *sim.Job) int) (*Engines, error) {
	spec.EnablePrefixCaching = new(bool) // cached says what it has
	b, err := newBlank(spec)
	return &Engines{blank: b, cached: cached}, err
}

// Raise makes one of them.
func (e *Engines) Raise(i int) (sim.Core, error) {
	c := &core{number: i, cached: e.cached}
	var err error
	if needsScheduler(e.blank.spec) {
		c.engine, err = NewEngine(e.blank.spec, c.answer)
	} else {
		c.engine = e.blank.instance(c.answer)
	}
	if err != nil {
		return nil, err
	}
	e.raised = append(e.raised, c)
	return c, nil
}

// Check says why a job can never run.
func (e *Engines) Check(j *sim.Job) error {
	s := &e.blank.spec
	if !fits(Request{Prompt: j.PromptLength, Output: j.Output}, s.MaxModelLen, s.NumGPUBlocksOverride) {
		return fmt.Errorf("%d prompt and %d output tokens are too many for the engine", j.PromptLength, j.Output)
	}
	return nil
}

// Stats are sums over all that were raised.
func (e *Engines) Stats() (all sim.Stats) {
	for _, c := range e.raised {
		one := c.Stats()
		all.Steps, all.Preemptions = all.Steps+one.Steps, all.Preemptions+one.Preemptions
	}
	return all
}

// Busy is how long the engines with these numbers worked, those together that had one
// number after another.
func (e *Engines) Busy(from, to int) (sum int64) {
	for _, c := range e.raised {
		if i, ok := c.engine.(*Instance); ok && c.number >= from && c.number < to {
			sum += i.Busy
		}
	}
	return sum
}

// core is an instance as an engine of a fleet. It gives of each job the last token
// alone, with the times of the first and the last.
type core struct {
	number int
	engine Engine
	cached func(int, *sim.Job) int
	jobs   []*sim.Job // by the tag of their requests, nil where there is none
	free   []int
	emit   func(sim.Token)
}

func (c *core) Submit(now int64, j *sim.Job) error {
	c.engine.Advance(now - 1) // brings nothing out: that is before its horizon
	if j.Transferred == 0 {
		j.Cached = c.cached(c.number, j)
	} else {
		j.Cached = j.Transferred
	}
	tag := len(c.jobs)
	if n := len(c.free); n > 0 {
		tag, c.free = c.free[n-1], c.free[:n-1]
		c.jobs[tag] = j
	} else {
		c.jobs = append(c.jobs, j)
	}
	c.engine.Submit(now, Request{Prompt: j.PromptLength, Cached: j.Cached, Output: j.Output, Priority: j.Priority, Adapter: j.Adapter, Grammar: j.Grammar}, int64(tag))
	return nil
}

// Cancel forgets a job: its engine is about to be gone.
func (c *core) Cancel(_ int64, id uint64) {
	for tag, j := range c.jobs {
		if j != nil && j.ID == id {
			c.jobs[tag] = nil
		}
	}
}

func (c *core) Step(now int64, emit func(sim.Token)) (next int64) {
	c.emit = emit
	c.engine.Advance(now)
	if i, ok := c.engine.(*Instance); ok {
		return i.Horizon()
	}
	return c.engine.Next()
}

func (c *core) answer(a Answer) {
	j := c.jobs[a.Tag]
	c.jobs[a.Tag] = nil
	c.free = append(c.free, int(a.Tag))
	if j == nil {
		return
	}
	j.First, j.Last = a.First, a.Last
	c.emit(sim.Token{Job: j, Index: j.Output - 1, Last: true, At: a.Last})
}

func (c *core) Stats() sim.Stats {
	steps, preemptions := c.engine.Counts()
	return sim.Stats{Running: c.engine.Outstanding(), Steps: steps, Preemptions: preemptions}
}
