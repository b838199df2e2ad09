package measure

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/store"
	"redline/internal/twin/faults"
	"redline/internal/twin/sim"
)

// A run through every fault at once: each strikes one request in fifty,
// some for an hour. The run ends in time and every request has its fate.
func TestRunThroughEveryFault(t *testing.T) {
	var lines []string
	for _, k := range faults.Kinds {
		wait := ""
		if k.Usual != 0 {
			wait = "(1h)"
		}
		lines = append(lines, fmt.Sprintf("    - %q\n", k.Name+wait+":2%"))
	}
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	// This seed spares the first request, the one that comes before the load.
	text := "server:\n  sim:\n    seed: 3\n    faults:\n" + strings.Join(lines, "")
	must.Write(t, plan, text)
	flags := map[string][]string{"url": {"http://sim"}, "rate": {"20"}, "duration": {"30s"}, "warmup": {"0s"}, "drain": {"30s"},
		"workload": {"fixed(64,20)"}, "header-timeout": {"5s"}, "idle-timeout": {"2s"}}
	runVirtual(t, flags, plan, func(res *result.Result, _ *store.Dir, _ []*sim.Job) {
		r := res.Points[0].Requests
		if sum := r.OK + r.Rejected + r.Failed + r.Cancelled + r.Censored + r.Unsent; sum != r.Due || r.Due < 500 {
			t.Errorf("%d requests due, the fates of %d are known", r.Due, sum)
		}
		want := []string{}
		for _, o := range []llm.Outcome{llm.Rejected, llm.HTTP, llm.Timeout, llm.Reset, llm.Truncated, llm.Malformed, llm.ErrorEvent, llm.Empty} {
			want = append(want, string(o))
		}
		slices.Sort(want)
		expect.NoDiff(t, cmp.Diff(want, slices.Sorted(maps.Keys(r.Faults))), "faults (-want +got)")
		if r.Censored+r.Cancelled+r.Unsent != 0 {
			t.Errorf("%d censored, %d cancelled, %d unsent; want each request ended by a limit at most", r.Censored, r.Cancelled, r.Unsent)
		}
		if r.Short == 0 || r.Reconnects == 0 {
			t.Errorf("%d short, %d reconnects; want some of each", r.Short, r.Reconnects)
		}
		// The longest limit that anything can run into, beyond the window.
		if took := time.Since(res.Started); took > 40*time.Second {
			t.Errorf("the run took %v", took)
		}
	})
}
