package validity

import (
	"strings"
	"testing"
	"time"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
)

func ptr[T any](v T) *T { return &v }

// sound is the evidence of a run with nothing wrong.
func sound() Evidence {
	dist := func(n int, p50, p99 float64) *metric.Dist {
		return &metric.Dist{N: n, P: map[string]float64{"p50": p50, "p99": p99}}
	}
	return Evidence{
		Summary: metric.Summary{
			Window:   metric.Window{StartS: 10, EndS: 110},
			Rates:    metric.Rates{Asked: ptr(10.0)},
			Requests: metric.Requests{Due: 1000, Sent: 1000, OK: 1000},
			Latency:  metric.Latency{Lag: dist(1000, 0.02, 0.08), TTFT: dist(1000, 50, 90), TPOT: dist(1000, 20, 22)},
			Tokens: metric.Tokens{Prompt: 520_000, AskedPrompt: 500_000, Output: 100_000, AskedOutput: 100_000,
				Events: 100_000, Coalesced: 100, Counted: map[string]int{"usage": 1000}, PromptLengths: dist(1000, 520, 520),
				Check: &metric.TokenCheck{Replies: 20, ByUsage: 20, Usage: 2000, Local: 1960, Events: 1990, EventsAgree: 20, EventsCounted: 1990, LocalByEvent: 2010}},
		},
		Client: result.Client{OS: "linux", CPUs: 2, CPUSeconds: 10, CPUShare: 0.31, GCPauseMS: 0.21, ClockStepMS: 0.003,
			Timestamps: result.Timestamps{Source: "kernel"}, SharesHost: true, SchedDelayMS: 0.3,
			Machine: telemetry.MachineUse{MachineShare: ptr(0.4), StealShare: ptr(0.01), QuotaHeld: ptr(time.Second),
				ThermalThrottles: ptr(uint64(0)), OpenFiles: ptr(60), FileLimit: ptr(1024)}},
		Server:   &telemetry.ServerUse{PrefixHitRate: ptr(0.02)},
		Traffic:  &Traffic{Ours: 1200, Theirs: 1200},
		Repeat:   &Repeat{Fresh: 200 * time.Millisecond, Again: 180 * time.Millisecond, times: 5},
		Load:     result.Load{Mode: "open"},
		Embedded: true,
		Engine:   &Lateness{P99: 180_000, Max: 2_400_000},

		DesignedCache: ptr(0.0),
		Dispersion:    1,
	}
}

func TestASoundRunPassesEveryCheck(t *testing.T) {
	t.Parallel()
	judged := Judge(sound())
	answered, open := judged.Checks, judged.Unchecked
	want := []result.Check{
		{Name: "ports and files", OK: true, Figure: "60 of 1,024 files open", Threshold: "no connection refused"},
		{Name: "clock steps", OK: true, Figure: "largest 0.003 ms", Threshold: "≤ 1 ms"},
		{Name: "due against sent", OK: true, Figure: "0 of 1,000 requests unsent", Threshold: "≤ 0.1%"},
		{Name: "realised work", OK: true, Figure: "1,000 requests due, 1,000 planned", Threshold: "863 to 1,143"},
		{Name: "buffered stream", OK: true, Figure: "0 of 1,000 replies came in bursts of tokens", Threshold: "≤ 50%"},
		{Name: "token counts", OK: true, Figure: "2,000 tokens counted, 1,990 output events arrived, in 20 replies", Threshold: "± 10%"},
		{Name: "output lengths", OK: true, Figure: "mean 100 tokens, 100 asked; 0 of 1,000 replies of another length", Threshold: "± 10%"},
		{Name: "prompt lengths", OK: true, Figure: "mean 520 tokens, 500 asked", Threshold: "± 114 tokens"},
		{Name: "cache contamination", OK: true, Figure: "2% of prompt tokens cached by the server's metrics, 0% designed", Threshold: "≤ 10%"},
		{Name: "response cache", OK: true, Figure: "repeated requests took at most 180 ms, new ones at least 200 ms (5 tries)", Threshold: "≥ 50%"},
		{Name: "foreign traffic", OK: true, Figure: "the server ended 1,200 requests, 1,200 were sent from here", Threshold: "≤ 1,215"},
		{Name: "server restart", OK: true, Figure: "none seen", Threshold: "none"},
	}
	expect.Same(t, want, answered)
	if len(open) != 0 {
		t.Errorf("unchecked although everything is known: %+v", open)
	}
	if len(judged.Notes) != 0 {
		t.Errorf("notes on a run with nothing wrong: %+v", judged.Notes)
	}
}

