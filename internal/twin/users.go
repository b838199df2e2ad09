package twin

import (
	"math/rand/v2"

	"redline/internal/stats"
	"redline/internal/twin/queue"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// Conversation is the requests of a session, one after another; most have one.
type Conversation []Exchange

// Exchange is a request of a conversation and how long after the reply before it.
type Exchange struct {
	replay.Request
	After int64
}

// Mix is the conversations that were answered, to draw others from.
func (ev *Evidence) Mix() []Conversation {
	var list, later []Conversation
	for _, l := range ev.Levels {
		at, ended := map[int]int{}, map[int]int64{}
		for _, o := range l.Requests {
			if !o.Counted {
				continue
			}
			one := Exchange{Request: o.Request, After: max(0, o.At-ended[o.Session])}
			where, known := at[o.Session]
			switch {
			case known && o.Turn > 0:
				list[where] = append(list[where], one)
			case o.Turn == 0:
				at[o.Session] = len(list)
				list = append(list, Conversation{one})
			default: // it began before the window
				later = append(later, Conversation{one})
			}
			ended[o.Session] = o.Last
		}
	}
	if len(list) == 0 {
		return later
	}
	return list
}

// hasTurns reports whether any conversation has a second request.
func hasTurns(mix []Conversation) bool {
	for _, c := range mix {
		if len(c) > 1 {
			return true
		}
	}
	return false
}

// users send requests: the next of a conversation whose answer has been read, else the
// first of another.
type users struct {
	mix      []Conversation
	draw     *rand.Rand
	byPrompt bool // the router wants to know what prompts begin with
	due      queue.Heap[dueUser]
	sent     uint64
	spare    []*sim.Job
}

// user is in a conversation.
type user struct {
	talk Conversation
	turn int
	// seen are the engines that have some of it in their caches, and how much.
	seen       []seenAt
	name       string
	beginnings []uint64
}

type seenAt struct{ engine, tokens int }

type dueUser struct {
	at int64
	*user
}

func (d dueUser) Before(o dueUser) bool { return d.at < o.at }

func newUsers(t Traffic, byPrompt bool) *users {
	return &users{mix: t.Mix, draw: rand.New(rand.NewPCG(t.Seed, 0x7477696e)), byPrompt: byPrompt}
}

// shared is what the prompts of all users may begin with.
var shared = []uint64{1}

// ask is the request that is sent now.
func (u *users) ask(now int64) *sim.Job {
	var j *sim.Job
	if n := len(u.spare); n > 0 {
		j, u.spare = u.spare[n-1], u.spare[:n-1]
	} else {
		j = new(sim.Job)
	}
	u.sent++
	var who *user
	var next replay.Request
	if u.due.Len() > 0 && u.due.Top().at <= now {
		who = u.due.Pop().user
		who.turn++
		next = who.talk[who.turn].Request
	} else {
		talk := u.mix[u.draw.IntN(len(u.mix))]
		if next = talk[0].Request; len(talk) > 1 {
			who = &user{talk: talk, name: string(appendNumber(nil, u.sent))}
			if u.byPrompt {
				who.beginnings = []uint64{1, stats.Scramble(u.sent)}
			}
		}
	}
	*j = sim.Job{ID: u.sent, PromptLength: next.Prompt, Cached: next.Cached, Output: next.Output,
		Priority: next.Priority, Adapter: next.Adapter, Grammar: next.Grammar}
	if who != nil {
		j.Owner, j.Session, j.Beginnings = who, who.name, who.beginnings
	}
	if u.byPrompt && next.Cached > 0 && who == nil {
		j.Beginnings = shared
	}
	return j
}

// appendNumber writes a number in as few bytes as it takes.
func appendNumber(to []byte, n uint64) []byte {
	for ; n > 0; n >>= 8 {
		to = append(to, byte(n))
	}
	return to
}

// read has the user of an answer think about it, where there is more to ask.
func (u *users) read(j *sim.Job, now int64) {
	if who, ok := j.Owner.(*user); ok && who.turn+1 < len(who.talk) {
		who.note(j.Prefiller, j.PromptLength+j.Output)
		u.due.Push(dueUser{now + who.talk[who.turn+1].After, who})
	}
	u.leave(j)
}

// leave ends a request.
func (u *users) leave(j *sim.Job) { u.spare = append(u.spare, j) }

// note keeps that an engine has so many tokens of the conversation.
func (w *user) note(engine, tokens int) {
	for i := range w.seen {
		if w.seen[i].engine == engine {
			w.seen[i].tokens = tokens
			return
		}
	}
	w.seen = append(w.seen, seenAt{engine, tokens})
}

// cachedTokens is how much of a prompt an engine has: as much as was recorded of a first
// request, which is what all users share, and of a later one what the engine has seen
// of the conversation.
func cachedTokens(engine int, j *sim.Job) int {
	who, ok := j.Owner.(*user)
	if !ok || who.turn == 0 {
		return j.Cached
	}
	cached := min(j.Cached, who.talk[0].Cached)
	for _, s := range who.seen {
		if s.engine == engine {
			cached = max(cached, min(j.Cached, s.tokens))
		}
	}
	return cached
}
