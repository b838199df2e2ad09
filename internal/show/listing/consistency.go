package listing

import (
	"maps"
	"slices"

	"redline/internal/judge/slo"
	"redline/internal/run/consistency"
	"redline/internal/show/document"
	"redline/internal/text"
)

// Consistency is what changes a server's replies, a row for each condition.
func Consistency(r *consistency.Report) *document.Document {
	b := &document.Builder{}
	tone := document.Met
	switch r.Standing {
	case slo.Worse:
		tone = document.Lost
	case slo.Undecided:
		tone = document.Open
	}
	b.Headline("REPLIES: ", tone, text.Line(r.Verdict))
	b.Section("")
	t := document.NewTable(document.Left("condition"), document.Right("differs"), document.Right("alone differs"), document.Left("more, 95%"),
		document.Right("p"), document.Right("cached").Optional(1), document.Right("failed").Optional(2), document.Left("verdict"))
	for _, c := range r.Conditions {
		verdict := document.Paint(document.Good, "as alone")
		switch c.Standing {
		case slo.Worse:
			verdict = document.Paint(document.Bad, "changes replies")
		case slo.NotJudged:
			verdict = document.Paint(document.Weak, "not judged: too few replies")
			if c.NotReached {
				verdict = document.Paint(document.Weak, "not reached")
			}
		case slo.Undecided:
			verdict = document.Paint(document.Weak, "too close to call")
		}
		t.Add(text.Line(c.Name), shareOf(c.Differs, c.N), shareOf(c.BaseDiffers, c.N), text.Number(100*c.Interval[0])+" to "+text.Number(100*c.Interval[1])+" points",
			text.Digits(c.PHolm, 2), text.Percent(c.Cached), text.Number(float64(c.Failed)), verdict)
	}
	b.Add(t)
	b.Field("base", shareOf(r.Base.Differs, r.Base.N)+" of the replies alone differ from themselves")
	for _, kind := range slices.Sorted(maps.Keys(r.Garbage)) {
		var places []string
		for _, name := range slices.Sorted(maps.Keys(r.Garbage[kind])) {
			places = append(places, text.Line(name)+" "+text.Number(float64(r.Garbage[kind][name])))
		}
		b.Field("garbage", kind+": "+text.List(places))
	}
	if len(r.Garbage) == 0 {
		b.Field("garbage", "none: no reply is empty, loops, has cut characters or another request's label")
	}
	for _, e := range r.Examples {
		b.Field("for example", text.Line(e.Condition)+": “"+text.Line(text.Cut(e.Reply, 100))+"”, alone “"+text.Line(text.Cut(e.Alone, 100))+"”")
	}
	b.Field("confidence", "a server whose replies depend on nothing is accused in 2% of runs at most")
	for _, note := range r.Notes {
		b.Warning(text.Line(note))
	}
	return &b.Document
}

func shareOf(n, of int) string { return text.Percent(float64(n) / float64(max(1, of))) }
