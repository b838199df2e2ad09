// Package startup measures how a server comes up: it launches one by its command, or
// has it started elsewhere, as often as it is told, and gives how long each phase took
// until the server answered at its steady speed, what the engine's log says of that,
// and whether one command is slower than another.
package startup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/child"
	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/judge/result"
	"redline/internal/launch"
	"redline/internal/observe/enginelog"
	"redline/internal/text"
)

// Options is everything that a measurement needs.
type Options struct {
	// Target says how the server is asked; it has a URL where the command has the
	// server started elsewhere.
	Target client.Spec
	Server launch.Spec
	// Against is the command of B, "" for none.
	Against string
	// Stop is the command that ends a server elsewhere. It has to return when that
	// is gone.
	Stop string
	// Starts is how often each command is run.
	Starts int
	// Cold names files that are dropped from the page cache before each start.
	Cold []string
	// Tolerance is the relative difference between A and B that does not matter.
	Tolerance float64
	Hide      *text.Mask
	Say       func(format string, args ...any)
}

// schemaName is that of a report, before its version.
const schemaName = "redline/startup/"

// DefaultStarts is enough for an interval of a median at nearly 95%.
const DefaultStarts = 5

// Report is what was found.
type Report struct {
	Schema string `json:"schema"`
	// Cache is the state of the page cache at each start.
	Cache string `json:"page_cache"`
	A     Side   `json:"a"`
	B     *Side  `json:"b,omitempty"`
	// Comparison judges B against A.
	Comparison *result.Comparison `json:"comparison,omitempty"`
	// Interrupted says that fewer starts were made than asked for.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Side is one command and its starts.
type Side struct {
	Command string  `json:"command"`
	Starts  []Start `json:"starts"`
	Phases  []Phase `json:"phases"`
	// Engine are the phases that the engine's log has.
	Engine []Phase `json:"engine_log,omitempty"`
	// ProvisioningS is the median time until a new instance answers: what an
	// autoscaler has to wait for.
	ProvisioningS float64 `json:"provisioning_delay_s,omitempty"`
	// TokensPerS is the median steady speed of one request.
	TokensPerS float64 `json:"tokens_per_s,omitempty"`
}

// Phase is a part of the start over all starts, in seconds.
type Phase struct {
	Name string `json:"name"`
	// TakesS is the median of the phase alone, SinceS that of its end since the
	// command was started.
	TakesS float64 `json:"takes_s"`
	SinceS float64 `json:"since_start_s,omitempty"`
	// Interval holds the median of SinceS, or of TakesS where there is no such.
	Interval   [2]float64 `json:"interval_s"`
	Confidence float64    `json:"confidence"`
	N          int        `json:"n"`
}

// Start is one start; what it did not come to is absent.
type Start struct {
	// Marks are when each phase ended, in seconds since the command was started.
	Marks map[string]float64 `json:"marks_s,omitempty"`
	// Engine are the phases of the engine's log.
	Engine     []enginelog.Phase `json:"engine_log,omitempty"`
	TokensPerS float64           `json:"tokens_per_s,omitempty"`
	// Failed says why the server could not be used, with the end of its log.
	Failed string   `json:"failed,omitempty"`
	Log    []string `json:"log,omitempty"`
}

// The phases, in their order, each named by its end.
const (
	Process    = "process up"
	PortOpen   = "port open"
	Ready      = "ready"
	FirstToken = "first token"
	Steady     = "steady speed"
)

// Names are all phases.
var Names = []string{Process, PortOpen, Ready, FirstToken, Steady}

// Run measures all starts, or those before an interruption. Its error is that of the first
// start where that fails: then there is nothing to report.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Schema: schemaName + "1", A: Side{Command: o.Hide.Hide(o.Server.Command)}, Cache: "as it is: warm from the second start on"}
	sides := []*Side{&r.A}
	specs := []launch.Spec{o.Server}
	if o.Against != "" {
		r.B = &Side{Command: o.Hide.Hide(o.Against)}
		other := o.Server
		other.Command = o.Against
		sides, specs = append(sides, r.B), append(specs, other)
	}
	var rounds []compare.Round
	for n := range o.Starts * len(sides) {
		round, turn := n, 0
		if len(sides) > 1 {
			round, turn = compare.TurnAt(n)
		}
		start, err := Start{}, o.prepare(ctx, r)
		if err == nil {
			start, err = o.measure(ctx, specs[turn])
		}
		if r.Interrupted = ctx.Err() != nil && n > 0; r.Interrupted {
			break
		}
		if err != nil {
			var failure *launch.Failure
			if !errors.As(err, &failure) || len(sides[turn].Starts) == 0 {
				return nil, err
			}
			start.Failed, start.Log = failure.Why, failure.Log
		}
		o.say("%s of %d", startName(len(sides) > 1, round, turn), o.Starts)
		sides[turn].Starts = append(sides[turn].Starts, start)
		rounds = noteRound(rounds, round, turn, start)
	}
	if len(sides) > 1 && !r.Interrupted {
		r.Comparison = &compare.Times(rounds, Names[1:], compare.Options{Tolerance: o.Tolerance, A: compare.Side{Name: "A"}, B: compare.Side{Name: "B"}}).Comparison
	}
	for _, s := range sides {
		s.summarize()
	}
	return r, nil
}

