package sim

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/drive/wire"
)

// A server that is far away is so twice: on the way in and on the way out; the
// time between tokens is its own.
func TestNetDelayIsAddedToEachWay(t *testing.T) {
	const pace, delay = 10 * time.Millisecond, 40 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		d, _ := wire.ByName("openai-chat")
		b := serveBubble(t, Spec{NetDelay: delay}, newMetronome(pace), nil)
		start := time.Now()
		resp := b.open("a", d, 5)
		if got := time.Since(start); got != 2*delay {
			t.Errorf("the head came after %v, want %v", got, 2*delay)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(start), 2*delay+5*pace; got != want {
			t.Errorf("the reply ended after %v, want %v", got, want)
		}
		resp.Body.Close()
		b.close()
	})
}

// Above its rate the server says 429 and when to come back, and nothing else
// changes.
func TestRateLimitRefusesWhatIsAboveIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := wire.ByName("openai-chat")
		b := serveBubble(t, Spec{RateLimit: 2}, newMetronome(time.Millisecond), nil)
		refused := 0
		for range 50 { // ten a second, for five seconds
			resp := b.open("", d, 2)
			if resp.StatusCode == http.StatusTooManyRequests {
				refused++
				if got := resp.Header.Get("Retry-After"); got != "1" {
					t.Errorf("Retry-After %q", got)
				}
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			time.Sleep(100 * time.Millisecond)
		}
		// Two in each second, and the two of the full bucket.
		if want := 50 - 12; refused < want-1 || refused > want+1 {
			t.Errorf("%d of 50 requests were refused, want about %d", refused, want)
		}
		b.close()
	})
}

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
		core, err := NewBatching(Spec{Jitter: new(0.0), ColdStart: cold})
		if err != nil {
			t.Fatal(err)
		}
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
