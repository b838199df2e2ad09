package measure

import (
	"math"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// Where in the replies drafts are right shows in what their events carry: one that is
// right as often everywhere is not called different, and events that are no steps say
// nothing.
func TestDraftsAlongReplies(t *testing.T) {
	const prompt, output, draft = 20, 600, 4
	tokens := func(chance float64) float64 { // that a step brings
		return (1 - math.Pow(chance, draft+1)) / (1 - chance)
	}
	const everyEvent = `{"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`
	for _, row := range []struct {
		name   string
		engine sim.Spec
		body   string
		// chance is that of a guess after so many tokens, nil where nothing can be told.
		chance  func(after int) float64
		differs bool
	}{
		{"as right everywhere", sim.Spec{Speculation: sim.Speculation{Tokens: draft, Acceptance: 0.7}}, everyEvent, func(int) float64 { return 0.7 }, false},
		{"less right further on", sim.Spec{Speculation: sim.Speculation{Tokens: draft, Acceptance: 0.9, Context: 800}}, everyEvent,
			func(after int) float64 { return 0.9 * math.Exp2(-float64(prompt+after)/800) }, true},
		{"usage at the end alone", sim.Spec{Speculation: sim.Speculation{Tokens: draft, Acceptance: 0.7}}, `{}`, nil, false},
		{"events of several steps", sim.Spec{TokensPerChunk: 8, Speculation: sim.Speculation{Tokens: draft, Acceptance: 0.7}}, everyEvent, nil, false},
		{"no drafts", sim.Spec{TokensPerChunk: 4}, everyEvent, nil, false},
	} {
		row.engine.Model = sim.DefaultModel
		flags := map[string][]string{"url": {"http://sim"}, "concurrency": {"4"}, "requests": {"30"}, "warmup": {"0s"}, "workload": {"fixed(20,600)"}, "extra-body": {row.body}}
		runVirtualOn(t, row.engine, flags, "", func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
			found := res.Points[0].Drafts
			if again := must.Get(Rebuild(dir.Path))(t).Points[0].Drafts; len(again) != len(found) {
				t.Errorf("%s: %d stretches, and %d of the records", row.name, len(found), len(again))
			}
			if row.chance == nil {
				if len(found) > 0 {
					t.Errorf("%s: %+v of events that are no steps", row.name, found)
				}
				return
			}
			if len(found) != 4 {
				t.Fatalf("%s: %+v, want four stretches", row.name, found)
			}
			for _, s := range found {
				end := s.To
				if end == 0 {
					end = output
				}
				reach := (s.High - s.Low) / 2 // twice as far as at 95%
				if most, fewest := tokens(row.chance(s.From)), tokens(row.chance(end)); s.Low-reach > most || s.High+reach < fewest {
					t.Errorf("%s: %+v, and steps bring %.3g to %.3g tokens", row.name, s, fewest, most)
				}
				if late := s.From > 128; s.Differs() != (row.differs && late) && (late || s.Differs() && !row.differs) {
					t.Errorf("%s: %+v, change %+v", row.name, s, s.Change)
				}
			}
		})
	}
}
