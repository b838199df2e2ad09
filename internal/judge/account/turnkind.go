package account

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/judge/metric"
	"redline/internal/llm"
)

// turnKind is a kind in the making.
type turnKind struct {
	metric.TurnKind
	spread float64 // of the fresh tokens: the sum of squares around their mean
}

// add takes in a turn.
func (k *turnKind) add(q *request) {
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
}

// sum is nil where there is no turn of the kind.
func (k *turnKind) sum() *metric.TurnKind {
	if k.Turns == 0 {
		return nil
	}
	return &k.TurnKind
}

// turnKinds is nil where sessions are single requests.
func (c *collector) turnKinds() *metric.TurnKinds {
	if len(c.naming.names[byTurn]) < 2 {
		return nil
	}
	var turns []*request
	for q := range c.requests.all {
		if q.outcome == llm.OK && !math.IsNaN(q.figures[ttft]) {
			turns = append(turns, q)
		}
	}
	slices.SortFunc(turns, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.sent, b.sent), cmp.Compare(a.firstAt(), b.firstAt()))
	})
	var alone, beside, cached, uncached turnKind
	for i, next := 0, 0; i < len(turns); i = next {
		// Turns of which each is sent before all of those before it have begun.
		session, begun := turns[i].session, turns[i].firstAt()
		for next = i + 1; next < len(turns) && turns[next].session == session && float64(turns[next].sent) < begun; next++ {
			begun = max(begun, turns[next].firstAt())
		}
		for _, q := range turns[i:next] {
			if next-i > 1 {
				beside.add(q)
			} else {
				alone.add(q)
			}
			switch {
			case c.tokens.Cached == 0:
			case 2*q.cached >= q.prompt:
				cached.add(q)
			default:
				uncached.add(q)
			}
		}
	}
	return &metric.TurnKinds{Alone: alone.sum(), Beside: beside.sum(), Cached: cached.sum(), Uncached: uncached.sum()}
}

// firstAt is when the first token came.
func (q *request) firstAt() float64 { return float64(q.sent) + q.figures[ttft] }
