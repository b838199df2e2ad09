package workload

import (
	"math/rand/v2"
	"time"

	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/traffic/job"
)

// script is what one session says: drawn in full when the session begins, its
// text written turn by turn.
type script struct {
	// What a file says of the session; "" where there is none.
	tenant, class, session string
	row                    int
	steps                  []step
	// job is the graph of its steps; nil where each follows the one before. chain
	// then is how many come before each, and for how long the agent pauses until
	// then.
	job   *job.Job
	chain []laterTurn
	// numbers are the places of the steps in a job of which the first are left out;
	// nil where it is whole.
	numbers []int
	// anyLength says that requests longer than the model's context are sent.
	anyLength bool
}

// step is one request of a session.
type step struct {
	// think is the pause before it: behind the reply to the turn before or, where
	// that is paced, behind its beginning.
	think time.Duration
	paced bool
	// tokens is what it adds to the prompt, either as segments that are to be
	// written or as messages that a file holds.
	tokens   int
	segments []segment
	messages []llm.Message
	// whole says that the messages hold the history themselves.
	whole  bool
	output int
	// ideal is how many of a whole prompt's tokens an endless cache would have.
	ideal int
	// sampling, tools, format and adds are what a file's row asks for besides.
	sampling llm.Sampling
	tools    *llm.Toolset
	format   *llm.Format
	adds     llm.Additions
	// adapter is drawn from those of its class.
	adapter string
}

// source gives the script of each session by its index.
type source interface {
	// script is nil where there are no more sessions.
	script(i int) (*script, error)
	// length is how many sessions show all there is, 0 where no number does.
	length() int
	close() error
}

// lengths draws a prompt's and an output's tokens.
type lengths func(r *rand.Rand) (prompt, output int)

// pair draws two lengths one after the other.
func pair(prompt, output Dist) lengths {
	return func(r *rand.Rand) (int, int) {
		n := prompt.Sample(r)
		return n, output.Sample(r)
	}
}

// drawnSource is a source whose lengths come from distributions.
type drawnSource struct {
	seed    uint64
	lengths lengths
	prefix  *prefixes
	session *Session // nil: single requests
}

func (d *drawnSource) length() int { return 0 }

func (d *drawnSource) close() error { return nil }

func (d *drawnSource) script(i int) (*script, error) {
	index, stream := d.prefix.lengthIndex(d.seed, i)
	own, output := d.lengths(stats.Rand(d.seed, stream, index))
	first := step{segments: d.prefix.begin(d.seed, i, own), output: output}
	for _, s := range first.segments {
		first.tokens += s.tokens
	}
	steps := []step{first}
	if d.session != nil {
		steps = d.converse(i, first)
	}
	return &script{steps: steps}, nil
}

// converse draws the turns that follow the first. Everything comes from one
// stream of the session's own, which no other draw reads.
func (d *drawnSource) converse(i int, first step) []step {
	r := stats.Rand(d.seed, "workload turns", uint64(i))
	turns := 1
	if d.session.Turns != nil {
		turns = min(d.session.Turns.Sample(r), maxTurns)
	}
	steps := d.callTools(nil, r, i, first)
	for range turns - 1 {
		own, output := d.lengths(r)
		if d.session.Prompt != nil {
			own = d.session.Prompt.Sample(r)
		}
		steps = d.callTools(steps, r, i, laterStep(i, len(steps), own, output, d.session.Think.Sample(r)))
	}
	return steps
}

// callTools appends a user's message and what an agent does about it: the
// message and each result are answered by a call, the last one by the answer.
func (d *drawnSource) callTools(steps []step, r *rand.Rand, i int, message step) []step {
	steps = append(steps, message)
	agent := d.session.Agent
	if agent == nil {
		return steps
	}
	answer := message.output
	call := func() int {
		if agent.Output == nil {
			return answer
		}
		return agent.Output.Sample(r)
	}
	for range min(agent.Calls.Sample(r), maxTurns) {
		steps[len(steps)-1].output = call()
		steps = append(steps, laterStep(i, len(steps), agent.Result.Sample(r), answer, agent.Latency.Sample(r)))
	}
	return steps
}

// laterStep is a turn that comes after others.
func laterStep(i, turn, own, output int, think time.Duration) step {
	key := uint64(i)<<20 | uint64(turn)&(1<<20-1)
	return step{think: think, tokens: own, segments: []segment{{laterStream, key, own}}, output: output}
}
