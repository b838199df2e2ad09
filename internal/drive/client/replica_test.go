package client

import (
	"fmt"
	"strings"
	"testing"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"

	"github.com/google/go-cmp/cmp"
)

// The user's own header wins, then the order of the table, whatever the order of the
// headers.
func TestReplicaHeaders(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		own     string
		headers [][2]string
		want    llm.ServedBy
	}{
		{"", [][2]string{{"X-Gateway-Destination-Endpoint-Served", "10.0.0.3:8000"}}, llm.ServedBy{Replica: "10.0.0.3:8000"}},
		{"", [][2]string{{"X-Served-By", "edge"}, {"target-pod", "pod-a"}}, llm.ServedBy{Replica: "pod-a"}},
		{"", [][2]string{{"target-pod", "pod-a"}, {"x-served-by", "edge"}}, llm.ServedBy{Replica: "pod-a"}},
		{"x-my-pod", [][2]string{{"X-My-Pod", "mine"}, {"target-pod", "pod-a"}}, llm.ServedBy{Replica: "mine"}},
		{"", [][2]string{{"x-sgl-decode-url", "http://user:key@d-1:9/x?k=1"}, {"x-sgl-prefill-url", "http://p-1:9"}}, llm.ServedBy{Replica: "d-1:9", Prefiller: "p-1:9"}},
		{"", [][2]string{{"X-data-parallel-rank", "3"}}, llm.ServedBy{Replica: "rank 3"}},
		{"", [][2]string{{"target-pod", "a"}, {"X-data-parallel-rank", "3"}}, llm.ServedBy{Replica: "a/3"}},
		{"", [][2]string{{"target-pod", ""}, {"X-Request-Id", "7"}}, llm.ServedBy{}},
	} {
		var p placing
		for _, h := range row.headers {
			p.note([]byte(h[0]), h[1], row.own)
		}
		expect.NoDiff(t, cmp.Diff(row.want, p.servedBy()), "%v (-want +got)", row.headers)
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	make := func(spread string) *Client {
		c := must.Get(New(Spec{URLs: []string{"http://a:1", "http://b:1", "http://c:1"}, Model: "m", Spread: spread}, Options{Clock: clock.New()}))(t)
		t.Cleanup(c.Close)
		return c
	}
	turn, fewest, sticky := make(""), make(LeastInFlight), make(Sticky)
	var order, after string
	used := map[*endpoint]bool{}
	for i := range 6 {
		order += turn.take(&llm.Request{}).host[:1]
		session := &llm.Request{Session: fmt.Sprint("s", i)}
		first := sticky.take(session)
		used[first] = true
		for range 5 {
			if again := sticky.take(session); again != first {
				t.Errorf("a session goes to %s and to %s", first.host, again.host)
			}
		}
	}
	busy := fewest.take(&llm.Request{})
	for range 6 {
		ep := fewest.take(&llm.Request{})
		after += ep.host[:1]
		if ep != busy {
			fewest.leave(ep)
		}
	}
	if order != "abcabc" || strings.Contains(after, "a") {
		t.Errorf("in turn %s; with one that stays at a: %s", order, after)
	}
	if len(used) < 2 {
		t.Error("all sessions go to one")
	}
	if err := (Spec{Spread: "stick"}).Validate(); err == nil {
		t.Error("an unknown way is taken")
	}
}
