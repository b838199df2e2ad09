package listing

import (
	"strings"

	"redline/internal/judge/validity"
	"redline/internal/run/doctor"
	"redline/internal/show/document"
	"redline/internal/text"
)

// marks are the words for what the doctor thinks of a finding.
var marks = map[validity.Mark]string{
	validity.OK: document.Paint(document.Good, "ok  "), validity.Warn: document.Paint(document.Weak, "warn"),
	validity.Bad: document.Paint(document.Bad, "bad "), validity.Unread: text.Absent + "   ",
}

// Doctor has the verdict and then a line for each finding. Where there are workers,
// it has a row for each and then what is not well; host is the name of this
// machine.
func Doctor(r *doctor.Report, host string) *document.Document {
	b := &document.Builder{}
	tone := document.Met
	if !r.Ready {
		tone = document.Lost
	}
	word, why, _ := strings.Cut(text.Line(r.Verdict), ": ")
	b.Headline(word+": ", tone, why)
	if len(r.Workers) > 0 {
		workers(b, r)
		problems(b, r.Problems(host))
		return &b.Document
	}
	widest := maxWhatWidth(r.Findings)
	for i := 0; i < len(r.Findings); {
		about, from := r.Findings[i].About, i
		for i < len(r.Findings) && r.Findings[i].About == about {
			i++
		}
		title := about
		if about == validity.AboutMachine {
			title = thisMachine(r.Machine.System)
		}
		findings(b, title, r.Findings[from:i], widest)
	}
	return &b.Document
}

func thisMachine(system string) string { return "this machine (" + system + ")" }

func maxWhatWidth(list []validity.Finding) (widest int) {
	for _, f := range list {
		widest = max(widest, document.Visible(f.What))
	}
	return widest
}

// findings are a line each.
func findings(b *document.Builder, title string, list []validity.Finding, widest int) {
	b.Section("")
	b.Add(document.Heading(text.Line(title)))
	t := document.NewTable(document.Left(""), document.Left(""), document.Prose(""))
	for _, f := range list {
		figure := text.Line(f.Figure)
		if f.Cure != "" {
			figure += " → " + text.Line(f.Cure)
		}
		t.Add(marks[f.Mark], document.PadRight(f.What, widest), figure)
	}
	b.Add(t)
}

// workers is what each of them can do.
func workers(b *document.Builder, r *doctor.Report) {
	b.Section("")
	t := document.NewTable(document.Left("worker"), document.Left("machine").Optional(1), document.Right("tokens/s"), document.Right("requests/s"),
		document.Right("pacing error p99"), document.Right("round trip to the server"), document.Left("problems"))
	for _, w := range r.Workers {
		row := w.Row()
		tone := document.Plain
		switch {
		case strings.Contains(row.Problems, string(validity.Bad)):
			tone = document.Bad
		case strings.Contains(row.Problems, string(validity.Warn)):
			tone = document.Weak
		}
		t.Add(text.Line(w.Name), text.Line(w.Host), row.Tokens, row.Requests, row.Pacing, row.RoundTrip, document.Paint(tone, row.Problems))
	}
	b.Add(t)
}

// maxNamed is how many workers of a machine a heading names.
const maxNamed = 4

// problems is what is not well, machine by machine.
func problems(b *document.Builder, groups []doctor.Group) {
	widest := 0
	for _, g := range groups {
		widest = max(widest, maxWhatWidth(g.Findings))
	}
	for _, g := range groups {
		title := g.Host + " (" + g.System + ")"
		if g.Host == "" {
			title = thisMachine(g.System)
		}
		switch n := len(g.Workers); {
		case n > maxNamed:
			title += ", " + text.Plural(n, "worker")
		case n > 0:
			title += ", " + text.List(g.Workers)
		}
		if g.About != validity.AboutMachine {
			title += " → " + g.About
		}
		findings(b, title, g.Findings, widest)
	}
	b.Section("")
	b.Add(document.Note("--json has all findings of every worker"))
}
