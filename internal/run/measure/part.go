package measure

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/store"
)

// Part is the share of a stage that a worker has to send.
type Part struct {
	r    *run
	host *telemetry.Host
	log  *store.Log // complete records; nil where only the conductor keeps them
	// keepErr is why some of them are not there.
	keepErr error
}

// Take prepares a worker for its assignment: everything that must not wait for
// the load. clock is the worker's own.
func Take(ctx context.Context, a Assignment, c *clock.Clock, dial client.Dial) (*Part, error) {
	plan, err := config.FromWhole(a.Plan)
	if err != nil {
		return nil, missingFileError(err)
	}
	if len(a.URLs) > 0 {
		plan.Provider.URLs, plan.Provider.Model = a.URLs, a.Model
	}
	r := newRun(Options{Config: plan, Clock: c.From(a.Origin), Dial: dial})
	r.id, r.e2e = a.Run, a.E2E
	r.stage.Share = a.Share
	p := &Part{r: r}
	if err := r.loadTokenizer(); err != nil {
		return nil, missingFileError(err)
	}
	spec := plan.Provider
	spec.Secrets = plan.Secrets()
	t := &Target{clock: r.clock, model: a.Model, context: a.Context, usage: a.Usage}
	if t.client, err = client.New(spec, client.Options{Clock: r.clock, Dial: dial}); err != nil {
		return nil, err
	}
	r.target = t
	if err := p.prepare(ctx, a); err != nil {
		p.Close()
		return nil, missingFileError(err)
	}
	return p, nil
}

// missingFileError says what to do about a file that a worker does not have.
func missingFileError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy the plan's files to its machine, to the same path: %w", err)
	}
	return err
}

// digest tells one load from another: by what some sessions ask, and when.
func (r *run) digest() string {
	sum := sha256.New()
	for _, i := range []int{0, 1, 2, 3, 10, 100, 1000} {
		if turn := r.work.Session(i).Next(nil); turn != nil {
			turn.Compose()
			fmt.Fprintf(sum, "%d %d %d\n", i, turn.Request.PromptTokens, turn.Request.MaxTokens)
			for _, m := range turn.Request.Messages {
				fmt.Fprintf(sum, "%q %q %q\n", m.Role, m.Name, m.Content)
				for _, p := range m.Parts { // an image is as large on every machine, and encoded nearly the same
					fmt.Fprintf(sum, "%d %q %q %q %q %d %d\n", p.Kind, p.Text, p.Call, p.Name, p.Media, p.Width, p.Height)
				}
			}
		}
	}
	if r.stage.Arrivals != nil {
		n := 0
		for at := range r.stage.Arrivals {
			if fmt.Fprintln(sum, at); n == 100 {
				break
			}
			n++
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// prepare makes the stage of the share.
func (p *Part) prepare(ctx context.Context, a Assignment) (err error) {
	r := p.r
	r.target.client.Resolve(ctx)
	if r.Config.Tokenizer == config.ByServer {
		if r.text, err = r.target.probe(ctx); err != nil {
			return err
		}
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if r.digest() != a.Digest {
		return errors.New("it would send another load than the conductor: copy the plan's files, such as the workload and the tokenizer, to its machine")
	}
	s := &r.stage
	s.OwnCount = a.OwnCount
	// Which replies are counted must not depend on how many workers there are, as
	// the first ones of each would.
	s.CountEvenly, s.CountShare = true, max(s.CountShare, sampledByWorkers)
	// Who leads the stage decides on all of this for every worker together.
	s.Looks, s.Decided, s.SettleTime, s.Budgets, s.MaxErrorRate = nil, nil, nil, nil, 0
	if !s.Plain {
		s.Duration, s.Requests, s.Warmup = 0, 0, nil
	} else if s.Requests > 0 {
		if s.Requests = a.Share.Part(s.Requests); s.Requests == 0 {
			return fmt.Errorf("--requests %d leaves nothing to do for one of %d workers", r.Config.Load.Bounds.TotalRequests, a.Share.Of)
		}
	}
	return nil
}

// Clock is the run's.
func (p *Part) Clock() *clock.Clock { return p.r.clock }

// Run sends the share from start on, obeys orders, and hands on what becomes of
// every request, as the plan has it kept: note hears of those on their way.
func (p *Part) Run(ctx context.Context, start int64, orders <-chan load.Order, counts *load.Progress, note, sink func(*record.Record)) (load.Outcome, error) {
	p.host = telemetry.WatchHostTo(p.r.clock, nil, nil)
	s := p.r.stage
	s.Start, s.Orders, s.Note, s.Stop = start, orders, note, nil
	keep := func(*record.Record) {}
	if p.log != nil {
		keep = p.log.Add
		follow := p.log.Follow(p.r.clock.Now)
		s.Note = func(rec *record.Record) { follow(rec); note(rec) }
	}
	out, err := load.Run(ctx, p.r.clock, p.r.target.client, s, counts, func(rec *record.Record) {
		keep(rec)
		sink(p.r.thin.Of(rec))
	})
	p.host.Stop()
	if p.log != nil {
		p.keepErr, p.log = p.log.Close(), nil
	}
	return out, err
}

// Keep has complete records written to a file of this worker in dir.
func (p *Part) Keep(dir, name string) (err error) {
	unixNS, monoNS := p.r.clock.Origin()
	p.log, err = store.KeepLog(dir, name, record.Header{Run: p.r.id, OriginUnixNS: unixNS, OriginMonoNS: monoNS})
	return err
}

// KeepError says, after Run, why not all of them are there.
func (p *Part) KeepError() error { return p.keepErr }

// Client is the worker's machine over a stretch of the run, and how often it
// found no port or file for a connection.
func (p *Part) Client(start, end int64) (c result.Client, shortage int64) {
	counts := p.r.target.tally()
	p.r.watched = &watch{host: p.host}
	return p.r.client(counts, start, end), counts.shortage
}

// Watch is what the worker found of its machine's hold-ups.
func (p *Part) Watch() holdup.Watch { return p.host.Holdups() }

// Close gives everything back.
func (p *Part) Close() {
	if p.log != nil {
		p.log.Discard() // it was never run
	}
	if p.r.work != nil {
		_ = p.r.work.Close()
	}
	p.r.target.Close()
}
