package measure

import (
	"testing"

	"redline/internal/llm"
)

// Every kind of garbage is counted where all texts are looked at, none of a healthy
// server, and another request's text by what the requests asked.
func TestGarbageInARun(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]llm.Garbage{"none:0%": "", "loop:20%": llm.RepeatsText, "garbled:20%": llm.CutCharacter, "mix:20%": llm.AnothersText} {
		flags := map[string][]string{"rate": {"10"}, "duration": {"10s"}, "warmup": {"0s"}, "workload": {"fixed(64,30)"}, "check-text": {"true"}, "no-telemetry": {"true"}}
		if want != "" {
			flags["fault"] = []string{fault}
		}
		p := runEmbedded(t, 7, flags).Points[0]
		g := p.Garbage
		if g == nil || g.Replies != p.Requests.OK || want == "" && len(g.By) > 0 || want != "" && (len(g.By) != 1 || g.By[string(want)] < g.Replies/10 || g.By[string(want)] > g.Replies/3) {
			t.Errorf("%s: %+v of %d ok replies, want %q", fault, g, p.Requests.OK, want)
		}
	}
}