func find(t *testing.T, e Evidence, name string) (*result.Check, *result.SkippedCheck) {
	t.Helper()
	judged := Judge(e)
	answered, open := judged.Checks, judged.Unchecked
	for i := range answered {
		if answered[i].Name == name {
			return &answered[i], nil
		}
	}
	for i := range open {
		if open[i].Name == name {
			return nil, &open[i]
		}
	}
	return nil, nil
}

func TestEachCheckFiresAndKeepsSilent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		check  string
		change func(*Evidence)
		ok     bool
		figure string
		limit  string
	}{
		{"sent together", "arrivals as asked", func(e *Evidence) {
			e.Summary.Bunching = &metric.Bunching{WithinMS: 50, Due: 0.5, Sent: 1.6}
		}, false, "on average 1.6 other requests were sent in the 50 ms before each, 0.5 were due", "≤ 2 × as many, or ≤ 1 more"},
		{"sent together a little more", "arrivals as asked", func(e *Evidence) {
			e.Summary.Bunching = &metric.Bunching{WithinMS: 50, Due: 2, Sent: 3.9}
		}, true, "on average 3.9 other requests were sent in the 50 ms before each, 2 were due", "≤ 2 × as many, or ≤ 1 more"},
		{"one in ten meets another by our doing", "arrivals as asked", func(e *Evidence) {
			e.Summary.Bunching = &metric.Bunching{WithinMS: 50, Due: 0, Sent: 0.1}
		}, true, "on average 0.1 other requests were sent in the 50 ms before each, 0 were due", "≤ 2 × as many, or ≤ 1 more"},
		{"two in a thousand unsent", "due against sent", func(e *Evidence) { e.Summary.Requests.Unsent = 2 }, false, "2 of 1,000 requests unsent", "≤ 0.1%"},
		{"one in a thousand unsent", "due against sent", func(e *Evidence) { e.Summary.Requests.Unsent = 1 }, true, "1 of 1,000 requests unsent", "≤ 0.1%"},
		{"clock set back", "clock steps", func(e *Evidence) { e.Client.ClockStepMS = -40 }, false, "largest 40 ms", "≤ 1 ms"},
		{"clock nudged", "clock steps", func(e *Evidence) { e.Client.ClockStepMS = 0.9 }, true, "largest 0.9 ms", "≤ 1 ms"},
		{"replies cut short", "output lengths", func(e *Evidence) {
			e.Summary.Requests.Short, e.Summary.Tokens.Output = 300, 89_000
		}, false, "mean 89 tokens, 100 asked; 300 of 1,000 replies of another length", "± 10%"},
		{"a few replies cut short", "output lengths", func(e *Evidence) {
			e.Summary.Requests.Short, e.Summary.Tokens.Output = 50, 98_000
		}, true, "mean 98 tokens, 100 asked; 50 of 1,000 replies of another length", "± 10%"},
		{"prompts longer than designed", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.Prompt = 620_000 }, false, "mean 620 tokens, 500 asked", "± 114 tokens"},
		{"prompts shorter than designed", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.Prompt = 380_000 }, false, "mean 380 tokens, 500 asked", "± 114 tokens"},
		{"a chat template", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.Prompt = 600_000 }, true, "mean 600 tokens, 500 asked", "± 114 tokens"},
		{"a proxy that buffers", "buffered stream", func(e *Evidence) { e.Summary.Tokens.Buffered = 900 }, false,
			"900 of 1,000 replies came in bursts of tokens", "≤ 50%"},
		{"ports ran out", "ports and files", func(e *Evidence) { e.Shortage = 4 }, false, "4 connections refused by this machine", "none"},
		{"prompts seen before", "cache contamination", func(e *Evidence) { e.Summary.Tokens.Cached = 260_000 }, false,
			"50% of prompt tokens cached by usage, 0% designed", "≤ 10%"},
		{"prompts seen before, by its metrics", "cache contamination", func(e *Evidence) { e.Server.PrefixHitRate = ptr(0.6) }, false,
			"60% of prompt tokens cached by the server's metrics, 0% designed", "≤ 10%"},
		{"golden questions that come again", "cache contamination", func(e *Evidence) { e.Server.PrefixHitRate, e.GoldenPrompt = ptr(0.25), 130_000 }, true,
			"25% of prompt tokens cached by the server's metrics, 0% designed", "≤ 30%"},
		{"answers from a cache", "response cache", func(e *Evidence) { e.Repeat.Again = 2 * time.Millisecond }, false,
			"repeated requests took at most 2 ms, new ones at least 200 ms (5 tries)", "≥ 50%"},
		{"too quick to tell", "response cache", func(e *Evidence) {
			e.Repeat.Fresh, e.Repeat.Again = 8*time.Millisecond, 3*time.Millisecond
		}, true, "repeated requests took at most 3 ms, new ones at least 8 ms (5 tries)", "≥ 50%"},
		{"somebody else is there", "foreign traffic", func(e *Evidence) { e.Traffic.Theirs = 1400 }, false,
			"the server ended 1,400 requests, 1,200 were sent from here", "≤ 1,215"},
		{"aborted requests are not counted there", "foreign traffic", func(e *Evidence) { e.Traffic.Theirs = 1100 }, true,
			"the server ended 1,100 requests, 1,200 were sent from here", "≤ 1,215"},
		{"restarted", "server restart", func(e *Evidence) { e.Server.Restarted = true }, false, "the server's counters were reset", "none"},
		{"four fifths of the load", "realised work", func(e *Evidence) { e.Summary.Requests.Due = 800 }, false, "800 requests due, 1,000 planned", "863 to 1,143"},
		{"nothing came due", "realised work", func(e *Evidence) {
			e.Summary.Requests.Due, e.Summary.Rates.Asked = 0, ptr(1.44)
		}, false, "0 requests due, 144 planned", "94 to 200"},
		{"a lucky draw", "realised work", func(e *Evidence) { e.Summary.Requests.Due = 1100 }, true, "1,100 requests due, 1,000 planned", "863 to 1,143"},
		{"bursts", "realised work", func(e *Evidence) { e.Summary.Requests.Due, e.Dispersion = 800, 4 }, true, "800 requests due, 1,000 planned", "731 to 1,297"},
		{"a metronome that missed ten beats", "realised work", func(e *Evidence) { e.Summary.Requests.Due, e.Dispersion = 990, 0 }, false, "990 requests due, 1,000 planned", "999 to 1,001"},
		{"sessions of several turns", "realised work", func(e *Evidence) {
			e.Summary.Requests.Due, e.Summary.Requests.Sessions = 4200, 1010
		}, true, "1,010 sessions due, 1,000 planned", "863 to 1,143"},
		{"prefixes shared on purpose", "cache contamination", func(e *Evidence) {
			e.Summary.Tokens.Cached, e.DesignedCache = 260_000, ptr(0.45)
		}, true, "50% of prompt tokens cached by usage, 45% designed", "≤ 60%"},
		{"more cached than is shared on purpose", "cache contamination", func(e *Evidence) {
			e.Summary.Tokens.Cached, e.DesignedCache = 260_000, ptr(0.3)
		}, false, "50% of prompt tokens cached by usage, 30% designed", "≤ 44%"},
		{"more cached than designed in a few requests", "cache contamination", func(e *Evidence) {
			e.Summary.Requests.OK, e.Summary.Tokens.Cached, e.DesignedCache = 100, 384_800, ptr(0.61)
		}, true, "74% of prompt tokens cached by usage, 61% designed", "≤ 86%"},
	}
	for _, tt := range tests {
		t.Run(tt.check+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			e := sound()
			tt.change(&e)
			got, _ := find(t, e, tt.check)
			if got == nil {
				t.Fatal("not asked")
			}
			if (got.Cure == "") != got.OK {
				t.Errorf("ok %v with the cure %q", got.OK, got.Cure)
			}
			want := &result.Check{Name: tt.check, OK: tt.ok, Figure: tt.figure, Threshold: tt.limit, Cure: got.Cure, Setup: got.Setup, Spoils: got.Spoils}
			expect.Same(t, want, got)
		})
	}
}

