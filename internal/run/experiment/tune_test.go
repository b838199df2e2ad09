package experiment_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/launch"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
	"redline/internal/show/report"
	"redline/internal/text"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// garage is a launcher of simulated engines in virtual time: one per port.
type garage struct {
	mu       sync.Mutex
	serving  map[int]*pipe.Listener
	started  []string       // the settings of all starts, in their order
	atOnce   int            // the most servers at one time
	dieAfter map[string]int // requests that a server with such settings survives
}

func (g *garage) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	_, text, _ := net.SplitHostPort(addr)
	port, _ := strconv.Atoi(text)
	g.mu.Lock()
	l := g.serving[port]
	g.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused")
	}
	return l.Dial(ctx, network, addr)
}

type engine struct {
	server *simserver.Server
	port   int
	done   chan struct{}
	failed error
	once   sync.Once
	stop   func()
}

func (e *engine) URL() string            { return fmt.Sprintf("http://127.0.0.1:%d", e.port) }
func (e *engine) StartUp() time.Duration { return 3 * time.Second }
func (e *engine) Done() <-chan struct{}  { return e.done }
func (e *engine) Tail() []string         { return []string{"the last line"} }
func (e *engine) Stop()                  { e.once.Do(e.stop) }

func (e *engine) Failure() error {
	select {
	case <-e.done:
		return e.failed
	default:
		return nil
	}
}

// dying is a core that takes its process with it after some requests.
type dying struct {
	sim.Core
	left  int
	crash func()
}

func (d *dying) Submit(now int64, j *sim.Job) error {
	if d.left--; d.left == 0 {
		go d.crash()
	}
	return d.Core.Submit(now, j)
}

// launch starts an engine whose max_num_seqs is the knob n: 0 does not start.
func (g *garage) launch(_ context.Context, s launch.Spec, o launch.Options) (experiment.Server, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := s.Line(o.Port, o.Values); err != nil {
		return nil, err
	}
	g.started = append(g.started, o.Values["n"])
	time.Sleep(3 * time.Second)
	seqs, err := strconv.Atoi(o.Values["n"])
	if err != nil || seqs == 0 {
		return nil, &launch.Failure{Why: "exited with code 1 (out of memory)", Log: []string{"CUDA out of memory"}}
	}
	spec, err := (sim.Spec{MaxNumSeqs: seqs}).Resolve()
	if err != nil {
		return nil, err
	}
	core, err := sim.NewBatching(spec)
	if err != nil {
		return nil, err
	}
	e := &engine{port: o.Port, done: make(chan struct{})}
	fragile := &dying{Core: core, left: g.dieAfter[o.Values["n"]], crash: func() {
		e.failed = &launch.Failure{Why: "was killed (exit 137)", Log: []string{"Killed"}}
		close(e.done)
	}}
	if e.server, err = simserver.NewServer(simserver.Options{Spec: spec, Core: fragile, Clock: clock.Virtual()}); err != nil {
		return nil, err
	}
	l := pipe.Listen("memory")
	served := make(chan error, 1)
	go func() { served <- e.server.Serve(context.Background(), l) }()
	e.stop = func() {
		g.mu.Lock()
		delete(g.serving, o.Port)
		g.mu.Unlock()
		_ = e.server.Close()
		<-served
	}
	g.serving[o.Port] = l
	g.atOnce = max(g.atOnce, len(g.serving))
	return e, nil
}

// tuningPlan is a plan in which few sequences at once queue.
func tuningPlan(t *testing.T, out string, flags map[string][]string) *config.Config {
	t.Helper()
	given := map[string][]string{"server-command": {"serve --port {port} -n {n}"}, "knob": {"n=1,8,0,64"}, "server-port": {"9000"},
		"rate": {"10"}, "workload": {"fixed(100,30)"}, "duration": {"15s"}, "warmup": {"2s"}, "drain": {"5s"}, "rounds": {"3"}, "slo": {"ttft:p95<500ms"},
		"out": {out}, "no-telemetry": {"true"}, "model": {sim.DefaultModel}}
	maps.Copy(given, flags)
	c := must.Get(config.Resolve(config.Input{Command: "tune", Flags: given, Seed: 7}))(t)
	return c
}

func newGarage() *garage {
	return &garage{serving: map[int]*pipe.Listener{}, dieAfter: map[string]int{}}
}

func (g *garage) options(c *config.Config) experiment.Options {
	return experiment.Options{Launch: g.launch, Options: measure.Options{Config: c, Clock: clock.Virtual(), Dial: g.dial}}
}

