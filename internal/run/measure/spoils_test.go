package measure

import (
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// What spoils a run is known after ten seconds, by name and with its figure, and
// stands in the telemetry log for other readers; of a sound run nothing is said.
func TestWhatSpoilsARunIsKnownWhileItGoesOn(t *testing.T) {
	for fault, want := range map[string]string{
		"": "", "wrong-usage": "output lengths: mean 40 tokens, 20 asked", "500:10%": "of the latest requests failed or were rejected: HTTP 500",
	} {
		flags := map[string][]string{"url": {"http://sim"}, "rate": {"5"}, "duration": {"30s"}, "warmup": {"5s"}, "workload": {"fixed(64,20)"}, "telemetry-interval": {"10s"}}
		engine := sim.Spec{Model: sim.DefaultModel}
		if fault != "" {
			engine.Faults = []string{fault}
		}
		runVirtualOn(t, engine, flags, "", func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
			logged := must.Get(dir.ReadTelemetry())(t)
			first, latest := telemetry.Line{}, ""
			for _, line := range logged.Lines {
				if line.Spoils != nil {
					latest = strings.Join(*line.Spoils, "\n")
				}
				if line.Spoils != nil && first.Spoils == nil {
					first = line
				}
			}
			if want == "" {
				if first.Spoils != nil || latest != "" {
					t.Errorf("a sound run is spoiled: %v, %s", first, latest)
				}
				return
			}
			if first.Spoils == nil || first.At > 21e9 || !strings.Contains(strings.Join(*first.Spoils, "\n"), want) || !strings.Contains(latest, want) {
				t.Errorf("%s: %+v, then %q; want %q", fault, first, latest, want)
			}
		})
	}
}
