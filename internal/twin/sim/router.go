package sim

import (
	"fmt"
	"slices"

	"redline/internal/text"
)

// The ways in which a gateway chooses an engine.
const (
	RoundRobin       = "round-robin"
	LeastOutstanding = "least-outstanding"
	PrefixAware      = "prefix"
	Sticky           = "sticky"
)

// Routers are all of them.
var Routers = []string{RoundRobin, LeastOutstanding, PrefixAware, Sticky}

// CheckRouter says what is wrong with the name of one; "" is LeastOutstanding.
func CheckRouter(name string) error {
	if name == "" || slices.Contains(Routers, name) {
		return nil
	}
	return fmt.Errorf("router: unknown %q: %s", name, text.HintWithKnown(name, Routers))
}

// Router hands jobs to the engines of a pool and counts those that each has.
type Router struct {
	policy   string
	turn     int
	load     []int
	low      int            // no engine that gets jobs has fewer
	away     []bool         // engines that get no jobs
	homes    map[uint64]int // where a beginning of a prompt went last, by its hash
	sessions map[string]int
}

// NewRouter gives the router of so many engines.
func NewRouter(policy string, engines int) *Router {
	return &Router{policy: policy, load: make([]int, engines), away: make([]bool, engines), homes: map[uint64]int{}, sessions: map[string]int{}}
}

const (
	// prefixTokens is in what steps prompts are compared.
	prefixTokens = 64
	// maxKnown bounds what a router remembers.
	maxKnown = 1 << 20
	// An engine that has more than slack jobs more than the idlest, and more than
	// half as many again, is passed over in spite of its cache.
	slack = 8
)

// Pick chooses the engine of a job, and counts it there until Release; -1 where all are
// away.
func (r *Router) Pick(j *Job) int {
	if !slices.Contains(r.away, false) {
		return -1
	}
	i := r.choose(j)
	r.load[i]++
	return i
}

// Release says that an engine has one job less.
func (r *Router) Release(i int) {
	r.load[i]--
	r.low = min(r.low, r.load[i])
}

// take says whether an engine gets jobs.
func (r *Router) take(i int, takes bool) {
	r.away[i] = !takes
	r.low = min(r.low, r.load[i])
}

func (r *Router) choose(j *Job) int {
	first := r.turn % len(r.load)
	for r.turn++; r.away[first]; r.turn++ {
		first = r.turn % len(r.load)
	}
	switch {
	case r.policy == RoundRobin:
		return first
	case r.policy == PrefixAware:
		return r.chooseByPrefix(j, r.minLoaded(first))
	case r.policy == Sticky && j.Session != "":
		home, known := r.sessions[j.Session]
		if !known || r.away[home] {
			home = r.minLoaded(first)
			if len(r.sessions) >= maxKnown {
				clear(r.sessions)
			}
			r.sessions[j.Session] = home
		}
		return home
	}
	return r.minLoaded(first)
}

// minLoaded is the engine with the fewest jobs; of equal ones the one whose turn it
// is.
func (r *Router) minLoaded(first int) int {
	best := first
	for _, part := range [2][2]int{{first + 1, len(r.load)}, {0, first}} {
		for k := part[0]; k < part[1] && r.load[best] > r.low; k++ {
			if r.load[k] < r.load[best] && !r.away[k] {
				best = k
			}
		}
	}
	r.low = r.load[best]
	return best
}

// chooseByPrefix is the engine that had the longest beginning of the prompt last.
func (r *Router) chooseByPrefix(j *Job, idlest int) int {
	home, hashes := -1, j.Beginnings
	if hashes == nil {
		hashes = beginnings(j.Prompt)
	}
	for _, h := range hashes {
		if at, known := r.homes[h]; known {
			home = at
		}
	}
	if home < 0 || r.away[home] || r.load[home] > r.load[idlest]+slack && 2*r.load[home] > 3*r.load[idlest] {
		home = idlest
	}
	if len(r.homes) >= maxKnown {
		clear(r.homes)
	}
	for _, h := range hashes {
		r.homes[h] = home
	}
	return home
}

// beginnings are the hashes of what a prompt begins with, in steps.
func beginnings(prompt []int32) (hashes []uint64) {
	h := uint64(0)
	for i, t := range prompt {
		if h = hashToken(h, t); (i+1)%prefixTokens == 0 {
			hashes = append(hashes, h)
		}
	}
	return hashes
}
