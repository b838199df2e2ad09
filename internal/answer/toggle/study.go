package toggle

import (
	"fmt"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// Key is what the same request has in common on both sides, and Answer what
// became of it on one of them.
type Key struct{ Session, Turn int }

type Answer struct {
	OK      bool
	Due     int64
	Context int
	Times   Times
}

// Study is an optimization that is measured in rounds.
type Study struct {
	result.Toggle
	Tolerance float64
	// counted are the requests of rounds that are valid on both sides, spoilt those
	// of the others.
	counted, spoilt []Request
}

// Add takes in a round; skip says why it does not count, "" where it does.
func (s *Study) Add(round int, on, off map[Key]Answer, skip string) {
	paired, alone := pair(round, on, off)
	if skip != "" {
		s.spoilt, s.Skipped = append(s.spoilt, paired...), append(s.Skipped, skip)
		return
	}
	s.counted, s.Unpaired, s.Rounds = append(s.counted, paired...), s.Unpaired+alone, s.Rounds+1
}

// notValid is the verdict on figures that are only shown.
const notValid = "not judged: no round was valid on both sides"

// Judge says what the rounds so far show. Where none counts, figures are shown and
// said to be not valid.
func (s *Study) Judge() result.Toggle {
	t := s.Toggle
	if t.Rounds > 0 {
		Judge(&t, s.counted, s.Tolerance)
	} else {
		Judge(&t, s.spoilt, s.Tolerance)
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
func pair(round int, on, off map[Key]Answer) (paired []Request, alone int) {
	for key, a := range on {
		b := off[key]
		if !a.OK || !b.OK {
			alone++
			continue
		}
		paired = append(paired, Request{Round: round, Due: b.Due, Context: b.Context, With: a.Times, Without: b.Times})
	}
	for key := range off {
		if _, both := on[key]; !both {
			alone++
		}
	}
	return paired, alone
}
