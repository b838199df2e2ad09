package config

import "testing"

// Without a host figures are served on this machine alone, and a receiver has
// OTLP's own path.
func TestPublishing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ flag, given, want string }{
		{"metrics-listen", ":9464", "127.0.0.1:9464"},
		{"metrics-listen", "9464", "127.0.0.1:9464"},
		{"metrics-listen", "0.0.0.0:9464", "0.0.0.0:9464"},
		{"metrics-listen", "[::1]:9464", "[::1]:9464"},
		{"otlp", "http://localhost:4318", "http://localhost:4318/v1/metrics"},
		{"otlp", "https://host/tenant/", "https://host/tenant/v1/metrics"},
		{"otlp", "http://localhost:4318/v1/metrics", "http://localhost:4318/v1/metrics"},
	} {
		c, err := Resolve(Input{Flags: map[string][]string{tt.flag: {tt.given}}})
		if err != nil {
			t.Errorf("--%s %s: %v", tt.flag, tt.given, err)
			continue
		}
		if got := c.Metrics.Listen + c.Metrics.OTLP; got != tt.want {
			t.Errorf("--%s %s is %s, want %s", tt.flag, tt.given, got, tt.want)
		}
	}
}
