package validity

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Mark is how an answer is judged.
type Mark string

const (
	OK   Mark = "ok"
	Warn Mark = "warn" // figures can be weaker than they look
	Bad  Mark = "bad"  // a run would fail, or be wrong
	// Unread is what this system or that server does not tell.
	Unread Mark = "unread"
)

// outcome is a check's answer. One without a mark says nothing: the question does
// not arise.
type outcome struct {
	mark Mark
	// figure is what was seen, or why it is not known.
	figure, threshold string
	// cure takes the place of the check's own where the evidence tells more.
	cure string
	// note is why a run is sound in spite of a figure that is worth saying.
	note string
	// touches takes the place of the check's own list of metrics.
	touches []string
}

var silent = outcome{}

func ok(figure string) outcome  { return outcome{mark: OK, figure: figure} }
func unread(why string) outcome { return outcome{mark: Unread, figure: why} }

// Without a cure, an answer has that of its check.
func warn(figure string, cures ...string) outcome {
	return outcome{mark: Warn, figure: figure, cure: strings.Join(cures, "; ")}
}

func bad(figure string, cures ...string) outcome {
	return outcome{mark: Bad, figure: figure, cure: strings.Join(cures, "; ")}
}

func warnIf(weak bool, figure string, cures ...string) outcome {
	if weak {
		return warn(figure, cures...)
	}
	return ok(figure)
}

func okOrBad(passed bool) Mark {
	if passed {
		return OK
	}
	return Bad
}

// Finding is what came of a question before a run.
type Finding struct {
	// Check is the name of the check, which does not change.
	Check string `json:"check"`
	// About is "machine", or the address of the endpoint.
	About string `json:"about"`
	Mark  Mark   `json:"mark"`
	// What was looked at, in words.
	What string `json:"what"`
	// Figure is what was seen, with its unit.
	Figure string `json:"figure"`
	// Cure is what to do about a finding that is not well.
	Cure string `json:"cure,omitempty"`
}

// Error words a finding as the end of a run that has not begun.
func (f Finding) Error() string {
	return fmt.Sprintf("%s: %s; %s", f.About, strings.TrimSuffix(f.Figure, "."), f.Cure)
}

// AboutMachine is what findings about this machine are about.
const AboutMachine = "machine"

// Findings asks what the doctor asks of a machine.
func (m *Machine) Findings() []Finding {
	return findings(AboutMachine, m, func(c check) func(*Machine) outcome { return c.machine })
}

// Findings asks what the doctor asks of an endpoint; certificates must outlast now.
func (e *Endpoint) Findings(now time.Time) []Finding {
	e.now = now
	return findings(e.URL, e, func(c check) func(*Endpoint) outcome { return c.endpoint })
}

// Preflight asks what the first replies of an endpoint answer before a load is offered.
// Its error is a Finding: why there can be none.
func (e *Endpoint) Preflight() error {
	for _, f := range findings(e.URL, e, func(c check) func(*Endpoint) outcome { return c.preflight }) {
		if f.Mark == Bad {
			return f
		}
	}
	return nil
}

// findings asks those who have the question.
func findings[E any](about string, evidence E, question func(check) func(E) outcome) []Finding {
	var all []Finding
	for _, c := range checks {
		ask := question(c)
		if ask == nil {
			continue
		}
		o := ask(evidence)
		switch o.mark {
		case "":
			continue
		case Warn, Bad:
			o.cure = cmp.Or(o.cure, c.cure)
		}
		all = append(all, Finding{Check: c.id, About: about, Mark: o.mark, What: c.what, Figure: o.figure, Cure: o.cure})
	}
	return all
}
