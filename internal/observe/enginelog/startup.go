package enginelog

import (
	"sync"

	"redline/internal/observe/engine"
)

// StartupLog finds in what is written to it how long an engine's start took, part by
// part. It is safe for concurrent use.
type StartupLog struct {
	lines *lineReader
	mu    sync.Mutex
	found []Phase
}

// Phase is a part of an engine's start, as its log has it.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"s"`
}

// NewStartupLog reads the log of one start.
func NewStartupLog() *StartupLog {
	s := &StartupLog{}
	s.lines = newLineReader(s.line)
	return s
}

func (s *StartupLog) Write(p []byte) (int, error) { return s.lines.Write(p) }

// line looks for the words of any engine. Of several processes that load alike the
// slowest counts: the others wait for it.
func (s *StartupLog) line(text string) {
	for _, e := range engine.All() {
		for _, p := range e.Startup {
			if seconds, ok := p.In(text); ok {
				s.add(p.Name, seconds)
				return
			}
		}
	}
}

func (s *StartupLog) add(name string, seconds float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.found {
		if p := &s.found[i]; p.Name == name {
			p.Seconds = max(p.Seconds, seconds)
			return
		}
	}
	s.found = append(s.found, Phase{name, seconds})
}

// Phases are those that were found so far, in the order of the log.
func (s *StartupLog) Phases() []Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Phase(nil), s.found...)
}
