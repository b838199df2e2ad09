package workload

import (
	"slices"
	"time"
)

// Conversation is how the turns of a workload's sessions follow each other.
type Conversation struct {
	// Turns is how many a session has on average.
	Turns float64
	turns []laterTurn
}

// laterTurn is one turn of a session: how many come before it, and for how long
// its user thinks until then, all pauses together; the replies are among that where
// turns are paced.
type laterTurn struct {
	before int
	think  time.Duration
	paced  bool
}

// age is how old its session is when it is due, where each reply takes e2e.
func (t laterTurn) age(e2e time.Duration) time.Duration {
	replies := time.Duration(t.before) * e2e
	if t.paced {
		return max(t.think, replies)
	}
	return t.think + replies
}

// conversationSample is how many sessions show how turns follow each other.
const conversationSample = 256

// Conversation looks at the first sessions; nil where each is one request.
func (w *Workload) Conversation() *Conversation {
	c := &Conversation{}
	sessions, think := 0, time.Duration(0)
	for p, err := range w.plan(conversationSample) {
		if err != nil {
			return nil // whoever sends it will say why
		}
		if p.turn == 0 {
			sessions++
			think = 0
		}
		think += p.step.think
		turn := laterTurn{p.turn, think, p.step.paced}
		if p.script.chain != nil {
			turn = p.script.chain[p.turn]
		}
		c.turns = append(c.turns, turn)
	}
	if len(c.turns) == sessions {
		return nil
	}
	c.Turns = float64(len(c.turns)) / float64(sessions)
	return c
}

// settledShare is the share of turns that must be due for their mix to be
// called steady.
const settledShare = 0.95

// SettleTime is how old a session is when nearly all of its turns have been due,
// where each reply takes e2e. A load that has lasted so long brings later turns
// as often as it ever will.
func (c *Conversation) SettleTime(e2e time.Duration) time.Duration {
	ages := make([]time.Duration, len(c.turns))
	for i, t := range c.turns {
		ages[i] = t.age(e2e)
	}
	slices.Sort(ages)
	return ages[int(settledShare*float64(len(ages)-1))]
}

// ShareIn is how many of the turns that a steady load has in a window come in one
// that begins so long behind the first session, where each reply takes e2e.
func (c *Conversation) ShareIn(warmup, window, e2e time.Duration) float64 {
	share := 0.0
	for _, t := range c.turns {
		share += max(0, float64(min(window, warmup+window-t.age(e2e)))/float64(window))
	}
	return share / float64(len(c.turns))
}
