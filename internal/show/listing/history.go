package listing

import (
	"cmp"
	"redline/internal/judge/slo"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/run/history"
	"redline/internal/show/document"
	"redline/internal/show/picture"
	"redline/internal/show/report"
	"redline/internal/text"
)

// Runs is a list of finished runs, newest first.
func Runs(entries []*history.Entry) *document.Document {
	p := &document.Builder{}
	t := document.NewTable(document.Left("started, UTC"), document.Left("run"), document.Left("what"), document.Left("model"), document.Left("engine").Optional(7),
		document.Left("load"), document.Left("workload").Optional(5), document.Left("verdict"), document.Right("ttft ms").Optional(3), document.Right("tpot ms").Optional(4), document.Right("goodput/s").Optional(6),
		document.Left("label").Optional(1), document.Left("directory").Optional(2))
	for _, e := range slices.Backward(entries) {
		label := e.Label
		if e.Pin != nil {
			label = strings.TrimSpace(label + " (baseline)")
		}
		verdict, tone := Word(e)
		t.Add(e.Started.UTC().Format("2006-01-02 15:04"), shortID(e.ID), text.Line(e.Kind), text.Line(e.Model), text.Line(e.Engine), text.Line(Load(e)), document.Shorten(text.Line(e.Workload), maxWorkload), document.Paint(tone, verdict),
			Figure(e.Shown.TTFT), Figure(e.Shown.TPOT), Figure(e.Shown.Goodput), text.Line(label), text.Line(e.Path))
	}
	t.Flush = true
	p.Add(t)
	return &p.Document
}

// maxWorkload is how much of a workload tells runs apart in a line of 80 columns.
const maxWorkload = 16

// Load is how much load there was, or of several loads the one whose figures a list
// has.
func Load(e *history.Entry) string {
	if e.Load == "" && e.ShownAt != "" {
		return "at " + e.ShownAt
	}
	return e.Load
}

// Figure is a number of a list, or that it is not known.
func Figure(v *float64) string {
	if v == nil {
		return text.Absent
	}
	return text.Number(*v)
}

// shortID is enough of a run's id to tell it from others.
func shortID(id string) string {
	short, _ := document.Cut(id, 8)
	return text.Line(short)
}

// Word is the one word that matters of a run.
func Word(e *history.Entry) (word string, tone document.Tone) {
	word, tone = Verdict(e.Verdict())
	if e.TooFew {
		word = "too few requests"
	}
	if e.Unchecked && word != "unchecked" {
		word += ", unchecked"
	}
	return word, tone
}

// Verdict is one of history.Verdicts as people read it.
func Verdict(verdict string) (word string, tone document.Tone) {
	switch verdict {
	case "met":
		return verdict, document.Good
	case "missed", "invalid":
		return verdict, document.Bad
	case "undecided":
		return "too close to call", document.Weak
	case "interrupted":
		return "cut short", document.Weak
	}
	return verdict, document.Plain
}

var driftWords = map[slo.Standing]document.Headline{
	slo.Worse: {Word: "WORSE: ", Tone: document.Lost}, slo.Mixed: {Word: "WORSE: ", Tone: document.Lost},
	slo.Better: {Word: "BETTER: ", Tone: document.Met}, slo.Undecided: {Word: "TOO EARLY: ", Tone: document.Open},
	slo.NotJudged: {Word: "NOT FOLLOWED: ", Tone: document.Plain},
}

// DriftHeadline is how a series of runs stands.
func DriftHeadline(d *result.Drift) document.Headline {
	h := cmp.Or(driftWords[d.Standing], document.Headline{Word: "STEADY: ", Tone: document.Met})
	h.Why = text.Line(d.Verdict)
	return h
}

// Drifts are several series, a row each.
func Drifts(list []*result.Drift) *document.Document {
	p := &document.Builder{}
	t := document.NewTable(document.Left("series"), document.Left("drift"), document.Right("runs"), document.Prose("why"))
	for _, d := range list {
		h := DriftHeadline(d)
		runs, why := text.Count(d.Runs), h.Why
		if d.Left > 0 {
			runs += " of " + text.Count(d.Runs+d.Left)
		}
		if d.Standing == slo.Undecided && len(d.Early) == 0 {
			why = text.Plural(d.Needs, "more run") + " needed"
		}
		t.Add(document.Shorten(d.Name, maxSeriesName), document.Paint(h.Tone, strings.ToLower(strings.TrimSuffix(h.Word, ": "))), runs, why)
	}
	p.Add(t)
	p.Note("runs: those that are valid and not cut short · redline history drift RUN shows the series of a run")
	return &p.Document
}

