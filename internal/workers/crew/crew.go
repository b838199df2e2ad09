package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"redline/internal/drive/load"
	"redline/internal/run/measure"
	"redline/internal/text"
)

// Crew is the workers that a conductor has.
type Crew struct {
	// Claim is the name that the workers were claimed by.
	Claim string

	links    []Link
	post     Post
	takeover *memo // of a stint that is to be taken over
	ctx      context.Context
	leave    context.CancelFunc
	// stopped says that the user waits for the end: workers that say nothing do not
	// delay it.
	stopped atomic.Bool

	mu   sync.Mutex
	died map[string]string // by the names of workers: how
}

// ReportExit tells that the process of a worker on this machine has ended, and how.
func (c *Crew) ReportExit(name, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.died == nil {
		c.died = map[string]string{}
	}
	c.died[name] = how
}

func (c *Crew) howDied(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.died[name]
}

// New makes a crew of workers that were claimed, in the order of their names.
func New(claim string, links []Link, post Post) *Crew {
	slices.SortFunc(links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.Hello().Name, b.Hello().Name), cmp.Compare(a.Hello().ID, b.Hello().ID))
	})
	return newCrew(claim, links, post)
}

func newCrew(claim string, links []Link, post Post) *Crew {
	c := &Crew{Claim: claim, post: post}
	c.ctx, c.leave = context.WithCancel(context.Background())
	given := map[string]int{}
	for _, l := range links {
		given[l.Hello().Name]++
	}
	for _, l := range links {
		one := ownedLink{l, claim, l.Hello()}
		one.hello.Name = distinct(one.hello.Name, given)
		c.links = append(c.links, one)
		go one.attend(c.ctx)
	}
	return c
}

// distinct is a name that no other of the crew has: by default workers are called as
// their machine is, which may have several. given counts those that have each name.
func distinct(name string, given map[string]int) string {
	if given[name] == 1 {
		return name
	}
	for n := 1; ; n++ {
		numbered := fmt.Sprintf("%s-%d", name, n)
		if given[numbered] == 0 {
			given[numbered] = 1
			return numbered
		}
	}
}

// ownedLink is a link whose questions say who asks, to a worker with a name of its own.
type ownedLink struct {
	Link
	claim string
	hello Hello
}

func (o ownedLink) Hello() Hello { return o.hello }

func (o ownedLink) Ask(ctx context.Context, q Question) (Answer, error) {
	q.From = o.claim
	return o.Link.Ask(ctx, q)
}

// attend lets a worker that has nothing to do know that its conductor is there:
// stages may lie minutes apart. It ends with one that is no longer this crew's.
func (o ownedLink) attend(ctx context.Context) {
	for pause(ctx, attendEvery) {
		wait, cancel := context.WithTimeout(ctx, attendEvery)
		a, _ := o.Ask(wait, Question{Clock: true}) // whether it answers shows when it is needed
		cancel()
		if a.Refused != "" {
			return
		}
	}
}

// part lets a worker go that does not answer, as soon as it does: it may still send
// the load of a stage that is over.
func (c *Crew) part(l Link) {
	for pause(c.ctx, soundEvery) {
		wait, cancel := context.WithTimeout(c.ctx, attendEvery)
		_, err := l.Ask(wait, Question{Release: true})
		cancel()
		if err == nil {
			return
		}
	}
}

// Release lets the workers go. One that does not answer is free once it has heard
// nothing for a while.
func (c *Crew) Release() {
	c.leave()
	limit := answerWait
	if c.stopped.Load() {
		limit = stoppedWait
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = each(c.links, func(_ int, l Link) error {
		_, err := l.Ask(ctx, Question{Release: true})
		return err
	})
}

const (
	// answerWait is how long a worker may take to answer, stoppedWait the same once the
	// user has stopped the run, prepareWait to connect to the server and to make its
	// workload ready.
	answerWait  = 10 * time.Second
	stoppedWait = time.Second
	prepareWait = 2 * time.Minute
	// soundedBefore is how often a worker is asked for its time before a run.
	soundedBefore = 8
	attendEvery   = 5 * time.Second
)

// each does something with several workers at once, and gives the first error by
// their order.
func each(links []Link, do func(i int, l Link) error) error {
	errs := make([]error, len(links))
	var all sync.WaitGroup
	for i, l := range links {
		all.Go(func() { errs[i] = do(i, l) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("worker %s: %w", name(links[i].Hello()), err)
		}
	}
	return nil
}

// name is how a worker is called, with its machine where that says more.
func name(h Hello) string {
	if h.Host == "" || h.Host == h.Name {
		return h.Name
	}
	return h.Name + " on " + h.Host
}

// Engage hands every worker its share of a stage. Workers that are gone are left
// out: the others send the same load.
func (c *Crew) Engage(ctx context.Context, e measure.Engagement) (measure.Stint, error) {
	if c.takeover != nil && c.takeover.Run == e.Assignment.Run {
		return c.takeOver(e), nil
	}
	clocks, err := c.muster(ctx, e)
	if err != nil {
		return nil, err
	}
	s := newStint(c, e, c.links[:busy(e.Stage, len(c.links))])
	for i, m := range s.members {
		m.clock = clocks[i]
	}
	err = each(s.links, func(i int, l Link) error {
		a := e.Assignment
		a.Share, a.Origin = s.members[i].share, clocks[i].used.origin
		wait, cancel := context.WithTimeout(ctx, prepareWait)
		defer cancel()
		return answerError(l.Ask(wait, Question{Prepare: &a}))
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// busy is the number of workers that get a share of a stage.
func busy(s *load.Stage, all int) int {
	if s.Cap > 0 {
		all = min(all, s.Cap)
	}
	if s.Plain && s.Requests > 0 {
		all = min(all, s.Requests)
	}
	return all
}

// muster ends what workers still do of a stage that lost them, compares clocks with
// all of them, and parts with those that do not answer.
func (c *Crew) muster(ctx context.Context, e measure.Engagement) (clocks []soundings, err error) {
	all := make([]soundings, len(c.links))
	errs := make([]error, len(c.links))
	_ = each(c.links, func(i int, l Link) error {
		wait, cancel := context.WithTimeout(ctx, answerWait)
		defer cancel()
		if errs[i] = answerError(l.Ask(wait, Question{Order: &load.Order{End: true, Stopped: true}})); errs[i] == nil {
			errs[i] = all[i].begin(ctx, l, e.Now)
		}
		return nil
	})
	var there, gone []Link
	for i, l := range c.links {
		if errs[i] == nil {
			there, clocks = append(there, l), append(clocks, all[i])
			continue
		}
		gone = append(gone, l)
		if errors.Is(errs[i], context.DeadlineExceeded) {
			errs[i] = errors.New("it does not answer")
		}
		err = cmp.Or(err, fmt.Errorf("worker %s: %w", name(l.Hello()), errs[i]))
	}
	if len(there) == 0 || ctx.Err() != nil {
		return nil, cmp.Or(err, ctx.Err())
	}
	for _, l := range gone {
		go c.part(l)
	}
	if err != nil {
		e.Warn("%v: the load comes from %s from here on", err, text.Plural(len(there), "worker"))
	}
	c.links = there
	return clocks, nil
}

// answerError gives what an answer says against it.
func answerError(a Answer, err error) error {
	if err == nil && a.Refused != "" {
		return errors.New(a.Refused)
	}
	return err
}
