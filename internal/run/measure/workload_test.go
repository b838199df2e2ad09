package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// recorded are the times of a small trace in milliseconds, uneven and with two
// requests at once.
var recorded = []int64{0, 3, 250, 250, 1_000, 1_017, 4_444, 9_001}

func recordedTrace(t *testing.T) string {
	var b strings.Builder
	b.WriteString("timestamp,prompt_tokens,output_tokens\n")
	for i, at := range recorded {
		fmt.Fprintf(&b, "%d.%03d,%d,%d\n", 1_700_000_000+at/1000, at%1000, 50+i, 5+i)
	}
	return must.File(t, "log.csv", b.String())
}

// Every request of a trace is sent when it was recorded, to the nanosecond.
func TestTraceIsSentAtItsTimes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags map[string][]string
		times func(ms int64) int64
		first int // row
		last  int
	}{
		{"as recorded", nil, func(ms int64) int64 { return ms * 1e6 }, 0, 7},
		{"four times as fast", map[string][]string{"speedup": {"4"}}, func(ms int64) int64 { return ms * 1e6 / 4 }, 0, 7},
		{"a slice", map[string][]string{"from": {"200ms"}, "for": {"1s"}}, func(ms int64) int64 { return (ms - 200) * 1e6 }, 2, 5},
	} {
		flags := map[string][]string{"url": {"http://sim"}, "workload": {recordedTrace(t)}}
		for name, values := range tt.flags {
			flags[name] = values
		}
		runVirtual(t, flags, "", func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
			type sent struct {
				At    int64
				Asked [2]int
			}
			var got, want []sent
			records := sentRecords(t, dir)
			start := records[0].Due - tt.times(recorded[tt.first])
			for _, r := range records {
				got = append(got, sent{r.Sent - start, [2]int{r.AskedPrompt, r.AskedOutput}})
				if r.Sent != r.Due {
					t.Errorf("%s: request %d was sent %v after it was due", tt.name, r.ID, time.Duration(r.Sent-r.Due))
				}
			}
			for i := tt.first; i <= tt.last; i++ {
				want = append(want, sent{tt.times(recorded[i]), [2]int{50 + i, 5 + i}})
			}
			expect.NoDiff(t, cmp.Diff(want, got), "%s: -want +got", tt.name)
			if n := res.Points[0].Requests; n.Due != len(want) || n.OK != len(want) {
				t.Errorf("%s: %d of %d requests are measured, want all %d", tt.name, n.OK, n.Due, len(want))
			}
		})
	}
}

// Blocks that a Mooncake trace shares become prompts that the server's cache
// knows: what it finds is what was designed, but for the ends of blocks.
func TestMooncakeBlocksAreFoundInTheCache(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		// A system prompt that all share, a document of every third request,
		// and a question of its own.
		fmt.Fprintf(&b, `{"timestamp":%d,"input_length":1400,"output_length":4,"hash_ids":[1,%d,%d]}`+"\n", 1000*i, 100+i%3, 1000+i)
	}
	flags := map[string][]string{"url": {"http://sim"}, "workload": {must.File(t, "mooncake.jsonl", b.String())}}
	runVirtual(t, flags, "", func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
		var prompt, cached float64
		for _, r := range sentRecords(t, dir) {
			prompt += float64(r.PromptTokens)
			cached += float64(r.CachedTokens)
		}
		// All but the first find the system prompt, all but three their
		// document, of 512 tokens each.
		designed := float64(59*512+57*512) / (60 * 1400)
		if got := cached / prompt; math.Abs(got-designed) > 0.02 {
			t.Errorf("the server found %.3f of the prompts in its cache, %.3f are designed", got, designed)
		}
		for _, c := range res.Verdict.Checks {
			if c.Name == "cache contamination" && !c.OK {
				t.Errorf("what was designed is taken for contamination: %+v", c)
			}
		}
	})
}

// A profile's requests come due when its steps say.
func TestProfileIsSentByItsSteps(t *testing.T) {
	flags := map[string][]string{"url": {"http://sim"}, "profile": {"steps(2:10s,10:10s)"}, "arrival": {"constant"},
		"duration": {"20s"}, "warmup": {"0s"}, "workload": {"fixed(16,2)"}}
	runVirtual(t, flags, "", func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
		gaps := map[time.Duration]int{}
		var before int64
		for i, r := range sentRecords(t, dir) {
			if r.Phase == record.Measure && i > 0 {
				gaps[time.Duration(r.Due-before)]++
			}
			before = r.Due
		}
		want := map[time.Duration]int{500 * time.Millisecond: 19, 100 * time.Millisecond: 99}
		for gap, n := range want {
			if gaps[gap] < n-1 || gaps[gap] > n+1 {
				t.Errorf("%d gaps of %v, want %d: %v", gaps[gap], gap, n, gaps)
			}
		}
		if !res.Points[0].Window.Varies {
			t.Error("the window is not said to vary by plan")
		}
	})
}

// Whoever interrupts while long files are read is not kept waiting.
func TestReadingIsInterrupted(t *testing.T) {
	t.Parallel()
	stop, never := make(chan struct{}), make(chan struct{})
	close(stop)
	defer close(never)
	if _, err := Await(stop, func() (int, error) { <-never; return 1, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