// maxSeriesName is how much of a name a table has room for.
const maxSeriesName = 46

// Drift is how a series of runs moved: the verdict, then each change with
// what it is likely to come from, then what else became different.
func Drift(d *result.Drift) *document.Document {
	p := &document.Builder{}
	h := DriftHeadline(d)
	p.Headline(h.Word, h.Tone, h.Why)
	p.Last().Joined = true
	p.Field("series", text.Line(d.Name+" ("+d.Series+")"))
	runs := text.Plural(d.Runs, "run")
	if d.Left > 0 {
		runs += ", and " + text.Count(d.Left) + " left out: not valid, cut short, or not a single load"
	}
	p.Field("runs", runs)
	p.Field("baseline", shortID(d.Baseline))
	addShifts(p, d.Changes)
	if charts := picture.Drift(d); len(charts) > 0 {
		p.Add(document.Charts(charts[:min(len(charts), maxDrawn)]))
	} else if still := picture.Steady(d); len(still) > 0 {
		p.Add(document.Pictures(still))
	}
	earlySigns(p, d)
	p.Section("")
	for _, s := range d.Settings {
		p.Field(s.At.Format(time.DateOnly), settingText(s))
	}
	p.Section("")
	if d.Standing == slo.Worse || d.Standing == slo.Mixed {
		p.Note("If the new level is as it should be: redline history pin RUN, with a run of it.")
	}
	return &p.Document
}

// maxDrawn is how many figures of a series a terminal has room for.
const maxDrawn = 2

func addShifts(p *document.Builder, changes []result.MetricShift) {
	t := document.NewTable(document.Left("metric"), document.Right("before"), document.Right("after"), document.Left("unit"), document.Right("change"), document.Left("since"), document.Left("run"), document.Right("p").Optional(1))
	for _, m := range changes {
		color := document.Bad
		if m.Standing == slo.Better {
			color = document.Good
		}
		scale, unit, change := 1.0, text.Line(m.Unit), ""
		if m.Difference != nil {
			scale, unit, change = 100, "%", text.SignedNumber(100**m.Difference)+" points"
		} else {
			change = text.SignedNumber(100*(*m.Ratio-1)) + "%"
		}
		t.Add(text.Line(m.Metric), text.Significant(scale*m.Before, 3, 8), text.Significant(scale*m.After, 3, 8), unit, document.Paint(color, change), m.At.Format(time.DateOnly), shortID(m.Since), report.Chance(&m.P))
	}
	p.Add(t)
	var causes []string // each said once, of all that it may have moved
	moved := map[string][]string{}
	for _, m := range changes {
		for _, s := range m.Causes {
			cause := settingText(s)
			if moved[cause] == nil {
				causes = append(causes, cause)
			}
			moved[cause] = append(moved[cause], text.Line(m.Metric))
		}
	}
	for _, cause := range causes {
		p.Note(strings.Join(moved[cause], ", ") + " likely from: " + cause)
	}
}

// earlySigns lays the newest of a few runs beside those before it.
func earlySigns(p *document.Builder, d *result.Drift) {
	t := document.NewTable(document.Left("newest run"), document.Right("before"), document.Right("now"), document.Left("unit"), document.Right("change"))
	moved := false
	for _, e := range d.Early {
		scale, unit, tone := 1.0, text.Line(e.Unit), document.Plain
		if e.Share {
			scale, unit = 100, "%"
		}
		if e.Outside {
			tone = document.Weak
		}
		now := text.Significant(scale*e.After, 3, 8)
		if e.Measured != nil {
			if measured := text.Significant(scale**e.Measured, 3, 8); measured != now {
				now, moved = now+" ("+measured+")", true
			}
		}
		t.Add(text.Line(e.Metric), text.Significant(scale*e.Before, 3, 8), now, unit, document.Paint(tone, e.Words()))
	}
	if len(t.Rows) > 0 {
		p.Add(t)
		if moved {
			p.Note("in parentheses: as measured; before it, as near to the earlier runs as the hold-ups of its machine allow")
		}
		p.Note("low confidence: " + text.Plural(d.Runs, "run") + "; before the tenth only large changes are called")
	}
}

func settingText(s result.Setting) string {
	return text.Line(s.Name) + " " + text.Line(s.Before) + " → " + text.Line(s.After)
}