// decisions are a tuning's steps in short.
func decisions(t *result.Tuning) (list []string) {
	for _, s := range t.Steps {
		list = append(list, s.Knob+" "+s.From+"→"+s.To+" "+string(s.Decision))
	}
	return list
}

// TestTuneFindsTheBestValue: with one sequence at a time requests queue, eight are
// enough, and a server with none does not start.
func TestTuneFindsTheBestValue(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "tune")
	synctest.Test(t, func(t *testing.T) {
		g := newGarage()
		res, _ := must.Get2(experiment.Tune(t.Context(), g.options(tuningPlan(t, out, nil))))(t)
		got := res.Tuning
		expect.Same(t, []string{"n 1→8 accepted", "n 8→0 failed", "n 8→64 rejected"}, decisions(got))
		expect.Same(t, []result.Flag{{Name: "n", Value: "8"}}, got.Winner)
		if got.Standing != slo.Confirmed || !strings.HasPrefix(got.Verdict, "keep n=8: good:fraction +") || res.Comparison.Rounds != 3 {
			t.Errorf("%s: %s, over %d rounds", got.Standing, got.Verdict, res.Comparison.Rounds)
		}
		if up := got.Steps[0].StartUpS; up == nil || *up != 3 {
			t.Errorf("start-up %v, want 3 s, apart from every figure", up)
		}
		// Rounds go A B, B A, A B: a server that is needed again goes on.
		if want := strings.Fields("1 1 8 0 64 1 8 1 8"); !cmp.Equal(want, g.started) {
			t.Errorf("started %v, want %v", g.started, want)
		}
		if g.atOnce != 1 || len(g.serving) != 0 {
			t.Errorf("%d servers at once, %d left; want one, and none", g.atOnce, len(g.serving))
		}
	})
}

// TestTuneSaysWhatItExpects: of every value what it should do and what it risks; and
// the record has the figures of what was rejected.
func TestTuneSaysWhatItExpects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGarage()
		o := g.options(tuningPlan(t, filepath.Join(t.TempDir(), "tune"), map[string][]string{"server-command": {"serve --port {port} --max-num-seqs {n}"}, "knob": {"n=8,64,1"}}))
		foreseen := must.Get(experiment.Foresee("tune", o.Config))(t)
		said := strings.Join(foreseen.Expect, "\n")
		if other, err := experiment.Foresee("sweep", o.Config); err != nil || other.Expect != nil {
			t.Errorf("a sweep by the plan of a tuning expects %q (%v)", other.Expect, err)
		}
		res, _ := must.Get2(experiment.Tune(t.Context(), o))(t)
		for _, want := range []string{"n=64 in place of 8: more requests share a step", "risk: each gets its tokens later (tpot, ttft p99)",
			"n=1 in place of 8: fewer requests share a step", "risk: requests wait for a place"} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not expected:\n%s", want, said)
			}
		}
		var record strings.Builder
		must.Do(t, report.Decision(&record, res))
		for _, s := range res.Tuning.Steps {
			p := res.Points[*s.Point]
			want := fmt.Sprintf("| %s=%s, %s | %s / ", s.Knob, s.To, s.Decision, text.Number(p.Latency.TTFTDue.P["p50"]))
			if !strings.Contains(strings.ReplaceAll(record.String(), "\u00a0", " "), want) || s.Risk == "" {
				t.Errorf("the record has no row %q in\n%s", want, &record)
			}
		}
	})
}

// TestTuneSideBySide: both servers of the last comparison are there at once.
func TestTuneSideBySide(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "tune")
	synctest.Test(t, func(t *testing.T) {
		g := newGarage()
		c := tuningPlan(t, out, map[string][]string{"side-by-side": {"true"}, "knob": {"n=1,8"}, "repeat": {"1"}})
		must.Get2(experiment.Tune(t.Context(), g.options(c)))(t)
		if want := strings.Fields("1 8 1 8"); !cmp.Equal(want, g.started) || g.atOnce != 2 || len(g.serving) != 0 {
			t.Errorf("started %v, %d at once, %d left", g.started, g.atOnce, len(g.serving))
		}
	})
}

// TestTuneRejectsACrash: a server that dies under load is a rejected value, with
// the end of its log.
func TestTuneRejectsACrash(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "tune")
	synctest.Test(t, func(t *testing.T) {
		g := newGarage()
		g.dieAfter["8"] = 40
		c := tuningPlan(t, out, map[string][]string{"knob": {"n=16,8"}, "repeat": {"1"}})
		res, _ := must.Get2(experiment.Tune(t.Context(), g.options(c)))(t)
		step := res.Tuning.Steps[0]
		if step.Decision != slo.Failed || step.Why != "the server was killed (exit 137)" || !cmp.Equal(step.Log, []string{"Killed"}) {
			t.Errorf("%+v, want the crash with its log", step)
		}
		if res.Tuning.Standing != slo.Unchanged || len(g.serving) != 0 {
			t.Errorf("%s, %d servers left", res.Tuning.Standing, len(g.serving))
		}
	})
}

