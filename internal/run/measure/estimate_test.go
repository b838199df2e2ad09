package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/traffic/token"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// A server that is not on this machine and wants a key may send a bill: its
// user is told what to expect, in money where prices are known.
func TestEstimateBeforeAPaidAPI(t *testing.T) {
	running := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{Pace: time.Millisecond}))(t)
	defer running.Close()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(running.URL(), "http://"))
	}
	for _, tt := range []struct {
		name  string
		url   string
		price float64
		want  []string
	}{
		{"priced", "http://api.example.com", 1000, []string{"estimate: about ", " tokens", "USD"}},
		{"no price", "http://api.example.com", 0, []string{"estimate: about ", " tokens", "no price known"}},
		{"on this machine", "http://localhost", 1000, nil},
	} {
		var said []string
		cfg := must.Get(config.Resolve(config.Input{Seed: 1, Flags: map[string][]string{"url": {tt.url}, "requests": {"10"},
			"concurrency": {"2"}, "warmup": {"0s"}, "workload": {"fixed(16,5)"}, "api-key-env": {"KEY"},
			"out": {filepath.Join(t.TempDir(), "run")}},
			LookupEnv: func(name string) (string, bool) { return "secret", name == "KEY" }}))(t)
		cfg.Cost.Per1MPromptTokens, cfg.Cost.Per1MOutputTokens = tt.price, tt.price
		must.Get2(Run(t.Context(), Options{Config: cfg, Dial: dial,
			Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}))(t)
		line := strings.Join(said, "; ")
		if tt.want == nil && line != "" {
			t.Errorf("%s: said %q, want nothing", tt.name, line)
		}
		for _, want := range tt.want {
			if !strings.Contains(line, want) {
				t.Errorf("%s: said %q, want %q in it", tt.name, line, want)
			}
		}
	}
}

// A length that cannot decide is named before the run, with one that would.
func TestTooShortALength(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags map[string][]string
		want  string
	}{
		{map[string][]string{"rate": {"2"}, "duration": {"60s"}, "slo": {"ttft:p99<500ms", "tpot:p95<50ms"}},
			"about 120 requests come in 60 s, too few to call ttft:p99<500ms met, which takes at least 299, and more where slow ones come together: give --duration 150s or more, or no length"},
		{map[string][]string{"rate": {"2"}, "duration": {"60s"}, "slo": {"tpot:p95<50ms"}}, ""},
		{map[string][]string{"rate": {"2"}, "duration": {"60s"}, "slo": {"ttft:p99<500ms"}, "confidence": {"0.6"}}, ""},
		{map[string][]string{"requests": {"58"}, "concurrency": {"4"}, "slo": {"e2e:p95<50s"}},
			"58 requests are too few to call e2e:p95<50s met, which takes at least 59, and more where slow ones come together: give --requests 59 or more, or no length"},
		{map[string][]string{"requests": {"59"}, "concurrency": {"4"}, "slo": {"e2e:p95<50s"}}, ""},
		{map[string][]string{"rate": {"2"}, "duration": {"60s"}, "slo": {"error:rate<1%"}},
			"about 120 requests come in 60 s, too few to call error:rate<1% met, which takes at least 299, and more where slow ones come together: give --duration 150s or more, or no length"},
		{map[string][]string{"rate": {"1"}, "duration": {"90s"}, "slo": {"e2e:p99<50s"}, "workload": {"multi_turn_chat"}}, ""},
		{map[string][]string{"rate": {"2"}, "max-duration": {"60s"}, "slo": {"ttft:p99<500ms"}}, ""},
		{map[string][]string{"rate": {"2"}, "duration": {"60s"}, "slo": {"itl:p99<50ms", "throughput:min>100", "e2e:mean<5s"}}, ""},
		{map[string][]string{"rate": {"2"}, "duration": {"60s"}}, ""},
		{map[string][]string{"rate": {"6"}, "duration": {"60s"}, "slo": {"ttft:p99<500ms"}, "workload": {"mix"}}, ""},
		{map[string][]string{"rate": {"6"}, "duration": {"60s"}, "slo": {"class=chat ttft:p99<500ms"}, "workload": {"mix"}}, // of which 37% is chat
			"about 508 requests come in 60 s, too few to call class=chat ttft:p99<500ms met, which takes at least 799, and more where slow ones come together: give --duration 100s or more, or no length"},
		{map[string][]string{"concurrency": {"2"}, "duration": {"60s"}, "slo": {"ttft:p99<500ms"}},
			"about 40 requests come in 60 s, too few to call ttft:p99<500ms met, which takes at least 299, and more where slow ones come together: give --duration 450s or more, or no length"},
		{map[string][]string{"concurrency": {"20"}, "pace": {"30s"}, "duration": {"60s"}, "slo": {"ttft:p99<500ms"}},
			"about 40 requests come in 60 s, too few to call ttft:p99<500ms met, which takes at least 299, and more where slow ones come together: give --duration 450s or more, or no length"},
		{map[string][]string{"concurrency": {"2"}, "duration": {"60s"}, "slo": {"ttft:p99<500ms"}, "workload": {"multi_turn_chat"}}, // a turn at a time
			"about 40 requests come in 60 s, too few to call ttft:p99<500ms met, which takes at least 299, and more where slow ones come together: give --duration 450s or more, or no length"},
	} {
		if got := planRun(t, tt.flags).tooShort(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.flags, got, tt.want)
		}
	}
}

