package search

import (
	"cmp"
	"fmt"
	"time"

	"redline/internal/judge/slo"
)

// How time is divided. After the ramp, looks come first and sustained runs last.
// A sustained run takes a third of the budget at most. As many are planned as
// leave time for a look, so that one that was not met can be repeated lower.
const (
	defaultBudget = 10 * time.Minute
	// sustainedPart of the budget is what a sustained run takes: a third.
	sustainedPart = 3
	// A level settles for twice the mean request, within these bounds, but for
	// no more than settlePart of its whole time and at least half of the
	// shortest window.
	minSettle  = 3 * time.Second
	maxSettle  = 30 * time.Second
	settlePart = 3
	// minDrain is what the last requests of a level get at least, and
	// maxDrain what they get at most where no objective allows longer.
	minDrain = time.Second
	maxDrain = 60 * time.Second
	// drainPart of the budget is the most that a drain takes for first tokens, and
	// paceDrainPart where replies only have to end.
	drainPart     = 8
	paceDrainPart = 16
	// The shortest window is windowPart of a lone reply, at most lookPart of the
	// budget, and allowanceOver of what an objective allows; the drain is drainOver
	// of that.
	windowPart    = 1.5
	lookPart      = 10
	allowanceOver = 1.2
	drainOver     = 1.1
	// jobOver is the window over what an objective allows a job: jobs begin all the
	// time, and those that begin in its first half are seen to end or to break it.
	// There is no drain for them.
	jobOver = 2.2
	// sessionPart of the budget is the most that sessions get to settle.
	sessionPart = 5
	// pauseBetweenLevels is the time that passes between two levels without load.
	pauseBetweenLevels = 500 * time.Millisecond
	// likelyRamp is how long a ramp probably takes.
	likelyRamp = 12 * time.Second
	// Agents begin with the whole history of their jobs, which the server has to read
	// first: agentSettle, at most agentSettlePart of the budget.
	// A shorter budget than minAgentBudget holds too few levels of that.
	agentSettle     = 30 * time.Second
	agentSettlePart = 15
	minAgentBudget  = 5 * time.Minute
	// agentWindowPart of the budget is the shortest window of agents, and
	// maxAgentWindow what it is at most.
	agentWindowPart = 20
	maxAgentWindow  = time.Minute
)

// MinBudget is the shortest in which two levels fit behind the ramp.
func (s Spec) MinBudget() time.Duration {
	s = s.Complete()
	level := s.MinWindow + *cmp.Or(s.Warmup, new(max(s.settle(), s.Settle))) + *cmp.Or(s.Drain, new(minDrain)) + pauseBetweenLevels
	switch {
	case s.Agents && s.Warmup == nil:
		return max(roundUp(2*level), minAgentBudget)
	case s.Agents:
		return roundUp(2 * level)
	}
	return roundUp(max(min(likelyRamp, 2*s.MinWindow), time.Second) + 2*level)
}

// settle is the shortest warm-up of a level.
func (s Spec) settle() time.Duration { return min(minSettle, s.MinWindow/2) }

