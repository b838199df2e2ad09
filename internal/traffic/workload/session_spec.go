package workload

import (
	"fmt"

	"redline/internal/llm"
	"redline/internal/traffic/dist"
)

// maxTurns bounds a conversation.
const maxTurns = 10_000

// Session makes conversations of several turns, in which every reply is sent
// back with the next message.
type Session struct {
	// Turns is how many messages the user sends; one where it is nil, or all
	// there are in a file.
	Turns *Dist `yaml:"turns,omitempty"`
	// Think is the pause before each message but the first.
	Think dist.Delay `yaml:"think,omitempty"`
	// Prompt is the length of each message but the first; nil leaves that of
	// the workload.
	Prompt *Dist  `yaml:"prompt,omitempty"`
	Agent  *Agent `yaml:"agent,omitempty"`
	// Header names a header that carries the session's name, for routers that
	// keep a session on one replica.
	Header string `yaml:"header,omitempty"`
	// MaxContext ends a conversation before its prompt and output together
	// pass so many tokens; 0 leaves it to the model's own limit.
	MaxContext int `yaml:"max_context,omitempty"`
}

// Agent lets the model call tools before it answers: each call is a request
// of its own, and the tool's result comes back in the next.
type Agent struct {
	// Calls is how many tools are called for one message.
	Calls Dist `yaml:"calls"`
	// Latency is how long a tool takes.
	Latency dist.Delay `yaml:"latency,omitempty"`
	// Result is the length of what a tool gives back.
	Result Dist `yaml:"result"`
	// Output is the length of a call; nil leaves that of the workload.
	Output *Dist `yaml:"output,omitempty"`
}

// validate says what is wrong and what to write instead.
func (s Session) validate() error {
	lengths := []namedDist{{"turns", s.Turns}, {"prompt", s.Prompt}}
	if a := s.Agent; a != nil {
		lengths = append(lengths, namedDist{"agent.calls", &a.Calls}, namedDist{"agent.result", &a.Result},
			namedDist{"agent.output", a.Output})
		if err := a.Latency.Validate(); err != nil {
			return fmt.Errorf("agent.latency: %w", err)
		}
	}
	for _, d := range lengths {
		if d.dist == nil {
			continue
		}
		if err := d.dist.Validate(); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	if err := s.Think.Validate(); err != nil {
		return fmt.Errorf("think: %w", err)
	}
	if s.MaxContext < 0 {
		return fmt.Errorf("max_context: must be at least 0 tokens, got %d", s.MaxContext)
	}
	if s.Header == "" {
		return nil
	}
	if err := llm.CheckCarrier(s.Header, "X-Session-Id"); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	return nil
}

type namedDist struct {
	name string
	dist *Dist
}
