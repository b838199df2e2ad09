package compare

import (
	"testing"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// What was shown to be the same is named beside what is open, with the widest of its
// intervals; those of open figures say nothing of it.
func TestTheSameIsNamedBesideWhatIsOpen(t *testing.T) {
	t.Parallel()
	figure := func(name string, standing slo.Standing, low, high float64) Metric {
		return Metric{Name: name, Ratio: new(1.0), Interval: &[2]float64{low, high}, Standing: standing}
	}
	c := Comparison{result.Comparison{Metrics: []Metric{figure("tpot:p50", slo.Same, 0.996, 1.009), figure("throughput", slo.Same, 0.998, 1.003),
		figure("ttft:p50", slo.Undecided, 0.8, 1.4)}}}
	c.conclude()
	const want = "no difference shown; the same within 0.9%: tpot:p50, throughput; too close to call: ttft:p50 (within 40%)"
	if c.Standing != slo.Undecided || c.Verdict != want {
		t.Errorf("%s: %s, want %s", c.Standing, c.Verdict, want)
	}
}
