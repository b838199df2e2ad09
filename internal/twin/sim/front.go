package sim

import "redline/internal/twin/catalog"

// fronted is an engine behind a front end: requests reach it later, and its
// tokens come out later, the more there is to do.
type fronted struct {
	*batching
	desk  catalog.Desk
	count uint64
	// ready are tokens on their way out, by process and in the order of time.
	ready [][]Token
	of    map[uint64]int // process, by job
}

func (f *fronted) Submit(now int64, j *Job) error {
	if f.of == nil {
		f.of, f.ready = map[uint64]int{}, make([][]Token, max(1, f.spec.APIServers))
	}
	if err := f.admissible(j); err != nil {
		return err
	}
	p := f.desk.Process(f.count)
	f.count++
	j.Received = now
	f.of[j.ID] = p
	return f.submit(f.desk.Prompt(p, now, len(j.Prompt)), j)
}

func (f *fronted) Cancel(now int64, id uint64) {
	delete(f.of, id)
	f.batching.Cancel(now, id)
}

func (f *fronted) Step(now int64, emit func(Token)) (next int64) {
	next = f.batching.Step(now, func(t Token) {
		p, ok := f.of[t.Job.ID]
		if !ok {
			return
		}
		// Tokens that come out together make one event.
		events := 1
		if t.More {
			events = 0
		}
		_, t.At = f.desk.Events(p, t.At, events)
		f.ready[p] = append(f.ready[p], t)
	})
	for p := range f.ready {
		list := f.ready[p]
		for len(list) > 0 && list[0].At <= now {
			if emit(list[0]); list[0].Last {
				delete(f.of, list[0].Job.ID)
			}
			list = list[1:]
		}
		if f.ready[p] = list; len(list) > 0 {
			next = min(next, list[0].At)
		}
	}
	return next
}