func startName(two bool, round, turn int) string {
	if two {
		return fmt.Sprintf("start %d of %c", round+1, "AB"[turn])
	}
	return fmt.Sprintf("start %d", round+1)
}

func (o Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(format, args...)
	}
}

// noteRound puts a start into its round, in milliseconds.
func noteRound(rounds []compare.Round, round, turn int, s Start) []compare.Round {
	if round == len(rounds) {
		rounds = append(rounds, compare.Round{First: string("AB"[turn])})
	}
	values := compare.Values{}
	for name, seconds := range s.Marks {
		values[name] = 1e3 * seconds
	}
	into := &rounds[round]
	if s.Failed != "" {
		into.Skip = string("AB"[turn]) + ": " + s.Failed
	}
	if turn == 0 {
		into.A = values
	} else {
		into.B = values
	}
	return rounds
}

// prepare brings everything to where a start begins: no server, and a cold cache where
// that is asked for.
func (o Options) prepare(ctx context.Context, r *Report) error {
	if o.Stop != "" {
		if err := o.stopElsewhere(ctx); err != nil {
			return err
		}
	}
	if len(o.Cold) == 0 {
		return nil
	}
	size, left, err := launch.DropFromCache(o.Cold)
	switch {
	case err != nil:
		return fmt.Errorf("--cold: %w", err)
	case left < 0:
		r.Cache = fmt.Sprintf("cold: %s dropped before each start, which this kernel does not confirm", text.Bytes(float64(size)))
	case left > size/100:
		r.Cache = fmt.Sprintf("not cold: %s of %s stay in it, which another program uses", text.Bytes(float64(left)), text.Bytes(float64(size)))
	default:
		r.Cache = fmt.Sprintf("cold: %s dropped before each start", text.Bytes(float64(size)))
	}
	return nil
}

func (o Options) stopElsewhere(ctx context.Context) error {
	tail := &child.Tail{Max: 4 << 10}
	p, err := child.Start(child.Spec{Command: o.Stop, Output: tail})
	if err != nil {
		return fmt.Errorf("--stop-command: %w", err)
	}
	defer p.Stop(time.Second)
	limit := time.NewTimer(o.timeout())
	defer limit.Stop()
	select {
	case <-p.Done():
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return fmt.Errorf("--stop-command: has not ended after %s", text.Length(o.timeout()))
	}
	if code := p.ExitCode(); code != 0 {
		return fmt.Errorf("--stop-command: ended with exit code %d: %s", code, o.Hide.Hide(strings.Join(tail.Lines(3), " | ")))
	}
	return o.checkGone(ctx)
}

// checkGone refuses a server that answers before it is started.
func (o Options) checkGone(ctx context.Context) error {
	target := o.Target
	target.URLs = target.URLs[:1]
	c, err := client.New(target, client.Options{Clock: clock.New()})
	if err != nil {
		return err
	}
	defer c.Close()
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	a := asker{client: c, model: target.Model, stream: target.Streams(), begun: time.Now()}
	if err = a.findModel(within); err == nil {
		_, _, err = a.ask(within, 0)
	}
	if err == nil {
		return fmt.Errorf("--stop-command: %s still answers after it: it has to take the server down, and to return when that is gone", client.Address(target.URLs[0]))
	}
	return ctx.Err()
}

// timeout bounds each wait.
func (o Options) timeout() time.Duration {
	return cmp.Or(o.Server.ReadyTimeout, launch.DefaultReadyTimeout)
}

// measure does one start, and ends the server where it was launched here.
func (o Options) measure(ctx context.Context, spec launch.Spec) (Start, error) {
	at := launch.Options{Port: spec.Port, Hide: o.Hide}
	if len(o.Target.URLs) > 0 {
		at.URL = client.Address(o.Target.URLs[0])
	} else if at.Port == 0 {
		port, err := launch.FreePorts(1)
		if err != nil {
			return Start{}, err
		}
		at.Port = port
	}
	phases := enginelog.NewStartupLog()
	at.Also = phases
	begun := time.Now()
	server, err := launch.Start(ctx, spec, at)
	if err != nil {
		return Start{}, err
	}
	defer server.Stop()
	t := server.Times()
	s := Start{Marks: map[string]float64{PortOpen: t.Open.Seconds(), Ready: t.Ready.Seconds()}}
	if at.URL == "" {
		s.Marks[Process] = t.Up.Seconds()
	}
	target := o.Target
	target.URLs = []string{server.URL()}
	if at.URL != "" {
		target.URLs = o.Target.URLs[:1]
	}
	c, err := client.New(target, client.Options{Clock: clock.New()})
	if err != nil {
		return Start{}, err
	}
	defer c.Close()
	a := asker{client: c, model: target.Model, stream: target.Streams(), begun: begun, limit: o.timeout()}
	if up, ok := a.processStart(ctx, at.URL != "", t.Ready); ok {
		s.Marks[Process] = up.Seconds()
	}
	err = a.converse(ctx, &s)
	if ended := server.Failure(); ended != nil {
		err = ended
	}
	if err != nil && ctx.Err() == nil {
		var failure *launch.Failure
		if !errors.As(err, &failure) {
			err = &launch.Failure{Why: err.Error(), Log: server.Tail()}
		}
	}
	s.Engine = phases.Phases()
	return s, err
}
