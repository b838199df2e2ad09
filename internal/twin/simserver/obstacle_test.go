package simserver

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/drive/wire"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// A server that is far away is so twice: on the way in and on the way out; the
// time between tokens is its own.
func TestNetDelayIsAddedToEachWay(t *testing.T) {
	const pace, delay = 10 * time.Millisecond, 40 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		d, _ := wire.ByName("openai-chat")
		b := serveBubble(t, sim.Spec{NetDelay: delay}, sim.NewMetronome(pace), nil)
		start := time.Now()
		resp := b.open("a", d, 5)
		if got := time.Since(start); got != 2*delay {
			t.Errorf("the head came after %v, want %v", got, 2*delay)
		}
		must.Get(io.Copy(io.Discard, resp.Body))(t)
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
		b := serveBubble(t, sim.Spec{RateLimit: 2}, sim.NewMetronome(time.Millisecond), nil)
		refused := 0
		for range 50 { // ten a second, for five seconds
			resp := b.open("", d, 2)
			if resp.StatusCode == http.StatusTooManyRequests {
				refused++
				if got := resp.Header.Get("Retry-After"); got != "1" {
					t.Errorf("Retry-After %q", got)
				}
			}
			must.Get(io.Copy(io.Discard, resp.Body))(t)
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
