package experiment

import (
	"testing"
	"time"

	"redline/internal/answer/search"
	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/store"
)

// A level that was cut short is as long as its window: too short to confirm.
func TestALevelIsAsLongAsItWasMeasured(t *testing.T) {
	t.Parallel()
	level := search.Level{Rate: 2, Duration: time.Minute, Purpose: search.Sustain}
	window := []result.Point{{Summary: metric.Summary{Window: metric.Window{StartS: 10, EndS: 13}}}}
	for _, tt := range []struct {
		name string
		res  result.Result
		want time.Duration
	}{
		{"whole", result.Result{Points: window}, time.Minute},
		{"cut short", result.Result{Points: window, Interrupted: "the workload has no more requests"}, 3 * time.Second},
		{"without a window", result.Result{Interrupted: "the workload has no more requests"}, time.Minute},
	} {
		if got := asMeasured(level, &tt.res).Duration; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A stage that was kept takes the time that was noted, however long it takes to
// read it again: a resumed search must not turn elsewhere on a busy machine.
func TestAKeptLevelTakesWhatItTook(t *testing.T) {
	t.Parallel()
	dir := must.Get((*store.Hold)(nil).Create(t.TempDir(), false))(t)
	log := must.Get(dir.StartLog(record.Header{Run: "one"}))(t)
	log.Add(&record.Record{End: int64(3 * time.Second), Outcome: llm.OK})
	must.Do(t, log.Close())
	point := result.Point{Summary: metric.Summary{Window: metric.Window{StartS: 1, EndS: 2}}}
	begun := time.Now().Add(-time.Hour) // which is how long reading took
	for _, tt := range []struct {
		name   string
		reused bool
		before time.Duration
		least  time.Duration
		most   time.Duration
	}{
		{"run now", false, 0, time.Hour, 2 * time.Hour},
		{"kept", true, 5 * time.Second, 5 * time.Second, 5 * time.Second},
		{"kept without a note", true, 0, 2 * time.Second, 2 * time.Second}, // from the window's start to the last reply
	} {
		x := &conductor{dir: dir, res: &result.Result{Stages: []result.Stage{{Dir: "."}}}, ended: ended{reused: tt.reused},
			was: &result.Result{Stages: []result.Stage{{Dir: ".", TookS: tt.before.Seconds()}}}}
		f := finder{conductor: x, counted: begun}
		if got, err := f.took(point); err != nil || got < tt.least || got > tt.most {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.least)
		}
	}
}

// What an earlier attempt left of a variant counts only where the same plan made
// it.
func TestKeptVariantIsOfTheSamePlan(t *testing.T) {
	t.Parallel()
	dir := must.Get((*store.Hold)(nil).Create(t.TempDir(), false))(t)
	c := must.Get(config.Resolve(config.Input{Seed: 7}))(t)
	c.Output.Dir = dir.Path
	plan := must.Get(c.YAML())(t)
	for _, err := range []error{dir.WriteKind("bench"), dir.WritePlan(plan),
		dir.WriteResult(&result.Result{Schema: result.Schema, ID: "first"})} {
		must.Do(t, err)
	}
	other := *c
	other.Seed = 8
	for _, tt := range []struct {
		name   string
		resume string
		plan   *config.Config
		same   bool
	}{
		{"the same plan", dir.Path, c, true},
		{"another seed", dir.Path, &other, false},
		{"a new protocol", "", c, false},
	} {
		x := &conductor{Options: Options{Resume: tt.resume}}
		res, same := x.keptVariant(tt.plan)
		if same != tt.same || same && (res == nil || res.ID != "first") {
			t.Errorf("%s: %v, same %v; want %v", tt.name, res, same, tt.same)
		}
	}
}

// The length of a turn is settled before the plan is kept.
func TestTurnLength(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]time.Duration{"": roundLength, "5s": 5 * time.Second} {
		flags := map[string][]string{"rate": {"5"}}
		if given != "" {
			flags["duration"] = []string{given}
		}
		c := must.Get(config.Resolve(config.Input{Flags: flags}))(t)
		if got := turnLength(c); got != want {
			t.Errorf("--duration %q: %v, want %v", given, got, want)
		}
	}
}
