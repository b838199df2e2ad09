package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"redline/internal/answer/tune"
	"redline/internal/judge/result"
	"redline/internal/launch"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
)

// Server is a launched server, ready to be asked.
type Server interface {
	URL() string
	// StartUp is how long it took to become ready.
	StartUp() time.Duration
	// Done is closed when it has ended, and Failure says why, nil while it runs.
	Done() <-chan struct{}
	Failure() error
	// Tail is the end of its log.
	Tail() []string
	Stop()
}

// rig starts servers with the settings that stages need, and stops them. Where
// two must not run at once it has one place, else two.
type rig struct {
	x       *conductor
	spec    launch.Spec
	places  int
	running map[int]*running // by place
	// model is what the first server serves, and took the time of all stages.
	model string
	took  time.Duration
}

// running is a server under way, with its settings.
type running struct {
	values map[string]string
	server Server
	target *measure.Target
}

// rented is what one stage needs of a rig.
type rented struct {
	rig    *rig
	values map[string]string
	place  int
	// path is the stage's directory; startUp and took are known when it is
	// over. A failure is kept only where keepFailure says so.
	path        string
	keepFailure bool
	startUp     *float64
	took        time.Duration
}

// hold is a server with the given settings; where two run at once each has a
// place of its own.
func (r *rig) hold(values map[string]string, place int) *rented {
	return &rented{rig: r, values: values, place: place % r.places}
}

// config is the plan as a stage on a launched server carries it out.
func (r *rig) config(values map[string]string, place int) *config.Config {
	c := *r.x.Config
	c.Hide(r.x.Config.Secrets()) // those of the server block go with it
	c.Provider.URLs = []string{fmt.Sprintf("http://127.0.0.1:%d", r.spec.Port+place%r.places)}
	c.Server.Spec, c.Tune, c.Experiment = launch.Spec{}, tune.Spec{}, config.Experiment{}
	c.Metadata = maps.Clone(c.Metadata)
	if c.Metadata == nil {
		c.Metadata = config.Metadata{}
	}
	// Values as a command line would have them, in one order.
	var line strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		line.WriteString(" --" + name + " " + values[name])
	}
	c.Metadata["flags"] = strings.TrimSpace(c.Metadata["flags"] + line.String())
	return &c
}

// before reports whether the stage was run with the same settings before.
func (n *rented) before() bool {
	was, ok := store.ReadLaunch(n.path)
	if !ok || was.Failed != "" || !maps.Equal(was.Values, n.values) {
		return false
	}
	n.account(was)
	return true
}

// failedBefore is why the server could not be measured in an earlier attempt,
// nil where there was none.
func (n *rented) failedBefore() error {
	was, ok := store.ReadLaunch(n.path)
	if !n.keepFailure || !ok || was.Failed == "" || !maps.Equal(was.Values, n.values) {
		return nil
	}
	n.account(was)
	return &launch.Failure{Why: was.Failed, Log: was.Log}
}

func (n *rented) account(was store.Launch) {
	n.startUp, n.took = was.StartUpS, time.Duration(was.TookS*float64(time.Second))
	n.rig.took += n.took
}

// open gives the server, started where it does not run yet.
func (n *rented) open(ctx context.Context) (*running, error) {
	r := n.rig
	if now := r.running[n.place]; now != nil {
		if maps.Equal(now.values, n.values) && now.server.Failure() == nil {
			return now, nil
		}
		r.stop(n.place)
	}
	begin := r.x.Launch
	if begin == nil {
		begin = func(ctx context.Context, s launch.Spec, o launch.Options) (Server, error) {
			return launch.Start(ctx, s, o)
		}
	}
	ctx, cancel := untilStopped(ctx, r.x.Stop, nil)
	defer cancel()
	server, err := begin(ctx, r.spec, launch.Options{Port: r.spec.Port + n.place, Values: n.values,
		Log: filepath.Join(n.path, store.ServerLogFile), Hide: r.x.Config.Mask()})
	if err != nil {
		if ctx.Err() != nil {
			return nil, errStopped
		}
		return nil, err
	}
	n.startUp = new(server.StartUp().Seconds())
	now := &running{values: n.values, server: server}
	r.running[n.place] = now
	return now, r.greet(ctx, n, now)
}

// greet finds out what the server serves, by a request as any run begins.
func (r *rig) greet(ctx context.Context, n *rented, now *running) error {
	o := r.x.Options.Options
	o.Config = r.config(n.values, n.place)
	target, err := measure.Open(ctx, o)
	switch {
	case errors.Is(err, context.Canceled):
		return errStopped
	case err != nil && now.server.Failure() != nil:
		return now.server.Failure()
	case err != nil:
		return &launch.Failure{Why: "started, but does not answer: " + err.Error(), Log: now.server.Tail()}
	}
	now.target, r.model = target, target.Model()
	return nil
}

func (r *rig) stop(place int) {
	now := r.running[place]
	if now == nil {
		return
	}
	if now.target != nil {
		now.target.Close()
	}
	now.server.Stop()
	delete(r.running, place)
}

func (r *rig) release() {
	for place := range r.places {
		r.stop(place)
	}
}

// untilStopped is a context that ends when the user stops, or with ended.
func untilStopped(ctx context.Context, stop, ended <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// onLaunched runs a stage on a server of its own. One that does not start or
// does not last makes a *launch.Failure.
func (x *conductor) onLaunched(ctx context.Context, s Stage, o measure.Options) (*result.Result, error) {
	n := s.launched
	begun := time.Now()
	if err := os.MkdirAll(n.path, 0o755); err != nil {
		return nil, err
	}
	store.ForgetLaunch(n.path)
	now, err := n.open(ctx)
	var res *result.Result
	if err == nil {
		// A server that ends takes the load with it: nothing is left to measure.
		ended, cancel := untilStopped(ctx, x.Stop, now.server.Done())
		o.Stop, s.on = ended.Done(), now.target
		res, err = x.measureStage(ctx, s, o)
		cancel()
		if failure := now.server.Failure(); failure != nil {
			res, err = nil, failure
		}
	}
	n.took = time.Since(begun)
	n.rig.took += n.took
	was := store.Launch{Values: n.values, StartUpS: n.startUp, TookS: n.took.Seconds()}
	var failure *launch.Failure
	switch {
	case errors.As(err, &failure) && n.keepFailure:
		was.Failed, was.Log = failure.Why, failure.Log
	case res == nil:
		return nil, err
	}
	mask := x.Config.Mask()
	mask.Tidy(&was.Failed)
	mask.Tidy(&was.Log)
	return res, errors.Join(err, store.WriteLaunch(n.path, was))
}
