package report

import (
	"io"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/run/history"
)

// Runs writes a list of finished runs, newest first.
func Runs(w io.Writer, entries []*history.Entry, o TerminalOptions) error {
	p := newPage(&result.Result{}, o)
	t := table{columns: []column{
		{head: cell{text: "started", tone: bold}}, {head: cell{text: "run", tone: bold}}, {head: cell{text: "what", tone: bold}},
		{head: cell{text: "model", tone: bold}}, {head: cell{text: "engine", tone: bold}, optional: 3}, {head: cell{text: "load", tone: bold}},
		{head: cell{text: "workload", tone: bold}, optional: 2}, {head: cell{text: "verdict", tone: bold}},
		{head: cell{text: "label", tone: bold}, optional: 1},
	}}
	for _, e := range slices.Backward(entries) {
		label := e.Label
		if e.Pin != nil {
			label = strings.TrimSpace(label + " (baseline)")
		}
		t.rows = append(t.rows, []cell{{text: e.Started.Format("2006-01-02 15:04")}, {text: shortID(e.ID)}, {text: e.Kind},
			{text: clean(e.Model)}, {text: clean(e.Engine)}, {text: e.Load}, {text: clean(e.Workload)}, runVerdict(e), {text: clean(label)}})
	}
	p.write(t)
	_, err := io.WriteString(w, p.text.String())
	return err
}

// shortID is enough of a run's id to tell it from others.
func shortID(id string) string {
	if len(id) > 8 {
		return id[:8]
	}
	return id
}

// runVerdict is the one word that matters of a run.
func runVerdict(e *history.Entry) cell {
	switch {
	case e.Valid == result.Invalid:
		return cell{text: "invalid", tone: bad}
	case e.Interrupted != "" || e.Valid == result.Incomplete:
		return cell{text: "cut short", tone: weak}
	case e.SLO == slo.Missed:
		return cell{text: "missed", tone: bad}
	case e.SLO == slo.Undecided:
		return cell{text: openPhrase, tone: weak}
	case e.SLO == slo.Met:
		return cell{text: "met", tone: good}
	}
	return cell{text: "valid"}
}

// Drift writes how a series of runs moved: the verdict, then each change with
// what it is likely to come from, then what else became different.
func Drift(w io.Writer, d *result.Drift, o TerminalOptions) error {
	p := newPage(&result.Result{}, o)
	word, colour := driftWord(d.Standing)
	p.hang(p.paint(colour, word+": "), clean(d.Verdict))
	p.field("series", clean(d.Name)+" ("+d.Series+")")
	runs := plural(d.Runs, "run")
	if d.Left > 0 {
		runs += ", and " + count(d.Left) + " left out: not valid, or cut short"
	}
	p.field("runs", runs)
	if d.Baseline != "" {
		p.field("baseline", shortID(d.Baseline))
	}
	p.moved(d.Changes)
	p.settings(d.Settings)
	if d.Standing == result.Worse || d.Standing == result.Mixed {
		p.gap()
		p.hang("", "If the new level is as it should be: redline history pin RUN, with a run of it.")
	}
	_, err := io.WriteString(w, p.text.String())
	return err
}

func driftWord(s result.Standing) (string, tone) {
	switch s {
	case result.Worse, result.Mixed:
		return "WORSE", lost
	case result.Better:
		return "BETTER", met
	case result.Undecided:
		return "TOO EARLY", unset
	}
	return "STEADY", met
}

func (p *page) moved(changes []result.Moved) {
	if len(changes) == 0 {
		return
	}
	p.gap()
	t := table{columns: []column{{head: cell{text: "metric", tone: bold}}, {head: cell{text: "before"}, align: alignRight},
		{head: cell{text: "after"}, align: alignRight}, {head: cell{text: "unit"}}, {head: cell{text: "change"}, align: alignRight},
		{head: cell{text: "since"}}, {head: cell{text: "run"}}, {head: cell{text: "p"}, align: alignRight, optional: 1}}}
	for _, m := range changes {
		colour := bad
		if m.Standing == result.Better {
			colour = good
		}
		scale, unit, change := 1.0, m.Unit, ""
		if m.Difference != nil {
			scale, unit, change = 100, "%", signed(100**m.Difference)+" points"
		} else {
			change = signed(100*(*m.Ratio-1)) + "%"
		}
		t.rows = append(t.rows, []cell{{text: m.Metric}, {text: significant(scale*m.Before, 3, 8)},
			{text: significant(scale*m.After, 3, 8)}, {text: unit}, {text: change, tone: colour},
			{text: m.At.Format(time.DateOnly)}, {text: shortID(m.Since)}, {text: chanceText(m.P)}})
	}
	p.write(t)
	for _, m := range changes {
		for _, s := range m.Causes {
			p.hang("", m.Metric+" likely from: "+settingText(s))
		}
	}
}

// chanceText words a P no surer than a test on a handful of runs can be.
func chanceText(p float64) string {
	if p < 0.001 {
		return "<" + hard + "0.001"
	}
	return significant(p, 1, 8)
}

// settings lists what became different, whether or not a figure moved with it.
func (p *page) settings(settings []result.Setting) {
	if len(settings) == 0 {
		return
	}
	p.gap()
	for _, s := range settings {
		p.field(s.At.Format(time.DateOnly), settingText(s))
	}
}

func settingText(s result.Setting) string {
	return clean(s.Name) + " " + clean(s.Before) + " → " + clean(s.After)
}