// No proxy stands before a server on this machine.
func TestNoProxyIsBlamedOnLoopback(t *testing.T) {
	t.Parallel()
	for _, local := range []bool{false, true} {
		e := sound()
		e.Summary.Tokens.Buffered, e.Client.SharesHost = 900, local
		got, _ := find(t, e, "buffered stream")
		if got == nil || strings.Contains(got.Cure, "proxy") == local {
			t.Errorf("server on this machine %v: %+v", local, got)
		}
	}
}

func TestWhatCannotBeAskedSaysWhy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		check  string
		change func(*Evidence)
		want   string
	}{
		{"killed in flight", "realised work", func(e *Evidence) { e.Partial = true }, "requests that were in flight when the run was killed left no record"},
		{"a plain run", "realised work", func(e *Evidence) { e.Plain = true }, "the window of a plain run outlasts its arrivals"},
		{"nothing sent", "lag", func(e *Evidence) { e.Summary.Latency.Lag = nil }, "no request was sent in the window"},
		{"nothing due", "due against sent", func(e *Evidence) { e.Summary.Requests = metric.Requests{} }, "no request was due in the window"},
		{"held back by a cap", "due against sent", func(e *Evidence) {
			e.Load.Mode, e.Summary.Requests.Unsent = "capped", 300
		}, "the cap held back 300 of 1,000 requests to the end; slot_wait shows the waiting"},
		{"no CPU time", "own CPU", func(e *Evidence) { e.Client.CPUSeconds = 0 }, "the system does not say how much CPU time the process took"},
		{"monotonic stamps", "clock steps", func(e *Evidence) { e.Client.Timestamps.Source = "user" }, "arrivals are stamped with the monotonic clock, which does not step"},
		{"no success", "output lengths", func(e *Evidence) { e.Summary.Requests.OK = 0 }, "no request succeeded"},
		{"the model ends replies", "output lengths", func(e *Evidence) { e.Natural = true }, "the model ends replies by itself, as the workload asks"},
		{"no length asked", "output lengths", func(e *Evidence) { e.Summary.Tokens.AskedOutput = 0 }, "no output length was asked for"},
		{"events only", "output lengths", func(e *Evidence) { e.Summary.Tokens.Counted = map[string]int{"events": 1000} },
			"the server reports no usage: its tokens were not counted in its own vocabulary"},
		{"no prompt usage", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.PromptLengths = nil }, "the server reports no prompt tokens"},
		{"no design", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.AskedPrompt = 0 }, "no prompt length was designed"},
		{"killed before it looked", "scheduler delay", func(e *Evidence) { e.Client = result.Client{} }, unwatchedClient.figure},
		{"killed before it looked", "clock steps", func(e *Evidence) { e.Client = result.Client{} }, unwatchedClient.figure},
		{"killed before it looked", "own CPU", func(e *Evidence) { e.Client = result.Client{} }, unwatchedClient.figure},
		{"killed before it looked", "client-side coalescing", func(e *Evidence) { e.Client = result.Client{} }, unwatchedClient.figure},
		{"nothing streamed", "buffered stream", func(e *Evidence) { e.Summary.Tokens.Events = 0 }, "nothing was streamed"},
		{"nothing streamed", "client-side coalescing", func(e *Evidence) { e.Summary.Tokens.Events = 0 }, "nothing was streamed"},
		{"another system", "ports and files", func(e *Evidence) { e.Client.Machine = telemetry.MachineUse{} }, "the system does not say how many files are open"},
		{"another system", "throttled machine", func(e *Evidence) { e.Client.Machine = telemetry.MachineUse{} }, "the system does not say whether the machine was held back"},
		{"another system", "shared host", func(e *Evidence) { e.Client.Machine = telemetry.MachineUse{} }, "the server runs on this machine, which does not say how busy it is"},
		{"rebuilt without its workload", "cache contamination", func(e *Evidence) { e.DesignedCache = nil }, "how much the workload repeats on purpose is no longer known"},
		{"no metrics, nothing cached", "cache contamination", func(e *Evidence) { e.Server = nil }, "the server does not say what it had cached"},
		{"no usage and no hit rate", "cache contamination", func(e *Evidence) {
			e.Server.PrefixHitRate, e.Summary.Tokens.Prompt = nil, 0
		}, "the server reports no prompt tokens"},
		{"slow server", "response cache", func(e *Evidence) { e.Repeat = nil }, "too few requests were repeated: the server is slow, or the budget is small"},
		{"no metrics", "foreign traffic", func(e *Evidence) { e.Traffic = nil }, "the server's own count of requests is not known"},
		{"no metrics", "server restart", func(e *Evidence) { e.Server = nil }, "the server's own metrics are not known"},
		{"silent engine", "engine schedule", func(e *Evidence) { e.Engine = nil }, "the embedded engine did not report its timing"},
	}
	for _, tt := range tests {
		t.Run(tt.check+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			e := sound()
			e.Strict = true // which asks everything
			tt.change(&e)
			answer, open := find(t, e, tt.check)
			if answer != nil || open == nil || open.Why != tt.want {
				t.Errorf("answer %+v, unchecked %+v; want %q", answer, open, tt.want)
			}
		})
	}
}

