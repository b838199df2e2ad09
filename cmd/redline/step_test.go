package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/must"
	"redline/internal/run/measure"
	"redline/internal/twin/sim"
)

// A step of the real-time clock in the middle of a run changes none of its figures.
func TestAStepOfTheClockChangesNoFigure(t *testing.T) {
	t.Parallel()
	latencies := map[time.Duration]metric.Latency{}
	for _, by := range []time.Duration{0, -time.Hour, 50 * time.Millisecond} {
		dir := filepath.Join(t.TempDir(), "run")
		virtually(t, func(w *world) {
			var out, said buffer
			p := &process{args: []string{"run", "--url", w.engine(sim.Spec{}, 5*time.Millisecond), "--rate", "20", "--duration", "10s", "--warmup", "1s", "--workload", "fixed(50,20)", "--quiet", "--out", dir}, stdout: &out, stderr: &said,
				stop: make(chan struct{}), lookupEnv: w.env, virtual: func(o *measure.Options) {
					k := clock.Virtual()
					o.Clock, o.Dial, o.Open = k, w.network.Dial, w.network.Open
					time.AfterFunc(5*time.Second, func() { k.Step(by) })
					time.Sleep(time.Millisecond) // a time of 0 stands for none
				}}
			if code := p.run(w.Context()); code != exitOK {
				w.Fatalf("step of %v: exit %d: %s", by, code, &said)
			}
		})
		res := must.Get(measure.Rebuild(dir))(t)
		latencies[by] = res.Points[0].Latency
		expect.NoDiff(t, cmp.Diff(latencies[0], latencies[by]), "step of %v (-without +with)", by)
	}
}
