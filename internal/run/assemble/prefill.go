package assemble

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/stats"
)

// What a slope is taken over.
const (
	minAlone = 10
	// maxAlone bounds the work, which grows with the square.
	maxAlone = 1000
	// maxLengthRatio is the shortest prompt over the longest at most: lengths
	// nearer to each other show no slope.
	maxLengthRatio = 0.5
	slopeLevel     = 0.95
)

// noSlope is said where a plan asks for the time of prompts and it is unknown.
const noSlope = "track_prefill: the server does not tell queue and prefill apart, and too few requests of different prompt lengths had it to themselves " +
	"for an estimate; a run with --concurrency 1 and --workload 'uniform(…)' has them"

// wantsPrefill says that the plan asks what prompts cost, and the server itself
// does not tell.
func (in Run) wantsPrefill() bool {
	wanted := in.Plan.Metrics.TrackPrefill
	told := in.Server != nil && in.Server.Queue != nil && in.Server.Prefill != nil
	return wanted != nil && *wanted && !in.Plan.Pools() && !told
}

// prefill gathers when requests were in the server.
type prefill struct {
	start, end int64
	stays      []stay
}

// newPrefill is nil where nobody asks.
func (in Run) newPrefill() *prefill {
	if !in.wantsPrefill() || in.pooled != nil {
		return nil
	}
	return &prefill{start: in.Start, end: in.End}
}

type stay struct {
	sent, first, end int64
	fresh            int  // prompt tokens that had to be computed
	counts           bool // it was answered, token by token, and due in the window
}

// add takes in a record; nothing where nobody asks.
func (p *prefill) add(r *record.Record) {
	if p != nil && r.Sent != 0 {
		prompt := cmp.Or(r.PromptTokens, r.AskedPrompt)
		p.stays = append(p.stays, stay{sent: r.Sent, first: r.First, end: max(r.End, r.Last), fresh: prompt - r.CachedTokens,
			counts: r.Outcome == llm.OK && r.Streamed && r.First > r.Sent && r.Due >= p.start && r.Due < p.end})
	}
}

// slope is nil where too few requests were alone, their prompts are of about one
// length, or ttft does not grow with them.
func (p *prefill) slope() *result.PrefillSlope {
	if p == nil {
		return nil
	}
	tokens, took := loneRequests(p.stays)
	if len(tokens) < minAlone || slices.Min(tokens) > maxLengthRatio*slices.Max(tokens) {
		return nil
	}
	line := stats.TheilSen(tokens, took, slopeLevel)
	if !(line.Lo > 0) || math.IsInf(line.Hi, 0) {
		return nil
	}
	return &result.PrefillSlope{MSPer1K: 1e3 * line.Slope, LowMS: 1e3 * line.Lo, HighMS: 1e3 * line.Hi,
		BaseMS: max(0, line.Intercept), Requests: len(tokens)}
}

// loneRequests gives the prompt tokens and the ttft, in ms, of requests that nobody
// else's was beside until their first token. A request that has no end stays.
func loneRequests(stays []stay) (tokens, took []float64) {
	slices.SortFunc(stays, func(a, b stay) int { return cmp.Compare(a.sent, b.sent) })
	busyUntil := int64(0)
	for i, s := range stays {
		next := int64(math.MaxInt64)
		if i+1 < len(stays) {
			next = stays[i+1].sent
		}
		if s.counts && s.fresh > 0 && busyUntil <= s.sent && next >= s.first {
			tokens, took = append(tokens, float64(s.fresh)), append(took, float64(s.first-s.sent)/1e6)
		}
		s.end = cmp.Or(s.end, math.MaxInt64)
		busyUntil = max(busyUntil, s.end)
	}
	return thinOut(tokens), thinOut(took)
}

// thinOut keeps values at even distances, no more of them than can be compared.
func thinOut(values []float64) []float64 {
	every := (len(values) + maxAlone - 1) / maxAlone
	if every <= 1 {
		return values
	}
	kept := values[:0:0]
	for i := 0; i < len(values); i += every {
		kept = append(kept, values[i])
	}
	return kept
}
