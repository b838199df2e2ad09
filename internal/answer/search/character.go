package search

import (
	"math"
	"slices"

	"redline/internal/judge/slo"
)

// character is how a server answers to load.
type character struct {
	chance    float64   // the log of how likely it is before any level
	slopes    []float64 // logits per unit of ln rate
	paced     bool      // the pace tells the slope
	collapses float64   // the chance that a limit is that of the queue
	worth     float64   // of a request, beside what it is worth otherwise
	scatter   float64   // of the percentiles of levels, in logarithms
	doubt     float64   // times the spread of what the ramp says
}

// A smooth server is late where a queue forms. An erratic one is late now and then
// for a reason that load has little to do with, such as a stall or a long
// prompt: how much of that a level happened to see differs, the share hardly
// rises with the rate, and it does not leap below the rate at which queues
// collapse. Levels are placed as if the server were smooth. Whole replies and jobs of
// agents take long by what is in them, and a slow server is offered less: the share
// of the long ones rises gently with the number of agents.
var (
	smooth       = character{slopes: []float64{2, 3, 5, 7, 10, 15, 22, 33, 50, 75, 110, 160, 240}, paced: true, collapses: atCollapse, worth: 1, doubt: 1}
	erratic      = character{chance: 0.5, slopes: []float64{0.7, 1, 1.4, 2, 3, 5}, worth: 0.35, scatter: 0.5, doubt: 2}
	patient      = character{slopes: []float64{0.7, 1, 1.4, 2, 3, 5, 7, 10, 15, 22}, paced: true, collapses: atCollapse, worth: 1, doubt: 1}
	smoothServer = []character{smooth}
	anyServer    = []character{smooth, erratic}
)

// risesGently reports whether the share that breaks an objective rises gently, as of
// patient.
func (s *Search) risesGently(o slo.Objective) bool { return s.spec.Agents && ofReplies(o) }

// hasSigns reports whether a server may be erratic: requests came late at a rate
// below that at which queues collapse. Whole replies and sessions are late for
// reasons of their own; agents are now and then, by the prompts that begin a job.
func (s *Search) hasSigns(objective int) bool {
	if o := s.objectives[objective]; !late(o) || ofReplies(o) || s.spec.Turns > 1 && !s.spec.Agents {
		return false
	}
	stand := s.standstill()
	return slices.ContainsFunc(s.points(objective), func(p point) bool { return p.low > 0 && stand.beyond(p.rate) })
}

// weigh is the log of how likely each slope and limit are, for a server of that
// character.
func (s *Search) weigh(grid []float64, objective int, c character) [][]float64 {
	q := allowedShare(s.objectives[objective])
	points, stand := s.points(objective), s.standstill()
	for i := range points {
		p := &points[i]
		p.effective *= c.worth
		p.blur = math.Hypot(p.blur, c.scatter)
		p.leaps = c.paced || !stand.beyond(p.rate)
	}
	near := nearness(grid, points, q, s.rise(objective), stand)
	steep := s.steepness(objective, grid, stand, c)
	logs := make([][]float64, len(c.slopes))
	for k, slope := range c.slopes {
		logs[k] = make([]float64, len(grid))
		for i, limit := range grid {
			l := c.chance + s.prior(objective, limit, c.doubt) + steep[i][k] + near[i] + overloadLikelihood(points, limit)
			if late(s.objectives[objective]) {
				l += stand.allows(limit, c.collapses)
			}
			for _, p := range points {
				l += p.logLikelihood(q, slope, limit)
			}
			logs[k][i] = l
		}
	}
	return logs
}
