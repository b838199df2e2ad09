package trace

import (
	"slices"
	"time"

	"redline/internal/stats"
)

// Summarize reads a whole trace.
func Summarize(f *File) (*Summary, error) {
	t, err := newTally()
	if err != nil {
		return nil, err
	}
	if err := t.read(f); err != nil {
		return nil, err
	}
	prompts, outputs := sortedLengths(t.prompts), sortedLengths(t.outputs)
	s := &Summary{
		Format: f.Format(), Requests: f.Len(), Skipped: f.SkippedRows(), Notes: f.Notes(),
		Prompt: percentiles(prompts), Output: percentiles(outputs),
		PromptHistogram: buckets(prompts, doublings(prompts)), OutputHistogram: buckets(outputs, doublings(outputs)),
		Prefix: t.sharing.estimate(), Sessions: len(slices.Compact(slices.Sorted(slices.Values(t.sessions)))), Tenants: len(t.tenants), Classes: len(t.classes),
	}
	if times := timeline(t.times); len(times) > 0 {
		span := float64(times[len(times)-1]) / float64(time.Second)
		s.Span = stats.Finite(round(span, 3))
		s.Rate = stats.Finite(round(float64(len(times))/span, 4))
		s.Dispersion1s, s.Dispersion60s = dispersionOf(times, time.Second), dispersionOf(times, time.Minute)
	}
	return s, nil
}

// doublings are edges from 0 and 1 up to the largest length.
func doublings(sorted []float64) []int {
	edges := []int{0}
	for edge := 1; len(sorted) > 0 && float64(edge) <= sorted[len(sorted)-1]; edge *= 2 {
		edges = append(edges, edge)
	}
	return edges
}

// Summary is what a trace looks like, in numbers. What is not known is nil.
type Summary struct {
	Format   string      `json:"format"`
	Requests int         `json:"requests"`
	Span     *float64    `json:"span_s"`
	Rate     *float64    `json:"requests_per_s"`
	Prompt   Percentiles `json:"prompt_tokens"`
	Output   Percentiles `json:"output_tokens"`
	// PromptHistogram and OutputHistogram have a bucket for each doubling.
	PromptHistogram []Bucket `json:"prompt_histogram"`
	OutputHistogram []Bucket `json:"output_histogram"`
	// Dispersion is the variance over the mean of requests in windows of a
	// second and a minute: 1 for Poisson arrivals.
	Dispersion1s  *float64 `json:"dispersion_1s"`
	Dispersion60s *float64 `json:"dispersion_60s"`
	// Prefix is how prompts begin alike.
	Prefix   *Sharing `json:"prefix"`
	Sessions int      `json:"sessions"`
	Tenants  int      `json:"tenants"`
	Classes  int      `json:"classes"`
	Skipped  int      `json:"skipped_rows"`
	Notes    []string `json:"notes"`
}

// summary is what the workload was fitted to, as far as it is kept.
func (f *FittedWorkload) summary() *Summary {
	s := &Summary{
		Format: "workload", Requests: f.Source.Requests, Skipped: f.Source.Skipped, Notes: slices.Clone(f.Source.Notes),
		Prompt: f.Prompt.Percentiles, Output: f.Output.Percentiles,
		PromptHistogram: f.Prompt.Buckets, OutputHistogram: f.Output.Buckets,
		Prefix: f.Prefix, Tenants: len(f.Tenants), Classes: len(f.Classes),
	}
	if f.Sessions != nil {
		s.Sessions = f.Sessions.Count
	}
	if a := f.Arrivals; a != nil {
		s.Span, s.Rate = &f.Source.Span, stats.Finite(round(a.mean(), 4))
		s.Dispersion1s, s.Dispersion60s = a.Dispersion1s, a.Dispersion60s
	}
	return s
}
