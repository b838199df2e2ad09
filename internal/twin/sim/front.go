package sim

import (
	"fmt"

	"redline/internal/twin/queue"
)

// frontedEngine is an engine behind a front end: requests reach it later, and its
// tokens come out later, the more there is to do.
type frontedEngine struct {
	*batching
	desk *queue.Desk[passing]
	of   map[uint64]int // process, by job
	sent []Token        // of the step in hand
}

// passing is what goes through the front end: a request in, or tokens out.
type passing struct {
	job    *Job
	tokens []Token
}

func (f *frontedEngine) Submit(now int64, j *Job) error {
	if err := f.admissible(j); err != nil {
		return err
	}
	if _, known := f.of[j.ID]; known {
		return errTaken(j.ID)
	}
	j.Received = now
	f.of[j.ID] = f.desk.Request(now, len(j.Prompt), passing{job: j})
	return nil
}

func (f *frontedEngine) Cancel(now int64, id uint64) {
	delete(f.of, id)
	f.batching.Cancel(now, id)
}

func (f *frontedEngine) Step(now int64, emit func(Token)) (next int64) {
	for {
		engine, desk := f.next(), f.desk.Next()
		if next = min(engine, desk); next > now {
			return next
		}
		if desk <= engine {
			f.desk.Advance(desk, func(p passing, began, ended int64) { f.pass(p, began, ended, emit) })
			continue
		}
		f.batching.Step(engine, func(t Token) { f.sent = append(f.sent, t) })
		f.send()
	}
}

// next is when the engine has something to do.
func (f *frontedEngine) next() int64 {
	if f.stepping {
		return f.end
	}
	start, _ := f.nextStart()
	return start
}

// send hands the tokens of a step to the processes that serve their requests. Where the
// next step is planned ahead, the engine first launches that one.
func (f *frontedEngine) send() {
	launched := int64(0)
	if f.stepping && f.spec.AsyncScheduling {
		launched = f.launched
	}
	for p := range f.desk.Processes() {
		var own passing
		events := 0
		for _, t := range f.sent {
			if of, ok := f.of[t.Job.ID]; ok && of == p {
				own.tokens = append(own.tokens, t)
				if !t.More { // tokens that come out together are one event
					events++
				}
			}
		}
		if events > 0 {
			f.desk.Send(p, max(own.tokens[0].At, launched), events, own)
		}
	}
	f.sent = f.sent[:0]
}

// pass lets a request into the engine, or tokens out to their clients, evenly
// over the time that the process took.
func (f *frontedEngine) pass(p passing, began, ended int64, emit func(Token)) {
	if p.job != nil {
		if _, known := f.of[p.job.ID]; known {
			// It was found admissible when it came.
			_ = f.submit(ended, p.job)
		}
		return
	}
	for i, t := range p.tokens {
		if _, known := f.of[t.Job.ID]; !known {
			continue
		}
		if t.At = began + (ended-began)*int64(i+1)/int64(len(p.tokens)); t.Last {
			delete(f.of, t.Job.ID)
		}
		emit(t)
	}
}

func errTaken(id uint64) error {
	return fmt.Errorf("job %d is already in the engine: give each job its own id", id)
}
