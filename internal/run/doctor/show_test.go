package doctor

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumbersReadWell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{span(0), "0 ns"}, {span(999), "999 ns"}, {span(1400), "1.4 µs"}, {span(23_456), "23.5 µs"}, {span(5_000_000), "5 ms"},
		{span(123_456_789), "123 ms"}, {span(7_000_000_000), "7 s"}, {span(-2_500_000), "-2.5 ms"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	r := &Report{Verdict: "1 problem: reachable", Machine: &Machine{System: "linux/arm64"}, Findings: []Finding{
		{Check: "cores", About: "machine", Mark: OK, What: "cores", Figure: "8 cores"},
		{Check: "governor", About: "machine", Mark: Unread, What: "CPU governor", Figure: "not readable here"},
		{Check: "pacing", About: "machine", Mark: Warn, What: "pacing error", Figure: "p99 2 ms", Cure: "stop it"},
		{Check: "reach", About: "http://a", Mark: Bad, What: "reachable", Figure: "refused", Cure: "start it"},
	}}
	want := `1 problem: reachable

this machine (linux/arm64)
  ok    cores         8 cores
  –     CPU governor  not readable here
  warn  pacing error  p99 2 ms → stop it

http://a
  bad   reachable     refused → start it
`
	var plain, coloured strings.Builder
	if err := Text(&plain, r, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, plain.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := Text(&coloured, r, true); err != nil {
		t.Fatal(err)
	}
	bare := strings.NewReplacer("\x1b[1;31m", "", "\x1b[1m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(coloured.String())
	if diff := cmp.Diff(want, bare); diff != "" || !strings.Contains(coloured.String(), "\x1b[31mbad \x1b[0m") {
		t.Errorf("in colour (-want +got, colours taken out):\n%s", diff)
	}
}

type closed struct{}

var errClosed = errors.New("closed")

func (closed) Write([]byte) (int, error) { return 0, errClosed }

func TestAnAnswerThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	r := judge(sound(), nil, today)
	if err := Text(closed{}, r, false); !errors.Is(err, errClosed) {
		t.Errorf("text: %v", err)
	}
	if err := JSON(closed{}, r); !errors.Is(err, errClosed) {
		t.Errorf("JSON: %v", err)
	}
}

func TestJSONHoldsFindingsAndEvidence(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := JSON(&b, judge(sound(), []*Endpoint{able()}, today)); err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "redline/doctor/1" || !got.Ready || len(got.Findings) != len(machineChecks)+len(endpointChecks) {
		t.Errorf("%s, ready %v, %d findings", got.Schema, got.Ready, len(got.Findings))
	}
	if diff := cmp.Diff(sound(), got.Machine); diff != "" {
		t.Errorf("the machine does not survive (-want +got):\n%s", diff)
	}
	if got.Endpoints[0].Again.Cached != 80 || !got.Endpoints[0].Session.Expires.Equal(today.AddDate(0, 0, 90)) {
		t.Errorf("the endpoint does not survive: %+v", got.Endpoints[0])
	}
}
