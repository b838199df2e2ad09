package metric

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/llm"
)

// TurnKinds splits the ok turns of sessions: by what the prefix cache had of their
// prompts, and by whether another turn of their session waited for its first token
// at the same time.
type TurnKinds struct {
	// Live is how many sessions are under way on average: from the first turn that
	// was due in the window to the end of the last one.
	Live float64 `json:"live_sessions"`
	// Cached are those of which the cache had half of the prompt and more; absent,
	// with Uncached, where no reply says so of any.
	Cached   *TurnKind `json:"cached,omitempty"`
	Uncached *TurnKind `json:"uncached,omitempty"`
	Alone    *TurnKind `json:"alone,omitempty"`
	Beside   *TurnKind `json:"beside,omitempty"`
}

// TurnKind is the turns of a kind: how many, their mean ttft, the mean of the prompt
// tokens that were not cached, and by how much ttft grows with each of those.
type TurnKind struct {
	Turns int     `json:"turns"`
	TTFT  float64 `json:"ttft_mean_ms"`
	Fresh float64 `json:"fresh_tokens_mean"`
	Slope float64 `json:"ttft_ms_per_fresh_token"`

	spread float64 // of the fresh tokens: the sum of squares around their mean
}

// add takes in a turn of the kind, which may be the first.
func (k *TurnKind) add(q *request) *TurnKind {
	if k == nil {
		k = &TurnKind{}
	}
	k.Turns++
	first, fresh := q.figures[ttft]/1e6, float64(max(0, q.prompt-q.cached))
	n, off := float64(k.Turns), fresh-k.Fresh
	k.TTFT += (first - k.TTFT) / n
	k.Fresh += off / n
	// As Welford sums variances.
	together := k.Slope*k.spread + off*(first-k.TTFT)
	if k.spread += off * (fresh - k.Fresh); k.spread > 0 {
		k.Slope = together / k.spread
	}
	return k
}

// turnKinds is nil where sessions are single requests.
func (c *collector) turnKinds() *TurnKinds {
	if len(c.naming.names[byTurn]) < 2 {
		return nil
	}
	var turns []*request
	for q := range c.requests.all {
		if q.outcome == llm.OK && !math.IsNaN(q.figures[ttft]) && !math.IsNaN(q.figures[e2e]) {
			turns = append(turns, q)
		}
	}
	slices.SortFunc(turns, func(a, b *request) int { return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.sent, b.sent)) })
	kinds := &TurnKinds{}
	first, end := int64(0), 0.0 // of the session
	for i, next := 0, 0; i < len(turns); i = next {
		// Turns of which each is sent before all of those before it have begun.
		session, begun := turns[i].session, turns[i].begun()
		for next = i + 1; next < len(turns) && turns[next].session == session && float64(turns[next].sent) < begun; next++ {
			begun = max(begun, turns[next].begun())
		}
		if i == 0 || turns[i-1].session != session {
			first, end = turns[i].due, 0
		}
		for _, q := range turns[i:next] {
			if next-i > 1 {
				kinds.Beside = kinds.Beside.add(q)
			} else {
				kinds.Alone = kinds.Alone.add(q)
			}
			switch {
			case c.tokens.Cached == 0:
			case 2*q.cached >= q.prompt:
				kinds.Cached = kinds.Cached.add(q)
			default:
				kinds.Uncached = kinds.Uncached.add(q)
			}
			end = max(end, float64(q.sent)+q.figures[e2e])
		}
		if next == len(turns) || turns[next].session != session {
			kinds.Live += (min(end, float64(c.o.End)) - float64(first)) / float64(c.o.End-c.o.Start)
		}
	}
	return kinds
}

// begun is when the first token came.
func (q *request) begun() float64 { return float64(q.sent) + q.figures[ttft] }
