package report

import (
	"strings"

	"redline/internal/judge/result"
)

var comparisonWords = map[result.Standing]headline{
	result.Better:    {word: "BETTER: ", tone: met},
	result.Worse:     {word: "WORSE: ", tone: lost},
	result.Mixed:     {word: "MIXED: ", tone: lost},
	result.Same:      {word: "SAME: ", tone: met},
	result.Undecided: {word: "NO DIFFERENCE SHOWN: ", tone: unset},
}

func comparisonHeadline(c *result.Comparison) headline {
	h, known := comparisonWords[c.Standing]
	if !known {
		h = comparisonWords[result.Undecided]
	}
	h.why = clean(c.Verdict)
	for _, said := range []string{"B is worse: ", "B is better: ", "no difference shown; "} {
		h.why = strings.TrimPrefix(h.why, said)
	}
	return h
}

var changeTones = map[result.Standing]tone{result.Better: good, result.Worse: bad, result.Undecided: weak}

// comparison writes both sides of every metric and what may be said of it.
func (p *page) comparison(c *result.Comparison) {
	if c == nil {
		return
	}
	p.field("A", side(c.A))
	p.field("B", side(c.B))
	rounds := ""
	if c.Rounds > 0 {
		rounds = plural(c.Rounds, "round")
	}
	p.field("test", joined(clean(c.Test), rounds, "alpha"+hard+exact(c.Alpha)))
	t := table{columns: []column{
		{head: cell{text: "B against A", tone: bold}},
		{head: cell{text: "A"}, align: alignRight}, {head: cell{text: "B"}, align: alignRight},
		{head: cell{text: "change"}, align: alignRight}, {head: cell{text: "95% interval"}, align: alignRight, optional: 1},
		{head: cell{text: "p"}, align: alignRight, optional: 2}, {align: alignProse},
	}}
	for i := range c.Metrics {
		t.rows = append(t.rows, changeRow(&c.Metrics[i]))
	}
	p.gap()
	p.write(t)
	for _, w := range c.Warnings {
		p.hang(p.paint(weak, padRight("warning", keyWidth)), clean(strings.TrimPrefix(w.Figure+": "+w.Text, ": ")))
	}
}

func side(s result.Side) string {
	return clean(joined(s.Name, s.Model, s.Engine, s.URL, strings.Join(s.Runs, ", ")))
}

func changeRow(m *result.Change) []cell {
	change, bounds := relativeChange(m)
	return []cell{{text: indent + metricName(m.Name, m.Load, m.Unit)}, {text: measured(m.A, m.Unit)}, {text: measured(m.B, m.Unit)},
		{text: change}, {text: bounds}, {text: chance(m.PHolm)}, {text: clean(m.Verdict), tone: changeTones[m.Standing]}}
}

// chance writes a p-value; how small a tiny one is says nothing more.
func chance(p *float64) string {
	switch {
	case p == nil:
		return absent
	case *p < 0.001:
		return "<0.001"
	}
	return significant(*p, 2, 3)
}

func measured(v *float64, unit string) string {
	switch {
	case v == nil:
		return absent
	case unit == "fraction":
		return percent(*v)
	}
	return figure(*v)
}

// relativeChange is the change with its sign and its interval, both in
// percent: of the value, or points of a share.
func relativeChange(m *result.Change) (change, bounds string) {
	from, of := 1.0, m.Ratio
	if m.Difference != nil {
		from, of = 0, m.Difference
	}
	change, bounds = absent, absent
	if of != nil {
		change = signed(100*(*of-from)) + "%"
	}
	if m.Interval != nil {
		bounds = signed(100*(m.Interval[0]-from)) + " … " + signed(100*(m.Interval[1]-from)) + "%"
	}
	return change, bounds
}
