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

const (
	// minRounds is how many there are at least: each side is first once.
	minRounds = 2
	// lookShare is the share of alpha that each look after two and after three of four
	// rounds may spend.
	lookShare = compare.EarlyShare / minRounds
)

// Rounds is how often each side is measured at most. Where the plan does not say, each is
// first twice, or once where that decides: two rounds say little of what rounds differ by.
func Rounds(c *config.Config) int { return cmp.Or(c.Experiment.Rounds, 2*minRounds) }

// MayEnd reports whether the plan leaves it open how often an optimization is measured.
func MayEnd(c *config.Config) bool { return c.Experiment.Rounds == 0 }

// Length is how long a side's turn is where the plan does not say: a row's, or half of it
// where there may be twice as many.
func Length(c *config.Config) time.Duration {
	switch open := c.Defaulted("load_profile.duration") && c.Load.Bounds.TotalRequests == 0; {
	case open && MayEnd(c):
		return matrix.Scale(c, matrix.Length/2)
	case open:
		return matrix.Scale(c, matrix.Length)
	}
	return matrix.Scale(c, c.Load.Bounds.Duration)
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
	mayEnd    bool // before all rounds are over
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
	return &Study{found: result.Toggle{Name: name, With: with, Without: without}, rounds: Rounds(c), mayEnd: MayEnd(c),
		tolerance: cmp.Or(c.Experiment.Tolerance, compare.DefaultTolerance), answers: map[bool]map[Key]Answer{}}
}

// Next is the turn that follows; false where all rounds are over, or those so far have
// decided.
func (s *Study) Next() (Turn, bool) {
	round, side := compare.TurnAt(s.over)
	name := fmt.Sprintf("%s %d %s", SideName(side == 1), round+1, strings.ReplaceAll(s.found.Name, "_", " "))
	return Turn{name, round, side == 1}, round < s.rounds && s.found.Ended == ""
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
	if n := t.Round + 1; s.mayEnd && n < s.rounds && s.found.Rounds >= minRounds {
		early := s.found
		if judge(&early, s.counted, s.tolerance, lookShare); isDecided(&early) {
			s.found.Ended = fmt.Sprintf("after %d of %d rounds: the answer stands; --rounds %d measures them all", n, s.rounds, s.rounds)
		}
	}
	return true
}

// isDecided reports whether more rounds would not change the answer: what the optimization
// does to the whole reply is the same at all lengths, as far as lengths are told apart.
func isDecided(t *result.Toggle) bool {
	if len(t.Metrics) == 0 {
		return false
	}
	m := t.Metrics[len(t.Metrics)-1]
	n := len(m.Curve) - 1
	return m.Standing != slo.Undecided && (len(m.Regions) == 0 || len(m.Regions) == 1 && m.Regions[0].From <= m.Curve[0].Tokens && m.Regions[0].To >= m.Curve[n].Tokens)
}

// notValid is the verdict on figures that are only shown.
const notValid = "not judged: no round was valid on both sides"

// Judge says what the rounds so far show. Where none counts, figures are shown and
// said to be not valid.
func (s *Study) Judge() result.Toggle {
	t, share := s.found, 1.0
	switch {
	case t.Ended != "":
		share = lookShare
	case s.mayEnd:
		share = 1 - compare.EarlyShare
	}
	if t.Rounds > 0 {
		judge(&t, s.counted, s.tolerance, share)
	} else {
		judge(&t, s.spoilt, s.tolerance, share)
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
