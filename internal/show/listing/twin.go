package listing

import (
	"fmt"

	"redline/internal/show/document"
	"redline/internal/text"
	"redline/internal/twin"
)

// Calibration has what a twin is worth, and level by level what was measured and
// what the twin gives.
func Calibration(c *twin.Calibration) *document.Document {
	b := &document.Builder{}
	word, why := c.Verdict()
	tone := document.Met
	if !c.Good {
		tone = document.Lost
	}
	b.Headline(word+": ", tone, why)
	t := document.NewTable(document.Left("level"), document.Right("requests"))
	for _, name := range twin.Figures {
		t.Columns = append(t.Columns, document.Right(name+" p50"), document.Right("twin"), document.Right("error"))
	}
	for _, r := range c.Rows {
		name := text.Line(r.Level)
		if r.HeldOut {
			name += " *"
		}
		if r.Overloaded {
			name += " overloaded"
		}
		row := []string{name, text.Count(r.Requests)}
		for _, m := range twin.Figures {
			if f, ok := r.P50[m]; ok {
				row = append(row, text.Figure(f.MeasuredMS), text.Figure(f.TwinMS), share(f.Error))
			} else {
				row = append(row, text.Absent, text.Absent, text.Absent)
			}
		}
		t.Add(row...)
	}
	b.Add(t)
	note := "times in ms"
	if c.HeldOut != nil {
		note += "; * predicted by a fit to the other levels alone"
	}
	b.Note(note)
	b.Note(c.Range())
	if l := c.Limit; l != nil {
		b.Note(fmt.Sprintf("limit: %s requests/s measured, %s by the twin (%s off)", text.Number(l.Measured), text.Number(l.Twin), share(l.Error)))
	}
	parts := document.NewTable(document.Left("part"), document.Left("decided"), document.Prose(""))
	for _, one := range c.Parts {
		word := "no"
		if one.Decided {
			word = "yes"
		}
		parts.Add(one.Name, word, text.Line(one.Why))
	}
	if len(parts.Rows) > 0 {
		b.Section("")
		b.Add(parts)
	}
	b.Section("")
	for _, skipped := range c.Evidence.Skipped {
		b.Warning(text.Line("left out: " + skipped))
	}
	for _, n := range c.Notes {
		b.Warning(text.Line(n))
	}
	return &b.Document
}

func share(e float64) string { return text.FixedNumber(100*e, 1) + "%" }
