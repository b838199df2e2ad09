package config

import (
	"fmt"
	"strconv"
	"strings"

	"redline/internal/traffic/workload"
)

const workingSetKey, warmupKey = "experiment.working_set", "load_profile.warmup"

// What a working set is made of where the plan does not say: sessions that come
// back to so many tokens, add a short message each time, and get a short reply.
// Short ones leave the cache to what sessions come back to.
const (
	defaultSessionTokens = 2000
	defaultAddedTokens   = 64
	defaultReplyTokens   = 32
	// maxLoadedSessions is how many sessions are answered at once by default.
	maxLoadedSessions = 8
	// defaultRevisits is how many requests of a level are measured.
	defaultRevisits = 200
)

// workingSetPlan makes the load of a sweep over working sets: sessions that come
// back in turn, so that each finds its tokens in the cache exactly if the cache
// holds all of them.
func (c *Config) workingSetPlan() error {
	if c.Experiment.WorkingSet == "" {
		return nil
	}
	low, _, _, err := parseWorkingSet(c.Experiment.WorkingSet)
	w := &c.Workload
	switch {
	case err != nil:
		return c.errorAt(workingSetKey, "%v", err)
	case w.File != "" || w.Classes != nil || w.Session != nil || w.HoldsJobs():
		return c.errorAt(workingSetKey, "makes up the sessions itself: leave out the workload, or give lengths such as in=64 out=32 and --prefix for what sessions come back to")
	}
	if c.isSet(warmupKey) {
		return c.errorAt(warmupKey, "is the first round of each level, which fills the cache: leave out --warmup, or --working-set")
	}
	if w.Preset == "" && w.Prompt == nil && w.Output == nil {
		w.Prompt, w.Output = &workload.Dist{Fixed: defaultAddedTokens}, &workload.Dist{Fixed: defaultReplyTokens}
	}
	prefix := workload.Prefix{Tokens: defaultSessionTokens}
	if w.Prefix != nil && w.Prefix.Tokens > 0 {
		prefix = *w.Prefix
	}
	prefix.Groups, prefix.InTurn = low, true
	w.Prefix = &prefix
	if w.Cache == "cold" {
		return c.errorAt("workload.cache", "is cold, so that no session would find its tokens, however few are live: leave out --cache, or --working-set")
	}
	if _, high, tokens, _ := parseWorkingSet(c.Experiment.WorkingSet); tokens && float64(high) < 2*w.SessionTokens() {
		return c.errorAt(workingSetKey, "ends below two sessions of %.0f tokens each: give a higher range, or a shorter --prefix", w.SessionTokens())
	}
	if !c.isSet(durationKey) && !c.isSet(requestsKey) {
		c.Load.Bounds.TotalRequests = defaultRevisits
	}
	const limit = "load_profile.max_concurrency"
	if !c.isSet("load_profile.rate") && !c.isSet(limit) && c.Load.Profile == "" {
		c.Load.Bounds.MaxConcurrency, c.places[limit] = min(low, maxLoadedSessions), c.places[workingSetKey]
	}
	return nil
}

// WorkingSetSpan is the fewest and the most live sessions of a sweep over working
// sets, 0 where there is none.
func (c *Config) WorkingSetSpan() (low, high int) {
	if c.Experiment.WorkingSet == "" {
		return 0, 0
	}
	low, high, tokens, err := parseWorkingSet(c.Experiment.WorkingSet)
	if err != nil {
		return 0, 0 // which was refused before
	}
	if tokens {
		each := c.Workload.SessionTokens()
		low, high = max(1, int(float64(low)/each)), max(2, int(float64(high)/each))
	}
	return low, high
}

// maxSessions bounds a working set.
const maxSessions = 1_000_000

// parseWorkingSet reads 8..512, or 20000..2000000 tokens.
func parseWorkingSet(given string) (low, high int, tokens bool, err error) {
	span, tokens := strings.CutSuffix(strings.TrimSpace(given), "tokens")
	from, to, ranged := strings.Cut(strings.TrimSpace(span), "..")
	low, lowErr := strconv.Atoi(from)
	high, highErr := strconv.Atoi(to)
	limit := maxSessions
	if tokens {
		limit *= 1000
	}
	if !ranged || lowErr != nil || highErr != nil || low < 1 || high <= low || high > limit {
		err = fmt.Errorf("expected a range of live sessions such as 8..512, or of tokens such as '20000..2000000 tokens', got %s", quote(given))
	}
	return low, high, tokens, err
}
