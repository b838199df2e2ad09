package listing

import (
	"fmt"

	"redline/internal/show/document"
	"redline/internal/text"
	"redline/internal/traffic/job"
)

// Jobs has what a file of agents' jobs holds, and the timeline of one of them.
func Jobs(s *job.Summary, example *job.Job, timeline []string) *document.Document {
	b := sheet("", s.Name)
	b.Headline("", document.Plain, text.Line(text.Join(" · ",
		fmt.Sprintf("%s of %s (%s)", text.Plural(s.Jobs, "job"), text.Plural(s.Requests, "request"), s.Format),
		text.Plural(s.Dependencies, "dependency", "dependencies"),
		text.RoughPercent(s.Ideal)+" of prompt tokens in an endless cache")))
	t := document.NewTable(document.Left(""), document.Right("min"), document.Right("p50"), document.Right("p90"), document.Right("p99"),
		document.Right("max"), document.Right("mean"))
	add := func(name string, f job.Figures, show func(float64) string) {
		t.Add(name, show(f.Min), show(f.P50), show(f.P90), show(f.P99), show(f.Max), show(f.Mean))
	}
	whole := func(v float64) string { return text.FixedNumber(v, 0) }
	add("requests of a job", s.PerJob, whole)
	add("chain of requests", s.Chain, whole)
	add("depth of subagents", s.Depth, whole)
	add("requests at once", s.Width, whole)
	add("prompt tokens", s.Prompt, whole)
	add("new prompt tokens", s.New, whole)
	add("output tokens", s.Output, whole)
	add("context held, tokens", s.Held, whole)
	add("longest/first prompt", s.Growth, text.Number)
	add("tool or think time", s.Pause, text.Seconds)
	add("time of a job", s.JobTime, text.Seconds)
	b.Add(t)
	b.Section("")
	b.Field("history", fmt.Sprintf("%s fresh, %s continued, %s forked", text.Count(s.Histories[job.Fresh]),
		text.Count(s.Histories[job.Continued]), text.Count(s.Histories[job.Forked])))
	if s.Joins > 0 {
		b.Field("joins", text.Plural(s.Joins, "request waits", "requests wait")+" for several others")
	}
	for i, name := range s.ModelNames() {
		key := "model"
		if i > 0 {
			key = ""
		}
		b.Field(key, text.Line(fmt.Sprintf("%s: %s", name, text.Plural(s.Models[name], "request"))))
	}
	if s.Context > 0 {
		b.Field("context", fmt.Sprintf("%s with prompt and reply of more than %s tokens", text.Plural(s.Overflow, "request"), text.Count(s.Context)))
	}
	if s.Untimed {
		b.Field("times", fmt.Sprintf("the file has none of a server: %v for each token of a reply is assumed", job.AssumedToken))
	}
	b.Section("")
	b.Add(document.Heading("timeline of " + text.Line(example.Name)))
	b.Add(document.Code(timeline))
	b.Note("█ the server works   · the agent waits for a tool, a person or a subagent")
	b.Section("")
	for _, note := range s.Notes {
		b.Note(text.Line("Note: " + note))
	}
	return &b.Document
}
