package search

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// How evidence is weighed. The share of requests that break an objective is
// taken to follow a logistic curve in the logarithm of the rate,
//
//	logit share = logit allowed + slope · (ln rate − ln limit),
//
// and the belief is the posterior of limit and slope on a grid, both unknown:
// limits as the ramp leaves them, slopes from gentle to a cliff. A run without
// luck is one that half of the runs are worse than, so that the limit is where
// its share is what is allowed. Four things make the belief honest.
//
// Violations crowd: a level counts with its effective number of requests.
//
// Levels differ by the luck of their draw: a window of n requests offers a
// little more or less work than its rate says, by luckPerRequest/√n. Each
// level has such an unseen shift of its rate, over which its likelihood is
// averaged; where the work that came is known it moves the level's rate, and
// only unseenLuck is left.
//
// A short level flatters: queues and batches that take minutes to fill have
// not filled. What a level kept up with is its rate less the share of its
// requests by which those in flight grew, so a level that is shorter than the
// sustained run counts as one at some lower rate, down to about that. Where a
// queue only has to grow to break an objective (late), every short level counts
// a little lower, and the belief stays wider while there is no long one; less so
// where the pace predicts that queue (pace.go).
//
// The curve is logistic only near the limit: shares that rise gently below it
// leap where the server overloads. So a level with more than clipFactor times
// the allowed share only says that the share is at least that; told in full, it
// would bend the slope at the limit and, from levels below, point too low.
//
// Three things say more than shares. An overload: the limit is below what was
// offered, by up to what stayed in flight; of several only the strongest counts,
// and a share that a growing queue has not yet reached counts for nothing. The
// percentile itself, where it is near its limit. And the pace between tokens,
// which tells at every load where a queue would collapse.
//
// All of this holds for a server that answers to load smoothly. One that is late now
// and then for another reason has another curve; what is answered allows for it
// where there are signs of it (character.go).
//
// Lucks, shifts, spreads and misfits, by which the curve itself may be wrong,
// were set so that intervals cover the limits of the engines in docs/measured/LIMIT.md.
const (
	luckPerRequest = 1.8
	unseenLuck     = 1.0
	luckPerJob     = 0.8
	clipFactor     = 3
	briefShift     = 0.02
	briefSpread    = 0.015
	lateShift      = 0.03
	lateSpread     = 0.06
	pacedSpread    = 0.12
	overloadSpread = 0.6
	pacedOverload  = 1.0 // overloadSpread, where the pace says it better
	gridPoints     = 151
	widePoints     = 91
	misfit         = 0.028
	briefMisfit    = 0.06
	lateMisfit     = 0.048
	replyMisfit    = 0.047
	fewMisfit      = 0.8
	flatMisfit     = 1.2
	sessionMisfit  = 0.1
	blindReplies   = 3
	blindRoom      = 0.3
	openRoom       = 0.15
	blindSpread    = 0.15
)

// wideGrid is the grid around everything that was offered, within what may be.
func (s *Search) wideGrid() []float64 {
	lowest := s.spec.Floor
	if s.spec.Agents {
		lowest /= 4 // so that less than one can be believed
	}
	within := func(v float64) float64 { return min(max(v, math.Log(lowest)), math.Log(s.spec.Ceiling)) }
	lo := within(math.Log(cmp.Or(s.ramped.rate, s.spec.Start)))
	hi := lo
	for _, l := range s.levels {
		lo, hi = min(lo, within(math.Log(l.Rate))), max(hi, within(math.Log(l.Rate)))
	}
	return axis(within(lo-3), within(hi+2), widePoints)
}

// beliefs is the posterior of the limit by each objective as it is answered, nil
// where load only helps.
func (s *Search) beliefs() []*belief {
	list := s.posteriorsOn(s.wideGrid(), anyServer)
	for i, b := range list {
		if b != nil {
			list[i] = s.addDoubt(s.believe(b.closerGrid(), i, anyServer), i)
		}
	}
	return list
}

// belief is the posterior of the limit by all objectives, by which levels are
// placed.
func (s *Search) belief() *belief {
	return s.posterior(func(b *belief, i int) *belief { return b.widen(s.misfit(i)) }, smoothServer)
}

// answerBelief is the posterior of the limit by all objectives as it is answered.
func (s *Search) answerBelief() *belief { return s.posterior(s.addDoubt, anyServer) }

