// Package workload says what is asked: from a Spec and a seed it makes sessions
// of requests, each with a prompt of exactly the designed length. It gives the
// i-th session without making those before it, and writes its text only when
// that is asked for. It knows neither when a request is due nor who answers
// it.
package workload

import (
	"sync"

	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/token"
)

// Options is what every request of a workload carries besides its prompt.
type Options struct {
	Model    string
	Sampling llm.Sampling
	Stream   bool
}

// Workload makes sessions. It is safe for concurrent use.
type Workload struct {
	name           string
	vocabulary     *token.Vocabulary
	seed           uint64
	options        Options
	prompt, output Dist
	buffers        sync.Pool // of *[]byte, in which prompts are written
}

// New makes the workload of a seed. Two stages that must not find each other's
// prompts in a server's prefix cache need different seeds.
func (s Spec) New(v *token.Vocabulary, seed uint64, options Options) (*Workload, error) {
	prompt, output, err := s.resolve()
	if err != nil {
		return nil, err
	}
	return &Workload{
		name:       s.String(),
		vocabulary: v,
		seed:       seed,
		options:    options,
		prompt:     prompt,
		output:     output,
		buffers:    sync.Pool{New: func() any { return new([]byte) }},
	}, nil
}

// Name is the canonical spelling of the workload's Spec.
func (w *Workload) Name() string { return w.name }

// Mean gives the expected lengths in tokens.
func (w *Workload) Mean() (prompt, output float64) {
	return w.prompt.Mean(), w.output.Mean()
}

// Lengths gives the tokens of the i-th session's prompt and of the output it
// asks for.
func (w *Workload) Lengths(i int) (prompt, output int) {
	r := stats.Rand(w.seed, "workload lengths", uint64(i))
	prompt = w.prompt.Sample(r)
	output = w.output.Sample(r)
	return prompt, output
}

// Session gives the i-th session: always the same for one seed.
func (w *Workload) Session(i int) llm.Session { return &session{workload: w, index: i} }

// session is a conversation of one turn whose text is written in Next.
type session struct {
	workload *Workload
	index    int
	over     bool
}

// Next gives the session's only turn, then nil.
func (s *session) Next(*llm.Reply) *llm.Turn {
	if s.over {
		return nil
	}
	s.over = true
	return &llm.Turn{Request: s.workload.request(s.index)}
}

func (w *Workload) request(i int) *llm.Request {
	prompt, output := w.Lengths(i)
	return &llm.Request{
		Model:        w.options.Model,
		Messages:     []llm.Message{{Role: "user", Content: w.text(i, prompt)}},
		MaxTokens:    output,
		Stream:       w.options.Stream,
		Sampling:     w.options.Sampling,
		PromptTokens: prompt,
	}
}

// text writes the i-th prompt. Every session has a random stream of its own,
// so prompts differ from their first words on and none begins with another's
// first cache block.
func (w *Workload) text(i, tokens int) string {
	buffer := w.buffers.Get().(*[]byte)
	defer w.buffers.Put(buffer)
	r := stats.Rand(w.seed, "workload prompt", uint64(i))
	*buffer = w.vocabulary.Compose((*buffer)[:0], r, tokens)
	return string(*buffer)
}
