package listing

import (
	"strings"

	"redline/internal/run/doctor"
	"redline/internal/show/document"
	"redline/internal/text"
)

// marks are the words for what the doctor thinks of a finding.
var marks = map[doctor.Mark]string{
	doctor.OK: document.Paint(document.Good, "ok  "), doctor.Warn: document.Paint(document.Weak, "warn"),
	doctor.Bad: document.Paint(document.Bad, "bad "), doctor.Unread: text.Absent + "   ",
}

// Doctor has the verdict and then a line for each finding.
func Doctor(r *doctor.Report) *document.Document {
	b := &document.Builder{}
	tone := document.Met
	if !r.Ready {
		tone = document.Lost
	}
	word, why, _ := strings.Cut(text.Line(r.Verdict), ": ")
	b.Headline(word+": ", tone, why)
	widest := 0
	for _, f := range r.Findings {
		widest = max(widest, document.Visible(f.What))
	}
	for i := 0; i < len(r.Findings); {
		about := r.Findings[i].About
		title := about
		if about == "machine" {
			title = "this machine (" + r.Machine.System + ")"
		}
		b.Section("")
		b.Add(document.Heading(text.Line(title)))
		t := document.NewTable(document.Left(""), document.Left(""), document.Prose(""))
		for ; i < len(r.Findings) && r.Findings[i].About == about; i++ {
			f := r.Findings[i]
			figure := text.Line(f.Figure)
			if f.Cure != "" {
				figure += " → " + text.Line(f.Cure)
			}
			t.Add(marks[f.Mark], document.PadRight(f.What, widest), figure)
		}
		b.Add(t)
	}
	return &b.Document
}
