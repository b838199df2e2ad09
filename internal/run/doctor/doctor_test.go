package doctor

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/validity"
	"redline/internal/must"
)

// drivingMachine is a machine of which nothing is known but what it drives.
func drivingMachine() *validity.Machine {
	return &validity.Machine{Cores: 8, Pacing: validity.Spread{N: 200, P50: 1500, P99: 80_000},
		Tokens: validity.TokenDrive{{Offered: 50_000, Got: 50_000}}, Requests: validity.RequestDrive{Rate: 6100, OK: 9150}}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	dead := &validity.Endpoint{URL: "http://a/v1", Unreachable: "refused the connection"}
	reply := &validity.Reply{TTFT: int64(40 * time.Millisecond), E2E: int64(190 * time.Millisecond), Events: 16, Arrivals: 16, Usage: true, Output: 16}
	well := &validity.Endpoint{URL: "http://b/v1", Models: []string{"m"}, Model: "m", Cold: reply, Fresh: reply, Again: reply}
	here := *well
	here.Local = true
	failing, warned, weak := drivingMachine(), drivingMachine(), drivingMachine()
	failing.Requests.Failed = 3
	warned.Governors = []string{"powersave"}
	weak.Tokens = nil
	for _, c := range []struct {
		name      string
		machine   *validity.Machine
		endpoints []*validity.Endpoint
		ready     bool
		want      string
	}{
		{"all well", drivingMachine(), nil, true, "ready: drives about 50k tokens/s and 6.1k requests/s here"},
		{"with a server", drivingMachine(), []*validity.Endpoint{well}, true, "ready: drives about 50k tokens/s and 6.1k requests/s here; m answers in 40 ms"},
		{"with warnings", warned, []*validity.Endpoint{&here}, true, "ready: drives about 50k tokens/s and 6.1k requests/s here; m answers in 40 ms; 2 warnings"},
		{"a weak machine", weak, nil, true, "ready: drives fewer than 5k tokens/s and 6.1k requests/s here; 1 warning"},
		{"a problem", drivingMachine(), []*validity.Endpoint{well, dead}, false, "1 problem: reachable"},
		{"two", failing, []*validity.Endpoint{dead}, false, "2 problems: requests it can drive, reachable"},
	} {
		r := judge(c.machine, c.endpoints, time.Now())
		if r.Ready != c.ready || r.Verdict != c.want {
			t.Errorf("%s: ready %v, %q; want %v, %q", c.name, r.Ready, r.Verdict, c.ready, c.want)
		}
		text := must.Get(json.Marshal(r))(t)
		var got Report
		must.Do(t, json.Unmarshal(text, &got))
		if diff := cmp.Diff(r.Findings, got.Findings); diff != "" || got.Schema != "redline/doctor/1" || len(got.Endpoints) != len(c.endpoints) {
			t.Errorf("%s: it does not survive as JSON (-want +got):\n%s", c.name, diff)
		}
		expect.NoDiff(t, cmp.Diff(c.machine, got.Machine), "%s: the machine does not survive as JSON (-want +got)", c.name)
	}
}