// posterior is the posterior by all objectives, each blurred.
func (s *Search) posterior(blur func(*belief, int) *belief, of []character) *belief {
	list := s.posteriorsOn(minOf(s.posteriorsOn(s.wideGrid(), of)).closerGrid(), of)
	for i, b := range list {
		if b != nil {
			list[i] = blur(b, i)
		}
	}
	return minOf(list)
}

// posteriorsOn gives the posteriors on one grid. Of an objective that no level judged,
// though another was, there is none.
func (s *Search) posteriorsOn(grid []float64, of []character) []*belief {
	list := make([]*belief, len(s.objectives))
	judged := s.isJudged()
	for i, o := range s.objectives {
		if kindOf(o) != rising && (!judged || len(s.points(i)) > 0) {
			list[i] = s.believe(grid, i, of)
		}
	}
	return list
}

func (s *Search) believe(grid []float64, objective int, of []character) *belief {
	switch {
	case s.risesGently(s.objectives[objective]):
		of = []character{patient}
	case !s.hasSigns(objective):
		of = smoothServer
	}
	type curve struct {
		character
		slope float64
		logs  []float64 // by limit
	}
	var curves []curve
	most := math.Inf(-1)
	for _, c := range of {
		for k, logs := range s.weigh(grid, objective, c) {
			curves = append(curves, curve{c, c.slopes[k], logs})
			most = max(most, slices.Max(logs))
		}
	}
	slices.SortStableFunc(curves, func(a, b curve) int { return cmp.Compare(a.slope, b.slope) })
	b := &belief{grid: grid, chance: make([]float64, len(grid))}
	total, upTo := 0.0, make([]float64, len(curves))
	for k, one := range curves {
		for i, l := range one.logs {
			w := math.Exp(l - most)
			b.chance[i] += w
			total += w
			if !one.paced {
				b.erratic += w
			}
		}
		upTo[k] = total
	}
	for i := range b.chance {
		b.chance[i] /= total
	}
	b.erratic /= total
	b.slope = curves[max(slices.IndexFunc(upTo, func(w float64) bool { return w > total/2 }), 0)].slope
	return b
}

// misfit is by how much the model itself may be wrong about an objective. All
// levels may be too short to show a queue that takes minutes to build up, and
// replies that last as long as a level are seen only in part.
func (s *Search) misfit(objective int) float64 {
	longest := s.maxDuration()
	if !late(s.objectives[objective]) {
		return math.Hypot(misfit, briefMisfit*math.Pow(s.brief(longest), 5))
	}
	by := lateSpread * s.brief(longest)
	if s.standstill().spread > 0 {
		by = pacedSpread * math.Pow(s.brief(longest), 5) // the pace predicts it
	}
	by = math.Hypot(lateMisfit, by)
	if ofReplies(s.objectives[objective]) {
		by = math.Hypot(by, replyMisfit)
	}
	return by
}

// addDoubt is a belief as it is answered, with what an honest interval has beside
// the misfit: few requests tell little, and sessions wait for their replies, so
// that a slow server is offered less. Of lateness little is known where no level
// lasts long enough for a queue to form; and where the share that comes late hardly
// rises with the rate, what a few minutes happened to see moves the limit far.
func (s *Search) addDoubt(b *belief, objective int) *belief {
	requests, o := 1.0, s.objectives[objective]
	for _, l := range s.levels {
		requests += float64(l.Requests)
	}
	by := math.Hypot(s.misfit(objective), fewMisfit/math.Sqrt(requests))
	if s.spec.Turns > 1 && !s.spec.Agents {
		by = math.Hypot(by, sessionMisfit)
	}
	if late(o) {
		by = math.Hypot(by, blindSpread*s.blind())
	}
	if late(o) && !ofReplies(o) {
		by = math.Hypot(by, flatMisfit/(b.slope*b.slope))
	}
	return b.widen(by)
}

// blind is the share that every level lacks of the time that a few replies take
// under its load.
func (s *Search) blind() float64 {
	least := 1.0
	for _, l := range s.levels {
		replies := blindReplies * s.lone.E2E.Seconds() * max(s.slowing(l.Observation), 1)
		if lasted := (l.Warmup + l.Duration).Seconds(); replies <= lasted {
			return 0
		} else {
			least = min(least, 1-lasted/replies)
		}
	}
	return least
}

func (s *Search) maxDuration() time.Duration {
	longest := time.Duration(0)
	for _, l := range s.levels {
		longest = max(longest, l.Duration)
	}
	return longest
}

// brief is the share of a sustained run that a level lacks.
func (s *Search) brief(d time.Duration) float64 {
	return max(1-float64(d)/float64(s.spec.Sustained), 0)
}
