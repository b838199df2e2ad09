package measure

import (
	"cmp"
	"slices"
	"strconv"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
	"redline/internal/twin/catalog"
)

// kvShape is the arithmetic of the key-value cache for one model.
type kvShape struct {
	model     catalog.Model
	precision catalog.Precision
}

const mb = 1 << 20

func (k *kvShape) requestMB(tokens int) float64 {
	return float64(k.model.KVBytes(tokens, k.precision)) / mb
}

// roomMB is the size of the cache as the server tells it, for all of its
// replicas together; 0 where it does not.
func (k *kvShape) roomMB(server *telemetry.ServerUse) float64 {
	if server == nil {
		return 0
	}
	// What a token takes in the layers that look back without limit.
	perToken := float64(k.model.GrowingLayers()) * k.model.LayerKVBytes(k.precision, 1)
	return float64(server.Replicas) * roomTokens(server.Config) * perToken / mb
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

// estimate adds up the cache of all requests over a window: each holds its
// prompt from its first token and grows evenly to its end. The upper bound of
// the peak counts shared prefixes for every request; the lower one counts what
// requests found in the server's cache once, as if all had found the same.
func (k *kvShape) estimate(log records, start, end int64) (*result.KV, error) {
	var ramps, own []ramp
	longest := 0.0
	kv := &result.KV{Model: k.model.Name}
	for r, err := range log() {
		if err != nil {
			return nil, err
		}
		prompt := max(r.PromptTokens, r.AskedPrompt)
		low, high := k.requestMB(prompt), k.requestMB(prompt+r.OutputTokens)
		if r.Phase == record.Measure && r.First != 0 {
			kv.MaxMBPerRequest = max(kv.MaxMBPerRequest, high)
		}
		if of := clipped(r, low, high, start, end); of != nil {
			shared := k.requestMB(min(r.CachedTokens, prompt))
			longest = max(longest, shared)
			ramps = append(ramps, of...)
			own = append(own, clipped(r, low-shared, high-shared, start, end)...)
		}
	}
	kv.PeakMB = peak(ramps)
	kv.PeakLowMB = min(kv.PeakMB, longest+peak(own))
	return kv, nil
}

// clipped gives the ramps of a request's cache between two moments: up at its
// first token, where it holds low, and down at its end, where it holds high.
func clipped(r *record.Record, low, high float64, start, end int64) []ramp {
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