// A limit on tokens that ends the plan early is named before anything is sent, and
// one that the warm-up would use up is refused with its cure.
func TestLimitsThatEndThePlanEarly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit, warmup string
		length        []string
		said, refused []string
	}{
		{limit: "100000"},
		{limit: "20000", said: []string{"the plan needs about 250 requests, 37k tokens", "--max-tokens-total 20000 ends it early", "about 130 requests"}},
		// 53 requests of 150 tokens, of which 18 come after the window.
		{limit: "8000", refused: []string{"--max-tokens-total 8000", "warm-up of about 50 requests", "37k tokens", "give --warmup 0s --duration 11s or less"}},
		{limit: "8000", length: []string{"requests", "180"}, refused: []string{"give --warmup 0s --requests 35 or fewer"}},
		{limit: "3000", refused: []string{"give --warmup 0s --requests 2 or fewer"}},
		{limit: "2000", refused: []string{"raise it: even 10 requests without a warm-up take about 4.2k tokens"}},
		{limit: "8000", warmup: "0s", said: []string{"ends it early, after about 53 requests"}},
		{limit: "8000", warmup: "0s", length: []string{"duration", "11s"}},
		{limit: "8000", warmup: "0s", length: []string{"requests", "35"}},
	} {
		flags := map[string][]string{"rate": {"3"}, "duration": {"60s"}, "workload": {"fixed(100,50)"}, "max-tokens-total": {tt.limit}}
		if tt.length != nil {
			delete(flags, "duration")
			flags[tt.length[0]] = tt.length[1:]
		}
		if tt.warmup != "" {
			flags["warmup"] = []string{tt.warmup}
		}
		said, err := planRun(t, flags).endsEarly()
		var plan *config.Error
		if (said != "") != (tt.said != nil) || errors.As(err, &plan) != (tt.refused != nil) {
			t.Errorf("limit %s: said %q, refused %v", tt.limit, said, err)
			continue
		}
		for _, want := range tt.said {
			if !strings.Contains(said, want) {
				t.Errorf("limit %s: said %q, want %q in it", tt.limit, said, want)
			}
		}
		for _, want := range tt.refused {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("limit %s: refused by %q, want %q in it", tt.limit, err, want)
			}
		}
	}
}

// Every turn of a session is paid for; in a closed loop it takes the time of the
// session's other turns.
func TestExpectedRequestsCountTurns(t *testing.T) {
	t.Parallel()
	with := func(load, value string) map[string][]string {
		return map[string][]string{load: {value}, "duration": {"60s"}, "warmup": {"0s"}, "workload": {"multi_turn_chat"}}
	}
	requests := func(r *run) float64 {
		before, window, after := r.expectedRequests()
		return before + window + after
	}
	open := planRun(t, with("rate", "2"))
	turns := open.work.Conversation().Turns
	if got, want := requests(open), 2*turns*(60+2*3); turns < 2 || math.Abs(got-want) > 1e-6 {
		t.Errorf("%.4g requests of sessions of %.3g turns, want %.4g", got, turns, want)
	}
	if got, want := requests(planRun(t, with("concurrency", "6"))), 2.0*(60+2*3); math.Abs(got-want) > 1e-6 {
		t.Errorf("closed loop: %.4g requests, want %.4g", got, want)
	}
}

// planRun is a run whose replies are expected to take three seconds.
func planRun(t *testing.T, flags map[string][]string) *run {
	t.Helper()
	c := must.Get(config.Resolve(config.Input{Flags: flags, Seed: 1}))(t)
	r := &run{Options: Options{Config: c}, target: &Target{}, text: token.O200k()}
	must.Do(t, r.openWorkload())
	t.Cleanup(func() { r.work.Close() })
	r.e2e = 3 * time.Second
	return r
}
