package twin

import (
	"fmt"
	"io"
	"strings"

	"redline/internal/text"
)

// Write shows the calibration: what it is worth, and level by level what was
// measured and what the twin gives.
func (c *Calibration) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString(c.verdict() + "\n\n" + c.table())
	for _, s := range c.Evidence.Skipped {
		b.WriteString("\n! left out: " + s)
	}
	for _, n := range c.Notes {
		b.WriteString("\n! " + n)
	}
	if len(c.Notes)+len(c.Evidence.Skipped) > 0 {
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict says in a line whether the twin can be used.
func (c *Calibration) verdict() string {
	word, which, errors := "GOOD TWIN", "levels it had not seen", c.HeldOut
	if errors == nil {
		word, which, errors = "UNTESTED TWIN", "the levels it was fitted to", c.InFit
	}
	if !c.Good {
		word = "POOR TWIN"
	}
	var parts []string
	for _, name := range []string{"tpot", "e2e", "ttft"} {
		if e, ok := errors[name]; ok {
			parts = append(parts, fmt.Sprintf("%s %.1f%% (goal %s)", name, 100*e, text.Percent(Goals[name])))
		}
	}
	return fmt.Sprintf("%s: median error on %s: %s", word, which, strings.Join(parts, ", "))
}

// table is the levels in columns, medians in milliseconds.
func (c *Calibration) table() string {
	var b strings.Builder
	wide := len("level")
	for _, r := range c.Rows {
		wide = max(wide, len(r.Level)+2)
	}
	fmt.Fprintf(&b, "%-*s %8s", wide, "level", "requests")
	for _, name := range metricNames {
		fmt.Fprintf(&b, "  %9s %9s %6s", name+" p50", "twin", "error")
	}
	b.WriteString("\n")
	for _, r := range c.Rows {
		name := r.Level
		if r.HeldOut {
			name += " *"
		}
		fmt.Fprintf(&b, "%-*s %8d", wide, name, r.Requests)
		for _, m := range metricNames {
			f, ok := r.P50[m]
			if !ok {
				fmt.Fprintf(&b, "  %9s %9s %6s", "–", "–", "–")
				continue
			}
			fmt.Fprintf(&b, "  %9s %9s %5.1f%%", text.Figure(f.MeasuredMS), text.Figure(f.TwinMS), 100*f.Error)
		}
		b.WriteString("\n")
	}
	b.WriteString("times in ms")
	if c.HeldOut != nil {
		b.WriteString("; * foretold by a fit to the other levels alone")
	}
	b.WriteString("\n")
	if l := c.Limit; l != nil {
		fmt.Fprintf(&b, "limit: %s requests/s measured, %s by the twin (%.1f%% off)\n", text.Number(l.Measured), text.Number(l.Twin), 100*l.Error)
	}
	return b.String()
}
