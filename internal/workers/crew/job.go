package crew

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/run/measure"
)

// job is a share of a stage that a worker sends.
type job struct {
	worker     *Worker
	owner      string // the conductor whose it is
	part       *measure.Part
	clock      *clock.Clock
	assignment measure.Assignment
	outlet     Outlet
	orders     chan load.Order
	ended      chan struct{}
	counts     load.Progress

	mu        sync.Mutex
	dismissed bool                   // its conductor wants no more of it
	cause     string                 // what ended it before that
	news      map[int]*record.Record // on their way, with something new to tell
	finished  []*record.Record       // ended

	// Of the beat alone.
	seq            uint64
	reportedOutput int64 // output events
	stuck          bool  // no more can be handed on
}

// flushWait is how long a worker keeps what nobody has taken after its end.
const flushWait = 30 * time.Second

func (j *job) run(start int64) {
	defer close(j.ended)
	defer j.part.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var beats sync.WaitGroup
	stop := make(chan struct{})
	beats.Go(func() { j.beat(stop) })
	out, err := j.part.Run(ctx, start, j.orders, &j.counts, j.note, j.sink)
	close(stop)
	beats.Wait()
	if err := j.part.KeepError(); err != nil {
		j.worker.say("run %s: not all records are kept: %v", j.assignment.Run, err)
	}
	report := &Report{}
	from, to := out.WindowStart, out.WindowEnd
	if from == 0 || to <= from {
		from, to = start, max(start+1, j.clock.Now())
	}
	report.Client, report.Shortage = j.part.Client(from, to)
	report.Watch = j.part.Watch()
	if report.Error = j.endReason(); err != nil {
		report.Error = err.Error()
	}
	j.publish(report)
	flush, done := context.WithTimeout(ctx, flushWait)
	defer done()
	if err := j.outlet.Flush(flush); err != nil {
		j.worker.say("run %s: not all records were taken by the conductor: %v", j.assignment.Run, err)
	}
}

// note hears of a request on its way.
func (j *job) note(rec *record.Record) {
	seen := rec.Opening()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.news[rec.ID] = seen
}

// sink hears of a request that has ended.
func (j *job) sink(rec *record.Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.news, rec.ID)
	j.finished = append(j.finished, rec)
}

// beat tells what has happened, at times that are the same for all workers, and
// ends the load of a conductor that has gone.
func (j *job) beat(stop <-chan struct{}) {
	c := j.clock
	for {
		next := (c.Now()/int64(beat) + 1) * int64(beat)
		wait := time.NewTimer(time.Duration(next - c.Now()))
		select {
		case <-wait.C:
		case <-stop:
			wait.Stop()
			return
		}
		j.publish(nil)
		if !j.worker.has(j.owner) {
			if j.endReason() == "" {
				j.worker.say("run %s: nothing heard from its conductor for %s: stopping", j.assignment.Run, silence)
			}
			j.stop(fmt.Sprintf("it heard nothing from its conductor for %s", silence))
		}
	}
}

// order hands on what the conductor wants.
func (j *job) order(o load.Order) {
	j.mu.Lock()
	j.dismissed = j.dismissed || o.End
	j.mu.Unlock()
	select {
	case j.orders <- o:
	case <-j.ended:
	}
}

// interrupt keeps why the share ends before its conductor has ended it.
func (j *job) interrupt(why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.dismissed {
		j.cause = cmp.Or(j.cause, why)
	}
}

// endReason is what ended the share before its conductor did, "" for nothing.
func (j *job) endReason() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cause
}

// publish sends what is new; done is nil but for the last time.
func (j *job) publish(done *Report) {
	known := min(j.clock.Now(), j.counts.Next())
	j.mu.Lock()
	news, over := j.news, j.finished
	j.news, j.finished = map[int]*record.Record{}, nil
	j.mu.Unlock()
	var lines []byte
	add := func(rec *record.Record) {
		if lines = rec.AppendLine(lines); len(lines) >= largeBatch {
			j.send(&Batch{Lines: lines})
			lines = nil
		}
	}
	for _, id := range slices.Sorted(maps.Keys(news)) {
		add(news[id])
	}
	for _, rec := range over {
		add(rec)
	}
	output := j.counts.Events.Load()
	j.send(&Batch{Known: known, Output: output - j.reportedOutput, Done: done, Lines: lines})
	j.reportedOutput = output
}

// largeBatch is when a batch is large enough: a NATS server takes messages of up
// to 1 MB, where it is not told otherwise.
const largeBatch = 256 << 10

// send numbers a batch and hands it on. What cannot be handed on ends the share:
// it would be missing between what comes before and after it.
func (j *job) send(b *Batch) {
	if j.stuck {
		return
	}
	b.Run, b.Worker, b.Seq = j.assignment.Run, j.assignment.Share.Index, j.seq+1
	if err := j.outlet.Publish(b); err != nil {
		j.stuck = true
		j.worker.say("run %s: stopping: %v", j.assignment.Run, err)
		j.stop(err.Error())
		return
	}
	j.seq++
}

// stop ends the share before its conductor does.
func (j *job) stop(why string) {
	j.interrupt(why)
	select {
	case j.orders <- load.Order{End: true, Stopped: true}:
	default:
	}
}
