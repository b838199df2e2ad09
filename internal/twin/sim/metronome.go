package sim

import (
	"container/heap"
	"fmt"
	"time"
)

// metronome brings each job's tokens out at exact intervals from its arrival,
// whatever the load: a known truth to measure clients with.
type metronome struct {
	pace  int64
	beats beatHeap
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
		return fmt.Errorf("job %d is already in the engine: give each job its own id", j.ID)
	}
	j.Received, j.Arrived, j.Scheduled = now, now, now
	m.jobs[j.ID] = j
	m.last++
	m.beats = append(m.beats, beat{at: now + m.pace, serial: m.last, job: j})
	heap.Fix(&m.beats, len(m.beats)-1)
	return nil
}

// Cancel leaves the job's beat in the heap, to be dropped when it is due.
func (m *metronome) Cancel(_ int64, id uint64) { delete(m.jobs, id) }

func (m *metronome) Step(now int64, emit func(Token)) (next int64) {
	for len(m.beats) > 0 {
		b := &m.beats[0]
		if m.jobs[b.job.ID] != b.job {
			m.drop()
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
		m.drop()
	} else {
		b.at += m.pace
		b.index++
		heap.Fix(&m.beats, 0)
	}
	emit(t)
}

func (m *metronome) Stats() Stats {
	s := m.stats
	s.Running = len(m.jobs)
	return s
}

// drop takes the earliest beat out of the heap.
func (m *metronome) drop() {
	end := len(m.beats) - 1
	m.beats.Swap(0, end)
	m.beats[end] = beat{}
	m.beats = m.beats[:end]
	heap.Fix(&m.beats, 0)
}

// beatHeap has the earliest beat first. Beats are added and taken in place,
// which spares an allocation each: Push and Pop are for the interface alone.
type beatHeap []beat

func (h beatHeap) Len() int { return len(h) }

func (h beatHeap) Less(i, k int) bool {
	return h[i].at < h[k].at || h[i].at == h[k].at && h[i].serial < h[k].serial
}

func (h beatHeap) Swap(i, k int) { h[i], h[k] = h[k], h[i] }

func (h beatHeap) Push(any) {}

func (h beatHeap) Pop() any { return nil }
