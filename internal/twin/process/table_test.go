package process

import (
	"math"
	"testing"
)

// TestProcesses: every process offers about the rate it names, in the order of time,
// the same for the same seed, and a longer window begins like a shorter one.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, p := range All() {
		const length = 2000
		list := p.Play(1, length)
		if rate := float64(len(list)) / length; math.Abs(rate/p.Rate-1) > 0.15 {
			t.Errorf("%s: %.1f requests/s, want about %.1f", p.Name, rate, p.Rate)
		}
		for i, q := range p.Play(1, length/4) {
			if q != list[i] {
				t.Errorf("%s: request %d is %+v, and %+v in a shorter window", p.Name, i, list[i], q)
				break
			}
			if i > 0 && q.Due < list[i-1].Due || !(q.Took >= 0) {
				t.Errorf("%s: request %d is %+v", p.Name, i, q)
				break
			}
		}
		truth := p.TruthOf([][]Request{list}, length)
		if !(truth.Value > 0) || !(truth.Period > 0) || p.P == 0 && truth.Value >= 0.5 {
			t.Errorf("%s: truth %g, every %g s", p.Name, truth.Value, truth.Period)
		}
	}
}
