package search

import (
	"math"
	"strings"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/must"
)

// streamRecord is a request that was sent so long after the origin and streams a
// token every gap from a tenth of a second on, until it is cut off at end.
func streamRecord(sent, end, gap time.Duration) record.Record {
	r := record.Record{Phase: record.Measure, Try: 1, Due: int64(sent), Begin: int64(sent), Streamed: true, AskedPrompt: 100, AskedOutput: 1000}
	r.Observe(llm.Event{Kind: llm.Sent, At: int64(sent)})
	for at := sent + 100*time.Millisecond; at <= end; at += gap {
		r.Observe(llm.Event{Kind: llm.Output, At: int64(at), Text: []byte("word")})
	}
	r.Outcome, r.End = llm.Censored, int64(end)
	r.Settle()
	return r
}

// TestWhatARampSays: the pace of the first reply is that of a lone one, and that
// of the last stretch tells by how much the load slowed the others, of which
// none has ended.
func TestWhatARampSays(t *testing.T) {
	t.Parallel()
	const origin, length = 2 * time.Second, 8 * time.Second
	records := []record.Record{streamRecord(origin, origin+3*time.Second, 20*time.Millisecond)}
	records[0].Outcome = llm.OK
	for range 12 {
		records = append(records, streamRecord(origin+4*time.Second, origin+length, 30*time.Millisecond))
	}
	seen := must.Get(FromRamp(Level{From: 1, Rate: 16, Duration: length, Purpose: Ramp}, origin.Seconds(), 200, func(show func(*record.Record)) error {
		for i := range records {
			show(&records[i])
		}
		return nil
	}))(t)
	if seen.Pace != 20*time.Millisecond || math.Abs(seen.E2E.Seconds()-4.1) > 0.01 {
		t.Errorf("a lone reply takes %v at a pace of %v, want 4.1 s at 20 ms", seen.E2E, seen.Pace)
	}
	if seen.Queued {
		t.Error("tokens that come half as slowly again are no queue")
	}
	if math.Abs(seen.Slowing-1.5) > 0.05 || seen.InFlight != 12 || !(seen.Resident > 12*100 && seen.Resident < 12*300) {
		t.Errorf("slowed by %.3g, %.3g in flight with %.4g tokens; want 1.5 and 12", seen.Slowing, seen.InFlight, seen.Resident)
	}
}

// A ramp that was ended although nobody waited and tokens came as fast as ever was
// ended by this machine.
func TestARampThatTheMachineEnded(t *testing.T) {
	t.Parallel()
	const origin, length = 2 * time.Second, time.Second
	seen := must.Get(FromRamp(Level{From: 4, Rate: 8, Duration: length, Purpose: Ramp}, origin.Seconds(), 200, func(show func(*record.Record)) error {
		for i := range 6 {
			r := streamRecord(origin+time.Duration(i)*150*time.Millisecond, origin+length, 20*time.Millisecond)
			show(&r)
		}
		return nil
	}))(t)
	if seen.Queued {
		t.Errorf("it says that a queue formed: %+v", seen)
	}
}

// TestARampSaysHowFarItRose: in words that no limit contradicts.
func TestARampSaysHowFarItRose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seen     Observation
		requests metric.Requests
		want     string
	}{
		{Observation{InFlight: 31}, metric.Requests{}, "rose to 8.23 requests/s for a moment, with 31 in flight: no queue formed"},
		{Observation{InFlight: 31, Slowing: 1.42}, metric.Requests{}, ": tokens came 1.4 times as slowly as to one request alone"},
		{Observation{InFlight: 31, Queued: true, Slowing: 1.05}, metric.Requests{}, ": a queue formed"},
		{Observation{Queued: true}, metric.Requests{Failed: 9}, "rose to 8.23 requests/s for a moment: requests failed"},
		{Observation{Queued: true}, metric.Requests{Failed: 9, Rejected: 12}, ": requests were rejected"},
	} {
		if got := c.seen.RampWords("8.23 requests/s", c.requests); !strings.HasSuffix(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.seen, got, c.want)
		}
	}
}
