package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/client"
	"redline/internal/drive/load"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

func TestRetriesAreCompleted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		plan, flag string
		want       load.Retries
	}{
		{"seed: 1", "", load.Retries{}},
		{"seed: 1", "2", load.Retries{Max: 2, Outcomes: []llm.Outcome{llm.Rejected, llm.Connect}, Backoff: 500 * time.Millisecond, MaxWait: 30 * time.Second}},
		{"load_profile: {retries: {max: 5, outcomes: timeout, max_wait: 1m}}", "",
			load.Retries{Max: 5, Outcomes: []llm.Outcome{llm.Timeout}, Backoff: 500 * time.Millisecond, MaxWait: time.Minute}},
		{"load_profile: {retries: {max: 5, backoff: 2s}}", "1",
			load.Retries{Max: 1, Outcomes: []llm.Outcome{llm.Rejected, llm.Connect}, Backoff: 2 * time.Second, MaxWait: 30 * time.Second}},
	} {
		in := Input{PlanPath: writePlan(t, tt.plan)}
		if tt.flag != "" {
			in.Flags = flags("--max-retries=" + tt.flag)
		}
		expect.NoDiff(t, cmp.Diff(tt.want, mustResolve(t, in).Load.Bounds.Retries), "%s with --max-retries=%s (-want +got)", tt.plan, tt.flag)
	}
}

func TestTimeoutsComeFromFlags(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{PlanPath: writePlan(t, "provider: {timeouts: {idle: 9s, total: 1m}}"),
		Flags: flags("--timeout=2m", "--header-timeout=3s", "--first-token-timeout=4s")})
	want := client.Timeouts{Header: 3 * time.Second, FirstToken: 4 * time.Second, Idle: 9 * time.Second, Total: 2 * time.Minute}
	expect.Same(t, want, c.Provider.Timeouts)
}

// Proxies come from the environment and leave no trace in the resolved plan,
// since they may hold a password.
func TestProxiesAreNoPartOfThePlan(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, Input{Flags: flags("--url=https://api.example.com"), LookupEnv: env(map[string]string{
		"HTTPS_PROXY": "http://me:hidden-word@proxy:3128", "no_proxy": "internal"})})
	want := client.Proxies{HTTPS: "http://me:hidden-word@proxy:3128", No: "internal"}
	expect.Same(t, want, c.Provider.Proxies)
	plan := must.Get(c.YAML())(t)
	if strings.Contains(string(plan), "prox") || strings.Contains(string(plan), "hidden") {
		t.Errorf("the plan tells of the proxy:\n%s", plan)
	}
}

// Doing without the kernel's stamps is the environment's alone, as proxies are.
func TestNoKernelStampsIsNoPartOfThePlan(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"1": true, "false": false} {
		c := mustResolve(t, Input{LookupEnv: env(map[string]string{"REDLINE_NO_KERNEL_STAMPS": value})})
		plan := must.Get(c.YAML())(t)
		if c.Provider.NoKernelStamps != want || strings.Contains(string(plan), "stamps") {
			t.Errorf("%q gives %v, want %v, in the plan\n%s", value, c.Provider.NoKernelStamps, want, plan)
		}
	}
	const want = `REDLINE_NO_KERNEL_STAMPS: expected true or false, got "maybe"`
	_, err := Resolve(Input{LookupEnv: env(map[string]string{"REDLINE_NO_KERNEL_STAMPS": "maybe"})})
	if err == nil || err.Error() != want {
		t.Errorf("Resolve says %v\n       want  %s", err, want)
	}
}

func TestProxyThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	environment := env(map[string]string{"HTTP_PROXY": "socks5://me:hidden-word@proxy:1080"})
	_, err := Resolve(Input{Flags: flags("--url=http://engine:8000"), LookupEnv: environment})
	const want = "HTTP_PROXY: a proxy of the kind socks5:// is not supported, expected http://host:port; NO_PROXY=engine goes without"
	if err == nil || err.Error() != want {
		t.Errorf("Resolve says %v\n       want  %s", err, want)
	}
	// It is in nobody's way where it is not needed.
	mustResolve(t, Input{LookupEnv: environment})
	mustResolve(t, Input{Flags: flags("--url=https://engine"), LookupEnv: environment})
	mustResolve(t, Input{Flags: flags("--url=http://127.0.0.1:8000"), LookupEnv: environment})
}
