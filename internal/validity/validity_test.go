package validity

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/metric"
	"redline/internal/result"
)

// sound is the evidence of a run with nothing wrong.
func sound() Evidence {
	dist := func(n int, p50, p99 float64) *metric.Dist {
		return &metric.Dist{N: n, P: map[string]float64{"p50": p50, "p99": p99}}
	}
	return Evidence{
		Summary: metric.Summary{
			Requests: metric.Requests{Due: 1000, Sent: 1000, OK: 1000},
			Latency:  metric.Latency{Lag: dist(1000, 0.02, 0.08), TTFT: dist(1000, 50, 90), TPOT: dist(1000, 20, 22)},
			Tokens: metric.Tokens{Prompt: 520_000, AskedPrompt: 500_000, Output: 100_000, AskedOutput: 100_000,
				Counted: map[string]int{"usage": 1000}, PromptLengths: dist(1000, 520, 520)},
		},
		Client: result.Client{OS: "linux", CPUs: 2, CPUSeconds: 10, CPUShare: 0.31, GCPauseMS: 0.21, ClockStepMS: 0.003,
			Timestamps: result.Timestamps{Source: "kernel"}},
		Load:     result.Load{Mode: "open"},
		Embedded: true,
		Engine:   &Lateness{P99: 180_000, Max: 2_400_000},
	}
}

func TestASoundRunPassesEveryCheck(t *testing.T) {
	t.Parallel()
	answered, open := Judge(sound())
	want := []result.Check{
		{Name: "lag", OK: true, Figure: "p99 0.08 ms", Threshold: "≤ 1 ms"},
		{Name: "due against sent", OK: true, Figure: "0 of 1000 unsent", Threshold: "≤ 0.1 %"},
		{Name: "own CPU", OK: true, Figure: "31 % of 2 cores", Threshold: "< 85 %"},
		{Name: "GC pause", OK: true, Figure: "longest 0.21 ms", Threshold: "≤ 10 ms"},
		{Name: "clock steps", OK: true, Figure: "largest 0.003 ms", Threshold: "≤ 1 ms"},
		{Name: "output lengths", OK: true, Figure: "mean 100 tokens, 100 asked; 0 of 1000 replies of another length", Threshold: "± 10 %"},
		{Name: "prompt lengths", OK: true, Figure: "mean 520 tokens, 500 asked", Threshold: "± 114 tokens"},
		{Name: "engine schedule", OK: true, Figure: "p99 0.18 ms, max 2.4 ms", Threshold: "≤ 2 ms"},
	}
	if diff := cmp.Diff(want, answered); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
	var names []string
	for _, u := range open {
		if u.Why == "" {
			t.Errorf("%s is unchecked without a reason", u.Name)
		}
		names = append(names, u.Name)
	}
	wantOpen := []string{"scheduler delay", "client-side coalescing", "ports and files", "cache contamination", "foreign traffic", "server restart"}
	if diff := cmp.Diff(wantOpen, names); diff != "" {
		t.Errorf("unchecked, want −, got +:\n%s", diff)
	}
}

