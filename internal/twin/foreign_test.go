package twin

import (
	"math"
	"math/rand/v2"

	"redline/internal/twin/replay"
)

// foreign is an engine that shares no line with the simulator: a roofline with
// a sharp corner, an overhead that grows faster than the batch, one whole
// prompt per step at most, a batch of limited size, steps that jitter, and a
// front end of one thread that takes longer for longer prompts.
type foreign struct {
	places int
	r      *rand.Rand
}

type foreignJob struct {
	i     int
	ready float64
	ctx   int
	made  int
}

// seconds is the foreign step: decodes with contexts, and one prompt.
func (f *foreign) seconds(decodes, contexts, prompt int) float64 {
	tokens := float64(decodes + prompt)
	t := max(7.5e-3, 31e-6*tokens) + 75e-9*float64(contexts) + 4e-10*float64(prompt)*float64(prompt)
	t += 0.4e-3 + 9e-6*math.Pow(float64(decodes), 1.3)
	return t * math.Exp(0.05*f.r.NormFloat64())
}

// level serves requests that come at a rate for a while and gives what a
// client would have recorded.
func (f *foreign) level(rate, length float64) Level {
	l := Level{Name: "x", Load: rate}
	now := 0.0
	for now < length {
		now += f.r.ExpFloat64() / rate
		l.Requests = append(l.Requests, replay.ObservedRequest{At: int64(now * 1e9), Session: len(l.Requests),
			Counted: now > length/6 && now < length*5/6, TTFT: -1, TPOT: -1,
			Request: replay.Request{Prompt: int(math.Exp(6+0.7*f.r.NormFloat64())) + 16, Output: 20 + f.r.IntN(300)}})
	}
	f.serve(l.Requests)
	return l
}

func (f *foreign) serve(list []replay.ObservedRequest) {
	jobs := make([]*foreignJob, len(list))
	front := 0.0
	for i := range list {
		front = max(front, float64(list[i].At)/1e9) + 1.5e-3 + 2e-6*float64(list[i].Prompt)
		jobs[i] = &foreignJob{i: i, ready: front + 6e-3, ctx: list[i].Prompt}
	}
	var running []*foreignJob
	now, next := 0.0, 0
	for len(running) > 0 || next < len(jobs) {
		var admitted *foreignJob
		if len(running) == 0 {
			now = max(now, jobs[next].ready)
		}
		if next < len(jobs) && jobs[next].ready <= now && len(running) < f.places {
			admitted = jobs[next]
			next++
		}
		contexts, prompt := 0, 0
		for _, j := range running {
			contexts += j.ctx
		}
		if admitted != nil {
			prompt = admitted.ctx
		}
		now += f.seconds(len(running), contexts, prompt)
		if admitted != nil {
			running = append(running, admitted)
		}
		kept := running[:0]
		for _, j := range running {
			if !f.emit(&list[j.i], j, int64(now*1e9)) {
				kept = append(kept, j)
			}
		}
		running = kept
	}
}

// emit brings one token out and reports whether it was the last.
func (f *foreign) emit(o *replay.ObservedRequest, j *foreignJob, at int64) bool {
	j.ctx++
	j.made++
	if j.made == 1 {
		o.First, o.TTFT = at, float64(at-o.At)
	}
	if j.made < o.Output {
		return false
	}
	o.Last, o.E2E = at, float64(at-o.At)
	if o.Output > 1 {
		o.TPOT = float64(at-o.First) / float64(o.Output-1)
	}
	return true
}
