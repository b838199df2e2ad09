package catalog

import "math"

// Law is a step-time model in direct constants, for an engine that was
// measured rather than looked up: it takes the place of the catalog's model
// and accelerator, of which none need be known. A step takes
//
//	(read^corner + (token·tokens)^corner)^(1/corner), read = weights + experts·(1−(1−share)^(tokens^spread)),
//	  + sequence·sequences + context·cached tokens read + pair·pairs attended
//
// and what is fixed. The device also waits for the host, which launches its kernels: see
// Launch. It has the form of StepModel, so that an engine of either kind can be written
// down in it.
type Law struct {
	// WeightsUS is what reading the weights takes, whatever else the step does.
	WeightsUS float64 `yaml:"weights_us"`
	// TokenUS is what computing one scheduled token takes, prompt or output.
	TokenUS float64 `yaml:"token_us"`
	// Corner says how much of the smaller of the two hides behind the larger:
	// 1 nothing, 1.5 as measured matrix products do, 8 nearly all.
	Corner float64 `yaml:"corner"`
	// ExpertsUS is what reading all experts of a mixture takes, of which a
	// token touches each with the chance ExpertShare: a batch reads more of
	// them the larger it is.
	ExpertsUS   float64 `yaml:"experts_us,omitempty"`
	ExpertShare float64 `yaml:"expert_share,omitempty"`
	// ExpertSpread is below 1 where tokens choose alike: of n tokens, n to this
	// power choose for themselves. 0 is 1.
	ExpertSpread float64 `yaml:"expert_spread,omitempty"`
	// SequenceUS is per sequence in the step.
	SequenceUS float64 `yaml:"sequence_us,omitempty"`
	// ContextUS is per earlier token that a generating sequence reads back.
	ContextUS float64 `yaml:"context_us,omitempty"`
	// PairUS is per pair of a prompt token and a token before it.
	PairUS float64 `yaml:"pair_us,omitempty"`
	// PromptUS is what the host takes before the first kernel of a step with a prompt
	// in it. EagerUS is what it takes to launch all kernels of a step of more than
	// EagerTokens tokens, for which no graph was captured, and EagerSequenceUS the
	// same per sequence.
	PromptUS        float64 `yaml:"prompt_us,omitempty"`
	EagerUS         float64 `yaml:"eager_us,omitempty"`
	EagerSequenceUS float64 `yaml:"eager_sequence_us,omitempty"`
	EagerTokens     int     `yaml:"eager_tokens,omitempty"`
	// ClockDrop is the share of its speed that a device loses which computes all the
	// time, because its power reaches its limit; reading does not slow down.
	ClockDrop float64 `yaml:"clock_drop,omitempty"`
	// HostBlocks is how many blocks of the cache the host's memory keeps behind the
	// device's own, and HostBlockUS what one takes to come back.
	HostBlocks  int     `yaml:"host_blocks,omitempty"`
	HostBlockUS float64 `yaml:"host_block_us,omitempty"`
}

// Clocks are how fast a device computes, by what it did of late.
type Clocks struct {
	// Drop is as in Law.
	Drop float64
	busy float64 // share of the time in which it computed
}

// clockMemory is over how many seconds a device averages its power.
const clockMemory = 1.0

// Slowdown is how many times as long computing takes now as at full speed.
func (c *Clocks) Slowdown() float64 { return 1 / (1 - c.Drop*c.busy) }

// Pass lets so many seconds pass, of which the device computed for a part.
func (c *Clocks) Pass(seconds, computed float64) {
	if c.Drop > 0 && seconds > 0 {
		c.busy += (1 - math.Exp(-seconds/clockMemory)) * (min(1, computed/seconds) - c.busy)
	}
}

// Work is the work of a step, the argument of a Law.
type Work struct {
	Tokens    int     // scheduled: prompt and output
	Sequences int     // that have any of them
	Context   int64   // tokens that generating sequences read back
	Pairs     float64 // of prompt tokens with those before them
}

// Seconds is the time of a step at full speed, without what is fixed.
func (l *Law) Seconds(w Work) float64 {
	seconds, _ := l.SecondsAt(w, 1)
	return seconds
}

// SecondsAt is the time of a step while computing takes slower times as long as at
// full speed, and how much of it is computing.
func (l *Law) SecondsAt(w Work, slower float64) (seconds, computing float64) {
	linear, compute := l.linearUS(w.Tokens, slower)
	pairs := slower * l.PairUS * w.Pairs
	return l.around(linear, pairs, w), 1e-6 * (compute + pairs)
}

// linearUS is what the matrix products of so many tokens take, and how much of that is
// computing.
func (l *Law) linearUS(tokens int, slower float64) (linear, compute float64) {
	read, compute := l.WeightsUS, slower*l.TokenUS*float64(tokens)
	if l.ExpertsUS > 0 {
		read += l.ExpertsUS * touchedShare(1-l.ExpertShare, float64(tokens), l.ExpertSpread)
	}
	switch l.Corner {
	case 1:
		linear = read + compute
	case 1.5:
		root := math.Cbrt(read*math.Sqrt(read) + compute*math.Sqrt(compute))
		linear = root * root
	case 2:
		linear = math.Sqrt(read*read + compute*compute)
	default:
		linear = norm(read, compute, l.Corner)
	}
	return linear, compute
}

