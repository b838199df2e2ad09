// Package toggle measures what an optimization does: it takes a plan and what became
// of the requests that were answered so far, with it and without, and gives the next
// turn, and p50 and p95 of both sides by prompt length with the lengths from which on
// it pays or hurts. It knows neither what the optimization is nor how the requests
// were made, reads no file and no clock.
package toggle

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/answer/matrix"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
)

// Rounds is how often each side is measured: where the plan does not say, each is
// first once.
func Rounds(c *config.Config) int { return cmp.Or(c.Experiment.Rounds, 2) }

// Length is how long a side's turn is: a row's, unless the plan says.
func Length(c *config.Config) time.Duration {
	b := c.Load.Bounds
	if c.Defaulted("load_profile.duration") && b.TotalRequests == 0 {
		return matrix.Scale(c, matrix.Length)
	}
	return matrix.Scale(c, b.Duration)
}

// Turn is one side's part of a round, Name that of its stage.
type Turn struct {
	Name  string
	Round int
	On    bool
}

// SideName is how the side with the optimization is called, or the one without.
func SideName(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Key is what the same request has in common on both sides, and Answer what
// became of it on one of them.
type Key struct{ Session, Turn int }

type Answer struct {
	OK      bool
	Due     int64
	Context int
	Times   Times
	// Low and High are what the times can have been without what the machine that
	// measured them did; nil where nobody watched it.
	Low, High Times
}

// Study is an optimization that is measured in rounds.
type Study struct {
	found     result.Toggle
	rounds    int
	tolerance float64
	over      int                     // turns
	answers   map[bool]map[Key]Answer // of the round under way, by side
	skip      string                  // why it does not count
	// Closed says that each side sends as fast as it is answered: what only one of
	// them came to send is no loss of the other.
	Closed bool
	// counted are the requests of rounds that are valid on both sides, spoilt those
	// of the others.
	counted, spoilt []Request
}

// NewStudy begins to measure an optimization of a plan.
func NewStudy(c *config.Config, name string, with, without result.Side) *Study {
	return &Study{found: result.Toggle{Name: name, With: with, Without: without}, rounds: Rounds(c),
		tolerance: cmp.Or(c.Experiment.Tolerance, compare.DefaultTolerance), answers: map[bool]map[Key]Answer{}}
}

// Next is the turn that follows; false where all rounds are over.
func (s *Study) Next() (Turn, bool) {
	round, side := compare.TurnAt(s.over)
	name := fmt.Sprintf("%s %d %s", SideName(side == 1), round+1, strings.ReplaceAll(s.found.Name, "_", " "))
	return Turn{name, round, side == 1}, round < s.rounds
}

// Observe takes in what came of a turn; invalid is why it does not count, "" where it
// does. The round is over where both sides have had theirs.
func (s *Study) Observe(t Turn, answers map[Key]Answer, invalid string) (over bool) {
	s.over++
	s.answers[t.On] = answers
	if invalid != "" {
		s.skip = fmt.Sprintf("round %d %s: not valid: %s", t.Round+1, SideName(t.On), invalid)
	}
	if s.over%2 == 1 {
		return false
	}
	paired, alone := pair(t.Round, s.answers[true], s.answers[false], s.Closed)
	if s.skip != "" {
		s.spoilt, s.found.Skipped, s.skip = append(s.spoilt, paired...), append(s.found.Skipped, s.skip), ""
	} else {
		s.counted, s.found.Unpaired, s.found.Rounds = append(s.counted, paired...), s.found.Unpaired+alone, s.found.Rounds+1
	}
	return true
}

// notValid is the verdict on figures that are only shown.
const notValid = "not judged: no round was valid on both sides"

// Judge says what the rounds so far show. Where none counts, figures are shown and
// said to be not valid.
func (s *Study) Judge() result.Toggle {
	t := s.found
	if t.Rounds > 0 {
		judge(&t, s.counted, s.tolerance)
	} else {
		judge(&t, s.spoilt, s.tolerance)
		t.Verdict = notValid
		for i := range t.Metrics {
			t.Metrics[i].Standing, t.Metrics[i].Verdict = slo.Undecided, notValid
		}
	}
	if t.Unpaired > 0 {
		t.Warnings = append(t.Warnings, result.Warning{Figure: "requests", Text: fmt.Sprintf(
			"%d of %d requests did not end well on both sides and are left out: the side that lost more of them looks better for it",
			t.Unpaired, t.Unpaired+t.Requests)})
	}
	return t
}

// pair gives the requests that ended well on both sides, and how many did not.
func pair(round int, on, off map[Key]Answer, closed bool) (paired []Request, alone int) {
	for key, a := range on {
		b, both := off[key]
		if closed && !both {
			continue
		}
		if !a.OK || !b.OK {
			alone++
			continue
		}
		paired = append(paired, Request{Round: round, Due: b.Due, Context: b.Context, With: a.Times, Without: b.Times, Down: slack(a, b), Up: slack(b, a)})
	}
	for key := range off {
		if _, both := on[key]; !both && !closed {
			alone++
		}
	}
	return paired, alone
}

// slack is by how much the logarithm of the times of a over those of b may be too high
// because of the machines that measured them.
func slack(a, b Answer) Times {
	out := Times{}
	for name, v := range a.Times {
		if low, high, w := a.Low[name], b.High[name], b.Times[name]; low > 0 && high > 0 && w > 0 {
			out[name] = math.Log(v/low) + math.Log(high/w)
		}
	}
	return out
}
