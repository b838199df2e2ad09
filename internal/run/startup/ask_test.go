package startup

import "testing"

// TestSteadyFrom: the speed is steady from the first reply on after which all are as
// fast as the last, and one slow reply among fast ones changes nothing.
func TestSteadyFrom(t *testing.T) {
	repeat := func(v float64, n int) (list []float64) {
		for range n {
			list = append(list, v)
		}
		return list
	}
	for _, c := range []struct {
		took []float64
		from int
		ok   bool
	}{
		{repeat(1, 7), 0, false},
		{repeat(1, 8), 0, true},
		{append(repeat(8, 5), repeat(1, 7)...), 5, false},
		{append(repeat(8, 5), repeat(1, 8)...), 5, true},
		{append(append(repeat(8, 5), 1, 1, 1, 6), repeat(1, 8)...), 5, true},
		{append([]float64{30}, repeat(1, 8)...), 1, true},
	} {
		if from, ok := steadyFrom(c.took); ok != c.ok || ok && from != c.from {
			t.Errorf("%v: steady from %d (%v), want %d (%v)", c.took, from, ok, c.from, c.ok)
		}
	}
}
