package quality

import (
	"cmp"
	"slices"

	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/traffic/golden"
)

// Worst gives the answers that were not right, the lowest scores first, at
// most so many. They hold text: whoever calls it must be allowed to keep that.
func (x *Exam) Worst(most int) []result.KeptAnswer {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := []result.KeptAnswer{}
	for _, name := range phaseOrder {
		p := x.phases[name]
		if p == nil {
			continue
		}
		for i := range p.answers {
			a := &p.answers[i]
			if a.outcome != llm.OK || !a.judged || a.score >= 1 {
				continue
			}
			it := &x.Set.Items[a.item]
			list = append(list, result.KeptAnswer{Item: it.ID, Phase: name, Tags: it.Tags, Score: a.score, Why: a.match.Why,
				Prompt: golden.Key(it.Messages), Answer: a.text})
		}
	}
	slices.SortStableFunc(list, func(a, b result.KeptAnswer) int { return cmp.Compare(a.Score, b.Score) })
	return list[:min(most, len(list))]
}
