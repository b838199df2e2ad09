package assemble

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"redline/internal/catalog"
	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
)

const mb = 1 << 20

// cacheUse adds up the key-value cache of all requests over a window: each holds
// its prompt from its first token and grows evenly to its end. The upper bound of
// the peak counts shared prefixes for every request; the lower one counts what
// requests found in the server's cache once, as if all had found the same.
type cacheUse struct {
	CacheShape
	server     *telemetry.ServerUse
	start, end int64

	ramps, own   []ramp
	maxRequestMB float64 // of one request, MB
	maxPrefixMB  float64 // prefix that one found, MB
}

// newCacheUse is nil where the shape of the model is not known, or not wanted.
func (in Run) newCacheUse(on *result.Result) *cacheUse {
	shape, err := CacheShapeOf(in.Plan, on.Model.Name, on.Engine.Flags)
	if err != nil {
		return nil
	}
	return &cacheUse{CacheShape: shape, server: in.Server, start: in.Start, end: in.End}
}

// CacheShape is what the key-value cache of a request depends on, beside its
// tokens.
type CacheShape struct {
	model     catalog.Model
	precision catalog.Precision
}

var errUnwanted = errors.New("the plan says metrics.kv_cache_estimation: false")

// CacheShapeOf is the shape of the cache behind a model: that of the embedded engine,
// of the configuration that the user gave, or of the model of that name. The
// server's own settings may say in what precision it keeps the cache.
func CacheShapeOf(c *config.Config, served string, reported ...map[string]string) (CacheShape, error) {
	judged := slices.ContainsFunc(c.Objectives, func(o slo.Objective) bool { return o.Metric == "kv" })
	if wanted := c.Metrics.KVCacheEstimation; !judged && (wanted != nil && !*wanted || c.Pools()) {
		return CacheShape{}, errUnwanted
	}
	if c.Embedded() {
		d, err := c.Server.Sim.Deployment()
		return CacheShape{d.Model, d.KV}, err
	}
	model, err := servedModel(c, served)
	return CacheShape{model, cachePrecision(catalog.BF16, c, reported...)}, err
}

// cachePrecision is the one that the plan states, as such or among its flags,
// else the server's.
func cachePrecision(otherwise catalog.Precision, c *config.Config, reported ...map[string]string) catalog.Precision {
	said := []string{c.Metadata["kv_precision"]}
	for _, flags := range append([]map[string]string{flagsOf(c.Metadata.Get("flags"))}, reported...) {
		said = append(said, flags["cache_dtype"], flags["kv_cache_dtype"])
	}
	return first(otherwise, said...)
}

// Refuse says that no objective can be judged, since all are on the cache and the
// shape of the model is not known. Beside others they are left unjudged.
func Refuse(c *config.Config, served string) error {
	if len(c.Objectives) == 0 || slices.ContainsFunc(c.Objectives, func(o slo.Objective) bool { return o.Metric != "kv" }) {
		return nil
	}
	if _, err := CacheShapeOf(c, served); err != nil {
		return fmt.Errorf("%s cannot be judged: %w, or leave the objective out", c.Objectives[0].Text, err)
	}
	return nil
}

// Bytes is the cache of a request with all of its tokens, 0 where it had no
// output.
func (s CacheShape) Bytes(r *record.Record) int {
	return int(s.model.KVBytes(account.CacheTokens(r), s.precision))
}

func (s CacheShape) requestMB(tokens int) float64 {
	return float64(s.model.KVBytes(tokens, s.precision)) / mb
}

// roomMB is the size of the cache as the server tells it, for all of its
// replicas together; 0 where it does not.
func (k *cacheUse) roomMB() float64 {
	if k.server == nil {
		return 0
	}
	// What a token takes in the layers that look back without limit.
	perToken := float64(k.model.GrowingLayers()) * k.model.LayerKVBytes(k.precision, 1)
	return float64(k.server.Replicas) * roomTokens(k.server.Config) * perToken / mb
}

// roomTokens is how many tokens the cache of one replica holds: in blocks, or
// as such.
func roomTokens(settings map[string]string) float64 {
	number := func(key string) float64 {
		n, err := strconv.Atoi(settings[key])
		if err != nil {
			return 0
		}
		return float64(max(0, n))
	}
	return cmp.Or(number("num_gpu_blocks")*number("block_size"), number("kv_tokens"))
}

// ramp is a change in the cache's size or growth at a moment.
type ramp struct {
	at         int64
	step, rate float64 // MB, MB per ns
}

// add takes in a record; nothing where no cache is counted.
func (k *cacheUse) add(r *record.Record) {
	if k == nil {
		return
	}
	tokens := account.CacheTokens(r)
	if tokens == 0 {
		return
	}
	prompt := tokens - r.OutputTokens
	low, high := k.requestMB(prompt), k.requestMB(tokens)
	if r.Due >= k.start && r.Due < k.end {
		k.maxRequestMB = max(k.maxRequestMB, high)
	}
	if of := clipRamps(r, low, high, k.start, k.end); of != nil {
		shared := k.requestMB(min(r.CachedTokens, prompt))
		k.maxPrefixMB = max(k.maxPrefixMB, shared)
		k.ramps = append(k.ramps, of...)
		k.own = append(k.own, clipRamps(r, low-shared, high-shared, k.start, k.end)...)
	}
}

func (k *cacheUse) sum() *result.KV {
	if k == nil {
		return nil
	}
	kv := &result.KV{Model: k.model.Name, MaxMBPerRequest: k.maxRequestMB, PeakMB: peak(k.ramps), RoomMB: k.roomMB()}
	kv.PeakLowMB = min(kv.PeakMB, k.maxPrefixMB+peak(k.own))
	return kv
}

// clipRamps gives the ramps of a request's cache between two moments: up at its
// first token, where it holds low, and down at its end, where it holds high.
func clipRamps(r *record.Record, low, high float64, start, end int64) []ramp {
	from, to := max(r.First, start), min(r.End, end)
	if r.First == 0 || to <= from {
		return nil
	}
	rate := (high - low) / float64(r.End-r.First)
	at := func(moment int64) float64 { return low + rate*float64(moment-r.First) }
	return []ramp{{from, at(from), rate}, {to, -at(to), -rate}}
}

// peak walks over the changes in order; the size is largest just before one.
func peak(ramps []ramp) float64 {
	slices.SortFunc(ramps, func(a, b ramp) int {
		// What grows counts before what ends at the same moment.
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step))
	})
	var size, rate, most float64
	last := int64(0)
	for _, r := range ramps {
		size += rate * float64(r.at-last)
		most = max(most, size)
		size, rate, last = size+r.step, rate+r.rate, r.at
		most = max(most, size)
	}
	return most
}
