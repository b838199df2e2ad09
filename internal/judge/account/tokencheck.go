package account

import (
	"cmp"
	"math"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/stats"
)

// minToScatter and minTokens are how many replies, and tokens of each, it
// takes to tell whether two tokenizers differ by the same factor in all.
const (
	minToScatter = 5
	minTokens    = 10
	// agreeShare is by how much usage and events may differ where each event
	// carries a token.
	agreeShare = 0.1
)

// tokenCheck gathers the accounts of the replies whose text was counted.
type tokenCheck struct {
	metric.TokenCheck
	ratios []float64
	texts  map[int]int // replies by the sum of their text
}

func (c *tokenCheck) add(r *record.Record) {
	if r.LocalTokens == 0 {
		return
	}
	if r.TextSum != 0 && r.LocalTokens >= minTokens {
		if c.texts == nil {
			c.texts = map[int]int{}
		}
		c.texts[r.TextSum]++
	}
	c.Replies++
	c.Local += int64(r.LocalTokens)
	if r.Streamed {
		c.Events += int64(r.ChunkCount())
	}
	if r.Streamed && r.LocalByEvent > 0 {
		c.EventsCounted += int64(r.ChunkCount())
		c.LocalByEvent += int64(r.LocalByEvent)
	}
	if r.Counted != record.ByUsage {
		return
	}
	c.ByUsage++
	claimed := cmp.Or(r.Claimed, r.StreamedTokens)
	c.Usage += int64(claimed)
	if off := claimed - r.ChunkCount(); r.Streamed && float64(max(off, -off)) <= max(1, agreeShare*float64(claimed)) {
		c.EventsAgree++
	}
	if claimed >= minTokens {
		c.ratios = append(c.ratios, float64(r.LocalTokens)/float64(claimed))
	}
}

// sums gives what was gathered, nil where no reply was counted.
func (c *tokenCheck) sums() *metric.TokenCheck {
	if c.Replies == 0 {
		return nil
	}
	all := c.TokenCheck
	for _, n := range c.texts {
		all.SameText += n - 1
	}
	if len(c.ratios) >= minToScatter {
		mean := stats.Mean(c.ratios)
		all.Scatter = new(round(math.Sqrt(stats.Variance(c.ratios)) / mean))
	}
	return &all
}
