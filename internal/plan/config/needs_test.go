package config

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/must"
)

// A flag that would do nothing is refused with its own name and a cure; the same
// setting in a plan or in the environment, which serve several commands, is not.
func TestFlagsThatDoNothing(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "trace.csv")
	rows := "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.98,100,20\n2023-11-16 18:17:04.03,110,20\n"
	must.Write(t, trace, rows)
	prompts := must.File(t, "prompts.txt", "What is a limit?\nWhat is a knee?\n")
	for _, tt := range []struct {
		name, command, flags string
		refused, cure        string // refused is "" where the flags are fine
	}{
		{"a trace faster, at a rate", "run", "workload=" + trace + " speedup=2 rate=5", "--speedup", "leave out one"},
		{"a trace faster, by users", "run", "workload=" + trace + " speedup=2 concurrency=5", "--speedup", "leave out one"},
		{"a trace faster, as recorded", "run", "workload=" + trace + " speedup=2", "", ""},
		{"prompts faster", "run", "workload=" + prompts + " speedup=2", "--speedup", "leave it out"},
		{"a trace faster, in levels", "sweep", "workload=" + trace + " speedup=2", "--speedup", "redline run"},
		{"levels of a search", "sweep", "rates=1,2 find-limit=true slo=chat", "--rates", "--find-limit"},
		{"users of a search", "sweep", "concurrencies=1,2 find-limit=true slo=chat", "--concurrencies", "--find-limit"},
		{"length of a search's levels", "sweep", "duration=5s find-limit=true slo=chat", "--duration", "--find-limit"},
		{"levels", "sweep", "rates=1,2 duration=5s", "", ""},
		{"budget of no search", "sweep", "rates=1,2 budget=5m", "--budget", "add --find-limit"},
		{"sustained without a search", "sweep", "sustained=5m", "--sustained", "add --find-limit"},
		{"budget of a search", "sweep", "find-limit=true slo=chat budget=5m", "", ""},
		{"budget of the protocol, which searches anyway", "bench", "budget=5m", "", ""},
		{"ceiling beside levels", "sweep", "rates=1,2 ceiling=4", "--ceiling", "leave out one"},
		{"start beside levels", "sweep", "rates=1,2 start=4", "--start", "leave out one"},
		{"arrivals of closed loops", "sweep", "concurrencies=1,2 arrival=constant", "--arrival", "leave it out"},
		{"pace of levels that are users", "sweep", "concurrencies=1,2 pace=1s", "", ""},
		{"thorough, and a length", "bench", "thorough=true sustained=5m", "--thorough", "leave out one"},
		{"an end to what has one", "run", "slo=chat duration=2m max-duration=4m", "--max-duration", "leave out one"},
		{"an end to so many requests", "run", "slo=chat requests=500 max-duration=4m", "--max-duration", "leave out one"},
		{"an end with nothing to decide", "run", "max-duration=4m", "--max-duration", "--slo"},
		{"an end to a trace", "run", "workload=" + trace + " slo=chat max-duration=4m", "--max-duration", "--duration"},
		{"an end to repeats", "run", "slo=chat repeat=3 max-duration=4m", "--max-duration", "--duration"},
		{"an end", "run", "slo=chat max-duration=4m", "", ""},
		{"limit of nothing", "run", "limit=22", "--limit", "--profile overload"},
		{"limit of an overload", "run", "limit=22 profile=overload", "", ""},
		{"one run, counted anyway", "run", "anyway=true", "--anyway", "add --repeat"},
		{"repeats, counted anyway", "run", "anyway=true repeat=3", "", ""},
		{"strict, and anyway", "sweep", "anyway=true strict=true", "--anyway", "--strict"},
		{"token times of whole replies", "run", "no-stream=true token-times=5%", "--token-times", "leave it out"},
		{"token times of embeddings", "run", "url=http://h/v1/embeddings token-times=0.5", "--token-times", "leave it out"},
		{"token times", "run", "token-times=5%", "", ""},
		{"certificates of the embedded engine", "run", "insecure=true", "--insecure", "https"},
		{"certificates of plain http", "run", "url=http://h ca-cert=a.pem", "--ca-cert", "https"},
		{"unverified https", "run", "url=https://h insecure=true", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			flags, env := map[string][]string{}, map[string]string{}
			for word := range strings.FieldsSeq(tt.flags) {
				name, value, _ := strings.Cut(word, "=")
				flags[name] = []string{value}
				env["REDLINE_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
			}
			_, err := Resolve(Input{Command: tt.command, Flags: flags})
			switch {
			case tt.refused == "" && err != nil:
				t.Fatalf("got %v, want no error", err)
			case tt.refused != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.refused+": ") || !strings.Contains(err.Error(), tt.cure)):
				t.Fatalf("got %v, want %s refused, with %q", err, tt.refused, tt.cure)
			}
			if tt.refused == "--ca-cert" {
				return // the file is looked for whoever names it
			}
			if _, err := Resolve(Input{Command: tt.command, LookupEnv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }}); err != nil {
				t.Errorf("by the environment: %v", err)
			}
		})
	}
}

