package replay

import (
	"iter"
	"time"

	"redline/internal/stats"
	"redline/internal/traffic/job"
	"redline/internal/twin/queue"
	"redline/internal/twin/sim"
)

// Agents is a load of agents' jobs: graphs of requests, whose prompts are blocks.
// After the last the first comes again, with blocks of its own.
type Agents struct {
	Jobs []*job.Job
	// Live is how many are under way at once; 0 where they begin at Times.
	Live  int
	Times iter.Seq[int64]
	// Pause is what becomes of a recorded one; as it is where nil.
	Pause func(time.Duration) time.Duration
	// Start is when the load begins; at End no job begins any more, and no request
	// is sent.
	Start, End int64
}

// Turn is a request of a job that was played. Refused says why the engine did not
// take it; it then has no times but Due.
type Turn struct {
	Request
	Session, Number  int
	Due, First, Last int64
	Refused          error
}

// PlayJobs offers jobs to simulated engines in virtual time, each job to one of
// them, and gives every request that ended. Of the engines the one is asked that
// has the fewest jobs.
func PlayJobs(engines []sim.Core, load Agents, ended func(Turn)) {
	p := &jobPlayer{Agents: load, ended: ended, engines: make([]jobEngine, len(engines))}
	for i, core := range engines {
		p.engines[i] = jobEngine{core: core, next: Idle}
	}
	if load.Live > 0 {
		for range load.Live {
			p.begin(load.Start)
		}
		p.run(load.End)
		return
	}
	for at := range load.Times {
		if at >= load.End {
			break
		}
		p.run(at)
		p.begin(at)
	}
	p.run(load.End)
}

// jobPlayer has the jobs that are under way.
type jobPlayer struct {
	Agents
	engines []jobEngine
	pending queue.Heap[*dueTurn]
	begun   int
	sent    int
	ended   func(Turn)
}

// jobEngine is an engine, when it wants its next step, and how many jobs it has.
type jobEngine struct {
	core sim.Core
	next int64
	jobs int
}

// jobRun is a job under way: for how many requests each still waits, and when the
// latest of them ended.
type jobRun struct {
	*job.Job
	session int
	pass    uint64
	engine  *jobEngine
	waits   []int
	after   []int64
	left    int
	over    bool // a request was refused
}

// dueTurn is a request of a job and when it is due; of two at once the one that
// was found first.
type dueTurn struct {
	at     int64
	order  int
	run    *jobRun
	number int
	first  int64 // when its first token came
}

// Before reports which of two is first.
func (d *dueTurn) Before(o *dueTurn) bool { return d.at < o.at || d.at == o.at && d.order < o.order }

// begin starts the next job.
func (p *jobPlayer) begin(at int64) {
	engine := &p.engines[0]
	for i := range p.engines {
		if p.engines[i].jobs < engine.jobs {
			engine = &p.engines[i]
		}
	}
	engine.jobs++
	j := p.Jobs[p.begun%len(p.Jobs)]
	r := &jobRun{Job: j, session: p.begun, pass: uint64(p.begun / len(p.Jobs)), engine: engine,
		waits: make([]int, len(j.Requests)), after: make([]int64, len(j.Requests)), left: len(j.Requests)}
	p.begun++
	var first []int
	for i := range j.Requests {
		if r.waits[i] = len(j.Requests[i].After); r.waits[i] == 0 {
			first = append(first, i)
		}
	}
	// The first is due when the job is, the others as much later as recorded.
	lead := p.pause(j.Requests[first[0]].Pause)
	for _, i := range first {
		lead = min(lead, p.pause(j.Requests[i].Pause))
	}
	for _, i := range first {
		p.push(at+int64(p.pause(j.Requests[i].Pause)-lead), r, i)
	}
}

func (p *jobPlayer) pause(recorded time.Duration) time.Duration {
	if p.Pause == nil {
		return recorded
	}
	return p.Pause(recorded)
}

func (p *jobPlayer) push(at int64, r *jobRun, number int) {
	p.sent++
	p.pending.Push(&dueTurn{at: at, order: p.sent, run: r, number: number})
}

// run plays until a moment.
func (p *jobPlayer) run(until int64) {
	for {
		engine := &p.engines[0]
		for i := range p.engines {
			if p.engines[i].next < engine.next {
				engine = &p.engines[i]
			}
		}
		due := Idle
		if p.pending.Len() > 0 {
			due = (*p.pending.Top()).at
		}
		switch {
		case min(due, engine.next) >= until:
			return
		case engine.next < due:
			engine.next = engine.core.Step(engine.next, p.take)
		default:
			p.submit(p.pending.Pop())
		}
	}
}

// submit sends a request. A job of which one is refused is over.
func (p *jobPlayer) submit(d *dueTurn) {
	r, asked := d.run, &d.run.Requests[d.number]
	if r.over {
		return
	}
	j := &sim.Job{ID: uint64(d.order), Prompt: r.tokens(d.number), Output: max(1, asked.Output), Owner: d}
	if err := r.engine.core.Submit(d.at, j); err != nil {
		p.ended(Turn{Request: Request{Prompt: len(j.Prompt), Output: j.Output}, Session: r.session, Number: d.number, Due: d.at, Refused: err})
		r.over = true
		p.leave(r, d.at)
		return
	}
	r.engine.next = min(r.engine.next, d.at)
}

// take notes the end of a request, and what it makes ready.
func (p *jobPlayer) take(t sim.Token) {
	d := t.Job.Owner.(*dueTurn)
	if t.Index == 0 {
		d.first = t.At
	}
	if !t.Last {
		return
	}
	r := d.run
	p.ended(Turn{Request: Request{Prompt: len(t.Job.Prompt), Cached: t.Job.Cached, Output: t.Job.Output}, Session: r.session, Number: d.number,
		Due: d.at, First: d.first, Last: t.At})
	for i := range r.Requests {
		for _, before := range r.Requests[i].After {
			if before != d.number {
				continue
			}
			r.after[i] = max(r.after[i], t.At)
			if r.waits[i]--; r.waits[i] == 0 {
				p.push(r.after[i]+int64(p.pause(r.Requests[i].Pause)), r, i)
			}
		}
	}
	if r.left--; r.left == 0 {
		p.leave(r, t.At)
	}
}

// leave ends a job, and begins the next where so many are to be live.
func (p *jobPlayer) leave(r *jobRun, at int64) {
	r.engine.jobs--
	if p.Live > 0 {
		p.begin(at)
	}
}

// tokens are those of a prompt: the same for the same block in one pass through
// the jobs, others in the next.
func (r *jobRun) tokens(number int) []int32 {
	list := make([]int32, 0, r.Requests[number].Prompt)
	for _, b := range r.Blocks(number) {
		key := stats.Scramble(b.ID + stats.Scramble(r.pass))
		for i := range b.Tokens {
			list = append(list, int32(stats.Scramble(key+uint64(i))))
		}
	}
	if len(list) == 0 {
		list = append(list, int32(number))
	}
	return list
}
