package search

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/text"
)

// Each shows the records of a stage one by one.
type Each func(show func(*record.Record)) error

// FromLevel is what a level shows: its point, what its requests held in the
// server's memory, and the work that they brought over what the workload brings
// on average. Those that the drain cut off count too: they are the long ones.
func FromLevel(p result.Point, turns float64, mean Lengths, each Each) (Observation, error) {
	seen := fromPoint(p, turns)
	seen.Work = luckOf(p, seen.Work, mean)
	second := float64(time.Second)
	load := Load{From: int64(p.Window.StartS * second), To: int64(p.Window.EndS * second)}
	err := each(load.addRecord)
	_, seen.Resident = load.Mean()
	return seen, err
}

func luckOf(p result.Point, requests float64, mean Lengths) float64 {
	over := func(asked int64, mean float64) float64 {
		if mean <= 0 || p.Requests.Due == 0 {
			return 0
		}
		return float64(asked) / float64(p.Requests.Due) / mean
	}
	return luck(requests, over(p.Tokens.DuePrompt, mean.Prompt), over(p.Tokens.DueOutput, mean.Output))
}

// FromRamp is what the records of a ramp say that began so many seconds after
// the run's origin: of a lone request with a reply of the mean length, and of
// what was in flight at its end. One that this machine held up may have seemed to
// queue only while it rose: the records decide.
func FromRamp(l Level, start, output float64, each Each) (Observation, error) {
	var seen Observation
	var err error
	if seen.E2E, seen.Pace, err = lightest(output, each); err != nil {
		return seen, err
	}
	from := int64(start * float64(time.Second))
	to := from + int64(l.Duration)
	load := Load{From: to - int64(l.Stretch()), To: to}
	moments := make([]Moment, int(l.Duration/rampGrain)+1)
	at := func(ns int64) *Moment { // the first moment that has seen it
		i := (ns - from + int64(rampGrain) - 1) / int64(rampGrain)
		if ns == 0 || i >= int64(len(moments)) {
			return &Moment{}
		}
		return &moments[max(i, 0)]
	}
	err = each(func(r *record.Record) {
		load.addRecord(r)
		at(r.Due).Due++
		at(r.First).Answered++
		switch {
		case r.Outcome.Count().Fault:
			at(r.End).Failed++
		case r.Outcome == llm.OK:
			at(r.End).Ended++
		}
		for ns := range r.Chunks() {
			at(ns).Events++
		}
	})
	seen.InFlight, seen.Resident = load.Mean()
	seen.Slowing, seen.Queued = Review(l, seen.Pace, accumulate(moments))
	return seen, err
}

// rampGrain is how finely a ramp is looked at again.
const rampGrain = 250 * time.Millisecond

// accumulate adds up what came between moments.
func accumulate(list []Moment) []Moment {
	for i := range list {
		list[i].Elapsed = time.Duration(i) * rampGrain
		if i > 0 {
			before := list[i-1]
			list[i].Due += before.Due
			list[i].Answered += before.Answered
			list[i].Ended += before.Ended
			list[i].Failed += before.Failed
			list[i].Events += before.Events
		}
	}
	return list
}

// addRecord counts what a request had in the server's memory.
func (l *Load) addRecord(r *record.Record) {
	last := cmp.Or(r.Last, r.End)
	if r.Outcome != llm.OK {
		last = r.End // it was still there
	}
	l.add(r.Sent, r.First, last, cmp.Or(r.PromptTokens, r.AskedPrompt), max(r.StreamedTokens, r.ChunkCount()))
}

// minPaced is how many tokens a reply needs for its pace to be more than the
// chance of two reads.
const minPaced = 16

// lightest is what a mean request takes at the lightest load of a stage,
// of the shortest time to a first token and the fastest pace of the others, and
// that pace where long replies have it, ended or not.
func lightest(output float64, each Each) (alone, steady time.Duration, err error) {
	first, pace, long := math.Inf(1), math.Inf(1), math.Inf(1)
	err = each(func(r *record.Record) {
		if r.Outcome == llm.OK && r.First == 0 {
			first, pace = min(first, float64(r.Last-r.Sent)), 0
		}
		if r.First == 0 || r.Outcome.Count() == llm.Failures {
			return
		}
		first = min(first, float64(r.First-r.Sent))
		tokens := max(r.StreamedTokens, r.ChunkCount())
		if r.Outcome == llm.OK {
			tokens = max(tokens, r.OutputTokens)
		}
		if tokens > 1 && (r.Outcome == llm.OK || tokens >= minPaced) {
			pace = min(pace, float64(r.Last-r.First)/float64(tokens-1))
		}
		if tokens >= minPaced {
			long = min(long, float64(r.Last-r.First)/float64(tokens-1))
		}
	})
	if !math.IsInf(long, 1) {
		steady = time.Duration(long)
	}
	if whole := first + pace*output; !math.IsInf(whole, 1) && !math.IsNaN(whole) {
		alone = time.Duration(whole)
	}
	return alone, steady, err
}

// RampWords says how far a ramp rose, and what ended it. Its rate is that of a
// moment, which no server has to keep up with.
func (o Observation) RampWords(rate string, r metric.Requests) string {
	reached := fmt.Sprintf("rose to %s for a moment", rate)
	if o.InFlight >= 1 {
		reached += fmt.Sprintf(", with %s in flight", text.Digits(o.InFlight, 2))
	}
	switch {
	case r.Rejected > r.Failed:
		return reached + ": requests were rejected"
	case r.Failed > 0:
		return reached + ": requests failed"
	case o.Slowing >= toldSlowing:
		return reached + fmt.Sprintf(": tokens came %s times as slowly as to one request alone", text.Digits(o.Slowing, 2))
	case o.Queued:
		return reached + ": a queue formed"
	}
	return reached + ": no queue formed"
}
