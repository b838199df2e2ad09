package listing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/run/doctor"
	"redline/internal/show/document"
)

// TestDoctorOfWorkers: a row for each worker, and what is not well once for each
// machine, as the worst of its workers found it.
func TestDoctorOfWorkers(t *testing.T) {
	t.Parallel()
	fine := doctor.Finding{Check: "cores", About: "machine", Mark: doctor.OK, What: "cores", Figure: "8 cores"}
	late := func(mark doctor.Mark, figure string) doctor.Finding {
		return doctor.Finding{Check: "pacing", About: "machine", Mark: mark, What: "pacing error", Figure: figure, Cure: "stop it"}
	}
	far := doctor.Finding{Check: "reach", About: "http://a", Mark: doctor.Warn, What: "reachable", Figure: "round trip 90 ms", Cure: "go nearer"}
	r := &doctor.Report{Ready: true, Verdict: "ready", Machine: &doctor.Machine{System: "linux/arm64"}, Findings: []doctor.Finding{fine, late(doctor.Warn, "p99 2 ms")}}
	for _, w := range []struct {
		name, host string
		handshake  int64
		findings   []doctor.Finding
	}{
		{"w1", "here", 50_000, []doctor.Finding{fine, late(doctor.Bad, "p99 30 ms")}},
		{"w2", "here", 60_000, []doctor.Finding{fine}},
		{"w3", "there", 90_000_000, []doctor.Finding{fine, far}},
	} {
		m := &doctor.Machine{System: "linux/amd64", Pacing: doctor.Spread{N: 9, P99: 70_000}, Requests: doctor.RequestDrive{Rate: 18_000},
			Tokens: doctor.TokenDrive{{Offered: 50_000, Got: 50_000}}}
		r.Join(&doctor.Worker{Name: w.name, Host: w.host, Report: &doctor.Report{Machine: m, Findings: w.findings,
			Endpoints: []*doctor.Endpoint{{URL: "http://a", Handshake: doctor.Spread{N: 5, P50: w.handshake}}}}})
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
	if err := document.Terminal(&got, Doctor(r, "here"), document.TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
