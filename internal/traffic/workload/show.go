package workload

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"redline/internal/stats"
	"redline/internal/text"
)

// Arrivals is when requests would come, where the workload itself says so.
type Arrivals struct {
	SpanS float64 `json:"span_s"`
	Rate  float64 `json:"requests_per_s"`
	// Dispersion is the variance of arrivals in windows of a second and of a
	// minute over their mean: 1 is Poisson's; absent where there are too few
	// windows to tell.
	Dispersion1s  *float64 `json:"dispersion_1s,omitempty"`
	Dispersion60s *float64 `json:"dispersion_60s,omitempty"`
}

// barWidth is the longest bar of a histogram, in characters.
const barWidth = 40

// Show writes the summary for people: what is sent, how long it is, when.
func (s *Summary) Show(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", s.Name, s.headline())
	fmt.Fprintf(&b, "%-14s %8s %8s %8s %8s %8s %8s %8s\n", "tokens", "min", "p50", "p90", "p95", "p99", "max", "mean")
	for _, row := range []struct {
		name string
		l    Lengths
	}{{"prompt", s.Prompt}, {"output", s.Output}} {
		fmt.Fprintf(&b, "%-14s", row.name)
		for _, x := range []float64{row.l.Min, row.l.P50, row.l.P90, row.l.P95, row.l.P99, row.l.Max, row.l.Mean} {
			fmt.Fprintf(&b, " %8s", text.Fixed(x, 0))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	histogram(&b, "prompt tokens", s.Prompts)
	histogram(&b, "output tokens", s.Outputs)
	s.showShares(&b)
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// headline says how many requests there are, when they come and what they
// share.
func (s *Summary) headline() string {
	parts := []string{text.Plural(s.Requests, "request")}
	if s.Drawn {
		parts[0] = "a sample of " + parts[0]
	}
	if t := s.Turns; t != nil {
		parts[0] += fmt.Sprintf(" in %s of %s (median)", text.Plural(s.Sessions, "session"), text.Plural(int(t.P50), "turn"))
	}
	if s.Drawn {
		parts[0] += fmt.Sprintf(" drawn with seed %d; a run sends as many as fit its length", s.Seed)
	}
	if a := s.Arrivals; a != nil {
		parts = append(parts, text.Length(time.Duration(a.SpanS*float64(time.Second)))+" at "+text.Rate(a.Rate))
		if a.Dispersion1s != nil {
			burst := "dispersion " + text.Rough(*a.Dispersion1s) + " at 1 s"
			if a.Dispersion60s != nil {
				burst += ", " + text.Rough(*a.Dispersion60s) + " at 60 s"
			}
			parts = append(parts, burst+" (Poisson: 1)")
		}
	}
	if s.Sharing > 0 {
		parts = append(parts, text.RoughPercent(s.Sharing)+" of prompt tokens shared")
	}
	return strings.Join(parts, " · ")
}

func (s *Summary) showShares(b *strings.Builder) {
	const most = 10
	for _, group := range []struct {
		name string
		list []Share
	}{{"class", s.Classes}, {"tenant", s.Tenants}} {
		if len(group.list) == 0 {
			continue
		}
		fmt.Fprintf(b, "%-24s %10s %8s\n", group.name, "requests", "share")
		for i, share := range group.list {
			if i == most {
				fmt.Fprintf(b, "and %d more\n", len(group.list)-most)
				break
			}
			fmt.Fprintf(b, "%-24s %10s %7.1f%%\n", share.Name, text.Count(share.Requests), 100*share.Share)
		}
		b.WriteByte('\n')
	}
}

// histogram draws the shares of lengths by powers of two.
func histogram(b *strings.Builder, title string, sorted []float64) {
	if len(sorted) == 0 || sorted[0] == sorted[len(sorted)-1] {
		return
	}
	counts := map[int]int{}
	first, last, most := math.MaxInt, 0, 0
	for _, x := range sorted {
		k := int(math.Floor(math.Log2(max(1, x))))
		counts[k]++
		first, last, most = min(first, k), max(last, k), max(most, counts[k])
	}
	fmt.Fprintln(b, title)
	for k := first; k <= last; k++ {
		share := float64(counts[k]) / float64(len(sorted))
		bar := strings.Repeat("█", int(math.Round(barWidth*float64(counts[k])/float64(most))))
		fmt.Fprintf(b, "  %9s–%-9s %5.1f%% %s\n", text.Fixed(math.Exp2(float64(k)), 0), text.Fixed(math.Exp2(float64(k+1))-1, 0), 100*share, bar)
	}
	b.WriteByte('\n')
}

// arrivals describes the workload's own times, nil where it has none.
func (w *Workload) arrivals(sessions int) *Arrivals {
	times := w.Times(w.seed)
	if times == nil || sessions < 2 {
		return nil
	}
	var all []int64
	for at := range times {
		if all = append(all, at); len(all) == sessions {
			break
		}
	}
	span := time.Duration(all[len(all)-1] - all[0])
	if span <= 0 {
		return nil
	}
	a := &Arrivals{SpanS: span.Seconds(), Rate: float64(len(all)-1) / span.Seconds()}
	a.Dispersion1s, a.Dispersion60s = dispersion(all, time.Second), dispersion(all, time.Minute)
	return a
}

// dispersion is nil where there are too few windows to tell.
func dispersion(times []int64, window time.Duration) *float64 {
	index := stats.IndexOfDispersion(times, int64(window))
	if math.IsNaN(index) {
		return nil
	}
	return &index
}
