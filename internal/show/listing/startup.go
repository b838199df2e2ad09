package listing

import (
	"fmt"

	"redline/internal/judge/slo"
	"redline/internal/run/startup"
	"redline/internal/show/document"
	"redline/internal/text"
)

// Startup is how long servers take to start, phase by phase.
func Startup(r *startup.Report) *document.Document {
	b := &document.Builder{}
	startupHeadline(b, r)
	startupSide(b, r, &r.A, "A")
	if r.B != nil {
		startupSide(b, r, r.B, "B")
		startupChanges(b, r)
	}
	b.Section("")
	b.Field("page cache", r.Cache)
	if r.Interrupted {
		b.Warning("interrupted: these are the starts before")
	}
	for _, s := range []*startup.Side{&r.A, r.B} {
		if s == nil {
			continue
		}
		for _, failed := range s.Failed() {
			b.Warning(text.Line("a start of " + s.Command + ": the server " + failed.Failed))
		}
	}
	return &b.Document
}

func startupHeadline(b *document.Builder, r *startup.Report) {
	if c := r.Comparison; c != nil {
		tone := map[slo.Standing]document.Tone{slo.Worse: document.Lost, slo.Mixed: document.Lost, slo.Undecided: document.Weak}[c.Standing]
		if tone == document.Plain {
			tone = document.Met
		}
		b.Headline("STARTUP: ", tone, c.Verdict)
		return
	}
	first := r.A.Phase(startup.FirstToken)
	if first == nil {
		b.Headline("STARTUP: ", document.Lost, "no start came to a first token")
		return
	}
	b.Headline("STARTUP: ", document.Met, fmt.Sprintf("%s to the first token%s, median of %s",
		text.Seconds(first.SinceS), startupInterval(first), text.Plural(first.N, "start")))
}

func startupInterval(p *startup.Phase) string {
	if p.N < 2 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s to %s)", text.Percent(p.Confidence), text.Seconds(p.Interval[0]), text.Seconds(p.Interval[1]))
}

// startupSide has a row for each phase of one command.
func startupSide(b *document.Builder, r *startup.Report, s *startup.Side, name string) {
	b.Section("")
	if r.B != nil {
		b.Add(document.Heading(name + ": " + text.Line(s.Command)))
	}
	confidence := 0.0
	for i := range s.Phases {
		confidence = max(confidence, s.Phases[i].Confidence)
	}
	t := document.NewTable(document.Left("phase"), document.Right("takes"), document.Right("since start"),
		document.Left(text.Percent(confidence)+" of that"))
	row := func(p *startup.Phase, since string) {
		reach := text.Absent
		if p.N > 1 {
			reach = text.Seconds(p.Interval[0]) + " to " + text.Seconds(p.Interval[1])
		}
		t.Add(p.Name, text.Seconds(p.TakesS), since, reach)
	}
	for i := range s.Phases {
		row(&s.Phases[i], text.Seconds(s.Phases[i].SinceS))
	}
	for i := range s.Engine {
		row(&s.Engine[i], "engine's log")
	}
	b.Add(t)
	if s.Phase(startup.Steady) == nil {
		b.Warning("the speed did not become steady in the two minutes after the first token")
	} else {
		b.Field("speed", text.Number(s.TokensPerS)+" tokens/s for one request at a time")
	}
	if first := s.Phase(startup.FirstToken); first != nil {
		b.Field("autoscaling", "provisioning delay "+text.Seconds(s.ProvisioningS)+startupInterval(first))
	}
}

// startupChanges has B against A.
func startupChanges(b *document.Builder, r *startup.Report) {
	b.Section("")
	b.Add(document.Heading("B against A, by the means of all starts"))
	t := document.NewTable(document.Left("phase"), document.Right("A"), document.Right("B"), document.Prose("verdict"))
	for _, m := range r.Comparison.Metrics {
		if m.A != nil && m.B != nil {
			t.Add(m.Name, text.Seconds(*m.A/1e3), text.Seconds(*m.B/1e3), m.Verdict)
		}
	}
	b.Add(t)
}
