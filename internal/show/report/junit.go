package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
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
		return errNoResult
	}
	suite := junitSuite{Name: clean("redline " + r.ID), Cases: junitCases(r)}
	if !r.Started.IsZero() {
		suite.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05")
	}
	length := 0.0
	for i := range r.Points {
		length += windowLength(&r.Points[i])
	}
	suite.Time = junitTime(length)
	for _, p := range [][2]string{{"model", r.Model.Name}, {"engine", r.Engine.Name}, {"engine_version", r.Engine.Version},
		{"workload", r.Workload.Name}, {"seed", strconv.FormatUint(r.Seed, 10)}, {"command", r.Command}} {
		suite.Properties = append(suite.Properties, junitProperty{p[0], clean(p[1])})
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
		return fmt.Errorf("report: write result %q as JUnit XML: %w", r.ID, err)
	}
	_, err = w.Write([]byte(xml.Header + string(out) + "\n"))
	return err
}

func junitTime(seconds float64) string { return strconv.FormatFloat(max(seconds, 0), 'f', 3, 64) }

func junitCases(r *result.Result) []junitCase {
	cases := []junitCase{validityCase(r)}
	switch {
	case r.Tuning != nil:
		cases = append(cases, tuningCase(r.Tuning))
	case r.Comparison != nil:
		cases = append(cases, changeCases(r.Comparison)...)
	case r.Limit != nil && sustained(r) < 0:
		cases = append(cases, boundCases(r)...)
	default:
		for _, i := range junitPoints(r) {
			cases = append(cases, objectiveCases(r, i)...)
		}
	}
	if cases[0].Error != nil {
		for i := range cases[1:] {
			one := &cases[i+1]
			one.Failure, one.Skipped, one.Output = nil, &junitMessage{Message: "the run is invalid"}, ""
		}
	}
	return cases
}

// junitPoints are the points whose objectives count: of a limit that was found
// only the run that confirms it.
func junitPoints(r *result.Result) []int {
	if i := sustained(r); i >= 0 {
		return []int{i}
	}
	all := make([]int, len(r.Points))
	for i := range all {
		all[i] = i
	}
	return all
}

func validityCase(r *result.Result) junitCase {
	c := junitCase{Class: "redline", Name: "the run is valid", Time: junitTime(0)}
	var failed []string
	for _, check := range failedChecks(r) {
		failed = append(failed, check.Name+": "+checkText(check))
	}
	switch {
	case r.Verdict.Valid == result.Invalid || len(failed) > 0:
		failed = append(failed, furtherReasons(r)...)
		c.Error = &junitMessage{Message: "the run is invalid: its figures are unproven",
			Type: "invalid", Text: junitText(strings.Join(failed, "\n"))}
	case r.Verdict.Valid != result.Valid || r.Interrupted != "":
		c.Skipped = &junitMessage{Message: junitText("the run was cut short: " + r.Interrupted)}
	}
	return c
}

// furtherReasons are those of the verdict that no failed check has said.
func furtherReasons(r *result.Result) []string {
	var list []string
	for _, reason := range r.Verdict.Reasons {
		said := func(c result.Check) bool { return strings.HasPrefix(reason, c.Name+": ") }
		if !slices.ContainsFunc(failedChecks(r), said) {
			list = append(list, reason)
		}
	}
	return list
}

func objectiveCases(r *result.Result, i int) []junitCase {
	point := &r.Points[i]
	cases := make([]junitCase, 0, len(point.Objectives))
	for _, v := range point.Objectives {
		c := junitCase{Class: junitText("redline." + pointTitle(r, i)), Name: junitText(v.Objective), Time: junitTime(windowLength(point))}
		said := &junitMessage{Message: junitText(strings.TrimSuffix(figureAndLimit(v)+inBrackets(sure(v), violationsBeyond(v))+"; "+v.Note, "; "))}
		switch v.Standing {
		case slo.Met:
			c.Output = said.Message
		case slo.Missed:
			said.Type, c.Failure = "missed", said
		default:
			c.Skipped = said
			said.Message = standingWord(v.Standing) + ": " + said.Message
		}
		cases = append(cases, c)
	}
	return cases
}

// standingWord is a standing as people read it.
func standingWord(s slo.Standing) string {
	if c, known := standings[s]; known {
		return c.text
	}
	return label(string(s))
}

// boundCases judge a search that no sustained run has confirmed: what cannot
// be kept at any rate fails, the rest is not decided.
func boundCases(r *result.Result) []junitCase {
	var cases []junitCase
	for _, text := range objectiveTexts(r) {
		c := junitCase{Class: "redline.limit", Name: junitText(text), Time: junitTime(0)}
		bound, known := r.Limit.ByObjective[text]
		said := "limit by this objective: " + figure(bound.Rate) + " requests/s (" + between(bound.Interval) + ")"
		switch {
		case !known:
			c.Skipped = &junitMessage{Message: "not judged"}
		case bound.Standing == result.LimitBelow:
			c.Failure = &junitMessage{Message: "missed even at the lowest rate offered", Type: "missed"}
		case bound.Standing == result.LimitFound && r.Limit.Confirmed,
			bound.Standing == result.LimitAtLeast && (r.Limit.Confirmed || r.Limit.Standing != result.LimitAtLeast):
			c.Output = said
		default:
			c.Skipped = &junitMessage{Message: "not confirmed by a sustained run; " + said}
		}
		cases = append(cases, c)
	}
	return cases
}

// tuningCase is whether something was decided: what became worse for the winner
// is its price, and no failure.
func tuningCase(t *result.Tuning) junitCase {
	one := junitCase{Class: "redline.tune", Name: "the settings are decided", Time: junitTime(t.TookS)}
	said := junitText(t.Verdict)
	switch t.Standing {
	case result.TuningConfirmed, result.TuningKept:
		one.Output = said
	default:
		one.Skipped = &junitMessage{Message: said}
	}
	return one
}

func changeCases(c *result.Comparison) []junitCase {
	cases := make([]junitCase, 0, len(c.Metrics))
	for i := range c.Metrics {
		m := &c.Metrics[i]
		row := changeRow(m)
		one := junitCase{Class: "redline.compare", Name: junitText(strings.TrimSpace(row[0].text)), Time: junitTime(0)}
		change, bounds := relativeChange(m)
		said := &junitMessage{Message: junitText(m.Verdict + " (" + change + ", 95% interval " + bounds + ")")}
		switch m.Standing {
		case result.Worse:
			said.Type, one.Failure = "regression", said
		case result.Undecided:
			one.Skipped = said
		default:
			one.Output = said.Message
		}
		cases = append(cases, one)
	}
	return cases
}

// junitText keeps line ends, which an XML text may hold, and nothing else that
// controls.
func junitText(s string) string {
	lines := strings.Split(plainSpaces(s), "\n")
	for i := range lines {
		lines[i] = strings.ToValidUTF8(clean(lines[i]), "�")
	}
	return strings.Join(lines, "\n")
}
