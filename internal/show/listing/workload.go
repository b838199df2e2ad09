package listing

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/show/document"
	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// Workload has what is sent, how long it is, and when.
func Workload(s *workload.Summary) *document.Document {
	b := sheet("", s.Name)
	b.Headline("", document.Plain, text.Line(traffic(s)))
	t := document.NewTable(document.Left("tokens"), document.Right("min"), document.Right("p50"), document.Right("p90"), document.Right("p95"),
		document.Right("p99"), document.Right("max"), document.Right("mean"))
	lengths := func(name string, l workload.Lengths) {
		n := func(v float64) string { return text.FixedNumber(v, 0) }
		t.Add(name, n(l.Min), n(l.P50), n(l.P90), n(l.P95), n(l.P99), n(l.Max), n(l.Mean))
	}
	lengths("prompt", s.Prompt)
	lengths("output", s.Output)
	b.Add(t)
	b.Add(histogram("prompt tokens", s.Prompts))
	b.Add(histogram("output tokens", s.Outputs))
	shares(b, "class", s.Classes)
	shares(b, "tenant", s.Tenants)
	b.Section("")
	if s.ProseTokens > 0 {
		b.Note("Note: read as text: " + text.Plural(s.ProseTokens, "token") + " of prose, out of which prompts of these lengths are cut")
	}
	for _, note := range s.Notes {
		b.Note(text.Line("Note: " + note))
	}
	return &b.Document
}

// Advice is the decision matrix for a workload, what applies to it marked.
func Advice(about string, rows []result.Choice) *document.Document {
	b := &document.Builder{}
	b.Headline("WHAT SUITS IT: ", document.Plain, text.Line(about))
	for _, c := range rows {
		name := c.Scenario
		if c.Applies {
			name = document.Paint(document.Good, name+": this one")
		}
		b.Section("")
		b.Field("scenario", name)
		b.Field("when", c.When)
		b.Field("approach", c.Approach)
		b.Field("why", c.Why)
		b.Field("cost", c.Cost)
	}
	return &b.Document
}

// Presets has the names of workloads, and what each is.
func Presets() *document.Document {
	b := &document.Builder{}
	for _, preset := range workload.Presets {
		b.Entry(1, preset.Name, preset.About)
	}
	for _, mix := range workload.Mixes {
		b.Entry(1, mix.Name, mix.About)
	}
	return &b.Document
}

// traffic says how many requests there are, when they come and what they share.
func traffic(s *workload.Summary) string {
	requests := text.Plural(s.Requests, "request")
	if s.Drawn {
		requests = "a sample of " + requests
	}
	if t := s.Turns; t != nil {
		requests += fmt.Sprintf(" in %s of %s", text.Plural(s.Sessions, "session"), text.Plural(int(t.P50), "turn"))
		if s.Think != nil {
			requests += fmt.Sprintf(", %s between reply and next turn", text.Seconds(s.Think.P50))
		}
		if s.Gap != nil {
			requests += fmt.Sprintf(", %s from turn to turn", text.Seconds(s.Gap.P50))
		}
		requests += " (median)"
	}
	if t := s.LoggedTurns; t != nil {
		requests += fmt.Sprintf(", of %s of %s (median), each sent by itself", text.Plural(s.LoggedSessions, "session"), text.Plural(int(t.P50), "turn"))
	}
	if s.Drawn {
		requests += fmt.Sprintf(" drawn with seed %d; a run sends as many as fit its length", s.Seed)
	}
	arrivals, burst, shared := "", "", ""
	if a := s.Arrivals; a != nil {
		arrivals = text.Length(time.Duration(a.SpanS*float64(time.Second))) + " at " + text.Rate(a.Rate)
		if a.Dispersion1s != nil {
			burst = "dispersion " + text.Rough(*a.Dispersion1s) + " at 1 s"
			if a.Dispersion60s != nil {
				burst += ", " + text.Rough(*a.Dispersion60s) + " at 60 s"
			}
			burst += " (Poisson: 1)"
		}
	}
	if s.Sharing > 0 {
		shared = text.RoughPercent(s.Sharing) + " of prompt tokens shared"
	}
	return text.Join(" · ", requests, arrivals, burst, shared)
}

func shares(b *document.Builder, name string, list []workload.Share) {
	const limit = 10
	t := document.NewTable(document.Left(name), document.Right("requests"), document.Right("share"))
	for _, share := range list[:min(len(list), limit)] {
		t.Add(text.Line(share.Name), text.Count(share.Requests), text.FixedNumber(100*share.Share, 1)+"%")
	}
	b.Add(t)
	if more := len(list) - limit; more > 0 {
		b.Note(fmt.Sprintf("and %d more", more))
	}
}

// histogram is the shares of lengths by powers of two; it has no rows where all
// are alike.
func histogram(title string, sorted []float64) *document.Table {
	const longest = 40
	t := document.NewTable(document.Left(title), document.Right(""), document.Left(""))
	if len(sorted) == 0 || sorted[0] == sorted[len(sorted)-1] {
		return t
	}
	power := func(v float64) int { return int(math.Log2(max(1, v))) }
	first, last := power(sorted[0]), power(sorted[len(sorted)-1])
	counts, most := make([]int, last+1), 0
	for _, v := range sorted {
		counts[power(v)]++
		most = max(most, counts[power(v)])
	}
	edge := func(k int) string { return text.FixedNumber(math.Exp2(float64(k)), 0) }
	for k := first; k <= last; k++ {
		t.Add(document.PadLeft(edge(k), len(edge(last)))+"–"+text.FixedNumber(math.Exp2(float64(k+1))-1, 0),
			text.FixedNumber(100*float64(counts[k])/float64(len(sorted)), 1)+"%",
			strings.Repeat("█", int(math.Round(longest*float64(counts[k])/float64(most)))))
	}
	return t
}

// Prompt prints the beginning of one request's messages.
func Prompt(w io.Writer, i int, r *llm.Request) error {
	const limit = 400
	if _, err := fmt.Fprintf(w, "── prompt %d: %d tokens, asks for %d\n", i, r.PromptTokens, r.MaxTokens); err != nil {
		return err
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		text := []rune(strings.Join(strings.Fields(strings.Join(slices.Collect(m.Texts), " ")), " "))
		end := ""
		if len(text) > limit {
			text, end = text[:limit], " …"
		}
		if _, err := fmt.Fprintf(w, "%s: %s%s\n", m.Role, string(text), end); err != nil {
			return err
		}
	}
	return nil
}