func round(d time.Duration) time.Duration {
	if d < 5*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// floor is a length that reads well and is no longer.
func floor(d time.Duration) time.Duration {
	if d < 5*time.Second {
		return d.Truncate(100 * time.Millisecond)
	}
	return d.Truncate(time.Second)
}

func roundUp(d time.Duration) time.Duration {
	if r := round(d); r >= d {
		return r
	}
	return round(d + time.Second/2)
}

func (s *Search) sustainedLength() time.Duration {
	return round(min(max(s.spec.Budget/sustainedPart-s.sessions(), s.minWindow()), s.spec.Sustained))
}

// minWindow is the window of the shortest level: long enough for a reply that
// the load has slowed, and for what an objective allows, as far as the budget
// allows it.
func (s *Search) minWindow() time.Duration {
	length := min(time.Duration(windowPart*float64(s.lone.E2E)), s.spec.Budget/lookPart)
	return roundUp(max(min(max(length, s.allowance()), s.spec.MaxWindow), s.spec.MinWindow))
}

// allowance is a little more than the longest that an objective allows anything
// to take: of whole replies in any case, which only then show what they break, of
// others as far as the budget allows it.
func (s *Search) allowance() time.Duration {
	longest := time.Duration(0)
	for _, o := range s.objectives {
		own := windowFor(o)
		switch {
		case s.outlasts(o):
			longest = max(longest, own)
		case late(o):
			longest = max(longest, min(own, s.spec.Budget/lookPart))
		}
	}
	return longest
}

// windowFor is a window that shows what breaks an objective on times.
func windowFor(o slo.Objective) time.Duration {
	if isOfJobTime(o) {
		return time.Duration(jobOver * o.Limit)
	}
	return time.Duration(allowanceOver * o.Limit)
}

// drainFor is the drain that goes with it.
func drainFor(o slo.Objective) time.Duration {
	if isOfJobTime(o) {
		return minDrain
	}
	return time.Duration(drainOver * o.Limit)
}

// ofReplies reports whether an objective is about the time of whole replies, or of
// whole jobs.
func ofReplies(o slo.Objective) bool {
	return (o.Metric == "e2e" || isOfJobTime(o)) && !o.Above
}

func isOfJobTime(o slo.Objective) bool { return o.Metric == "job" || o.Metric == "job_serving" }

// outlasts reports whether an objective is about whole replies, and the budget
// holds levels that show what they break.
func (s *Search) outlasts(o slo.Objective) bool {
	return ofReplies(o) && s.spec.Budget >= s.spec.minBudgetFor(o) && (!isOfJobTime(o) || windowFor(o) <= s.spec.MaxWindow)
}

// jobLevels is for how many runs a search has time whose runs last as long as jobs: few
// agents end few jobs in one.
const jobLevels = 8

// forJobs is the search with runs that are long enough for what objectives allow
// jobs, where their length is not given, and with time for them.
func (s Spec) forJobs(objectives []slo.Objective) Spec {
	for _, o := range objectives {
		if isOfJobTime(o) && s.Sustained == 0 && windowFor(o) > s.Complete().Sustained {
			s.Sustained = roundUp(windowFor(o))
			s.Budget = cmp.Or(s.Budget, jobLevels*s.Sustained)
		}
	}
	return s
}

// minBudgetFor is the shortest budget in which two levels outlast what an objective
// on whole replies allows.
func (s Spec) minBudgetFor(o slo.Objective) time.Duration {
	window := windowFor(o)
	if window < s.MinWindow {
		return 0
	}
	drain := *cmp.Or(s.Drain, new(drainFor(o)))
	return roundUp(min(likelyRamp, s.Budget/rampPart) + 2*(window+drain+s.settle()+pauseBetweenLevels))
}

// tooShort is what keeps levels from outlasting what such an objective allows, and
// how long it has to be.
func (s *Search) tooShort(o slo.Objective) (what, want string) {
	if isOfJobTime(o) && windowFor(o) > s.spec.MaxWindow {
		return fmt.Sprintf("runs of %v are", s.spec.MaxWindow), fmt.Sprintf("%v (--sustained)", roundUp(windowFor(o)))
	}
	return fmt.Sprintf("a budget of %v is", s.spec.Budget), fmt.Sprintf("%v (--budget)", s.spec.minBudgetFor(o))
}

func (s *Search) budgetLeft() time.Duration { return s.spec.Budget - s.spent }

// Repeatable reports whether a level can be run twice within the budget.
func (s *Search) Repeatable(l Level) bool {
	return s.budgetLeft() >= 2*(l.Warmup+l.Duration+l.Drain+pauseBetweenLevels)
}

// settle is the warm-up of a level that takes so long as a whole: only the
// change of load has to settle, since the ramp has warmed the server.
func (s *Search) settle(all time.Duration) time.Duration {
	if s.spec.Warmup != nil {
		return *s.spec.Warmup
	}
	least := s.spec.settle()
	settle := min(max(2*s.e2e, least), maxSettle, max(all/settlePart, least))
	return max(settle, s.sessions()).Round(100 * time.Millisecond)
}

// sessions is how long sessions go on until later turns come as often as they
// ever will, 0 where each is one request.
func (s *Search) sessions() time.Duration {
	switch {
	case s.spec.Agents:
		return min(max(s.spec.Settle, agentSettle), s.spec.Budget/agentSettlePart)
	case s.spec.Turns == 1:
		return 0
	}
	return min(s.spec.Settle+time.Duration(s.spec.Turns*float64(s.lone.E2E)), s.spec.Budget/sessionPart)
}

// drain is how long the last requests of a level need to show what they break:
// what an objective allows them, and a mean request for the pace of tokens.
func (s *Search) drain() time.Duration {
	if s.spec.Drain != nil {
		return *s.spec.Drain
	}
	drain := minDrain
	for _, o := range s.objectives {
		switch {
		case s.outlasts(o):
			drain = max(drain, drainFor(o))
		case late(o):
			drain = max(drain, min(drainFor(o), s.spec.Budget/drainPart))
		case o.PerRequest(), o.Stat == "mean", o.Metric == "good":
			drain = max(drain, min(s.e2e, maxDrain, s.spec.Budget/paceDrainPart))
		}
	}
	return drain.Round(100 * time.Millisecond)
}

func (s *Search) cost(window time.Duration) time.Duration {
	all := window * settlePart / (settlePart - 1)
	return s.settle(all) + window + s.drain() + pauseBetweenLevels
}

// fullCost is what a level of that window takes at most, however slow replies
// become.
func (s *Search) fullCost(window time.Duration) time.Duration {
	if s.spec.Warmup != nil {
		return s.cost(window)
	}
	settle := min(max(4*s.lone.E2E, s.spec.settle()), maxSettle, window/(settlePart-1))
	return max(settle, s.sessions()) + window + s.drain() + pauseBetweenLevels
}

// levelWithin is a level whose whole takes so long.
func (s *Search) levelWithin(all time.Duration, rate float64, purpose string) Level {
	settle := s.settle(all)
	window := all - settle - s.drain() - pauseBetweenLevels
	return s.level(rate, settle, min(max(window, s.minWindow()), s.spec.MaxWindow), purpose)
}
