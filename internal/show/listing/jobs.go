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
	whole := func(v float64) string {
		if v < 100 {
			return text.Number(v)
		}
		return text.FixedNumber(v, 0)
	}
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
	for i, name := range text.MostFrequent(s.Models) {
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
		b.Field("times", "the file has none of a server: "+text.Time(float64(job.AssumedToken.Milliseconds()))+" for each token of a reply is assumed")
	}
	b.Section("")
	b.Add(document.Heading("timeline of " + text.Line(example.Name)))
	b.Add(document.Code(timeline))
	b.Note("█ the server works, ▓▒░ a part of the time   · the agent waits for a tool, a person or a subagent")
	b.Section("")
	for _, note := range s.Notes {
		b.Note(text.Line("Note: " + note))
	}
	return &b.Document
}

// FittedJobs compares the jobs that a generator makes with those that it was
// fitted to, and one that was fitted to half of them with the other half; own are
// the figures of the half that it was fitted to, nil where there are too few.
func FittedJobs(all, held job.Comparison, own *job.Summary) *document.Document {
	b := sheet("", text.Line(fmt.Sprintf("fitted to %s of %s (%s)", text.Plural(all.File.Jobs, "job"), text.Plural(all.File.Requests, "request"), all.File.Format)))
	t := document.NewTable(document.Left(""), document.Right("file p50"), document.Right("p90"), document.Right("mean"),
		document.Right("made p50"), document.Right("p90"), document.Right("mean"), document.Right("error"))
	made := jobFigures(all.Made)
	for i, f := range jobFigures(all.File) {
		m := made[i].Figures
		t.Add(f.name, text.Number(f.P50), text.Number(f.P90), text.Number(f.Mean), text.Number(m.P50), text.Number(m.P90), text.Number(m.Mean), relativeError(m.Mean, f.Mean))
	}
	b.Add(t)
	b.Section("")
	b.Field("cache", idealShares(all))
	if own == nil {
		b.Note("Too few jobs to fit some and compare with the others.")
		return &b.Document
	}
	b.Section("")
	b.Add(document.Heading("fitted to every second job, compared with the others"))
	t = document.NewTable(document.Left(""), document.Right("fitted half, mean"), document.Right("other half"), document.Right("made"), document.Right("error"))
	made, half := jobFigures(held.Made), jobFigures(own)
	for i, f := range jobFigures(held.File) {
		t.Add(f.name, text.Number(half[i].Mean), text.Number(f.Mean), text.Number(made[i].Mean), relativeError(made[i].Mean, f.Mean))
	}
	b.Add(t)
	b.Section("")
	b.Field("cache", idealShares(held))
	b.Note("The error is that of the fit and of the halves, which differ.")
	return &b.Document
}

// namedFigures are figures with what they are of.
type namedFigures struct {
	name string
	job.Figures
}

// jobFigures are the figures by which jobs are compared.
func jobFigures(s *job.Summary) []namedFigures {
	return []namedFigures{{"requests of a job", s.PerJob}, {"requests at once", s.Width}, {"prompt tokens", s.Prompt}, {"new prompt tokens", s.New},
		{"output tokens", s.Output}, {"tool time, s", s.Pause}}
}

func relativeError(made, file float64) string {
	if file == 0 {
		return text.Absent
	}
	return text.Percentage(text.SignedNumber(100 * (made/file - 1)))
}

// idealShares compares what an endless cache would have.
func idealShares(c job.Comparison) string {
	return fmt.Sprintf("%s of prompt tokens in an endless cache, %s of those made: %s points", text.Percent(c.File.Ideal), text.Percent(c.Made.Ideal),
		text.SignedNumber(100*(c.Made.Ideal-c.File.Ideal)))
}
