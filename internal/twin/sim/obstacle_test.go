package sim

import (
	"testing"
	"time"

	"redline/internal/must"
)

func TestRationIsPure(t *testing.T) {
	t.Parallel()
	second := int64(time.Second)
	r := NewRateLimiter(0.5)
	for i, step := range []struct {
		at   int64
		want bool
	}{{0, true}, {second, false}, {2 * second, true}, {3 * second, false}, {100 * second, true}, {100 * second, false}} {
		if got := r.Allow(step.at); got != step.want {
			t.Errorf("request %d at %v: allowed is %v", i, time.Duration(step.at), got)
		}
	}
	all := NewRateLimiter(0)
	for range 100 {
		if !all.Allow(1) {
			t.Fatal("no rate refuses something")
		}
	}
}

// A cold engine is slow from its first request on, and only for so long.
func TestColdStartPasses(t *testing.T) {
	t.Parallel()
	ttft := func(cold time.Duration, arrivals ...int64) (times []time.Duration) {
		core := must.Get(NewBatching(Spec{Jitter: new(0.0), ColdStart: cold}))(t)
		RunOpen(core, func(yield func(int64, *Job) bool) {
			for i, at := range arrivals {
				if !yield(at, &Job{ID: uint64(i), Prompt: make([]int32, 100), Output: 1}) {
					return
				}
			}
		}, Watch{Token: func(tok Token) { times = append(times, time.Duration(tok.At-tok.Job.Arrived)) }})
		return times
	}
	hour := int64(time.Hour)
	warm := ttft(0, hour)[0]
	got := ttft(10*time.Second, hour, hour+5*int64(time.Second), hour+11*int64(time.Second))
	// The prompts are equal, so the later ones find theirs in the cache.
	if got[0] != coldFactor*warm {
		t.Errorf("the first request took %v, want %v", got[0], coldFactor*warm)
	}
	if later := ttft(0, hour, hour+11*int64(time.Second))[1]; got[2] != later || got[1] != coldFactor*later {
		t.Errorf("later ones took %v and %v, want %v and %v", got[1], got[2], coldFactor*later, later)
	}
}

func TestObstaclesAreChecked(t *testing.T) {
	t.Parallel()
	for _, s := range []Spec{{NetDelay: -1}, {NetDelay: time.Hour}, {RateLimit: -1}, {ColdStart: -time.Second}} {
		if s.Validate() == nil {
			t.Errorf("%+v passes", s)
		}
	}
}
