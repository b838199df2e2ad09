package twin

import (
	"context"
	"fmt"
	"math"
	"slices"

	"redline/internal/text"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// cacheTolerance is by how much, as a share of the prompt tokens, a simulated prefix
// cache may find more or less than the server's at any level.
const cacheTolerance = 0.05

// cacheFit is what came of simulating the prefix cache.
type cacheFit struct {
	// found and recorded are the share of prompt tokens from the cache, simulated and
	// measured, at the level where they are furthest apart.
	found, recorded float64
	level           string
	agrees          bool
	// evicted says that the server's cache had less of some prompt than one that
	// forgets nothing.
	evicted bool
	// timed says that the time of blocks from the host is decided.
	timed bool
}

// fitCache gives the engine a prefix cache of its own, with a tier behind it where the
// server has one, if that finds what the server found; otherwise each request keeps
// what was recorded of it.
func fitCache(ctx context.Context, levels []Level, c candidate) (candidate, *cacheFit) {
	if _, recorded := cachedShare(levels, nil); recorded == 0 {
		return c, nil
	}
	with := c
	with.base.EnablePrefixCaching = new(true)
	tier := 0.0
	for i := range levels {
		tier = max(tier, levels[i].tierShare)
	}
	f := &cacheFit{}
	if tier > 0 {
		with = fitTier(ctx, levels, with)
	}
	endless := with.spec()
	endless.NumGPUBlocksOverride = 0
	for i := range levels {
		one := levels[i : i+1]
		found, recorded := cachedShare(one, new(with.spec()))
		if f.level == "" || math.Abs(found-recorded) > math.Abs(f.found-f.recorded) {
			f.found, f.recorded, f.level = found, recorded, levels[i].Name
		}
		all, _ := cachedShare(one, &endless)
		f.evicted = f.evicted || all > recorded+cacheTolerance
	}
	if f.agrees = math.Abs(f.found-f.recorded) <= cacheTolerance; !f.agrees {
		return c, f
	}
	// The constants were sought with what was recorded as cached, whatever it took to come
	// back, and are with the cache itself others.
	var targets []target
	for i := range levels {
		short := trim(levels[i])
		targets = append(targets, newTarget(&short))
	}
	with.loss = math.Inf(1)
	with = refine(ctx, targets, with, 0.2, 200)
	if tier > 0 {
		f.timed = showsTransfers(ctx, targets, with)
	}
	return with, f
}

// showsTransfers reports whether no engine whose blocks come back at once comes as near.
func showsTransfers(ctx context.Context, targets []target, c candidate) bool {
	instant := c
	instant.x, instant.loss = slices.Clone(c.x), math.Inf(1)
	instant.x[perHostBlock] = math.Log(negligible)
	instant.usual = slices.Clone(c.usual)
	instant.usual[perHostBlock] = expectation{}
	near := distances(targets, c.spec())
	return near < better*distances(targets, instant.spec()) && near < better*distances(targets, refine(ctx, targets, instant, 0.2, 100).spec())
}

// cachedShare is the share of the prompt tokens of counted requests that were found in
// the cache, by an engine and by the records.
func cachedShare(levels []Level, spec *sim.Spec) (found, recorded float64) {
	var prompt float64
	for i := range levels {
		var played []replay.Figures
		if spec != nil {
			played, _, _ = replay.Play(*spec, &levels[i].Recording) // an engine that was fitted is sound
		}
		for k, o := range levels[i].Requests {
			if !o.Counted {
				continue
			}
			prompt += float64(o.Prompt)
			recorded += float64(o.Cached)
			if played != nil {
				found += float64(played[k].Cached)
			}
		}
	}
	return found / max(1, prompt), recorded / max(1, prompt)
}

// maxTier is the largest tier that is thought of, in sizes of the device's cache.
const maxTier = 64

// fitTier finds the size of the tier with which the cache finds as much as was found.
// How long a block takes to come back from it is expected, and refined with the rest.
func fitTier(ctx context.Context, levels []Level, c candidate) candidate {
	base := *c.base.Law
	sized := func(blocks int) *sim.Spec {
		law := base
		law.HostBlocks, c.base.Law = blocks, &law
		return new(c.spec())
	}
	device := max(1, c.base.NumGPUBlocksOverride)
	low, high := 0, maxTier*device
	for high-low > max(1, device/50) && ctx.Err() == nil {
		middle := (low + high) / 2
		if found, recorded := cachedShare(levels, sized(middle)); found < recorded {
			low = middle
		} else {
			high = middle
		}
	}
	sized(high)
	c.x, c.usual = slices.Clone(c.x), slices.Clone(c.usual)
	c.usual[perHostBlock] = expectation{c.x[perContext] + math.Log(hostShare), loose}
	c.x[perHostBlock] = c.usual[perHostBlock].at
	return c
}

// hostShare is how many times as long a block of the cache takes to come back from the
// host's memory as one of its tokens to be read from the device's: sixteen times the ratio of
// the memory's bandwidth to that of the link.
const hostShare = 640

// says is by what the prefix cache of a twin is decided.
func (f *cacheFit) says() string {
	if !f.agrees {
		return fmt.Sprintf("as recorded: simulated it finds %s of the prompts at %s, not %s", text.Percent(f.found), f.level, text.Percent(f.recorded))
	}
	why := fmt.Sprintf("simulated: finds %s of the prompts at %s, the server found %s", text.Percent(f.found), f.level, text.Percent(f.recorded))
	if !f.evicted {
		why += "; nothing was evicted, so the order is assumed (LRU)"
	}
	return why
}
