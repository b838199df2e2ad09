package config

import (
	"cmp"
	"time"

	"redline/internal/judge/evidence"
	"redline/internal/judge/figure"
	"redline/internal/text"
)

// What holds for the length of a window and for verdicts where nothing is said,
// and what a verdict can be asked for.
const (
	// defaultDuration is the shortest window that is not a mere probe.
	defaultDuration    = time.Minute
	defaultMaxDuration = 5 * time.Minute

	defaultConfidence            = 0.95
	minConfidence, maxConfidence = 0.5, 0.999
)

const (
	requestsKey    = "load_profile.total_requests"
	durationKey    = "load_profile.duration"
	maxDurationKey = "load_profile.max_duration"
	rareKey        = "load_profile.rare"
)

// length settles how long the window is: as given, or until every objective is
// decided, or the default.
func (c *Config) length(command string) error {
	b := &c.Load.Bounds
	given := c.isSet(requestsKey) || c.isSet(durationKey) || b.Duration > 0 // by rules
	least, err := c.minWindow()
	if err != nil {
		return err
	}
	if at := c.places[maxDurationKey]; c.isSet(maxDurationKey) {
		switch {
		case b.MaxDuration < defaultDuration || b.MaxDuration > maxLength:
			return c.errorAt(maxDurationKey, "expected a duration from 1m to 720h, got %s; --duration gives a window of any length", b.MaxDuration)
		case at.plan && (c.places[durationKey].plan || c.places[requestsKey].plan):
			return c.errorAt(maxDurationKey, "is for a run without a length, but the plan gives one: leave out one of the two")
		}
	}
	switch {
	case given || c.Recorded():
		b.MaxDuration = 0
	case c.goesOn(command):
		b.MaxDuration = cmp.Or(b.MaxDuration, max(defaultMaxDuration, least))
	default:
		b.Duration, b.MaxDuration = max(defaultDuration, least), 0
	}
	longest, key := b.Duration, durationKey
	if c.UntilDecided() {
		longest, key = b.MaxDuration, maxDurationKey
	}
	if sent := c.Load.Rate * longest.Seconds(); sent > maxRequests && b.TotalRequests == 0 {
		return c.errorAt(key, "%s for %s are %s; at most %s are possible", text.Rate(c.Load.Rate), longest, text.Units(text.Number(sent), "request"), text.Count(maxRequests))
	}
	return nil
}

// minWindow is how long the window must be at least to hold the rarest events that
// verdicts must speak of, and refuses a length that is shorter.
func (c *Config) minWindow() (least time.Duration, err error) {
	b := c.Load.Bounds
	if !c.isSet(rareKey) {
		return 0, nil
	}
	least = time.Duration(evidence.Needs(float64(b.Rare)))
	switch {
	case b.Rare <= 0 || least > maxLength:
		return 0, c.errorAt(rareKey, "expected a duration above 0 and up to 240h such as 5m, got %s", b.Rare)
	case c.isSet(durationKey) && b.Duration < least:
		return 0, c.errorAt(rareKey, "what happens every %s takes a window of %s, but %s gives %s: give a longer one, or leave one of the two out", b.Rare, least, durationKey, b.Duration)
	case c.isSet(maxDurationKey) && b.MaxDuration < least:
		return 0, c.errorAt(rareKey, "what happens every %s takes a window of %s, but %s gives %s: give a longer one, or leave one of the two out", b.Rare, least, maxDurationKey, b.MaxDuration)
	case c.isSet(requestsKey):
		return 0, c.errorAt(rareKey, "what happens every %s takes a window of %s, which %s may cut short: give a duration in its place", b.Rare, least, requestsKey)
	}
	return least, nil
}

// goesOn reports whether a run without a length lasts until its objectives are
// decided: a single one that has some. Levels and repeats have the same length
// each, so that they can be compared. A kept plan says itself what its run did.
func (c *Config) goesOn(command string) bool {
	e := c.Experiment
	if len(c.Objectives) == 0 || e.Repeat > 1 || e.FindLimit || e.Rates != nil || e.Concurrencies != nil {
		return false
	}
	return command == "run" || command == "" && c.isSet(maxDurationKey)
}

// tokenTimes refuses a share that keeps nothing.
func (c *Config) tokenTimes() error {
	if c.isSet("token_times") && !(c.TokenTimes > 0 && c.TokenTimes <= 1) {
		return c.errorAt("token_times", "expected a share above 0 and up to 1 such as 0.05 or 5%%, got %g", c.TokenTimes)
	}
	return nil
}

// confidence settles how sure a verdict must be.
func (c *Config) confidence() error {
	if !c.isSet("confidence") {
		c.Confidence = defaultConfidence
	}
	if !(c.Confidence >= minConfidence && c.Confidence <= maxConfidence) {
		return c.errorAt("confidence", "expected a share from %g to %g such as %g or 95%%, got %g", minConfidence, maxConfidence, defaultConfidence, c.Confidence)
	}
	return nil
}

// measurable refuses objectives on figures that this run cannot have: nothing
// would ever be judged by them.
func (c *Config) measurable() error {
	for _, o := range c.Objectives {
		lack := ""
		switch {
		case o.Metric == "cost" && !c.Cost.Given():
			lack = "no price is given; give --price-per-gpu-hour, or cost in a plan"
		case o.AboutFire() && o.Metric == "leak" && !c.WatchesLeaks():
			lack = "no request is closed; give --cancel 10%"
		case o.AboutFire() && o.Metric != "leak" && len(c.Load.At) == 0:
			lack = "nothing is made to happen; give --at '60s: COMMAND' of redline run"
		}
		if lack != "" {
			return c.errorAt("sla_thresholds", "%s cannot be measured: %s", quote(o.Text), lack)
		}
	}
	why := ""
	switch {
	case c.Pools():
		why = "replies of " + c.Provider.API + " come whole"
	case !c.Streaming():
		why = "replies are not streamed (--no-stream)"
		if c.places["provider.stream"].plan {
			why = "replies are not streamed (provider.stream: false)"
		}
	default:
		return nil
	}
	conditions, _ := c.Experiment.Conditions() // which was checked before
	var accepted Objectives
	for _, condition := range conditions {
		accepted = append(accepted, condition.Objective)
	}
	if err := c.streamless("sla_thresholds", c.Objectives, why); err != nil {
		return err
	}
	return c.streamless("experiment.accept", accepted, why)
}

// streamless refuses objectives on how a reply streams, where none does.
func (c *Config) streamless(key string, objectives Objectives, why string) error {
	for _, o := range objectives {
		if f, ok := figure.Find(o.Metric); ok && f.Streamed() {
			return c.errorAt(key, "%s cannot be measured: %s; leave it out, or judge e2e:%s in its place", quote(o.Text), why, o.Stat)
		}
	}
	return nil
}
