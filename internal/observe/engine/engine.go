// Package engine holds what is known of each inference engine, a file each:
// how a server is recognised as one, what its metrics are called, how it
// counts, its flags, what its log says, and how the simulator shows itself as
// one. It also asks a server which of them it is. It knows names and forms;
// what they mean for a measurement is for others to say.
package engine

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Engine is one inference engine. A field that does not apply stays empty.
type Engine struct {
	// Name is what documents call it.
	Name string
	// Place orders lists; pages of an engine that stands earlier are believed
	// first. Engines without a place come last.
	Place int
	// Words recognise the engine in whatever a server calls itself, in lower
	// case.
	Words []string
	// Wraps names the engine inside, whose flags it has.
	Wraps string
	// Dialects are the APIs that it made, by their --api names.
	Dialects []string
	// Pages are where it says what it is.
	Pages []Page
	// Metrics are the names of its figures.
	Metrics Metrics
	// CountsAtEnd says that it counts a request's tokens when the request ends,
	// so that requests in flight at either edge of a window blur the sum.
	CountsAtEnd bool
	// CountsDrafts says that it has counters of drafted tokens exactly if it
	// drafts any.
	CountsDrafts bool
	// Forced are words of its settings that make it accept drafts at a given rate,
	// whatever they are.
	Forced []string
	// Reset empties its prefix cache.
	Reset Reset
	// Front is what its front end takes, where somebody has measured it.
	Front *Front
	// Tokenize makes the body that asks /tokenize for the tokens of a text.
	Tokenize func(model, text string) any
	// Advice is what to try first in each regime, in its own flags.
	Advice map[string]string
	// Log holds words of its log by the kind of error that they mean, in
	// lower case.
	Log map[string][]string
	// Startup finds in its log how long the phases of its start took.
	Startup []LoggedPhase
	// Style is how the simulator shows itself as this engine.
	Style *Style
}

// LoggedPhase is a part of an engine's start that its log has the length of.
type LoggedPhase struct {
	Name    string
	seconds *regexp.Regexp // its first group
}

// In finds the phase's length in a line of the log.
func (p LoggedPhase) In(line string) (seconds float64, ok bool) {
	found := p.seconds.FindStringSubmatch(line)
	if found == nil {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(found[1], 64)
	return seconds, err == nil
}

// loggedPhase is one whose seconds stand in the place of a # in the engine's words.
func loggedPhase(name, words string) LoggedPhase {
	before, after, _ := strings.Cut(words, "#")
	return LoggedPhase{name, regexp.MustCompile(before + `([0-9]+(?:\.[0-9]+)?)` + after)}
}

// Front is the time that a request spends outside of an engine's steps.
type Front struct {
	// Request and TokenUS are the front end's work for a request and for each
	// token of its prompt, EventUS that for each event that it sends, and StepUS that
	// for those of a step together.
	Request                  time.Duration
	TokenUS, EventUS, StepUS float64
	// Delay is what a request waits beside that, on an idle server.
	Delay time.Duration
	// Async says that a step is planned while the one before it runs.
	Async bool
	// PromptLayer is what the host takes for each layer before a step with a prompt in
	// it begins. GraphTokens is the largest step for which a graph of kernels is
	// captured. For a larger one the host launches them one by one, which takes
	// EagerLayer for each layer, or EagerExperts for one of experts, and by the share
	// EagerSequence longer for each sequence.
	PromptLayer              time.Duration
	GraphTokens              int
	EagerLayer, EagerExperts time.Duration
	EagerSequence            float64
	// Source says on what it was measured.
	Source string
}

var all []*Engine

// register adds an engine to the list. Each engine's file calls it once.
func register(e Engine) *Engine {
	e.Metrics.Path = cmp.Or(e.Metrics.Path, "/metrics")
	all = append(all, &e)
	slices.SortStableFunc(all, func(a, b *Engine) int {
		return cmp.Compare(cmp.Or(a.Place, len(all)+1<<10), cmp.Or(b.Place, len(all)+1<<10))
	})
	return &e
}

// All lists the engines.
func All() []*Engine { return all }

// ByName finds an engine by its name; one without properties stands for those
// that are not known.
func ByName(name string) *Engine {
	for _, e := range all {
		if e.Name == name {
			return e
		}
	}
	return &Engine{}
}

// Recognize finds the engine in what a server calls itself, by the longest of
// the words in it; nil for none.
func Recognize(name string) (found *Engine) {
	name = strings.ToLower(name)
	longest := 0
	for _, e := range all {
		for _, word := range e.Words {
			if len(word) > longest && strings.Contains(name, word) {
				found, longest = e, len(word)
			}
		}
	}
	return found
}

// AdvisedEngine is the engine whose flags e has, nil where they are not known.
func (e *Engine) AdvisedEngine() *Engine {
	if e != nil && e.Wraps != "" {
		e = ByName(e.Wraps)
	}
	if e == nil || e.Advice == nil {
		return nil
	}
	return e
}

// MetricsPaths lists where engines serve their metrics.
func MetricsPaths() []string {
	var paths []string
	for _, e := range all {
		if !slices.Contains(paths, e.Metrics.Path) {
			paths = append(paths, e.Metrics.Path)
		}
	}
	return paths
}

// TokenizeBodies lists the ways to ask /tokenize.
func TokenizeBodies() []func(model, text string) any {
	var ways []func(model, text string) any
	for _, e := range all {
		if e.Tokenize != nil {
			ways = append(ways, e.Tokenize)
		}
	}
	return ways
}
