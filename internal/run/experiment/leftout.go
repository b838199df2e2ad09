package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/judge/result"
	"redline/internal/text"
)

type rejected struct {
	name string
	res  *result.Result
}

// reject says why a stage does not count, "" where it does: it failed a check
// that may pass the next time. What a repetition does not mend is true of every
// stage, and makes the whole invalid; so does any failure where the plan is
// strict or counts what is invalid.
func (x *conductor) reject(s Stage, res *result.Result) string {
	if x.Config.Strict || x.Config.Experiment.Anyway || !s.Measures() || res.Verdict.Valid != result.Invalid {
		return ""
	}
	failed := res.Verdict.FailedChecks()
	if !slices.ContainsFunc(failed, func(c result.Check) bool { return !c.Setup }) {
		return ""
	}
	reasons := text.Each(failed, func(c result.Check) string { return c.Reason() })
	reason := strings.Join(reasons, "; ")
	if s.repeatable() {
		return reason
	}
	what, why := s.repeats, "because its repetition is not valid either"
	if s.once {
		what, why = s.Name, "because it is not valid and no time was left to repeat it"
	}
	x.rejected = append(x.rejected, rejected{what, res})
	if s.Purpose == roundPurpose { // of which the comparison warns
		x.spoilt = compare.SpoiledBy(failed)
		return reason
	}
	x.warn("%s: left out, %s: %s", what, why, reason)
	return reason
}

func (x *conductor) warn(format string, args ...any) {
	x.res.Warnings = append(x.res.Warnings, result.Warning{Figure: "points", Text: fmt.Sprintf(format, args...)})
}

// withdraw takes the point of the last stage back, in the place of which its
// repetition puts another. What it measured is kept in its own directory.
func (x *conductor) withdraw() {
	entry := x.last()
	if entry.Point == nil {
		return
	}
	p := x.res.Points[*entry.Point]
	x.lost = time.Duration(p.Window.EndS*float64(time.Second)) + x.drainTime()
	x.res.Points, entry.Point = x.res.Points[:*entry.Point], nil
}

// again is the second attempt at a stage: the same load, with prompts that the
// server has not seen.
func (x *conductor) again(s Stage) Stage {
	c := *s.Config
	if x.Config.Workload.Salt == "" && c.Workload.Salt != "" {
		c.Workload.Salt = cmp.Or(x.salts[fileName(s.Name+" again")], c.Workload.Salt+"-again")
	}
	if s.launched != nil {
		s.launched.rig.stop(s.launched.place)
	}
	if x.Foreseen.Stages > 0 {
		x.Foreseen.Stages++
	}
	s.repeats, s.Config = s.Name, &c
	s.Name += " again"
	return s
}

// countedPoints are the points from one on that count in the answer.
func (x *conductor) countedPoints(from int) []result.Point {
	out := map[int]bool{}
	for _, s := range x.res.Stages {
		if s.LeftOut != "" && s.Point != nil {
			out[*s.Point] = true
		}
	}
	var points []result.Point
	for i := from; i < len(x.res.Points); i++ {
		if !out[i] {
			points = append(points, x.res.Points[i])
		}
	}
	return points
}

// invalidate makes the whole invalid, because what counts cannot carry the
// answer: it takes the checks of what was left out, and says what is missing.
func (x *conductor) invalidate(format string, args ...any) {
	x.missing = append(x.missing, fmt.Sprintf(format, args...))
	for _, r := range x.rejected {
		x.adopt(r.name, r.res)
	}
	x.res.Verdict.Valid, x.res.Verdict.Reasons = result.Invalid, x.reasons()
}

// adopt takes a stage's checks into the whole's, and of what the client took that
// of its busiest stage, unless workers sent the load. A run is as sound as the
// least sound of the stages that count.
func (x *conductor) adopt(name string, res *result.Result) {
	if len(res.Workers) == 0 && res.Client.CPUShare > x.res.Client.CPUShare {
		x.res.Client = res.Client
	}
	x.res.Verdict.Adopt(name, &res.Verdict)
	x.res.Verdict.Reasons = x.reasons()
}

func (x *conductor) reasons() []string {
	reasons := []string{}
	for _, c := range x.res.Verdict.FailedChecks() {
		reasons = append(reasons, c.Reason())
	}
	return append(reasons, x.missing...)
}
