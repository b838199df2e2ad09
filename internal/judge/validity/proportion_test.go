package validity

import (
	"slices"
	"testing"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/traffic/arrival"
)

// judged is an objective with its figure and its limit, in ms.
func judged(objective string, value, limit float64) slo.Verdict {
	return slo.Verdict{Objective: objective, Value: &value, Unit: "ms", Limit: limit}
}

// missed is one that is missed, by a figure that some misses lack.
func missed(objective string, value *float64, limit float64) slo.Verdict {
	return slo.Verdict{Objective: objective, Standing: slo.Missed, Value: value, Unit: "ms", Limit: limit}
}

// reached is one that is met, with the bound that its figure lies below.
func reached(objective string, value float64, bound *float64, limit float64) slo.Verdict {
	return slo.Verdict{Objective: objective, Standing: slo.Met, Value: &value, Bound: bound, Unit: "ms", Limit: limit}
}

// failures names the checks that failed.
func failures(e Evidence) []string {
	names := []string{}
	for _, c := range Judge(e).Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

// A check invalidates only what it can spoil, and only by a share that matters.
func TestValidityIsInProportion(t *testing.T) {
	t.Parallel()
	late := func(ms float64, objectives ...slo.Verdict) func(*Evidence) {
		return func(e *Evidence) { e.Summary.Latency.Lag.P["p99"], e.Judged = ms, objectives }
	}
	tests := []struct {
		name   string
		change func(*Evidence)
		// failed is the one check that fails, "" where the run is valid; limit
		// is the threshold of lag where that matters.
		failed string
		limit  string
	}{
		{"lag of 1.3 ms in a ttft p99 of 125 ms", late(1.3, judged("ttft:p99<200ms", 125, 200)), "", "≤ 10 ms, 5% of ttft:p99<200ms"},
		{"lag of 1.6 ms at a median ttft of 40 ms", func(e *Evidence) {
			e.Summary.Latency.Lag.P["p99"], e.Summary.Latency.TTFT.P["p50"] = 1.6, 40
		}, "", "≤ 2 ms, 5% of the median ttft"},
		{"lag of 30 ms in a ttft limit of 200 ms", late(30, judged("ttft:p99<200ms", 120, 200)), "lag", "≤ 10 ms, 5% of ttft:p99<200ms"},
		{"the least tolerant objective counts", late(30, judged("e2e:p90<5s", 900, 5000), judged("ttft:p99<200ms", 120, 200)), "lag", "≤ 10 ms, 5% of ttft:p99<200ms"},
		{"a miss by far is a miss all the same", late(30, judged("ttft:p99<800ms", 32_000, 800)), "", "≤ 1,600 ms, 5% of the 32,000 ms of ttft:p99<800ms"},
		{"a miss that is one without the lag too", late(30, missed("e2e:p99<10ms", ptr(130.0), 10)), "", "≤ 120 ms, what e2e:p99<10ms is missed by"},
		{"a miss that lag may have made", late(30, missed("ttft:p99<100ms", ptr(125.0), 100)), "lag", "≤ 25 ms, what ttft:p99<100ms is missed by"},
		{"no answer came: a late client is not why", late(86, missed("ttft:p99<500ms", nil, 500)), "", "≤ 500 ms, the limit of ttft:p99<500ms, which is missed for want of answers"},
		{"a client late by more than the limit", late(600, missed("ttft:p99<500ms", nil, 500)), "lag", ""},
		{"met by far, with the lag on top of the bound too", late(60, reached("ttft:p99<500ms", 84, ptr(131.0), 500)), "", "≤ 369 ms, what ttft:p99<500ms is met by"},
		{"met so closely that the lag is more than what is left", late(60, reached("ttft:p99<500ms", 400, ptr(450.0), 500)), "lag", "≤ 50 ms, what ttft:p99<500ms is met by"},
		{"the maximum is met by its own value", late(60, reached("ttft:max<500ms", 400, nil, 500)), "", "≤ 100 ms, what ttft:max<500ms is met by"},
		{"tpot is counted from what was sent", late(30, judged("tpot:p95<50ms", 8, 50)), "", ""},
		{"an error rate has no time", late(30, slo.Verdict{Objective: "error:rate<1%", Unit: "fraction", Limit: 0.01}), "", ""},
		{"a limit of a few milliseconds: the floor stands", late(1.2, judged("ttft:p50<10ms", 4, 10)), "lag", "≤ 1 ms"},
		{"a pause of the garbage collector", func(e *Evidence) { e.Client.GCPauseMS = 10 }, "", ""},
		{"merged reads beside a ttft objective", func(e *Evidence) {
			e.Summary.Tokens.Coalesced, e.Client.SchedDelayMS = 8000, 16
			e.Judged = []slo.Verdict{judged("ttft:p99<500ms", 84, 500)}
		}, "", ""},
		{"an engine late by 3 ms beside a ttft objective", func(e *Evidence) {
			e.Engine.P99, e.Judged = 3_000_000, []slo.Verdict{judged("ttft:p99<500ms", 84, 500)}
		}, "", ""},
		{"an engine late by 3 ms beside an itl objective", func(e *Evidence) {
			e.Engine.P99, e.Judged = 3_000_000, []slo.Verdict{judged("itl:p99<25ms", 20, 25)}
		}, "engine schedule", ""},
		{"a full machine that serves its client", func(e *Evidence) {
			e.Client.CPUShare, e.Client.Machine.MachineShare, e.Client.SchedDelayMS = 0.93, ptr(0.97), 16
		}, "", ""},
		{"files nearly used up", func(e *Evidence) { e.Client.Machine.OpenFiles = ptr(1000) }, "", ""},
		{"steal, a quota and heat that nothing shows", func(e *Evidence) {
			m := &e.Client.Machine
			m.StealShare, m.QuotaHeld, m.ThermalThrottles = ptr(0.12), ptr(10*time.Second), ptr(uint64(3))
		}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := sound()
			tt.change(&e)
			want := []string{}
			if tt.failed != "" {
				want = []string{tt.failed}
			}
			if got := failures(e); len(got) != len(want) || len(got) == 1 && got[0] != want[0] {
				t.Errorf("%v failed, want %v", got, want)
			}
			if lag, _ := find(t, e, "lag"); tt.limit != "" && lag.Threshold != tt.limit {
				t.Errorf("lag %s, want %s", lag.Threshold, tt.limit)
			}
		})
	}
}

