package config

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/must"
)

// TestMistakesAboutWorkersAreNamed: by the flag, the variable or the plan's key
// that was used.
func TestMistakesAboutWorkersAreNamed(t *testing.T) {
	t.Parallel()
	const plan = "workers:\n  count: 2\n  nats: nats://nats:4222\n"
	for _, tt := range []struct{ plan, flags, env, want string }{
		{"", "workers=0", "", "--workers: must be 1 to 10000, got 0; leave it out to send from this process"},
		{"", "", "REDLINE_WORKERS=0", "REDLINE_WORKERS: must be 1 to 10000, got 0; leave it out to send from this process"},
		{"workers:\n  count: 0\n", "", "", "plan.yaml:2: workers.count: must be 1 to 10000"},
		{"", "workers=2 workers-wait=0s", "", "--workers-wait: expected a time above 0, got 0s"},
		{"", "workers=2 nats-listen=banana", "", `--nats-listen: expected an address such as :4222 (this machine alone) or 0.0.0.0:4222, got "banana"`},
		{"", "workers=2 nats-listen=0.0.0.0:65536", "", `0.0.0.0:4222, got "0.0.0.0:65536"`},
		{"", "metrics-listen=:99999", "", `0.0.0.0:9464, got ":99999"`},
		{"", "workers=2 nats=nats://a nats-listen=:4222", "", "--nats-listen: is for a NATS server of our own, but --nats names another"},
		{"", "workers=2 nats=nats://a:4222,http://b", "", `--nats: expected the URL of a NATS server such as nats://localhost:4222 or tls://nats:4222, got "http://b"`},
		{"", "workers=2 nats=nats://a:4222,", "", `got ""`},
		{"", "workers=2 nats=nats://a:4222,nats://u:p@b:4222", "", "expected a URL without a password"},
		{"", "workers=2 nats-listen=:4222", "REDLINE_NATS=nats://a", "but REDLINE_NATS names another"},
		{plan, "nats-listen=:4222", "", "--nats-listen: is for a NATS server of our own, but workers.nats names another"},
	} {
		in := Input{Command: "run", Flags: map[string][]string{}, LookupEnv: func(name string) (string, bool) {
			value, ok := strings.CutPrefix(tt.env, name+"=")
			return value, ok
		}}
		for _, pair := range strings.Fields(tt.flags) {
			name, value, _ := strings.Cut(pair, "=")
			in.Flags[name] = []string{value}
		}
		if tt.plan != "" {
			in.PlanPath = filepath.Join(t.TempDir(), "plan.yaml")
			must.Write(t, in.PlanPath, tt.plan)
		}
		if _, err := Resolve(in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if err := NATSAddress("nats://a:4222, tls://b"); err != nil {
		t.Errorf("two servers of a cluster: %v", err)
	}
	in := Input{Command: "run", Flags: map[string][]string{"workers": {"2"}, "nats-listen": {"4222"}}}
	if c, err := Resolve(in); err != nil || c.Workers.Listen != "127.0.0.1:4222" || c.Workers.Wait != workersWait {
		t.Errorf("%+v, %v", c, err)
	}
}
