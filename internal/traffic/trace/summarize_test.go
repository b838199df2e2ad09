package trace

import "time"

// Summarize reads a whole trace.
func Summarize(f *File) (*Summary, error) {
	t, err := newTally()
	if err != nil {
		return nil, err
	}
	if err := t.read(f); err != nil {
		return nil, err
	}
	prompts, outputs := ascending(t.prompts), ascending(t.outputs)
	s := &Summary{
		Format: f.Format(), Requests: f.Len(), Skipped: f.Skipped(), Notes: f.Notes(),
		Prompt: percentiles(prompts), Output: percentiles(outputs),
		PromptHistogram: buckets(prompts, doublings(prompts)), OutputHistogram: buckets(outputs, doublings(outputs)),
		Prefix: t.sharing.estimate(), Sessions: len(t.sessions), Tenants: len(t.tenants), Classes: len(t.classes),
	}
	if times := t.timeline(); len(times) > 0 {
		span := float64(times[len(times)-1]) / float64(time.Second)
		s.Span = known(round(span, 3))
		s.Rate = known(round(float64(len(times))/span, 4))
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
