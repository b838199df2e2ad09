package report

import (
	"testing"

	"redline/internal/judge/result"
)

// Host memory is divided by where both servers state it.
func TestCliffChange(t *testing.T) {
	t.Parallel()
	cliff := func(held, fallen int, gib ...float64) result.Cliff {
		c := result.Cliff{Held: held, Fallen: fallen}
		if len(gib) > 0 {
			c.HostGiB = &gib[0]
		}
		return c
	}
	for _, row := range []struct {
		a, b result.Cliff
		want string
	}{
		{cliff(10, 12, 0), cliff(20, 24, 4), "A holds 10 to 12 live sessions, B 20 to 24 · 1.67 to 2.40 times as many · 2.00 to 3.50 for each of the 4.00 GiB of host memory that B has more"},
		{cliff(10, 12), cliff(20, 24, 4), "A holds 10 to 12 live sessions, B 20 to 24 · 1.67 to 2.40 times as many · 8 more at least: divide by the memory that B has more"},
		{cliff(20, 24, 4), cliff(10, 12, 4), "A holds 20 to 24 live sessions, B 10 to 12 · 0.417 to 0.600 times as many · fewer"},
	} {
		if got := cliffChange(row.a, row.b); got != row.want {
			t.Errorf("got  %s\nwant %s", got, row.want)
		}
	}
}
