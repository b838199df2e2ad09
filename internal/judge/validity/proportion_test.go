package validity

import (
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/traffic/arrival"
)

// verdictOf is an objective with its figure and its limit, in ms.
func verdictOf(objective string, value, limit float64) slo.Verdict {
	return slo.Verdict{Objective: objective, Value: &value, Unit: "ms", Limit: limit}
}

func failures(e Evidence) []string {
	names := []string{}
	for _, c := range Judge(e).Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

// What the client's machine did is in the ends of the figures: it fails no run.
func TestWhatTheMachineDidIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Evidence){
		"sent late":               func(e *Evidence) { e.Summary.Latency.Lag.P["p99"] = 40 },
		"an engine that is late":  func(e *Evidence) { e.Engine.P99 = 9_000_000 },
		"a process that is busy":  func(e *Evidence) { e.Client.CPUShare = 0.93 },
		"a machine that is full":  func(e *Evidence) { e.Client.Machine.MachineShare = ptr(0.97) },
		"cores that were taken":   func(e *Evidence) { e.Client.Machine.StealShare = ptr(0.4) },
		"a quota that held it up": func(e *Evidence) { e.Client.Machine.QuotaHeld = ptr(30 * time.Second) },
		"threads that waited":     func(e *Evidence) { e.Client.SchedDelayMS, e.Client.Timestamps.Source = 16, "user" },
		"merged reads":            func(e *Evidence) { e.Summary.Tokens.Coalesced, e.Client.SchedDelayMS = 8000, 16 },
		"files nearly used up":    func(e *Evidence) { e.Client.Machine.OpenFiles = ptr(1000) },
	} {
		e := sound()
		change(&e)
		if got := failures(e); len(got) > 0 {
			t.Errorf("%s: %v failed", name, got)
		}
		if e.Strict = true; len(failures(e)) == 0 {
			t.Errorf("%s: a strict run passes", name)
		}
	}
}

// A failure names the objectives that it spoils; the others stand.
func TestAFailureNamesWhatItSpoils(t *testing.T) {
	t.Parallel()
	ttft, e2e, tpot := verdictOf("ttft:p99<200ms", 120, 200), verdictOf("e2e:p90<5s", 900, 5000), verdictOf("tpot:p95<50ms", 8, 50)
	stepped := func(e *Evidence) { e.Client.ClockStepMS = 40 }
	for _, tt := range []struct {
		check  string
		change func(*Evidence)
		judged []slo.Verdict
		want   []string
	}{
		{"clock steps", stepped, []slo.Verdict{ttft, {Objective: "error:rate<1%"}, tpot}, []string{"ttft:p99<200ms", "tpot:p95<50ms"}},
		{"server restart", func(e *Evidence) { e.Server.Restarted = true }, []slo.Verdict{ttft}, nil},
		{"buffered stream", func(e *Evidence) { e.Summary.Tokens.Buffered = 900 }, []slo.Verdict{ttft, e2e, tpot}, []string{"ttft:p99<200ms", "tpot:p95<50ms"}},
	} {
		e := sound()
		e.Judged = tt.judged
		tt.change(&e)
		if got, _ := find(t, e, tt.check); got.OK || !slices.Equal(got.Spoils, tt.want) {
			t.Errorf("%s with %d objectives: ok %v, spoils %q, want %q", tt.check, len(tt.judged), got.OK, got.Spoils, tt.want)
		}
	}
}