func TestARemoteEngineIsNotAskedForItsSchedule(t *testing.T) {
	t.Parallel()
	e := sound()
	e.Embedded, e.Engine = false, nil
	if answer, open := find(t, e, "engine schedule"); answer != nil || open != nil {
		t.Errorf("answer %+v, unchecked %+v; want neither", answer, open)
	}
}

func TestErrorsOfTheServerNeverMakeARunInvalid(t *testing.T) {
	t.Parallel()
	e := sound()
	e.Summary.Requests = metric.Requests{Due: 1000, Sent: 1000, OK: 400, Rejected: 300, Failed: 200, Censored: 100}
	e.Summary.Tokens.Output, e.Summary.Tokens.AskedOutput = 40_000, 40_000
	overload := true
	e.Summary.Window.Overload = &overload
	checks := Judge(e).Checks
	for _, c := range checks {
		if !c.OK {
			t.Errorf("%s fires at %s", c.Name, c.Figure)
		}
	}
	if len(checks) == 0 {
		t.Error("nothing was checked")
	}
}

// The cure for replies of another length is one that the API in use has.
func TestLengthCureFitsTheAPI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		keeps bool
		want  []string
		not   string
	}{
		{"a word was sent and not heeded", true, []string{"ignore_eos", "--extra-body", "workload.natural"}, "no word"},
		{"the API has no such word", false, []string{"cannot force", "workload.natural"}, "ignore_eos"},
	} {
		e := sound()
		e.KeepsLength, e.Summary.Tokens.Output = tt.keeps, 10_000
		failed, _ := find(t, e, "output lengths")
		cure := failed.Cure
		for _, want := range tt.want {
			if !strings.Contains(cure, want) {
				t.Errorf("%s: the cure does not say %q: %s", tt.name, want, cure)
			}
		}
		if strings.Contains(cure, tt.not) {
			t.Errorf("%s: the cure says %q: %s", tt.name, tt.not, cure)
		}
	}
}
