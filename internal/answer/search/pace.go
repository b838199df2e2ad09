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
	// reading prompts, where the lengths are not known.
	pacePart = 0.5
	// Paces are known by paceNoise, and minSlowing tells something at all.
	paceNoise  = 0.05
	minSlowing = 1.25
	fillNoise  = 0.2
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
	if s.lone.E2E <= 0 || s.lone.Pace <= 0 {
		return standstill{}
	}
	var weights, sum, squares float64
	for _, l := range s.levels {
		slowing := s.slowing(l.Observation)
		if slowing < minSlowing {
			continue
		}
		rate, _ := l.workRate()
		filled := s.memoryShare(l.Observation, rate, slowing)
		at := math.Log(s.standstillRate(rate, slowing, filled))
		noise := math.Hypot(math.Hypot(paceNoise, l.PaceBlur)/(slowing-1), fillNoise*(1-filled))
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

// Lengths are the tokens of a workload's requests: the means of prompts and
// replies, and of the tokens that a request holds in memory while its reply is
// generated, times the tokens of the reply. 0 is not known.
type Lengths struct{ Prompt, Output, Residence float64 }

// part is how much of the slowing comes from what is in memory: the longer the
// replies are beside the prompts, the more.
func (l Lengths) part() float64 {
	if !(l.Prompt > 0 && l.Residence > 0) {
		return pacePart
	}
	x := residenceWeight * l.Residence / l.Prompt
	return maxPart * x / (1 + x)
}

const (
	residenceWeight = 0.003
	maxPart         = 0.85
)

// memoryShare is how much of what a load of that rate keeps in memory in the long
// run, at that pace, was there: of the tokens, or of the requests where tokens
// are not known.
func (s *Search) memoryShare(o Observation, rate, slowing float64) float64 {
	lone, pace := s.lone.E2E.Seconds(), s.lone.Pace.Seconds()
	rate *= s.spec.Turns
	residence := s.spec.Lengths.Residence
	switch {
	case residence > 0 && o.Resident > 0:
		return min(o.Resident/(rate*slowing*pace*residence), 1)
	case o.InFlight > 0 && lone > 0:
		return min(o.InFlight/(rate*lone*slowing), 1)
	}
	return 1
}

// slowing is by how much the pace of a level exceeds that of a lone reply, 0
// where that is not known.
func (s *Search) slowing(o Observation) float64 {
	if s.lone.Pace <= 0 {
		return 0
	}
	return o.Pace.Seconds() / s.lone.Pace.Seconds()
}

// fillCorrection is how far below the rate of a level that rate lies, in logarithms,
// which would keep as much in memory in the long run as the level did.
func (s *Search) fillCorrection(l levelResult) float64 {
	slowing := s.slowing(l.Observation)
	if !(slowing > 1 && s.lone.E2E > 0) {
		return 0
	}
	rate, _ := l.workRate()
	filled := s.memoryShare(l.Observation, rate, slowing)
	alike := 1 / (1/(filled*rate*slowing) + 1/s.standstillRate(rate, slowing, filled))
	return max(math.Log(rate/alike), 0)
}

// standstillRate is the rate at which the server would stand still, by one level.
func (s *Search) standstillRate(rate, slowing, filled float64) float64 {
	return rate * (1 - s.spec.Lengths.part()*(1-filled)) / (1 - 1/slowing)
}

// allows is the log of how likely a limit is beside it, with that chance of being
// the queue's own.
func (c standstill) allows(limit, collapses float64) float64 {
	if c.spread == 0 {
		return 0
	}
	z := (limit - c.at) / c.spread
	near := math.Exp(-z*z/2) / (c.spread * math.Sqrt(2*math.Pi))
	below := 0.5 * math.Erfc(z/math.Sqrt2) / belowSpan
	return math.Log(max(collapses*near+(1-collapses)*below, 1e-9))
}

// beyond reports whether queues collapse only beyond a ln rate, as far as that is
// known.
func (c standstill) beyond(rate float64) bool { return c.spread == 0 || rate < c.at }

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

// How steeply the share of late requests rises with the rate, beside the pace:
// slopeSteep times as steep, by a factor of e to the slopeAbout, or however
// steep where memory runs out.
const (
	slopeSteep = 4.0
	slopeAbout = 0.4
	slopeKnown = 0.85
	// Where the pace tells nothing, slopes below usualSlope are rare: by the log.
	usualSlope = 5.0
	gentle     = -2.0
)

// steepness is the log of how likely each slope of a character is at each limit.
func (s *Search) steepness(objective int, grid []float64, stand standstill, c character) [][]float64 {
	out := make([][]float64, len(grid))
	for i, limit := range grid {
		out[i] = make([]float64, len(c.slopes))
		steep, known, total := stand.steep(limit), 1.0, 0.0
		if c.paced && steep > 0 && late(s.objectives[objective]) {
			known = slopeKnown
		}
		for k, slope := range c.slopes {
			switch z := math.Log(slope/min(max(slopeSteep*steep, c.slopes[0]), c.slopes[len(c.slopes)-1])) / slopeAbout; {
			case known < 1:
				out[i][k] = math.Exp(-z * z / 2)
			case c.paced && slope < usualSlope:
				out[i][k] = math.Exp(gentle)
			default:
				out[i][k] = 1
			}
			total += out[i][k]
		}
		for k := range c.slopes {
			out[i][k] = math.Log(known*out[i][k]/total + (1-known)/float64(len(c.slopes)))
		}
	}
	return out
}

// hasPace reports whether the pace tells where every limit may be.
func (s *Search) hasPace() bool { return s.allLate() && s.standstill().spread > 0 }
