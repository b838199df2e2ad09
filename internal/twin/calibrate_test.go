package twin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/catalog"
	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// foreignSweep measures the foreign engine at several rates.
func foreignSweep(places int, length float64, rates ...float64) *Evidence {
	f := &foreign{places: places, r: rand.New(rand.NewPCG(1, 2))}
	ev := &Evidence{Model: "m", Engine: "foreign", From: []string{"runs/$x"}}
	for _, rate := range rates {
		l := f.level(rate, length)
		l.Name = fmt.Sprintf("%g/s", rate)
		ev.Levels = append(ev.Levels, l)
	}
	return ev
}

// A twin of an engine with another law, another scheduler and another front end
// foretells the levels that it was not fitted to, within its goals.
func TestTwinOfAForeignEngine(t *testing.T) {
	t.Parallel()
	c := must.Get(Calibrate(t.Context(), foreignSweep(40, effort.Of(16.0, 26), 2, 5, 9, 13, 17)))(t)
	for name, goal := range Goals {
		if got, ok := c.HeldOut[name]; !ok || got > goal {
			t.Errorf("%s: error %.3f on levels held out, want at most %.2f", name, got, goal)
		}
	}
	if !c.Good {
		t.Errorf("the twin is not called good: %v", c.HeldOut)
	}
	if c.Spec.MaxNumSeqs < 36 || c.Spec.MaxNumSeqs > 44 {
		t.Errorf("a batch of %d, the engine has places for 40 and requests waited for one", c.Spec.MaxNumSeqs)
	}
	if p := c.Parts[1]; p.Name != "batch size" || !p.Decided || strings.Contains(strings.Join(c.Notes, ""), "never full") {
		t.Errorf("the batch was full, and the calibration says %+v and %q", p, c.Notes)
	}
	if len(c.Rows) != 5 || c.Rows[0].HeldOut || !c.Rows[1].HeldOut || c.Rows[1].Level != "5/s" {
		t.Errorf("rows %+v", c.Rows)
	}
}

// Requests whose prompts are read are in flight and do not stream: they wait for no
// place in a batch that has many more.
func TestABatchThatWasNeverFullIsNotKnown(t *testing.T) {
	t.Parallel()
	c := &Calibration{Evidence: foreignSweep(40, 8, 17), Spec: sim.Spec{MaxNumSeqs: 256}}
	if seen := look(c.Evidence.Levels); seen.inFlight <= seen.streaming || c.filledBatch(seen) {
		t.Errorf("with %d in flight and %d streaming, a batch of 256 is called full", seen.inFlight, seen.streaming)
	}
	if said := strings.Join(c.notes(), "\n"); !strings.Contains(said, "never full, so its size is not known (256 assumed)") {
		t.Errorf("the notes are %q", said)
	}
}

// What is written down is read as the same engine.
func TestWrittenEngineIsRead(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		want := sim.Spec{Model: `odd "name"`, MaxNumSeqs: 7, MaxNumBatchedTokens: 4096, MaxModelLen: 4000, PrefillFirst: first,
			StepOverhead: 250 * time.Microsecond, RequestOverhead: 3 * time.Millisecond, NumGPUBlocksOverride: 999,
			Law: &catalog.Law{WeightsUS: 4321, TokenUS: 0.0001234, Corner: 1.5, SequenceUS: 1, ContextUS: 0.02, PairUS: 1e-7}}
		if first {
			want.EnableChunkedPrefill = new(bool)
			want.Law.ExpertsUS, want.Law.ExpertShare = 12_340, 0.0625
		}
		c := &Calibration{Spec: want, Engine: constantsOf(want), Evidence: &Evidence{From: []string{"runs/${HOME}"}},
			InFit: map[string]float64{"tpot": 0.01}}
		var text bytes.Buffer
		must.Do(t, c.WriteEngine(&text, "dev", time.Unix(0, 0), "a remark\n"))
		path := must.File(t, "engine.yaml", text.Bytes())
		got, err := config.ReadEngine(path)
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text.String())
		}
		expect.NoDiff(t, cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)), "read back (-written +read)")
	}
}

// One level is no test, and the notes say what to measure.
func TestLittleEvidenceSaysWhatToMeasure(t *testing.T) {
	t.Parallel()
	ev := foreignSweep(40, 12, 3)
	ev.Server = "http://a:1"
	c := must.Get(Calibrate(t.Context(), ev))(t)
	said := strings.Join(c.Notes, "\n")
	for _, want := range []string{"1 load cannot show", "redline sweep --url http://a:1 --rates ", "batch was never full", "num_gpu_blocks_override"} {
		if !strings.Contains(said, want) {
			t.Errorf("the notes lack %q:\n%s", want, said)
		}
	}
	if word, why := c.Verdict(); word != "UNTESTED TWIN" || c.HeldOut != nil {
		t.Errorf("%s: %s, held out %v", word, why, c.HeldOut)
	}
}

