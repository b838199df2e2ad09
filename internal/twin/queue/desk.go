package queue

import "redline/internal/catalog"

// Desk is a front end at work. Each of its processes does one thing at a time to its
// end, in rounds, as an event loop does: a round has the events of one step and a turn of
// each request that is waiting for one. A request takes several turns. Events that come
// faster than they are sent wait for their steps' rounds, and hold up requests no more
// than those of one step do.
type Desk[T any] struct {
	catalog.FrontEnd
	processes []process[T]
	asked     uint64
	later     []sending[T] // in the order of their times
}

// sending is events that are ready at a time to come.
type sending[T any] struct {
	at      int64
	process int
	task    task[T]
}

type process[T any] struct {
	until            int64 // busy with the task at hand
	busy             bool
	task             task[T]
	round            []task[T] // left of the round at hand
	requests, events []task[T] // waiting for another round, the oldest first
}

type task[T any] struct {
	item        T
	took, began int64
	more        int // turns after this one
}

// turns is in how many turns of the loop a request is taken up: its bytes are read and
// passed through the layers of the server, its prompt is rendered, handed to a tokenizer,
// taken back from it, and handed to the engine.
const turns = 8

// NewDesk opens a front end.
func NewDesk[T any](f catalog.FrontEnd) *Desk[T] {
	return &Desk[T]{FrontEnd: f, processes: make([]process[T], max(1, f.APIServers))}
}

// Processes is how many there are.
func (d *Desk[T]) Processes() int { return len(d.processes) }

// Request hands a request that came now to the process whose turn it is.
func (d *Desk[T]) Request(now int64, tokens int, item T) (process int) {
	process = int(d.asked % uint64(len(d.processes)))
	d.asked++
	p := &d.processes[process]
	p.requests = append(p.requests, task[T]{item: item, took: d.Prompt(tokens) / turns, more: turns - 1})
	p.begin(now)
	return process
}

// Send hands n events to a process, to which they are ready at at, not before those that
// were sent already.
func (d *Desk[T]) Send(process int, at int64, n int, item T) {
	d.later = append(d.later, sending[T]{at, process, task[T]{item: item, took: d.Events(n)}})
}

// Idle is the next time of what has nothing to do.
const Idle = int64(1<<63 - 1)

// Next is when the next task is done, or events are ready; Idle where there are none.
func (d *Desk[T]) Next() int64 {
	next := Idle
	if len(d.later) > 0 {
		next = d.later[0].at
	}
	for i := range d.processes {
		if p := &d.processes[i]; p.busy {
			next = min(next, p.until)
		}
	}
	return next
}

// Advance finishes what is done by now, and calls done for each task with its begin and
// end.
func (d *Desk[T]) Advance(now int64, done func(item T, began, ended int64)) {
	for next := d.Next(); next <= now; next = d.Next() {
		for ; len(d.later) > 0 && d.later[0].at == next; d.later = d.later[1:] {
			p := &d.processes[d.later[0].process]
			p.events = append(p.events, d.later[0].task)
			p.begin(next)
		}
		for i := range d.processes {
			if p := &d.processes[i]; p.busy && p.until == next {
				t := p.task
				p.busy = false
				if t.more > 0 {
					p.requests = append(p.requests, task[T]{item: t.item, took: t.took, more: t.more - 1})
				}
				p.begin(next)
				if t.more == 0 {
					done(t.item, t.began, next)
				}
			}
		}
	}
}

// begin takes up the next task, where the process has none at hand.
func (p *process[T]) begin(now int64) {
	if p.busy {
		return
	}
	if len(p.round) == 0 {
		first := min(1, len(p.events))
		p.round = append(append(p.round[:0], p.events[:first]...), p.requests...)
		p.events, p.requests = p.events[first:], p.requests[:0]
	}
	if len(p.round) == 0 {
		return
	}
	p.task, p.round = p.round[0], p.round[1:]
	p.task.began = now
	p.busy, p.until = true, now+p.task.took
}