// A plan cannot ask for a search and for levels; but a flag may ask for a search
// in place of a plan's levels, and another command has no use for either.
func TestAPlanThatContradictsItself(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command, plan string
		flags               map[string][]string
		want                string
	}{
		{"users", "sweep", "sla_thresholds: [chat]\nexperiment:\n  find_limit: true\n  concurrencies: [1, 2]\n", nil, ":4: experiment.concurrencies: is for levels that are given"},
		{"rates", "sweep", "sla_thresholds: [chat]\nexperiment:\n  rates: [1, 2]\n  find_limit: true\n", nil, ":3: experiment.rates: is for levels that are given"},
		{"levels and no search", "sweep", "experiment: {find_limit: false, rates: [1, 2]}", nil, ""},
		{"a search by flag", "sweep", "sla_thresholds: [chat]\nexperiment: {rates: [1, 2]}", map[string][]string{"find-limit": {"true"}}, ""},
		{"another command", "run", "sla_thresholds: [chat]\nexperiment: {rates: [1, 2], find_limit: true}", nil, ""},
	} {
		_, err := Resolve(Input{Command: tt.command, PlanPath: writePlan(t, tt.plan), Flags: tt.flags})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// What is refused is named as it was given: the flag or the variable, not the
// plan's key.
func TestNamedAsGiven(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flag, value, with, want string
	}{
		{"sustained", "5s", "", "--sustained: must be at least 10s, which is the shortest level (experiment.shortest), got 5s"},
		{"ca-cert", "nowhere.pem", "url=https://h", "--ca-cert: open nowhere.pem: no such file or directory"},
		{"client-cert", "nowhere.pem", "url=https://h", "--client-cert: nowhere.pem: open nowhere.pem: no such file or directory"},
		{"timeout", "-5s", "", "--timeout: expected a positive duration such as 2m, got -5s"},
		{"gpu", "L4", "model=llama-3.1-405b", "--gpu: llama-3.1-405b at bf16 (756 GiB of weights) does not fit 1 × L4: tp 64 would"},
		{"model", "llama-3.1-405b", "", "--model: llama-3.1-405b at bf16 (756 GiB of weights) does not fit 1 × H100-SXM: tp 16 would"},
	} {
		flags := map[string][]string{tt.flag: {tt.value}}
		if name, value, ok := strings.Cut(tt.with, "="); ok {
			flags[name] = []string{value}
		}
		if _, err := Resolve(Input{Command: "run", Flags: flags}); err == nil || err.Error() != tt.want {
			t.Errorf("--%s %s:\n got %v\nwant %s", tt.flag, tt.value, err, tt.want)
		}
	}
}
