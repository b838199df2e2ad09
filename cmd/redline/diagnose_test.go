package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"redline/internal/answer/diagnose"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/config"
)

// shellWords splits a command as a shell does, as far as diagnose quotes.
func shellWords(text string) []string {
	var words []string
	word, quoted, some, escaped := "", false, false, false
	for _, c := range text {
		if c == '#' && !some { // a comment
			break
		}
		switch {
		case escaped:
			word, escaped = word+string(c), false
		case c == '\\' && !quoted:
			escaped = true
		case c == '\'':
			quoted, some = !quoted, true
		case c == ' ' && !quoted:
			if some {
				words = append(words, word)
			}
			word, some = "", false
		default:
			word, some = word+string(c), true
		}
	}
	if some {
		words = append(words, word)
	}
	return words
}

// parses reports why a command line would be refused before it does anything.
func parses(t *testing.T, text, plan string) error {
	t.Helper()
	words := shellWords(text)
	if len(words) < 2 || words[0] != "redline" {
		return fmt.Errorf("%q is no redline command", text)
	}
	p := &process{stdout: new(buffer), stderr: new(buffer), lookupEnv: func(string) (string, bool) { return "", false }}
	command, rest, err := p.root().Find(words[1:])
	if err != nil {
		return err
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	if args := command.Flags().Args(); len(args) > 0 {
		return fmt.Errorf("arguments %q", args)
	}
	given := map[string][]string{}
	command.Flags().Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(flagValue); ok {
			given[f.Name] = *v.given
		}
	})
	in := config.Input{Flags: given, LookupEnv: p.lookupEnv}
	if given["plan"] != nil {
		in.PlanPath = plan
		delete(given, "plan")
	}
	_, err = config.Resolve(in)
	return err
}

// What diagnose tells users to type is taken by the program, whatever was
// measured.
func TestConfirmingCommandsParse(t *testing.T) {
	t.Parallel()
	lengths := &metric.Dist{N: 100, Mean: 812.5, P: map[string]float64{"p50": 700.5, "p95": 4000}}
	summary := metric.Summary{Tokens: metric.Tokens{PromptLengths: lengths, OutputLengths: lengths},
		Concurrency: metric.Concurrency{Mean: 21.7}, Rates: metric.Rates{Completed: 3.27}}
	open, closed := result.Point{Summary: summary, Load: result.Load{Mode: "open", Rate: new(12.3456)}},
		result.Point{Summary: summary, Load: result.Load{Mode: "closed", Concurrency: new(8)}}
	agents := result.Point{Summary: summary, Load: result.Load{Mode: "closed", Concurrency: new(8), Agents: true}}
	open.Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms"}, {Objective: "error:rate<1%"}, {Objective: "good:fraction>0.99"},
		{Objective: "ttft:p99<1s", Scope: slo.Scope{Class: "chat"}}}
	engine := map[string]any{"sim": map[string]any{"model": "llama-3.1-70b", "gpu": "H200", "tp": 4, "max_num_seqs": 8, "memory_share": 0.2,
		"net_delay": "40ms", "rate_limit": 5, "cold_start": "20s", "num_gpu_blocks_override": 4000, "prefill_first": true, "enable_prefix_caching": false}}
	plan := must.File(t, "plan.yaml", "provider: {api_endpoint: http://server:8000}\nworkload: shared_rag\n")
	for name, res := range map[string]*result.Result{
		"server": {Engine: result.Engine{URL: "http://server:8000/v1/chat/completions"}, Model: result.Model{Name: "my model's"},
			Plan: map[string]any{"workload": "agent_loop"}},
		"embedded":        {Engine: result.Engine{Embedded: true, URL: "http://127.0.0.1:1"}, Plan: map[string]any{"workload": "shared_rag", "server": engine}},
		"agents":          {Engine: result.Engine{URL: "http://server:8000"}, Plan: map[string]any{"workload": "coding_agent"}},
		"a plan's blocks": {Engine: result.Engine{URL: "http://server:8000"}, Plan: map[string]any{"workload": map[string]any{"preset": "shared_rag"}}},
	} {
		res.Points = []result.Point{open, closed}
		if name == "agents" {
			res.Points = []result.Point{agents}
		}
		for i := range diagnose.Rules {
			if diagnose.Rules[i].OfAgents && name != "agents" {
				continue
			}
			for point := range res.Points {
				text := diagnose.Rules[i].Confirm(res, point)
				if err := parses(t, text, plan); err != nil {
					t.Errorf("%s, %s: %s: %v", name, diagnose.Rules[i].Regime, text, err)
				}
			}
		}
	}
	if parses(t, "redline run --no-such-flag", "") == nil || parses(t, "redline run --rate x", "") == nil {
		t.Error("nonsense parses")
	}
	if got := strings.Join(shellWords(`a 'b c' d='e f'`), "|"); got != "a|b c|d=e f" {
		t.Errorf("words %s", got)
	}
}
