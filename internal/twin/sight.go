package twin

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"redline/internal/stats"
	"redline/internal/twin/replay"
)

// sight is what the records show without any model.
type sight struct {
	inFlight  int // at most, between sent and last token
	streaming int // at most, between first and last token
	// full says that requests waited because so many streamed.
	full      bool
	maxPrompt int
	maxTotal  int // prompt and output
	carriage
}

// look counts requests in flight and streaming at every moment.
func look(levels []Level) sight {
	s := sight{carriage: lookAtCarriage(levels)}
	for i := range levels {
		var whole, stream []int64 // starts, and ends as negative numbers
		for _, o := range levels[i].Requests {
			sent := o.First - int64(max(o.TTFT, 0))
			whole = append(whole, sent<<1|1, o.Last<<1)
			stream = append(stream, o.First<<1|1, o.Last<<1)
			s.maxPrompt = max(s.maxPrompt, o.Prompt)
			s.maxTotal = max(s.maxTotal, o.Prompt+o.Output)
		}
		s.inFlight = max(s.inFlight, maxConcurrent(whole))
		s.streaming = max(s.streaming, maxConcurrent(stream))
	}
	s.full = s.inFlight > s.streaming && fullWhileWaiting(levels, s.streaming)
	return s
}

// fullWhileWaiting reports whether it is for one of so many places that requests waited:
// for as long as any waited, nearly all of them were taken for most of the time. Those that
// wait for a grammar, an adapter or the cache do so whatever number streams. Up to twice
// the median time to the first token under the lightest load is what a prompt takes to be
// read, and no waiting.
func fullWhileWaiting(levels []Level, places int) bool {
	var usual []float64
	for _, o := range levels[0].Requests {
		if o.TTFT > 0 {
			usual = append(usual, o.TTFT)
		}
	}
	patience := int64(2 * stats.Median(usual))
	var waited, full int64
	for i := range levels {
		type change struct {
			at                 int64
			streaming, waiting int
		}
		var changes []change
		for _, o := range levels[i].Requests {
			changes = append(changes, change{o.First, 1, 0}, change{o.Last, -1, 0})
			if begins := o.First - int64(max(o.TTFT, 0)) + patience; begins < o.First {
				changes = append(changes, change{begins, 0, 1}, change{o.First, 0, -1})
			}
		}
		slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
		streaming, waiting, before := 0, 0, int64(0)
		for _, c := range changes {
			if waiting > 0 {
				waited += c.at - before
				if 10*streaming >= 9*places {
					full += c.at - before
				}
			}
			streaming, waiting, before = streaming+c.streaming, waiting+c.waiting, c.at
		}
	}
	return 2*full > waited
}

// maxConcurrent is the largest number that are there at once for a hundredth of the
// time in which any is: stamps of neighbours overlap by a hair.
func maxConcurrent(events []int64) int {
	slices.Sort(events)
	lasted := map[int]int64{}
	n, before, total := 0, int64(0), int64(0)
	for _, e := range events {
		at := e >> 1
		if n > 0 {
			lasted[n] += at - before
			total += at - before
		}
		before = at
		if e&1 == 1 {
			n++
		} else {
			n--
		}
	}
	above := int64(0)
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(lasted))) {
		if above += lasted[n]; above*100 >= total {
			return n
		}
	}
	return 1
}

// usualLength is the longest request of an engine that does not tell.
const usualLength = 131072

// places is room for everything that was ever in flight, and as much again.
func (s sight) places() int { return max(256, 2*s.inFlight) }

// length is the longest request that the engine is to take.
func (s sight) length(known, room int) int {
	n := max(known, s.maxTotal)
	if known == 0 {
		n = max(n, usualLength)
	}
	if room > 0 {
		n = min(n, room*replay.BlockSize)
	}
	return n
}

// contextShare is what reading back one token takes, as a share of what a lone sequence's
// step does.
const contextShare = 1e-5

// meanContext is how many tokens streaming requests had between them, on average over the
// time in which any was streaming.
func (l *Level) meanContext() float64 {
	var sum float64
	var stream []int64
	for _, o := range l.Requests {
		sum += float64(o.Last-o.First) * (float64(o.Prompt) + float64(o.Output)/2)
		stream = append(stream, o.First<<1|1, o.Last<<1)
	}
	var busy int64
	for i, e := range spans(stream) {
		busy += int64(2*(i%2)-1) * (e >> 1) // starts and ends alternate
	}
	return sum / float64(max(1, busy))
}

// guess reads first constants off the lightest level: what a token takes alone,
// and how the first one grows with the prompt. Of those that lengths and loads which
// are much alike do not tell apart, it expects the shares of these that transformers
// of 1 to 70 billion parameters have in the catalog.
func (s sight) guess(targets []target) (x []float64, usual []expectation) {
	light := targets[0]
	step := 1e4
	if len(light.measured[1]) > 0 {
		// What runs beside it is read back in the same step.
		step = stats.Quantile(light.measured[1], 0.25) / 1e3 / (1 + contextShare*light.meanContext())
	}
	var prompts, firsts []float64
	for _, o := range light.Requests {
		if o.Counted && o.TTFT > 0 && len(prompts) < 400 {
			prompts, firsts = append(prompts, float64(o.Prompt-min(o.Cached, o.Prompt-1))), append(firsts, o.TTFT/1e3)
		}
	}
	token := step / 300
	if len(prompts) > 2 {
		if line := stats.TheilSen(prompts, firsts, 0.9); line.Slope > token/100 {
			token = line.Slope
		} else {
			token = max(token/100, (stats.Mean(firsts)-step)/stats.Mean(prompts)/2)
		}
	}
	x = []float64{weights: 0.85 * step, perToken: token, perSequence: step / 1500, perContext: contextShare * step,
		perPair: token / 2e4, perStep: step / 20, perRequest: step / 10, constants - 1: negligible}
	for i := range x {
		x[i] = math.Log(max(x[i], negligible))
	}
	usual = make([]expectation, constants)
	for _, i := range []int{perSequence, perContext, perPair} {
		usual[i] = expectation{x[i], loose}
	}
	return x, usual
}
