package sim

import (
	"fmt"
	"time"

	"redline/internal/twin/queue"
)

// metronome brings each job's tokens out at exact intervals from its arrival,
// whatever the load: a known truth to measure clients with.
type metronome struct {
	pace  int64
	beats queue.Heap[beat]
	jobs  map[uint64]*Job
	last  int64 // the newest job's serial
	stats Stats
}

// beat is the next token of a job. Equal times keep the order of arrival.
type beat struct {
	at     int64
	serial int64
	job    *Job
	index  int
}

// Before reports which of two is first.
func (b beat) Before(o beat) bool { return b.at < o.at || b.at == o.at && b.serial < o.serial }

// newMetronome gives a core whose jobs get their first token one pace after
// arrival and then one token each pace.
func newMetronome(pace time.Duration) Core {
	return &metronome{pace: max(1, int64(pace)), jobs: map[uint64]*Job{}}
}

func (m *metronome) Submit(now int64, j *Job) error {
	if j.Output < 1 {
		return fmt.Errorf("%d output tokens asked for: ask for at least one", j.Output)
	}
	if m.jobs[j.ID] != nil {
		return errTaken(j.ID)
	}
	j.Received, j.Arrived, j.Scheduled = now, now, now
	m.jobs[j.ID] = j
	m.last++
	m.beats.Push(beat{at: now + m.pace, serial: m.last, job: j})
	return nil
}

// Cancel leaves the job's beat in the heap, to be dropped when it is due.
func (m *metronome) Cancel(_ int64, id uint64) { delete(m.jobs, id) }

func (m *metronome) Step(now int64, emit func(Token)) (next int64) {
	for m.beats.Len() > 0 {
		b := m.beats.Top()
		if m.jobs[b.job.ID] != b.job {
			m.beats.Pop()
			continue
		}
		if b.at > now {
			return b.at
		}
		m.strike(b, emit)
	}
	return Idle
}

// strike brings the earliest token out and sets the job's next one.
func (m *metronome) strike(b *beat, emit func(Token)) {
	j := b.job
	t := Token{Job: j, Index: b.index, Last: b.index == j.Output-1, At: b.at}
	m.stats.OutputTokens++
	if t.Index == 0 {
		j.First = t.At
		m.stats.PromptTokens += int64(len(j.Prompt))
	}
	if t.Last {
		j.Last = t.At
		m.stats.Finished++
		delete(m.jobs, j.ID)
		m.beats.Pop()
	} else {
		b.at += m.pace
		b.index++
		m.beats.Sink()
	}
	emit(t)
}

func (m *metronome) Stats() Stats {
	s := m.stats
	s.Running = len(m.jobs)
	return s
}
