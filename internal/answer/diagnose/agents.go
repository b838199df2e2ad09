package diagnose

import (
	"fmt"
	"math"
	"strconv"

	"redline/internal/text"
)

// Thresholds of what the sessions of agents do to a server.
const (
	// A cache lacks something where missingShare of the prompt tokens that an endless
	// one has are missing, or where fewer make half as much again to compute.
	missingShare  = 0.1
	missingLittle = 0.05
	missingWork   = 1.5
	nearlyFull    = 0.7
	minTurns      = 10
	burstRatio    = 1.7
	burstMS       = 100.0
	uncachedShare = 0.5
	uncachedTTFT  = 3.0
)

// sessionsThatFit is how many live jobs the KV cache holds what they come back to
// of, 0 where that is not known.
func (s *scene) sessionsThatFit() float64 {
	c := s.point.Cache
	if c == nil || c.LiveTokens == nil || c.RoomTokens == nil || *c.LiveTokens <= 0 {
		return 0
	}
	return *c.RoomTokens / *c.LiveTokens
}

// liveSessions is how many jobs are under way, and where that stands.
func (s *scene) liveSessions() (live float64, field string) {
	if j := s.point.Jobs; j != nil {
		return j.LiveMean, "jobs.live_mean"
	}
	return 0, ""
}

// idealShare is the share of prompt tokens that an endless cache has, and where that
// stands: of the window's own requests where it is known.
func (s *scene) idealShare() (share *float64, field string) {
	if j := s.point.Jobs; j != nil && j.IdealFraction != nil {
		return j.IdealFraction, "jobs.ideal_fraction"
	}
	if c := s.point.Cache; c != nil {
		return c.Designed, "prefix_cache.designed"
	}
	return nil, ""
}

// shortfall is what the cache has and what an endless one would have, where less came
// from it than that; nil where nothing is missing, or it is not known.
func (s *scene) shortfall() *shortfall {
	ideal, of := s.idealShare()
	if ideal == nil || s.point.Cache == nil {
		return nil
	}
	hit, counted, sure, known := s.cacheHits()
	if !known {
		return nil
	}
	missing := *ideal - hit
	if missing < missingLittle || missing < missingShare && 1-hit < missingWork*(1-*ideal) {
		return nil
	}
	return &shortfall{hit, *ideal, counted, of, sure}
}

type shortfall struct {
	hit, ideal        float64
	counted, of, sure string
}

// sessionCache: turns come back to what other sessions have pushed out.
func sessionCache(s *scene) *claim {
	fit, lacks := s.sessionsThatFit(), s.shortfall()
	live, field := s.liveSessions()
	if fit == 0 || live < nearlyFull*fit || lacks == nil {
		return nil
	}
	room := fmt.Sprintf("the KV cache has room for %s of %s live sessions", text.Rough(math.Floor(fit)), text.Rough(live))
	if fit > live {
		lacks.sure = likely
		room = fmt.Sprintf("%s live sessions crowd the KV cache, which has room for %s on average", text.Rough(live), text.Rough(math.Floor(fit)))
	}
	return &claim{title: fmt.Sprintf("%s: %s of prompt tokens come from it, %s would from an endless one", room, text.RoughPercent(lacks.hit), text.RoughPercent(lacks.ideal)),
		confidence: lacks.sure, evidence: []evidence{
			s.see("prefix_cache.live_tokens", "a live session comes back to %s tokens on average", text.Rough(*s.point.Cache.LiveTokens)),
			s.see("prefix_cache.room_tokens", "the KV cache holds %s tokens", text.Rough(*s.point.Cache.RoomTokens)),
			s.see(field, "%s sessions are live on average", text.Rough(live)),
			s.see(lacks.of, "%s of prompt tokens were sent before", text.RoughPercent(lacks.ideal)),
			s.see(lacks.counted, "%s came from the cache", text.RoughPercent(lacks.hit))}}
}