// find gives the answer to one question.
func find(t *testing.T, e Evidence, name string) (*result.Check, *result.Unchecked) {
	t.Helper()
	answered, open := Judge(e)
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
		{"sent late", "lag", func(e *Evidence) { e.Summary.Latency.Lag.P["p99"] = 1.234 }, false, "p99 1.2 ms", "≤ 1 ms"},
		{"late by less than a hundredth of the ttft", "lag", func(e *Evidence) {
			e.Summary.Latency.Lag.P["p99"] = 12
			e.Summary.Latency.TTFT.P["p50"] = 1500
		}, true, "p99 12 ms", "≤ 15 ms"},
		{"not streamed: the floor stands", "lag", func(e *Evidence) { e.Summary.Latency.TTFT = nil }, true, "p99 0.08 ms", "≤ 1 ms"},
		{"two in a thousand unsent", "due against sent", func(e *Evidence) { e.Summary.Requests.Unsent = 2 }, false, "2 of 1000 unsent", "≤ 0.1 %"},
		{"one in a thousand unsent", "due against sent", func(e *Evidence) { e.Summary.Requests.Unsent = 1 }, true, "1 of 1000 unsent", "≤ 0.1 %"},
		{"busy", "own CPU", func(e *Evidence) { e.Client.CPUShare = 0.93 }, false, "93 % of 2 cores", "< 85 %"},
		{"busy but not too busy", "own CPU", func(e *Evidence) { e.Client.CPUs, e.Client.CPUShare = 1, 0.8 }, true, "80 % of 1 core", "< 85 %"},
		{"stopped", "GC pause", func(e *Evidence) { e.Client.GCPauseMS = 25.4 }, false, "longest 25 ms", "≤ 10 ms"},
		{"stopped under user-space stamps", "GC pause", func(e *Evidence) {
			e.Client.GCPauseMS, e.Client.Timestamps.Source = 2.5, "user"
		}, false, "longest 2.5 ms", "≤ 2 ms"},
		{"a short stop under user-space stamps", "GC pause", func(e *Evidence) {
			e.Client.GCPauseMS, e.Client.Timestamps.Source = 1.5, "user"
		}, true, "longest 1.5 ms", "≤ 2 ms"},
		{"clock set back", "clock steps", func(e *Evidence) { e.Client.ClockStepMS = -40 }, false, "largest 40 ms", "≤ 1 ms"},
		{"clock nudged", "clock steps", func(e *Evidence) { e.Client.ClockStepMS = 0.9 }, true, "largest 0.9 ms", "≤ 1 ms"},
		{"replies cut short", "output lengths", func(e *Evidence) {
			e.Summary.Requests.Short, e.Summary.Tokens.Output = 300, 89_000
		}, false, "mean 89 tokens, 100 asked; 300 of 1000 replies of another length", "± 10 %"},
		{"a few replies cut short", "output lengths", func(e *Evidence) {
			e.Summary.Requests.Short, e.Summary.Tokens.Output = 50, 98_000
		}, true, "mean 98 tokens, 100 asked; 50 of 1000 replies of another length", "± 10 %"},
		{"prompts longer than designed", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.Prompt = 620_000 }, false, "mean 620 tokens, 500 asked", "± 114 tokens"},
		{"prompts shorter than designed", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.Prompt = 380_000 }, false, "mean 380 tokens, 500 asked", "± 114 tokens"},
		{"a chat template", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.Prompt = 600_000 }, true, "mean 600 tokens, 500 asked", "± 114 tokens"},
		{"engine behind", "engine schedule", func(e *Evidence) { e.Engine.P99, e.Engine.Max = 3_100_000, 19_000_000 }, false, "p99 3.1 ms, max 19 ms", "≤ 2 ms"},
		{"fast engine, the floor stands", "engine schedule", func(e *Evidence) { e.Summary.Latency.TPOT.P["p50"] = 5 }, true, "p99 0.18 ms, max 2.4 ms", "≤ 1 ms"},
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
			want := &result.Check{Name: tt.check, OK: tt.ok, Figure: tt.figure, Threshold: tt.limit, Cure: got.Cure}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want −, got +:\n%s", diff)
			}
		})
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
		{"nothing sent", "lag", func(e *Evidence) { e.Summary.Latency.Lag = nil }, "no request was sent in the window"},
		{"nothing due", "due against sent", func(e *Evidence) { e.Summary.Requests = metric.Requests{} }, "no request was due in the window"},
		{"held back by a cap", "due against sent", func(e *Evidence) {
			e.Load.Mode, e.Summary.Requests.Unsent = "capped", 300
		}, "the cap held 300 of 1000 requests back to the end; slot_wait shows the waiting"},
		{"no CPU time", "own CPU", func(e *Evidence) { e.Client.CPUSeconds = 0 }, "the system does not say how much CPU time the process took"},
		{"monotonic stamps", "clock steps", func(e *Evidence) { e.Client.Timestamps.Source = "user" }, "arrivals are stamped with the monotonic clock, which does not step"},
		{"no success", "output lengths", func(e *Evidence) { e.Summary.Requests.OK = 0 }, "no request succeeded"},
		{"no length asked", "output lengths", func(e *Evidence) { e.Summary.Tokens.AskedOutput = 0 }, "no output length was asked for"},
		{"events only", "output lengths", func(e *Evidence) { e.Summary.Tokens.Counted = map[string]int{"events": 1000} },
			"output was counted by events: its length in tokens is not known"},
		{"no prompt usage", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.PromptLengths = nil }, "the server reports no prompt tokens"},
		{"no design", "prompt lengths", func(e *Evidence) { e.Summary.Tokens.AskedPrompt = 0 }, "no prompt length was designed"},
		{"silent engine", "engine schedule", func(e *Evidence) { e.Engine = nil }, "the embedded engine gave no account of its times"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := sound()
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
	overload := true
	e.Summary.Window.Overload = &overload
	answered, _ := Judge(e)
	for _, c := range answered {
		if !c.OK {
			t.Errorf("%s fires at %s", c.Name, c.Figure)
		}
	}
}
