package search

import "math"

// A server that works on all its requests at once slows each the more it has of
// them, and says so long before any is late. Where reading prompts and each
// request under way take their share of its time, the pace between tokens at
// rate r is 1/(1 − r/R) times that of a lone request: at R it would stand still.
// So every level whose pace is known tells R, also one that keeps every
// objective and one that is shorter than a reply. A level that is still filling
// has fewer in flight than it will have, rate times the time of a reply at its
// pace, which flatters the part of its pace that comes from them.
//
// No objective on lateness holds at R: memory is full before, and a queue
// collapses a little earlier still. Its limit is near collapse of R, or anywhere
// below.
const (
	collapse       = 0.82
	collapseSpread = 0.06
	// pacePart of the slowing comes from the requests in flight, the rest from
	// reading prompts.
	pacePart = 0.5
	// Paces are known by paceNoise, and leastSlowing tells something at all.
	paceNoise    = 0.05
	leastSlowing = 1.25
	fillNoise    = 0.2
	// atCollapse is the chance that a limit is that of the queue, and belowSpan
	// the ln of how far below it may lie otherwise.
	atCollapse = 0.5
	belowSpan  = 1.0
)

// standstill is what is believed about the rate at which queues collapse.
type standstill struct {
	at, spread float64 // ln rate; the spread is 0 where nothing is known
}

// standstill weighs what the levels say. Where they contradict each other the
// server follows another law, and little is believed.
func (s *Search) standstill() standstill {
	lone, pace := s.lone.E2E.Seconds(), s.lone.Pace.Seconds()
	if !(lone > 0 && pace > 0) {
		return standstill{}
	}
	var weights, sum, squares float64
	for _, l := range s.seen {
		slowing := l.Pace.Seconds() / pace
		if slowing < leastSlowing {
			continue
		}
		rate, _ := l.worked()
		filled := min(l.InFlight/(rate*lone*slowing), 1)
		at := math.Log(rate * (1 - pacePart*(1-filled)) / (1 - 1/slowing))
		noise := math.Hypot(paceNoise/(slowing-1), fillNoise*(1-filled))
		noise = math.Hypot(noise, unseenLuck/math.Sqrt(max(float64(l.Requests), 1)))
		w := 1 / (noise * noise)
		weights += w
		sum += w * at
		squares += w * at * at
	}
	if weights == 0 {
		return standstill{}
	}
	mean := sum / weights
	scatter := max(squares/weights-mean*mean, 0)
	return standstill{at: mean + math.Log(collapse), spread: math.Sqrt(collapseSpread*collapseSpread + 1/weights + scatter)}
}

// allows is the log of how likely a limit is beside it.
func (c standstill) allows(limit float64) float64 {
	if c.spread == 0 {
		return 0
	}
	z := (limit - c.at) / c.spread
	near := math.Exp(-z*z/2) / (c.spread * math.Sqrt(2*math.Pi))
	below := 0.5 * math.Erfc(z/math.Sqrt2) / belowSpan
	return math.Log(max(atCollapse*near+(1-atCollapse)*below, 1e-9))
}

// steep is the exponent of the pace in the rate at a limit: u/(1 − u) where that
// is the share u of the rate at which it stands still. It is 0 where nothing is
// known.
func (c standstill) steep(limit float64) float64 {
	if c.spread == 0 {
		return 0
	}
	u := min(collapse*math.Exp(limit-c.at), 0.95)
	return u / (1 - u)
}

// paced reports whether the pace tells where every limit may be.
func (s *Search) paced() bool { return s.allLate() && s.standstill().spread > 0 }
