package job

import (
	"cmp"
	"slices"
	"time"
)

// Live is what a job holds of a server's cache, in token-seconds: each block of its
// prompts from the request that has it first until the last that begins with it is
// sent. Over the time of the job it is the tokens that the job comes back to.
func (j *Job) Live(spans []Span) (tokenSeconds float64) {
	// use is a request that begins with the first blocks of another.
	type use struct {
		blocks int
		at     time.Duration
	}
	uses := make([][]use, len(j.Requests))
	for i, r := range slices.Backward(j.Requests) {
		own := uses[i]
		slices.SortFunc(own, func(a, b use) int { return cmp.Compare(b.blocks, a.blocks) })
		until, next := time.Duration(0), 0
		for k, b := range slices.Backward(r.Blocks) {
			for ; next < len(own) && own[next].blocks > r.Keep+k; next++ {
				until = max(until, own[next].at)
			}
			tokenSeconds += float64(b.Tokens) * max(0, until-spans[i].Start).Seconds()
		}
		if r.Keep == 0 {
			continue
		}
		// What begins with this one begins with what this one begins with.
		whole := use{r.Keep, max(until, spans[i].Start)}
		for _, u := range own[next:] {
			if u.blocks == r.Keep {
				whole.at = max(whole.at, u.at)
			} else {
				uses[r.From] = append(uses[r.From], u)
			}
		}
		uses[r.From] = append(uses[r.From], whole)
	}
	return tokenSeconds
}

// LiveTokens is what a live job holds on average, over the time of all jobs.
func (f *File) LiveTokens(pause func(time.Duration) time.Duration) float64 {
	var held, lasted float64
	for _, j := range f.Jobs {
		paced := Job{Requests: slices.Clone(j.Requests)}
		for i := range paced.Requests {
			paced.Requests[i].Pause = pause(paced.Requests[i].Pause)
		}
		spans := paced.Schedule(f.Took)
		end := time.Duration(0)
		for _, s := range spans {
			end = max(end, s.End)
		}
		held, lasted = held+paced.Live(spans), lasted+end.Seconds()
	}
	return held / max(lasted, 1e-9)
}