// Runs of one load stand on one side: those that are held out are of other loads.
func TestRunsOfOneLoadAreOne(t *testing.T) {
	t.Parallel()
	ev := &Evidence{Levels: []Level{{Name: "2/s"}, {Name: "4/s"}, {Name: "4/s"}, {Name: "8 in flight"}}}
	list, n := ev.loadOf()
	expect.NoDiff(t, cmp.Diff([]int{1, 2, 2, 3}, list), "loads (-want +got)")
	expect.Same(t, 3, n)
}

func TestCalibrationCanBeInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Calibrate(ctx, foreignSweep(40, 10, 3, 4, 5)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

// The walk finds the bottom of a curved valley.
func TestMinimise(t *testing.T) {
	t.Parallel()
	x, f := minimise(func(x []float64) float64 {
		a, b := 1-x[0], x[1]-x[0]*x[0]
		return a*a + 100*b*b
	}, []float64{-1.2, 1}, 0.5, 2000)
	if f > 1e-3 || cmp.Diff([]float64{1, 1}, x, cmpopts.EquateApprox(0, 0.05)) != "" {
		t.Errorf("%v at %v", f, x)
	}
}

// A twin is good where no level that its server could carry is far off, however
// good the median is.
func TestRangeOfATwin(t *testing.T) {
	t.Parallel()
	row := func(off float64, overloaded bool) Row {
		return Row{Level: fmt.Sprintf("%g off", off), Overloaded: overloaded, P50: map[string]Comparison{"ttft": {Error: off}, "tpot": {Error: 0.01}}}
	}
	for _, tt := range []struct {
		name  string
		rows  []Row
		good  bool
		holds int
		says  string
	}{
		{"all near", []Row{row(0.02, false), row(0.1, false), row(0.05, true)}, true, 3, "holds from 0.02 off to 0.05 off: no figure is off by more than 10%"},
		{"one far off inside", []Row{row(0.02, false), row(15.16, false), row(0.05, false)}, false, 1, "holds up to 0.02 off (at most 2% off); at 15.16 off it is 1,520% off"},
		{"far off where it was overloaded", []Row{row(0.02, false), row(0.1, false), row(0.7, true)}, true, 2, "at 0.7 off it is 70% off, where the server was overloaded"},
		{"far off from the start", []Row{row(0.3, false), row(0.1, false)}, false, 0, "at no level are all figures within 25%"},
	} {
		c := &Calibration{Rows: tt.rows, InFit: map[string]float64{"ttft": 0.05, "tpot": 0.01}}
		c.judge()
		if c.Good != tt.good || c.Holds != tt.holds || !strings.Contains(c.Range(), tt.says) {
			t.Errorf("%s: good %t, holds at %d levels, %q", tt.name, c.Good, c.Holds, c.Range())
		}
	}
}

// A poor twin says what to do next, and which ttft is meant.
func TestPoorTwinSaysWhatToDo(t *testing.T) {
	t.Parallel()
	c := &Calibration{HeldOut: map[string]float64{"ttft": 1.612, "tpot": 0.02}, Evidence: &Evidence{Levels: []Level{{Load: 1}, {Load: 4}}}}
	word, why := c.Verdict()
	for _, want := range []string{"ttft from sent 161.2% (goal 20%)", "measure more levels", "redline sweep --rates 1,", "calibrate again"} {
		if word != "POOR TWIN" || !strings.Contains(why, want) {
			t.Errorf("%s: %s, want %q in it", word, why, want)
		}
	}
	// Levels are named as they were asked for: sessions or jobs per second, or agents.
	for want, l := range map[string]Level{"redline sweep --rates 0.5,": {Load: 19, Asked: 0.5}, "redline sweep --concurrencies 8,": {Load: 1, Asked: 8, Recording: replay.Recording{Closed: true}}} {
		c.Evidence.Levels = []Level{l}
		if _, why := c.Verdict(); !strings.Contains(why, want) {
			t.Errorf("%s, want %q in it", why, want)
		}
	}
	c.Good = true
	if _, why := c.Verdict(); strings.Contains(why, "calibrate again") {
		t.Error(why)
	}
}
