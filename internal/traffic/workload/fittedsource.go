package workload

import (
	"math/rand/v2"
	"time"

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

// script draws a single request. The times of a fitted workload are those of
// requests and not of sessions, so turns would count twice; they are sent
// only where the workload asks for them.
func (f *fittedSource) script(i int) (*script, error) {
	prompt, output := f.lengths(stats.Rand(f.seed, "workload lengths", uint64(i)))
	names := stats.Rand(f.seed, "workload names", uint64(i))
	s := &script{tenant: f.model.Tenant(names), class: f.model.Class(names)}
	s.steps = []step{{tokens: prompt, output: output, segments: f.segments(i, prompt)}}
	if session := f.traffic.Session; session != nil && session.Turns != nil {
		f.converse(s, i, session)
	}
	return s, nil
}

// lengths come from the model, but for what the workload says in their place.
func (f *fittedSource) lengths(r *rand.Rand) (prompt, output int) {
	prompt, output = f.model.Lengths(r)
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

// converse draws later turns of the workload's own session block.
func (f *fittedSource) converse(s *script, i int, session *Session) {
	r := stats.Rand(f.seed, "workload turns", uint64(i))
	for range min(session.Turns.Sample(r), maxTurns) - 1 {
		own, output := f.lengths(r)
		if session.Prompt != nil {
			own = session.Prompt.Sample(r)
		}
		var think time.Duration = session.Think.Sample(r)
		s.steps = append(s.steps, laterStep(i, len(s.steps), own, output, think))
	}
}
