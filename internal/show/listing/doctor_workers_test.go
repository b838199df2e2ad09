package listing

import (
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/validity"
	"redline/internal/must"
	"redline/internal/run/doctor"
	"redline/internal/show/document"
)

// TestDoctorOfWorkers: a row for each worker, and what is not well once for each
// machine, as the worst of its workers found it.
func TestDoctorOfWorkers(t *testing.T) {
	t.Parallel()
	fine := validity.Finding{Check: "cores", About: "machine", Mark: validity.OK, What: "cores", Figure: "8 cores"}
	late := func(mark validity.Mark, figure string) validity.Finding {
		return validity.Finding{Check: "pacing", About: "machine", Mark: mark, What: "pacing error", Figure: figure, Cure: "stop it"}
	}
	far := validity.Finding{Check: "reach", About: "http://a", Mark: validity.Warn, What: "reachable", Figure: "round trip 90 ms", Cure: "go nearer"}
	r := &doctor.Report{Ready: true, Verdict: "ready", Machine: &validity.Machine{System: "linux/arm64"}, Findings: []validity.Finding{fine, late(validity.Warn, "p99 2 ms")}}
	for _, w := range []struct {
		name, host string
		handshake  int64
		findings   []validity.Finding
	}{
		{"w1", "here", 50_000, []validity.Finding{fine, late(validity.Bad, "p99 30 ms")}},
		{"w2", "here", 60_000, []validity.Finding{fine}},
		{"w3", "there", 90_000_000, []validity.Finding{fine, far}},
	} {
		m := &validity.Machine{System: "linux/amd64", Pacing: validity.Spread{N: 9, P99: 70_000}, Requests: validity.RequestDrive{Rate: 18_000},
			Tokens: validity.TokenDrive{{Offered: 50_000, Got: 50_000}}}
		r.Join(&doctor.Worker{Name: w.name, Host: w.host, Report: &doctor.Report{Machine: m, Findings: w.findings,
			Endpoints: []*validity.Endpoint{{URL: "http://a", Handshake: validity.Spread{N: 5, P50: w.handshake}}}}})
	}
	want := `1 problem: pacing error

worker  machine  tokens/s  requests/s  pacing error p99  round trip to the server  problems
  w1    here          50k         18k             70 µs                     50 µs  1 bad
  w2    here          50k         18k             70 µs                     60 µs  none
  w3    there         50k         18k             70 µs                     90 ms  1 warn

this machine (linux/arm64), w1 and w2
  bad   pacing error  p99 30 ms → stop it

there (linux/amd64), w3 → http://a
  warn  reachable     round trip 90 ms → go nearer

  --json has all findings of every worker
`
	var got strings.Builder
	must.Do(t, document.Terminal(&got, Doctor(r, "here"), document.TerminalOptions{}))
	expect.Same(t, want, got.String())
}
