package doctor

import (
	"encoding/json"
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

func TestJSONHoldsFindingsAndEvidence(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(judge(sound(), []*Endpoint{able()}, today))
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(text, &got); err != nil {
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
