package result

import (
	"slices"

	"redline/internal/judge/slo"
	"redline/internal/text"
)

// Validity says whether redline and the set-up did their part.
type Validity string

// Incomplete is a run that ended before its window did.
const (
	Valid      Validity = "yes"
	Invalid    Validity = "no"
	Incomplete Validity = "interrupted"
)

// Verdict leads every report.
type Verdict struct {
	Valid Validity `json:"valid"`
	// SLO is slo.None where nothing was asked of the server.
	SLO       slo.Standing   `json:"slo"`
	Reasons   []string       `json:"reasons"`
	Checks    []Check        `json:"checks"`
	Unchecked []SkippedCheck `json:"unchecked"`
}

// IsUnmade reports whether no check was made, as of a run of another benchmark.
func (v *Verdict) IsUnmade() bool { return len(v.Checks) == 0 && len(v.Unchecked) > 0 }

// Check is one question about the run itself, answered.
type Check struct {
	Name      string `json:"name"`
	OK        bool   `json:"ok"`
	Figure    string `json:"figure"`    // with unit
	Threshold string `json:"threshold"` // with unit
	Cure      string `json:"cure,omitempty"`
	// Setup marks a failure that a repetition does not mend.
	Setup bool `json:"setup,omitempty"`
	// Spoils are the objectives that a failure touches, or without objectives
	// the figures; every figure where there are none. What is not among them
	// stands.
	Spoils []string `json:"affects,omitempty"`
}

// Reason says in one line what a failed check found.
func (c Check) Reason() string { return c.Name + ": " + c.Figure + ", allowed " + c.Threshold }

// FailedChecks are the checks that were not passed.
func (v *Verdict) FailedChecks() []Check {
	var failed []Check
	for _, c := range v.Checks {
		if !c.OK {
			failed = append(failed, c)
		}
	}
	return failed
}

// Adopt takes in the checks of a part: of each the one that failed, else the
// last. A whole is invalid where a part is.
func (v *Verdict) Adopt(name string, part *Verdict) {
	for _, check := range part.Checks {
		if !check.OK {
			check.Figure = name + ": " + check.Figure
		}
		i := slices.IndexFunc(v.Checks, func(c Check) bool { return c.Name == check.Name })
		switch {
		case i < 0:
			v.Checks = append(v.Checks, check)
		case v.Checks[i].OK:
			v.Checks[i] = check
		}
	}
	if part.Valid == Invalid {
		v.Valid = Invalid
	}
}

// FirstStanding is the first of an order at which the objectives of some load stand,
// None where they stand at no such.
func FirstStanding(points []Point, order ...slo.Standing) slo.Standing {
	return slo.First(slo.None, text.Each(points, func(p Point) slo.Standing { return slo.Overall(p.Objectives) }), order...)
}

// SkippedCheck is a question that could not be asked, and why.
type SkippedCheck struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Warning weakens one number; Figure names it ("latency.itl_ms.p99").
type Warning struct {
	Figure string `json:"figure,omitempty"`
	Text   string `json:"text"`
}