// around is the seconds of a step whose matrix products and pairs take so long.
func (l *Law) around(linear, pairs float64, w Work) float64 {
	return 1e-6 * (linear + l.SequenceUS*float64(w.Sequences) + l.ContextUS*float64(w.Context) + pairs)
}

// Launch lets the host launch a step that was planned at planned and may begin at start,
// and that takes the device so many nanoseconds: how long it takes from start on, and when
// its last kernel was launched. A step without a prompt for which a graph was captured is
// launched at once.
func (l *Law) Launch(w Work, planned, start, took int64) (longer, launched int64) {
	first, all := 0.0, 0.0
	if w.Pairs > 0 {
		first, all = l.PromptUS, l.PromptUS
	}
	if w.Tokens > l.EagerTokens {
		all = max(all, l.EagerUS+l.EagerSequenceUS*float64(w.Sequences))
	}
	launched = planned + int64(1e3*all)
	return max(took+max(0, planned+int64(1e3*first)-start), launched-start), launched
}

// StepTimes are the step times of a law at full speed. They remember what the number of
// tokens decides, which is most of the arithmetic.
type StepTimes struct {
	law    *Law
	linear []float64 // by tokens; 0 where it is not known yet
}

// maxRemembered bounds the steps that are remembered, by their tokens.
const maxRemembered = 1 << 15

// Times are the step times of the law.
func (l *Law) Times() *StepTimes { return &StepTimes{law: l} }

// Seconds is as that of the law.
func (t *StepTimes) Seconds(w Work) float64 {
	if w.Tokens >= len(t.linear) {
		if w.Tokens >= maxRemembered {
			return t.law.Seconds(w)
		}
		t.linear = append(t.linear, make([]float64, max(w.Tokens+1, 2*len(t.linear))-len(t.linear))...)
	}
	linear := t.linear[w.Tokens]
	if linear == 0 {
		linear, _ = t.law.linearUS(w.Tokens, 1)
		t.linear[w.Tokens] = linear
	}
	return t.law.around(linear, t.law.PairUS*w.Pairs, w)
}

// Decoding are the times of steps in which so many sequences get a token each, and
// nothing else happens.
func (t *StepTimes) Decoding(sequences int) DecodeTimes {
	w := Work{Tokens: sequences, Sequences: sequences}
	t.Seconds(w)
	linear := 0.0
	if sequences < len(t.linear) {
		linear = t.linear[sequences]
	} else {
		linear, _ = t.law.linearUS(sequences, 1)
	}
	return DecodeTimes{fixed: linear + t.law.SequenceUS*float64(sequences), context: t.law.ContextUS}
}

// DecodeTimes are the times of steps that differ in how much they read back.
type DecodeTimes struct{ fixed, context float64 }

// Seconds is the time of a step that reads so many tokens back.
func (d DecodeTimes) Seconds(context int64) float64 {
	return 1e-6 * (d.fixed + d.context*float64(context))
}

// touchedShare is the share of the experts that so many tokens need, each of which
// leaves an expert alone with the chance miss.
func touchedShare(miss, tokens, spread float64) float64 {
	if spread > 0 && spread != 1 {
		tokens = math.Pow(tokens, spread)
	}
	return 1 - math.Pow(miss, tokens)
}

// norm scales by the larger of the two, so that no power overflows.
func norm(a, b, p float64) float64 {
	if a < b {
		a, b = b, a
	}
	if a == 0 {
		return 0
	}
	return a * math.Pow(1+math.Pow(b/a, p), 1/p)
}

// Law is the step times as constants, for requests of that many tokens on
// average, and what is fixed in each step in seconds. Layers that look back only
// a window cost the same at every length beyond it.
func (s *StepModel) Law(length float64) (law Law, fixed float64) {
	law = Law{WeightsUS: 1e6 * s.denseRead, TokenUS: 1e6 * (s.tokenCompute + s.tokenLink), Corner: 1.5,
		SequenceUS: 1e6 * (perSequence + s.headCompute), ContextUS: 1e6 * s.readGrowing, PairUS: 1e6 * s.pairGrowing, ClockDrop: s.ClockDrop}
	if s.experts > 0 {
		law.ExpertsUS, law.ExpertShare, law.ExpertSpread = 1e6*s.expertRead, 1-s.missOne, s.spread
	}
	if window := float64(s.window); length <= window {
		law.ContextUS += 1e6 * s.readWindow
		law.PairUS += 1e6 * s.pairWindow
	} else {
		law.SequenceUS += 1e6 * s.readWindow * window
		law.TokenUS += 1e6 * s.pairWindow * window
	}
	return law, s.fixed + s.allReduce
}
