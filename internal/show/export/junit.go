package export

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
	"redline/internal/show/report"
	"redline/internal/text"
)

type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes what a build server reads: a test case for the run's validity,
// which errs where the run is invalid, and one for each objective. Missed is a
// failure; too close to call, not judged, and everything of an invalid run is skipped.
// Of an experiment the sustained run counts, or else what the search or the
// comparison found: a level beyond the limit is no failure.
func JUnit(w io.Writer, r *result.Result) error {
	if r == nil {
		return report.ErrNoResult
	}
	suite := junitSuite{Name: text.Line("redline " + r.ID), Cases: junitCases(r)}
	if !r.Started.IsZero() {
		suite.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05")
	}
	length := 0.0
	for i := range r.Points {
		length += r.Points[i].Window.Seconds()
	}
	suite.Time = junitTime(length)
	for _, p := range [][2]string{{"model", r.Model.Name}, {"engine", r.Engine.Name}, {"engine_version", r.Engine.Version},
		{"workload", r.Workload.Name}, {"seed", strconv.FormatUint(r.Seed, 10)}, {"command", r.Command}} {
		suite.Properties = append(suite.Properties, junitProperty{p[0], text.Line(p[1])})
	}
	for _, c := range suite.Cases {
		suite.Tests++
		switch {
		case c.Error != nil:
			suite.Errors++
		case c.Failure != nil:
			suite.Failures++
		case c.Skipped != nil:
			suite.Skipped++
		}
	}
	out, err := xml.MarshalIndent(junitSuites{Suite: suite}, "", "  ")
	if err != nil {
		return fmt.Errorf("write result %q as JUnit XML: %w", r.ID, err)
	}
	_, err = w.Write([]byte(xml.Header + string(out) + "\n"))
	return err
}

func junitTime(seconds float64) string { return strconv.FormatFloat(max(seconds, 0), 'f', 3, 64) }

func junitCases(r *result.Result) []junitCase {
	cases := []junitCase{validityCase(r)}
	switch {
	case r.Tuning != nil:
		// What became worse for the winner is its price, and no failure.
		outcome := skipped
		if r.Tuning.Standing == slo.Confirmed || r.Tuning.Standing == slo.Unchanged {
			outcome = passed
		}
		cases = append(cases, newCase("redline.tune", "the settings are decided", r.Tuning.TookS, outcome, r.Tuning.Verdict))
	case r.Comparison != nil:
		cases = append(cases, changeCases(r.Comparison)...)
	case r.Limit != nil && report.SustainedPoint(r) < 0:
		cases = append(cases, boundCases(r)...)
	default:
		for i := range r.Points {
			// Of a limit that was found only the run that confirms it counts.
			if of := report.SustainedPoint(r); of < 0 || of == i {
				cases = append(cases, objectiveCases(r, i)...)
			}
		}
	}
	if cases[0].Error != nil {
		for i, c := range cases[1:] {
			cases[i+1] = junitCase{Class: c.Class, Name: c.Name, Time: c.Time, Skipped: &junitMessage{Message: "the run is invalid"}}
		}
	}
	return cases
}

// The outcomes of a case that are no kind of failure.
const passed, skipped = "", "skipped"

// newCase has a message with what it came to; any other outcome is the kind of
// a failure.
func newCase(class, name string, seconds float64, outcome, message string) junitCase {
	c := junitCase{Class: junitText(class), Name: junitText(name), Time: junitTime(seconds)}
	said := &junitMessage{Message: junitText(message)}
	switch outcome {
	case passed:
		c.Output = said.Message
	case skipped:
		c.Skipped = said
	default:
		said.Type, c.Failure = outcome, said
	}
	return c
}

func validityCase(r *result.Result) junitCase {
	failed := report.FailedChecks(r)
	var lines []string
	for _, c := range failed {
		lines = append(lines, c.Name+": "+report.CheckText(c))
	}
	for _, reason := range r.Verdict.Reasons {
		if !slices.ContainsFunc(failed, func(c result.Check) bool { return strings.HasPrefix(reason, c.Name+": ") }) {
			lines = append(lines, reason)
		}
	}
	c := newCase("redline", "the run is valid", 0, passed, "")
	switch {
	case r.Verdict.Valid == result.Invalid || len(failed) > 0:
		c.Error = &junitMessage{"the run is invalid: its figures are unproven", "invalid", junitText(strings.Join(lines, "\n"))}
	case r.Verdict.Valid != result.Valid || r.CutShort():
		c.Skipped = &junitMessage{Message: junitText("the run was cut short: " + r.Interrupted)}
	}
	return c
}

func objectiveCases(r *result.Result, i int) []junitCase {
	cases := make([]junitCase, 0, len(r.Points[i].Objectives))
	for _, v := range r.Points[i].Objectives {
		outcome := skipped
		switch v.Standing {
		case slo.Met:
			outcome = passed
		case slo.Missed:
			outcome = "missed"
		}
		cases = append(cases, newCase("redline."+report.PointTitle(r, i), v.Objective, r.Points[i].Window.Seconds(), outcome, report.DescribeVerdict(v)))
	}
	return cases
}

// boundCases judge a search that no sustained run has confirmed: what cannot
// be kept at any rate fails, the rest is not decided.
func boundCases(r *result.Result) []junitCase {
	var cases []junitCase
	for _, objective := range report.ObjectiveTexts(r) {
		bound, known := r.Limit.ByObjective[objective]
		said, outcome := "limit by this objective: "+text.Figure(bound.Rate)+" requests/s ("+
			text.Figure(bound.Interval[0])+"–"+text.Figure(bound.Interval[1])+")", passed
		switch {
		case !known:
			outcome, said = skipped, "not judged"
		case bound.Standing == result.LimitBelow:
			outcome, said = "missed", "missed even at the lowest rate offered"
		case r.Limit.Confirmed && bound.Standing != result.LimitNeeds,
			bound.Standing == result.LimitAtLeast && r.Limit.Standing != result.LimitAtLeast:
		default:
			outcome, said = skipped, "not confirmed by a sustained run; "+said
		}
		cases = append(cases, newCase("redline.limit", objective, 0, outcome, said))
	}
	return cases
}

func changeCases(c *result.Comparison) []junitCase {
	cases := make([]junitCase, 0, len(c.Metrics))
	for i := range c.Metrics {
		m := &c.Metrics[i]
		name, said := report.DescribeChange(m)
		outcome := map[slo.Standing]string{slo.Worse: "regression", slo.Undecided: skipped}[m.Standing]
		cases = append(cases, newCase("redline.compare", name, 0, outcome, said))
	}
	return cases
}

// junitText keeps line ends, which an XML text may hold, and nothing else that
// controls.
func junitText(s string) string {
	lines := strings.Split(document.PlainSpaces(s), "\n")
	for i := range lines {
		lines[i] = strings.ToValidUTF8(text.Line(lines[i]), "�")
	}
	return strings.Join(lines, "\n")
}