// Strict takes every check for itself.
func TestStrictMakesEveryCheckFinal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		check  string
		change func(*Evidence)
		figure string
		limit  string
	}{
		{"lag", func(e *Evidence) { e.Summary.Latency.Lag.P["p99"] = 1.234 }, "p99 1.2 ms", "≤ 1 ms"},
		{"lag", func(e *Evidence) { e.Summary.Latency.Lag.P["p99"] = 1.004 }, "p99 1.004 ms", "≤ 1 ms"},
		{"own CPU", func(e *Evidence) { e.Client.CPUShare = 0.93 }, "this process took 93% of 2 cores", "< 85%"},
		{"own CPU", func(e *Evidence) { e.Client.CPUShare = 0.852 }, "this process took 85.2% of 2 cores", "< 85%"},
		{"engine schedule", func(e *Evidence) { e.Engine.P99 = 3_100_000 }, "p99 3.1 ms, max 2.4 ms", "≤ 2 ms"},
		{"scheduler delay", func(e *Evidence) { e.Client.SchedDelayMS = 16 }, "p99 16 ms", "≤ 10 ms"},
		{"client-side coalescing", func(e *Evidence) { e.Summary.Tokens.Coalesced, e.Client.SchedDelayMS = 8000, 16 },
			"8% of events have merged timestamps, scheduler delay p99 16 ms", "≤ 5%, or delay ≤ 10 ms"},
		{"ports and files", func(e *Evidence) { e.Client.Machine.OpenFiles = ptr(1000) }, "1,000 of 1,024 files open", "≤ 90%"},
		{"throttled machine", func(e *Evidence) { e.Client.Machine.StealShare = ptr(0.12) },
			"steal 12%, quota throttling 0.5%, 0 thermal throttles", "steal ≤ 5%, quota throttling ≤ 1%, no thermal throttles"},
		{"throttled machine", func(e *Evidence) { e.Client.Machine.QuotaHeld = ptr(10 * time.Second) },
			"steal 1%, quota throttling 5%, 0 thermal throttles", "steal ≤ 5%, quota throttling ≤ 1%, no thermal throttles"},
		{"throttled machine", func(e *Evidence) { e.Client.Machine.ThermalThrottles = ptr(uint64(1)) },
			"steal 1%, quota throttling 0.5%, 1 thermal throttle", "steal ≤ 5%, quota throttling ≤ 1%, no thermal throttles"},
		{"shared host", func(e *Evidence) { e.Client.Machine.MachineShare = ptr(0.97) }, "server on this machine, 97% busy", "< 85%"},
	}
	for _, tt := range tests {
		e := sound()
		// Nothing that these spoil is asked for, which strict does not ask.
		e.Strict, e.Judged = true, []slo.Verdict{{Objective: "error:rate<1%"}}
		tt.change(&e)
		got, _ := find(t, e, tt.check)
		if got == nil || got.OK || got.Figure != tt.figure || got.Threshold != tt.limit || got.Cure == "" {
			t.Errorf("%s: %+v, want a failure: %s, %s", tt.check, got, tt.figure, tt.limit)
		}
	}
	e := sound()
	e.Strict = true
	if got := failures(e); len(got) > 0 {
		t.Errorf("a sound run fails %v", got)
	}
}

// What a repetition does not mend is marked.
func TestSetupIsNotMendedByARepetition(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Evidence){
		"foreign traffic": func(e *Evidence) { e.Traffic.Theirs = 1400 },
		"output lengths":  func(e *Evidence) { e.Summary.Tokens.Output = 10_000 },
		"response cache":  func(e *Evidence) { e.Repeat.Again = 2 * time.Millisecond },
	} {
		e := sound()
		change(&e)
		got, _ := find(t, e, name)
		want := name == "output lengths" || name == "response cache"
		if got.OK || got.Setup != want {
			t.Errorf("%s: ok %v, setup %v, want a failure with setup %v", name, got.OK, got.Setup, want)
		}
	}
	e := sound()
	for _, c := range Judge(e).Checks {
		if c.Setup {
			t.Errorf("%s is passed and marked", c.Name)
		}
	}
}

// Honest draws are called unlikely no more often than stated, bursty ones and
// even ones too.
func TestUnlikelyDrawsAreAsRareAsStated(t *testing.T) {
	t.Parallel()
	const chance, windows, mean = 0.02, 4000, 60
	for _, process := range []string{"poisson", "constant", "gamma(0.2)", "gamma(0.5)", "gamma(3)", "gamma(50)"} {
		spec := arrival.Spec{Rate: 1, Process: process}
		least, most := likelyRange(mean, spec.Dispersion(), chance)
		wrong, count, window := 0, 0, int64(1)
		length := int64(mean * time.Second)
		for at := range spec.Times(11) {
			for at >= (window+1)*length {
				if count < least || count > most {
					wrong++
				}
				count = 0
				window++
			}
			if at >= length { // the first one stands for the warm-up
				count++
			}
			if window > windows {
				break
			}
		}
		// Three standard errors of the share itself.
		if share := float64(wrong) / windows; share > chance+3*0.0023 {
			t.Errorf("%s: %.4f of windows lie outside %d to %d, stated %.4f", process, share, least, most, chance)
		}
		if process == "poisson" && wrong == 0 {
			t.Errorf("no window of %d lies outside %d to %d: the test could not fail", windows, least, most)
		}
	}
}

// Cores that a hypervisor or a quota takes away are named, each from its own
// limit on.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		steal, quota float64
		want         string
	}{{0.04, 0.005, ""}, {0.12, 0, "steal: the hypervisor takes 12%"}, {0, 0.08, "quota: the CPU quota of this container stops redline 8%"}} {
		c := result.Client{CPUs: 2}
		held := time.Duration(tt.quota * 2 * 30 * float64(time.Second))
		c.Machine.StealShare, c.Machine.QuotaHeld = &tt.steal, &held
		got := strings.Join(CPUConstraints(c, 30), "\n")
		if (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("steal %v, quota %v: %q, want %q", tt.steal, tt.quota, got, tt.want)
		}
	}
}
