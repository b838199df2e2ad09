package crew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"redline/internal/run/measure"
)

// Crew is the workers that a conductor has.
type Crew struct {
	// Claim is the name that the workers were claimed by.
	Claim string

	links []Link
	post  Post
	left  *memo // of a stint that is to be taken over
	leave func()
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
	var ctx context.Context
	ctx, c.leave = context.WithCancel(context.Background())
	for _, l := range links {
		one := owned{l, claim}
		c.links = append(c.links, one)
		go one.attend(ctx)
	}
	return c
}

// owned is a link whose questions say who asks.
type owned struct {
	Link
	claim string
}

func (o owned) Ask(ctx context.Context, q Question) (Answer, error) {
	q.From = o.claim
	return o.Link.Ask(ctx, q)
}

// attend lets a worker that has nothing to do know that its conductor is there:
// stages may lie minutes apart.
func (o owned) attend(ctx context.Context) {
	for pause(ctx, attendEvery) {
		wait, cancel := context.WithTimeout(ctx, attendEvery)
		_, _ = o.Ask(wait, Question{Clock: true}) // whether it answers shows when it is needed
		cancel()
	}
}

// Release lets the workers go.
func (c *Crew) Release() {
	c.leave()
	ctx, cancel := context.WithTimeout(context.Background(), answerWait)
	defer cancel()
	_ = c.each(func(_ int, l Link) error {
		_, err := l.Ask(ctx, Question{Release: true})
		return err
	})
}

const (
	// answerWait is how long a worker may take to answer, prepareWait to connect to
	// the server and to make its workload ready.
	answerWait  = 10 * time.Second
	prepareWait = 2 * time.Minute
	// soundedBefore is how often a worker is asked for its time before a run.
	soundedBefore = 8
	attendEvery   = 5 * time.Second
)

// each does something with all workers at once, and gives the first error by
// their order.
func (c *Crew) each(do func(i int, l Link) error) error {
	errs := make([]error, len(c.links))
	var all sync.WaitGroup
	for i, l := range c.links {
		all.Go(func() { errs[i] = do(i, l) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("worker %s: %w", name(c.links[i].Hello()), err)
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

// Engage hands every worker its share of a stage.
func (c *Crew) Engage(ctx context.Context, e measure.Engagement) (measure.Stint, error) {
	if c.left != nil && c.left.Run == e.Assignment.Run {
		return c.takeOver(e), nil
	}
	if limit := e.Stage.Cap; limit > 0 && limit < len(c.links) {
		return nil, fmt.Errorf("a concurrency of %d leaves nothing to do for some of %d workers: give fewer --workers", limit, len(c.links))
	}
	s := newStint(c, e)
	err := c.each(func(i int, l Link) error {
		m := s.members[i]
		for range soundedBefore {
			wait, cancel := context.WithTimeout(ctx, answerWait)
			one, err := sound(wait, l, e.Now)
			cancel()
			if err != nil {
				return err
			}
			m.clock.add(one)
			if m.clock.reads == 1 || one.trip < m.clock.used.trip {
				m.clock.used = one
			}
		}
		a := e.Assignment
		a.Share, a.Origin = m.share, m.clock.used.origin
		wait, cancel := context.WithTimeout(ctx, prepareWait)
		defer cancel()
		return done(l.Ask(wait, Question{Prepare: &a}))
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// done gives what an answer says against it.
func done(a Answer, err error) error {
	if err == nil && a.Refused != "" {
		return errors.New(a.Refused)
	}
	return err
}