// TestTuneNeedsABaseline: without one there is nothing to hold a value against.
func TestTuneNeedsABaseline(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "tune")
	synctest.Test(t, func(t *testing.T) {
		c := tuningPlan(t, out, map[string][]string{"knob": {"n=0,8"}})
		res, _, err := experiment.Tune(t.Context(), newGarage().options(c))
		if res != nil || err == nil || !strings.Contains(err.Error(), "the baseline cannot be measured") || !strings.Contains(err.Error(), "CUDA out of memory") {
			t.Errorf("%v, want why, with the end of the log", err)
		}
	})
}

// TestTuneKeepsItsBudget: what it leaves no time for is not tried, and said, before the
// first run too; the first value is tried where that much fits.
func TestTuneKeepsItsBudget(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "tune")
	synctest.Test(t, func(t *testing.T) {
		g := newGarage()
		c := tuningPlan(t, out, map[string][]string{"knob": {"n=8,16,32"}, "repeat": {"1"}, "budget": {"1m"}})
		res, _ := must.Get2(experiment.Tune(t.Context(), g.options(c)))(t)
		if len(res.Tuning.Steps) != 1 || !strings.Contains(res.Tuning.Stopped, "budget of 60 s") || !strings.Contains(res.Tuning.Stopped, "1 more value") ||
			res.Tuning.TookS > 60 {
			t.Errorf("%d steps, %s, stopped: %s, %v s", len(res.Tuning.Steps), res.Tuning.Standing, res.Tuning.Stopped, res.Tuning.TookS)
		}
		foreseen := must.Get(experiment.Foresee("tune", c))(t)
		enough := regexp.MustCompile(`--budget (\S+) or more`).FindStringSubmatch(strings.Join(foreseen.Warnings, ""))
		if enough == nil || foreseen.Clock > time.Minute {
			t.Fatalf("%s, warnings %q: want a budget that is enough, and what fits into this one", foreseen, foreseen.Warnings)
		}
		c = tuningPlan(t, out+"2", map[string][]string{"knob": {"n=1,8"}, "repeat": {"1"}, "budget": {enough[1]}})
		res, _ = must.Get2(experiment.Tune(t.Context(), newGarage().options(c)))(t)
		if more := must.Get(experiment.Foresee("tune", c))(t).Warnings; len(more) > 0 || res.Tuning.Standing != slo.Confirmed || strings.Contains(res.Tuning.Stopped, "over the budget") {
			t.Errorf("with %s: %s, stopped: %s, warnings %q", enough[1], res.Tuning.Standing, res.Tuning.Stopped, more)
		}
	})
}

// TestTuneGoesOn: what was measured and what failed before a stop is not run
// again, and the answer is the same.
func TestTuneGoesOn(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "tune")
	synctest.Test(t, func(t *testing.T) {
		g, stop := newGarage(), make(chan struct{})
		o := g.options(tuningPlan(t, out, map[string][]string{"repeat": {"1"}, "knob": {"n=1,0,8"}}))
		o.Stop = stop
		o.End = func(s experiment.Stage, _ *result.Result, _ bool) {
			if s.Name == "round 1 B" {
				close(stop)
			}
		}
		res, _, err := experiment.Tune(t.Context(), o)
		if err != nil || res.Interrupted != result.ByUser || len(g.serving) != 0 {
			t.Fatalf("%v, %q, %d servers left; want the user's stop", err, res.Interrupted, len(g.serving))
		}
		if res.Tuning.Stopped != "interrupted" {
			t.Errorf("stopped: %s", res.Tuning.Stopped)
		}
		g = newGarage()
		o = g.options(keptPlan(t, out))
		o.Resume = out
		res, _ = must.Get2(experiment.Tune(t.Context(), o))(t)
		if want := strings.Fields("8 1 8"); !cmp.Equal(want, g.started) {
			t.Errorf("started %v, want only what was left of the rounds: %v", g.started, want)
		}
		if diff := cmp.Diff([]string{"n 1→0 failed", "n 1→8 accepted"}, decisions(res.Tuning)); diff != "" || res.Tuning.Standing != slo.Confirmed {
			t.Errorf("%s %s", res.Tuning.Standing, diff)
		}
	})
}
