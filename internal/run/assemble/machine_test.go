package assemble

import (
	"testing"
	"time"

	"redline/internal/expect"
	"redline/internal/holdup"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
)

// TestHoldupsOfSeveralWorkersAreThoseOfTheWorst has two workers that are held up at
// once: no client is held up for longer than its window lasts.
func TestHoldupsOfSeveralWorkersAreThoseOfTheWorst(t *testing.T) {
	second := int64(time.Second)
	watch := func(held int64) holdup.Watch {
		return holdup.Watch{Watched: true, Holdups: []holdup.Holdup{{Kind: holdup.Machine, Start: second, End: second + held}}}
	}
	in := Run{Plan: &config.Config{}, Start: 0, End: 10 * second, Watches: []holdup.Watch{watch(6 * second), watch(8 * second), {}}}
	expect.Same(t, &result.Holdups{Times: 1, TotalS: 8, MaxMS: 8000}, in.sumHoldups())
}
