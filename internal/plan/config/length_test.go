package config

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// A single run with objectives and no length goes on until they are decided;
// everything else has a length.
func TestLengths(t *testing.T) {
	t.Parallel()
	const slo = "--slo=ttft:p99<500ms"
	for _, tt := range []struct {
		command        string
		flags          []string
		duration, most time.Duration
		requests       int
		untilDecided   bool
	}{
		{"run", nil, time.Minute, 0, 0, false},
		{"run", []string{slo}, 0, 5 * time.Minute, 0, true},
		{"run", []string{slo, "--max-duration=1m"}, 0, time.Minute, 0, true},
		{"run", []string{slo, "--concurrency=4", "--max-duration=20m"}, 0, 20 * time.Minute, 0, true},
		{"run", []string{slo, "--rare=30s"}, 0, 5 * time.Minute, 0, true},
		{"run", []string{slo, "--rare=5m"}, 0, 15 * time.Minute, 0, true},
		{"run", []string{"--rare=5m"}, 15 * time.Minute, 0, 0, false},
		{"run", []string{slo, "--rare=5m", "--duration=15m"}, 15 * time.Minute, 0, 0, false},
		{"run", []string{slo, "--duration=30s"}, 30 * time.Second, 0, 0, false},
		{"run", []string{slo, "--requests=50"}, 0, 0, 50, false},
		{"run", []string{slo, "--repeat=3"}, time.Minute, 0, 0, false},
		{"sweep", []string{slo, "--rates=1,2"}, time.Minute, 0, 0, false},
		{"compare", []string{slo}, time.Minute, 0, 0, false},
	} {
		c := mustResolve(t, Input{Command: tt.command, Flags: flags(tt.flags...)})
		b := c.Load.Bounds
		got := []any{b.Duration, b.MaxDuration, b.TotalRequests, c.UntilDecided()}
		expect.NoDiff(t, cmp.Diff([]any{tt.duration, tt.most, tt.requests, tt.untilDecided}, got), "%s %v", tt.command, tt.flags)
	}
}

// A run of the plan that a run left behind has the length that it had, and the
// confidence.
func TestKeptPlanGoesOnToo(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{Command: "run", Flags: flags("--slo=ttft:p99<500ms", "--confidence=0.9")})
	kept := must.Get(c.YAML())(t)
	path := writePlan(t, string(kept))
	for _, command := range []string{"", "run"} {
		again := mustResolve(t, Input{Command: command, PlanPath: path})
		if !again.UntilDecided() || again.Load.Bounds.MaxDuration != 5*time.Minute || again.Confidence != 0.9 {
			t.Errorf("command %q: bounds %+v, confidence %v", command, again.Load.Bounds, again.Confidence)
		}
	}
	if swept := mustResolve(t, Input{Command: "sweep", PlanPath: path}); swept.UntilDecided() || swept.Load.Bounds.Duration != time.Minute {
		t.Errorf("a sweep of it: bounds %+v", swept.Load.Bounds)
	}
	given := mustResolve(t, Input{Command: "run", PlanPath: path, Flags: flags("--duration=90s")})
	if given.UntilDecided() || given.Load.Bounds.MaxDuration != 0 {
		t.Errorf("with a length: bounds %+v", given.Load.Bounds)
	}
}

func TestWrongLengthsAndObjectives(t *testing.T) {
	t.Parallel()
	const objective = "sla_thresholds: [\"ttft:p99<500ms\"]\n"
	for _, tt := range []struct {
		plan  string
		flags []string
		want  string // how it begins
		cure  string
	}{
		{"", []string{"--slo=chat", "--max-duration=30s"}, "--max-duration: expected a duration from 1m", "--duration"},
		{objective + "load_profile: {max_duration: 5s}\n", nil, "plan.yaml:2: load_profile.max_duration: expected a duration from 1m", "--duration"},
		{objective + "load_profile: {max_duration: 5m, duration: 2m}\n", nil, "plan.yaml:2: load_profile.max_duration: ", "leave out one"},
		{"", []string{"--slo=chat", "--rare=0s"}, "--rare: expected a duration above 0", "5m"},
		{"", []string{"--slo=chat", "--rare=5m", "--duration=2m"}, "--rare: what happens every 5m0s takes a window of 15m0s", "give a longer one"},
		{"", []string{"--slo=chat", "--rare=5m", "--max-duration=10m"}, "--rare: what happens every 5m0s takes a window of 15m0s", "give a longer one"},
		{objective + "load_profile: {rare: 5m, total_requests: 500}\n", nil, "plan.yaml:2: load_profile.rare: what happens every 5m0s", "give a duration"},
		{"", []string{"--confidence=0.4"}, "--confidence: expected a share from 0.5 to 0.999", "0.95"},
		{"", []string{"--confidence=0.9999"}, "--confidence: expected a share from 0.5 to 0.999", "0.95"},
		{"", []string{"--token-times=0"}, "--token-times: expected a share above 0 and up to 1", "5%"},
		{"", []string{"--token-times=101%"}, "--token-times: expected a share above 0 and up to 1", "5%"},
		{"token_times: -1\n", nil, "plan.yaml:1: token_times: expected a share above 0 and up to 1", "5%"},
		{"confidence: 95\n", nil, "plan.yaml:1: confidence: expected a share from 0.5 to 0.999", "0.95"},
		{"confidence: 0\n", nil, "plan.yaml:1: confidence: expected a share from 0.5 to 0.999", "0.95"},
		{"", []string{"--no-stream", "--slo=itl:p99<50ms"}, `--slo: "itl:p99<50ms" cannot be measured: replies are not streamed (--no-stream)`, "e2e:p99"},
		{"", []string{"--no-stream", "--slo=error:rate<1%", "--slo=tpot:mean<50ms"}, `--slo: "tpot:mean<50ms" cannot be measured`, "e2e:mean"},
		{objective + "provider: {stream: false}\n", nil, `plan.yaml:1: sla_thresholds: "ttft:p99<500ms" cannot be measured: replies are not streamed (provider.stream: false)`, "leave it out"},
		{"", []string{"--url=http://h/v1/embeddings", "--slo=stall:max<1s"}, `--slo: "stall:max<1s" cannot be measured: replies of embeddings come whole`, "e2e:max"},
		{"", []string{"--url=http://h", "--api=rerank", "--slo=chat"}, `--slo: "ttft:p95<1s" cannot be measured: replies of rerank come whole`, "e2e:p95"},
		{"", []string{"--slo=ttft:p99<500ms", "--slo=cost:max<$2"}, `--slo: "cost:max<$2" cannot be measured: no price is given`, "--price-per-gpu-hour"},
	} {
		in := Input{Command: "run", Flags: flags(tt.flags...)}
		if tt.plan != "" {
			in.PlanPath = writePlan(t, tt.plan)
		}
		_, err := Resolve(in)
		if err == nil {
			t.Errorf("%s%v: no error, want %s", tt.plan, tt.flags, tt.want)
			continue
		}
		got := strings.TrimPrefix(err.Error(), filepath.Dir(in.PlanPath)+"/")
		if !strings.HasPrefix(got, tt.want) || !strings.Contains(got, tt.cure) {
			t.Errorf("%s%v: got %s, want %s… with %q", tt.plan, tt.flags, got, tt.want, tt.cure)
		}
	}
	mustResolve(t, Input{Command: "run", Flags: flags("--no-stream", "--slo=e2e:p99<5s", "--slo=error:rate<1%")})
	mustResolve(t, Input{Command: "run", Flags: flags("--slo=cost:max<$2", "--price-per-gpu-hour=2.5")})
}
