package process

import (
	"testing"
)

func TestScan(t *testing.T) {
	for _, p := range All() {
		tr := p.Truth(1, 20, 10000)
		n := float64(len(tr.sorted)) / 200000
		if p.P > 0 {
			t.Logf("%-32s rate %5.1f (%4.1f) p50 %.3f p %.3f period %.1f", p.Name, p.Rate, n, tr.sorted[len(tr.sorted)/2], tr.Value, tr.Period)
		} else {
			t.Logf("%-32s rate %5.1f (%4.1f) share %.4f period %.1f", p.Name, p.Rate, n, tr.Value, tr.Period)
		}
	}
}