// A failure names the objectives that it spoils; the others stand.
func TestAFailureNamesWhatItSpoils(t *testing.T) {
	t.Parallel()
	ttft, e2e, tpot := judged("ttft:p99<200ms", 120, 200), judged("e2e:p90<5s", 900, 5000), judged("tpot:p95<50ms", 8, 50)
	late := func(e *Evidence) { e.Summary.Latency.Lag.P["p99"] = 30 }
	behind := func(e *Evidence) { e.Engine.P99 = 12_000_000 }
	for _, tt := range []struct {
		check  string
		change func(*Evidence)
		judged []slo.Verdict
		want   []string
	}{
		{"lag", late, []slo.Verdict{ttft, e2e, tpot}, []string{"ttft:p99<200ms"}},
		{"lag", late, nil, []string{"ttft", "e2e"}},
		{"engine schedule", behind, []slo.Verdict{ttft, e2e, tpot}, []string{"ttft:p99<200ms", "tpot:p95<50ms"}},
		{"shared host", func(e *Evidence) { late(e); e.Client.Machine.MachineShare = ptr(0.97) }, []slo.Verdict{ttft, e2e, tpot}, []string{"ttft:p99<200ms"}},
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

// The machine's state fails a run where lag, merged reads or the embedded
// engine show that the client did not get its CPU time.
func TestACauseCountsWhereItsHarmShows(t *testing.T) {
	t.Parallel()
	causes := map[string]func(*Evidence){
		"own CPU":           func(e *Evidence) { e.Client.CPUShare = 0.93 },
		"shared host":       func(e *Evidence) { e.Client.Machine.MachineShare = ptr(0.97) },
		"throttled machine": func(e *Evidence) { e.Client.Machine.StealShare = ptr(0.12) },
		"scheduler delay":   func(e *Evidence) { e.Client.SchedDelayMS = 16 },
	}
	harms := map[string]func(*Evidence){
		"":                       func(*Evidence) {},
		"lag":                    func(e *Evidence) { e.Summary.Latency.Lag.P["p99"] = 40 },
		"client-side coalescing": func(e *Evidence) { e.Summary.Tokens.Coalesced, e.Client.SchedDelayMS = 8000, 16 },
		"engine schedule":        func(e *Evidence) { e.Engine.P99 = 9_000_000 },
	}
	for cause, make := range causes {
		for harm, show := range harms {
			e := sound()
			make(&e)
			show(&e)
			got, _ := find(t, e, cause)
			if got.OK != (harm == "") {
				t.Errorf("%s beside harm %q: ok %v", cause, harm, got.OK)
			}
			if notes := Judge(e).Notes; harm == "" && (len(notes) != 1 || notes[0].Figure != "client") {
				t.Errorf("%s: notes %+v, want one", cause, notes)
			}
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
		{"own CPU", func(e *Evidence) { e.Client.CPUShare = 0.93 }, "this process took 93% of 2 cores", "< 85%"},
		{"engine schedule", func(e *Evidence) { e.Engine.P99 = 3_100_000 }, "p99 3.1 ms, max 2.4 ms", "≤ 2 ms"},
		{"scheduler delay", func(e *Evidence) { e.Client.SchedDelayMS = 16 }, "p99 16 ms", "≤ 10 ms"},
		{"client-side coalescing", func(e *Evidence) { e.Summary.Tokens.Coalesced, e.Client.SchedDelayMS = 8000, 16 },
			"8% of events have merged timestamps, scheduler delay p99 16 ms", "≤ 5%, or delay ≤ 10 ms"},
		{"ports and files", func(e *Evidence) { e.Client.Machine.OpenFiles = ptr(1000) }, "1000 of 1024 files open", "≤ 90%"},
		{"throttled machine", func(e *Evidence) { e.Client.Machine.StealShare = ptr(0.12) },
			"steal 12%, quota 0.5%, 0 times hot", "steal ≤ 5%, quota ≤ 1%, never hot"},
		{"throttled machine", func(e *Evidence) { e.Client.Machine.QuotaHeld = ptr(10 * time.Second) },
			"steal 1%, quota 5%, 0 times hot", "steal ≤ 5%, quota ≤ 1%, never hot"},
		{"throttled machine", func(e *Evidence) { e.Client.Machine.ThermalThrottles = ptr(uint64(3)) },
			"steal 1%, quota 0.5%, 3 times hot", "steal ≤ 5%, quota ≤ 1%, never hot"},
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
		"lag":             func(e *Evidence) { e.Summary.Latency.Lag.P["p99"] = 40 },
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
		least, most := likely(mean, spec.Dispersion(), chance)
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
