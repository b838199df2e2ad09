package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
	"redline/internal/stats"
	"redline/internal/store"
)

// Crew is workers that send the load of a run in the place of this process.
type Crew interface {
	// Engage hands every worker its part, and gives how they do it once all of
	// them could begin.
	Engage(ctx context.Context, r Engagement) (Stint, error)
}

// Engagement is what a crew must know of a run. Each worker gets the assignment
// with a share of its own.
type Engagement struct {
	Assignment Assignment
	// Now is the time from the run's origin.
	Now func() int64
	// Arrivals are the due times that a worker may owe, nil in a closed loop.
	Stage *load.Stage
	// Keep puts into the run's directory what whoever resumes the run needs.
	Keep func(memo []byte) error
	Say  func(format string, args ...any)
	// Warn says something that the result keeps.
	Warn func(format string, args ...any)
}

// Stint is a crew at work on one stage.
type Stint interface {
	load.Workers
	// Size is how many workers take part.
	Size() int
	// LostWorkers is how many of them are lost at present. It may be asked at any time.
	LostWorkers() int
	// Begin has all workers begin at the same moment, and gives it.
	Begin() (start int64, err error)
	// Reports are what each worker says of itself once News has ended.
	Reports() []result.Worker
	// Watches are what each worker found of its machine's hold-ups, once News has
	// ended.
	Watches() []holdup.Watch
	// Forget gives back what was kept of the stage, once its result is written or it is discarded.
	Forget()
}

func (r *run) engage(ctx context.Context) (err error) {
	plan, err := r.Config.Whole()
	if err != nil {
		return err
	}
	t := r.target
	a := Assignment{Run: r.id, Plan: plan, Model: t.model, Context: t.context, Usage: t.usage, E2E: r.e2e, OwnCount: r.stage.OwnCount, Digest: r.digest()}
	if t.engine != nil {
		a.URLs = []string{t.engine.URL()}
	}
	if err := r.warnAhead(); err != nil {
		return err
	}
	r.stint, err = r.Crew.Engage(ctx, Engagement{Assignment: a, Now: r.clock.Now, Stage: &r.stage, Say: r.say, Warn: r.warnOfCrew,
		Keep: func(memo []byte) error { return r.dir.WriteCrew(memo) }})
	return err
}

// warnOfCrew says what the result keeps of workers that did not come.
func (r *run) warnOfCrew(format string, args ...any) {
	r.say(format, args...)
	r.crewWarning = fmt.Sprintf(format, args...)
}

// offer sends the load, or has the crew do so.
func (r *run) offer(ctx context.Context, sink func(*record.Record)) (load.Outcome, error) {
	if r.stint == nil {
		return load.Run(ctx, r.clock, r.target.client, r.stage, &r.counts, sink)
	}
	start, err := r.stint.Begin()
	if err != nil {
		return load.Outcome{}, err
	}
	r.stage.Start = start
	r.lags = make([][]float64, r.stint.Size())
	out, err := load.Lead(ctx, r.clock, r.stint, r.stage, &r.counts, func(rec *record.Record) {
		r.takeLag(rec)
		sink(rec)
	})
	left := func(w result.Worker) bool { return w.Lost == "" }
	if (out.Stopped == load.RanOut || out.Stopped == "" && r.stage.Whole) && !slices.ContainsFunc(r.stint.Reports(), left) {
		out.Stopped = "every worker was lost"
	}
	return out, err
}

// logCrew writes down what the workers found of their machines.
func (r *run) logCrew() {
	if r.stint == nil {
		return
	}
	for i, w := range r.stint.Watches() {
		r.watched.lines().Add(telemetry.Line{At: r.clock.Now(), Worker: i + 1, Host: &telemetry.HostUse{Watch: w}})
	}
}

// forget gives back what a crew keeps of the run, once nobody will resume it.
func (r *run) forget() {
	if r.stint != nil {
		r.stint.Forget()
	}
}

// takeLag keeps how late a worker sent.
func (r *run) takeLag(rec *record.Record) {
	if rec.Phase != record.Measure || rec.Sent == 0 {
		return
	}
	of := &r.lags[rec.ID%len(r.lags)] // as a share numbers them
	*of = append(*of, account.Lag(rec))
}

// crew adds to what the workers say of themselves how late each sent, and gives
// what all of them are together as one client.
func (r *run) crew(own result.Client, workers []result.Worker) result.Client {
	for i := range workers {
		if len(r.lags[i]) > 0 {
			slices.Sort(r.lags[i])
			workers[i].LagP99MS = new(stats.Quantile(r.lags[i], 0.99))
		}
	}
	return result.MergeClients(own, workers)
}

// Assignment is what a worker must know to send its share of a stage: the plan,
// and what was found out about the server before.
type Assignment struct {
	Run  string `json:"run"`
	Plan []byte `json:"plan"` // with its secrets
	// URLs are where the server is, if not where the plan says.
	URLs     []string      `json:"urls,omitempty"`
	Model    string        `json:"model"`
	Context  int           `json:"context,omitempty"`
	Usage    bool          `json:"usage"`
	E2E      time.Duration `json:"e2e_ns"`
	OwnCount bool          `json:"own_count,omitempty"`
	// Digest tells the conductor's load from that of other files.
	Digest string     `json:"digest"`
	Share  load.Share `json:"share"`
	// Origin is the run's origin on the worker's own clock.
	Origin int64 `json:"origin_ns"`
}

// resume gives the run the name and the clock of the one that it resumes.
func (r *run) resume() error {
	if r.Resume == "" {
		return nil
	}
	dir, err := store.Open(r.Resume)
	if err != nil {
		return err
	}
	h, err := dir.Header()
	if err != nil {
		return err
	}
	r.id, r.started = h.Run, time.Unix(0, h.OriginUnixNS)
	unix, mono := r.clock.Origin()
	offset := h.OriginUnixNS - unix
	if since := h.OriginMonoNS - mono; mono != 0 && max(offset-since, since-offset) < int64(time.Second) {
		offset = since // the machine has not been restarted since
	}
	r.clock = r.clock.From(offset)
	return nil
}
