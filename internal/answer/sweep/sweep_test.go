package sweep

import (
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
)

// offered is what came of offering a rate for some seconds.
type offered struct {
	rate, seconds, warmup, ended, e2e float64
	overload                          *bool
	left                              int
}

func (l offered) point() result.Point {
	p := result.Point{Load: result.Load{Mode: "open", Rate: &l.rate}}
	p.Window = metric.Window{StartS: l.warmup, EndS: l.warmup + l.seconds, WarmupS: &l.warmup, Overload: l.overload}
	p.Rates = metric.Rates{Offered: l.rate, Completed: l.rate, Ended: l.ended}
	p.Requests = metric.Requests{Due: int(l.rate * l.seconds), Censored: l.left}
	p.Latency.E2E = &metric.Dist{N: 100, Mean: 1000 * l.e2e}
	return p
}

func TestSaturated(t *testing.T) {
	t.Parallel()
	alone := offered{rate: 1, seconds: 60, ended: 1, e2e: 0.5}
	for _, tc := range []struct {
		name   string
		before offered
		offered
		want string
	}{
		{"keeps up", alone, offered{rate: 20, seconds: 60, ended: 19.5, e2e: 1}, ""},
		{"an idle server whose replies take as long as the window", offered{}, offered{rate: 2, seconds: 5, ended: 0.4, e2e: 4}, ""},
		{"replies that a short warm-up leaves in flight", offered{}, offered{rate: 20, seconds: 10, ended: 12, e2e: 4}, ""},
		{"few requests, by chance", alone, offered{rate: 1, seconds: 20, ended: 0.7, e2e: 1}, ""},
		{"a tenth fewer, of many", alone, offered{rate: 100, seconds: 60, ended: 85, e2e: 3},
			"saturated at 100 requests/s: 85/s completed"},
		{"replies that only the queue makes slow", alone, offered{rate: 100, seconds: 10, ended: 30, e2e: 8},
			"saturated at 100 requests/s: 30/s completed"},
		{"the queue grows", alone, offered{rate: 20, seconds: 60, ended: 19.5, e2e: 1, overload: new(true)},
			"saturated at 20 requests/s: 19.5/s completed"},
		{"replies that never end", offered{}, offered{rate: 20, seconds: 5, ended: 2, e2e: 4, left: 50},
			"saturated at 20 requests/s: 2/s completed"},
	} {
		var done []Done
		if tc.before.rate > 0 {
			done = append(done, Done{Point: new(tc.before.point())})
		}
		done = append(done, Done{Point: new(tc.offered.point())})
		if _, more, got := Next(&config.Config{}, done); got != tc.want || more != (tc.want == "") {
			t.Errorf("%s: %q, and another level %t; want %q", tc.name, got, more, tc.want)
		}
	}
	if _, more, got := Next(&config.Config{}, []Done{{}}); got != "" || !more {
		t.Errorf("without a point: %q", got)
	}
}

// Levels that are given are offered one after another; those that double stop
// where one does not count.
func TestNextLevel(t *testing.T) {
	t.Parallel()
	given, closed, doubling, capped := &config.Config{}, &config.Config{}, &config.Config{}, &config.Config{}
	capped.Experiment.Start, capped.Experiment.Ceiling = 5, 12
	given.Experiment.Rates, closed.Experiment.Concurrencies, doubling.Experiment.Start = []float64{3, 9}, []int{4}, 5
	for _, c := range []struct {
		what string
		plan *config.Config
		done []Done
		next string
		stop string
	}{
		{"the first rate", given, nil, "3 requests/s", ""},
		{"after one that does not count", given, []Done{{LeftOut: true}}, "9 requests/s", ""},
		{"after the last", given, make([]Done, 2), "", ""},
		{"in flight", closed, nil, "4 in flight", ""},
		{"doubled", doubling, make([]Done, 2), "20 requests/s", ""},
		{"doubled up to a ceiling", capped, make([]Done, 2), "12 requests/s", ""},
		{"doubled, after the ceiling", capped, make([]Done, 3), "", ""},
		{"doubled, after one that does not count", doubling, []Done{{}, {LeftOut: true}}, "", "no higher load could be offered: 10 requests/s is left out"},
	} {
		level, more, stop := Next(c.plan, c.done)
		if name := level.Name(); more && name != c.next || more != (c.next != "") || stop != c.stop {
			t.Errorf("%s: %s (%t), %q; want %s, %q", c.what, name, more, stop, c.next, c.stop)
		}
	}
}
