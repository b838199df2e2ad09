package validity

import "testing"

// Figures of checks have no more digits than they need, and thousands are
// grouped as everywhere.
func TestShort(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0.1234: "0.12", 9.94: "9.9", 12.4: "12", 999: "999", 1267: "1,270", 12_345: "12,300", -1267: "-1,270", 1_234_567: "1,230,000"} {
		if got := short(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
