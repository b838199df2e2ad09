package sim

import (
	"fmt"
	"time"

	"redline/internal/twin/queue"
)

// Metronome brings each job's tokens out at exact intervals from its arrival,
// whatever the load: a known truth to measure clients with.
type Metronome struct {
	Pace  int64
	beats queue.Line[beat] // all have one pace, so that a job's next is the last
	jobs  map[uint64]*performance
	last  int64 // the newest job's serial
	stats Stats
}

// performance is a job on its way.
type performance struct {
	job       *Job
	index     int // of its next token
	serial    int64
	cancelled bool
}

// beat is when a job has its next token.
type beat struct {
	at int64
	*performance
}

// Before reports which of two is first: equal times keep the order of arrival.
func (b beat) Before(o beat) bool { return b.at < o.at || b.at == o.at && b.serial < o.serial }

// NewMetronome gives a core whose jobs get their first token one pace after
// arrival and then one token each pace.
func NewMetronome(pace time.Duration) Core {
	return &Metronome{Pace: max(1, int64(pace)), jobs: map[uint64]*performance{}}
}

// Spread gives up to n metronomes of one's pace, which play side by side; another
// engine has one scheduler and stays alone.
func Spread(core Core, n int) []Core {
	list := []Core{core}
	if m, ok := core.(*Metronome); ok {
		for len(list) < n {
			list = append(list, NewMetronome(time.Duration(m.Pace)))
		}
	}
	return list
}

func (m *Metronome) Submit(now int64, j *Job) error {
	if j.Output < 1 {
		return fmt.Errorf("%d output tokens asked for: ask for at least one", j.Output)
	}
	if m.jobs[j.ID] != nil {
		return errTaken(j.ID)
	}
	j.Received, j.Arrived, j.Scheduled = now, now, now
	m.last++
	p := &performance{job: j, serial: m.last}
	m.jobs[j.ID] = p
	m.beats.Push(beat{now + m.Pace, p})
	return nil
}

// Cancel leaves the job's beat in the line, to be dropped when it is due.
func (m *Metronome) Cancel(_ int64, id uint64) {
	if p := m.jobs[id]; p != nil {
		p.cancelled = true
		delete(m.jobs, id)
	}
}

func (m *Metronome) Step(now int64, emit func(Token)) (next int64) {
	for m.beats.Len() > 0 {
		b := m.beats.Front()
		if b.at > now && !b.cancelled {
			return b.at
		}
		m.beats.Pop()
		if !b.cancelled {
			m.strike(b, emit)
		}
	}
	return Idle
}

// strike brings the earliest token out and sets the job's next one.
func (m *Metronome) strike(b beat, emit func(Token)) {
	j := b.job
	t := Token{Job: j, Index: b.index, Last: b.index == j.Output-1, At: b.at}
	m.stats.OutputTokens++
	if t.Index == 0 {
		j.First, j.Prefilled = t.At, t.At
		m.stats.PromptTokens += int64(len(j.Prompt))
	}
	if t.Last {
		j.Last = t.At
		m.stats.Finished++
		delete(m.jobs, j.ID)
	} else {
		b.index++
		m.beats.Push(beat{b.at + m.Pace, b.performance})
	}
	emit(t)
}

func (m *Metronome) Stats() Stats {
	s := m.stats
	s.Running = len(m.jobs)
	return s
}
