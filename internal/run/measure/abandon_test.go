package measure

import (
	"slices"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// Requests that the load closes have an outcome of their own, end at their moment,
// and are counted into no objective; the engine forgets them.
func TestRequestsAreClosedAtTheirMoment(t *testing.T) {
	t.Parallel()
	for after, ends := range map[string]func(first, sent, end int64, events int) bool{
		"tokens(5)": func(_, _, _ int64, events int) bool { return events == 5 },
		"50ms":      func(_, sent, end int64, _ int) bool { return end-sent == 50e6 },
		"queue":     func(first, sent, end int64, _ int) bool { return first == 0 && end == sent },
		"prefill":   func(first, sent, end int64, events int) bool { return events <= 1 && (end > sent || first == 0) },
		"decode":    func(first, _, end int64, events int) bool { return first != 0 && events < 20 && end >= first },
	} {
		flags := map[string][]string{"url": {"http://sim"}, "rate": {"5"}, "requests": {"60"}, "warmup": {"0s"}, "workload": {"fixed(64,20)"},
			"cancel": {"50%"}, "cancel-after": {after}, "slo": {"error:rate<1%"}}
		runVirtual(t, flags, "", func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
			n := res.Points[0].Requests
			if n.Abandoned < 15 || n.OK+n.Abandoned != n.Due {
				t.Errorf("%s: %+v", after, n)
			}
			if v := res.Points[0].Objectives[0]; v.Value == nil || *v.Value != 0 {
				t.Errorf("%s: closed by redline, and counted: %+v", after, v)
			}
			for _, r := range sentRecords(t, dir) {
				if r.Outcome == llm.Abandoned && !ends(r.First, r.Sent, r.End, r.ChunkCount()) {
					t.Errorf("%s: closed %d ns after it was sent, first token after %d, %d events", after, r.End-r.Sent, r.First-r.Sent, r.ChunkCount())
				}
			}
		})
	}
}

// Replies that end before they could be closed leave fewer than asked for, which is
// said.
func TestFewerAreClosedThanAsked(t *testing.T) {
	t.Parallel()
	flags := map[string][]string{"url": {"http://sim"}, "rate": {"5"}, "requests": {"60"}, "warmup": {"0s"}, "workload": {"fixed(64,20)"},
		"cancel": {"50%"}, "cancel-after": {"tokens(uniform(1,200))"}}
	runVirtual(t, flags, "", func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
		if !slices.ContainsFunc(res.Warnings, func(w result.Warning) bool {
			return strings.Contains(w.Text, "--cancel asks to close 50% of the requests, but only")
		}) {
			t.Errorf("%d closed, and nothing is said: %+v", res.Points[0].Requests.Abandoned, res.Warnings)
		}
	})
}
