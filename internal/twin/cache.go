package twin

import (
	"context"
	"fmt"
	"math"

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
		with = fitTier(ctx, levels, with, f)
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
	return with, f
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

// fitTier finds the size of the tier with which the cache finds as much as was found,
// and how long blocks take to come back from it.
func fitTier(ctx context.Context, levels []Level, c candidate, f *cacheFit) candidate {
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
	var targets []target
	for i := range levels {
		short := trim(levels[i])
		targets = append(targets, newTarget(&short))
	}
	timed := func(us float64) sim.Spec {
		law := base
		law.HostBlocks, law.HostBlockUS = high, us
		c.base.Law = &law
		return c.spec()
	}
	none := distances(targets, timed(0))
	x, loss := minimise(func(x []float64) float64 { return distances(targets, timed(math.Exp(x[0]))) }, []float64{math.Log(30)}, 1, 20)
	f.timed = loss < better*none
	if !f.timed {
		x[0] = math.Inf(-1)
	}
	timed(math.Exp(x[0]))
	return c
}

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
