package workload

import (
	"math/rand/v2"

	"redline/internal/stats"
	"redline/internal/traffic/trace"
)

// fittedSource is a source that behaves like the log it was fitted to.
type fittedSource struct {
	model   *trace.FittedWorkload
	traffic Traffic
	seed    uint64
}

func newFittedSource(model *trace.FittedWorkload, t Traffic, seed uint64) *fittedSource {
	if t.Pairs == "break" {
		apart := *model
		apart.Pairs.Independent = true
		model = &apart
	}
	return &fittedSource{model, t, seed}
}

func (f *fittedSource) length() int { return 0 }

func (f *fittedSource) close() error { return nil }

// script draws a session: a single request where the log has no conversations and
// the workload asks for none.
func (f *fittedSource) script(i int) (*script, error) {
	r := stats.Rand(f.seed, "workload lengths", uint64(i))
	prompt, output := f.model.Lengths(r)
	prompt, output = f.replace(r, prompt, output)
	names := stats.Rand(f.seed, "workload names", uint64(i))
	s := &script{tenant: f.model.Tenant(names), class: f.model.Class(names)}
	s.steps = []step{{tokens: prompt, output: output, segments: f.segments(i, prompt)}}
	f.converse(s, i)
	return s, nil
}

// replace gives the lengths that the workload says in place of the model's.
func (f *fittedSource) replace(r *rand.Rand, prompt, output int) (int, int) {
	if d := f.traffic.Prompt; d != nil {
		prompt = d.Sample(r)
	}
	if d := f.traffic.Output; d != nil {
		output = d.Sample(r)
	}
	return max(1, prompt), max(1, output)
}

// sharedBlock is the grain in which fitted prompts begin alike: two of one
// group share as many blocks as the shorter beginning has.
const sharedBlock = 16

func (f *fittedSource) segments(i, prompt int) []segment {
	group, shared := f.model.SharedPrefix(stats.Rand(f.seed, "workload group", uint64(i)), prompt)
	var out []segment
	left := prompt
	if f.traffic.Cache != "cold" {
		for k := uint64(0); shared >= sharedBlock; k++ {
			out = append(out, segment{blockStream, uint64(group)<<32 | k, sharedBlock})
			shared -= sharedBlock
			left -= sharedBlock
		}
	}
	if left > 0 {
		out = append(out, segment{ownStream, uint64(i), left})
	}
	return out
}

// converse draws later turns: the model's, but for what the workload's own session
// block says in their place.
func (f *fittedSource) converse(s *script, i int) {
	r := stats.Rand(f.seed, "workload turns", uint64(i))
	session := f.traffic.Session
	if session == nil {
		session = &Session{}
	}
	turns := f.model.Turns(r)
	if session.Turns != nil {
		turns = session.Turns.Sample(r)
	}
	for range min(turns, maxTurns) - 1 {
		own, output, gap := f.model.Later(r)
		own, output = f.replace(r, own, output)
		if session.Prompt != nil {
			own = session.Prompt.Sample(r)
		}
		paced := gap > 0 && session.Think.Form == ""
		if !paced {
			gap = session.Think.Sample(r)
		}
		next := laterStep(i, len(s.steps), own, output, gap)
		next.paced = paced
		s.steps = append(s.steps, next)
	}
}