// subagentBursts: requests that a job sends at once wait for each other. Where the
// cache lacks something they also wait for what others have to compute again.
func subagentBursts(s *scene) *claim {
	k := s.point.TurnKinds
	if k == nil || k.Alone == nil || k.Beside == nil || min(k.Alone.Turns, k.Beside.Turns) < minTurns || s.isOverloaded() || s.shortfall() != nil {
		return nil
	}
	slow := s.missedFirst() || k.Beside.TTFT >= patienceMS
	expected := k.Alone.TTFT + max(0, k.Alone.Slope)*max(0, k.Beside.Fresh-k.Alone.Fresh)
	if !slow || k.Beside.TTFT < burstRatio*expected || k.Beside.TTFT < expected+burstMS {
		return nil
	}
	return &claim{title: fmt.Sprintf("subagents wait for each other: the mean ttft of turns sent beside others of their session is %s, %s alone", text.Time(k.Beside.TTFT), text.Time(expected)),
		confidence: likely, evidence: []evidence{
			s.see("turn_kinds.beside", "%s turns beside others, %s prompt tokens to compute each, mean ttft %s", text.Count(k.Beside.Turns), text.Rough(k.Beside.Fresh), text.Time(k.Beside.TTFT)),
			s.see("turn_kinds.alone", "%s turns alone, %s tokens each, mean ttft %s, which is %s for as many tokens", text.Count(k.Alone.Turns), text.Rough(k.Alone.Fresh), text.Time(k.Alone.TTFT), text.Time(expected))}}
}

// uncachedTurns: what no cache can have takes the time, not what this one lacks.
func uncachedTurns(s *scene) *claim {
	k := s.point.TurnKinds
	if k == nil || k.Cached == nil || k.Uncached == nil || min(k.Cached.Turns, k.Uncached.Turns) < minTurns || s.isOverloaded() || s.point.Cache == nil || s.shortfall() != nil {
		return nil
	}
	missing, all := k.Uncached.Fresh*float64(k.Uncached.Turns), k.Cached.Fresh*float64(k.Cached.Turns)
	all += missing
	slow := s.missedFirst() || k.Uncached.TTFT >= patienceMS
	if !slow || s.fresh() < prefillTokens || missing < uncachedShare*all || k.Uncached.TTFT < uncachedTTFT*k.Cached.TTFT {
		return nil
	}
	c := &claim{title: fmt.Sprintf("%s of the turns bring %s of the prompt tokens to compute: their mean ttft is %s, %s of the others",
		text.RoughPercent(float64(k.Uncached.Turns)/float64(k.Uncached.Turns+k.Cached.Turns)), text.RoughPercent(missing/all), text.Time(k.Uncached.TTFT), text.Time(k.Cached.TTFT)),
		confidence: likely, evidence: []evidence{
			s.see("turn_kinds.uncached", "%s turns of which the cache had less than half, %s tokens to compute each", text.Count(k.Uncached.Turns), text.Rough(k.Uncached.Fresh)),
			s.see("turn_kinds.cached", "%s others, %s tokens each", text.Count(k.Cached.Turns), text.Rough(k.Cached.Fresh))}}
	if p, t := s.server.Prefill, s.server.TTFT; p != nil && t != nil {
		c.confidence = confidence(p.Mean >= prefillShare*t.Mean)
		c.evidence = append(c.evidence, s.see("server.prefill_ms.mean", "mean prefill %s of a ttft of %s by the server's own count", text.Time(p.Mean), text.Time(t.Mean)))
	}
	return c
}

// confirmFits repeats the workload with as many agents as the cache has room for.
func confirmFits(s *scene) string {
	fit := s.sessionsThatFit()
	if live, _ := s.liveSessions(); fit > live {
		fit = live / 2 // they crowd it, although on average there is room
	}
	return s.command("run", append(s.work(), "--agents", strconv.Itoa(max(1, int(fit))))...)
}

// confirmAgent repeats the workload with one agent.
func confirmAgent(s *scene) string {
	return s.command("run", append(s.work(), "--agents", "1")...)
}
