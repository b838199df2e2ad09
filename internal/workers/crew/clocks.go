package crew

import (
	"context"

	"redline/internal/judge/result"
)

// sounding is how a worker's clock stands to the run's: its reading at the run's
// origin, known to within half of a round trip.
type sounding struct {
	origin int64
	trip   int64
	at     int64
}

func sound(ctx context.Context, l Link, now func() int64) (sounding, error) {
	before := now()
	a, err := l.Ask(ctx, Question{Clock: true})
	if err := answerError(a, err); err != nil {
		return sounding{}, err
	}
	after := now()
	trip := after - before
	return sounding{origin: a.Now - before - trip/2, trip: trip, at: after}, nil
}

// soundings are those of one worker over a run.
type soundings struct {
	used  sounding // what the worker keeps time by
	early sounding // the best of the beginning
	late  sounding // the best of the last ones
	reads int
}

// lately is how long a sounding counts as one of the last, in ns.
const lately = 10e9

// begin sounds a worker several times before it gets its share.
func (s *soundings) begin(ctx context.Context, l Link, now func() int64) error {
	for range soundedBefore {
		wait, cancel := context.WithTimeout(ctx, answerWait)
		one, err := sound(wait, l, now)
		cancel()
		if err != nil {
			return err
		}
		s.add(one)
		if s.reads == 1 || one.trip < s.used.trip {
			s.used = one
		}
	}
	return nil
}

func (s *soundings) add(one sounding) {
	if s.reads++; s.reads == 1 {
		s.early, s.late = one, one
		return
	}
	if one.at-s.early.at < lately && one.trip < s.early.trip {
		s.early = one
	}
	if one.at-s.late.at > lately || one.trip <= s.late.trip {
		s.late = one
	}
}

func (s *soundings) clock() result.WorkerClock {
	const ms = 1e6
	off := s.late.origin - s.used.origin
	drift := s.late.origin - s.early.origin
	return result.WorkerClock{RoundTripMS: float64(min(s.early.trip, s.late.trip)) / ms, Reads: s.reads, DriftMS: float64(drift) / ms,
		UncertaintyMS: float64(max(off, -off)+max(s.used.trip, s.late.trip)/2) / ms}
}
