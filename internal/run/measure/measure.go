// Package measure runs one stage on one target and gives the point that came
// of it, judged; or rebuilds that point from a run directory. It wires the
// rooms of doing and meaning together and holds no statistics of its own.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/fire"
	"redline/internal/judge/progress"
	"redline/internal/judge/quality"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/run/assemble"
	"redline/internal/store"
	"redline/internal/traffic/token"
	"redline/internal/traffic/workload"
)

// Options is everything that a measurement needs.
type Options struct {
	Config  *config.Config
	Version string // of this program
	Command string // as it was called, without secrets

	// Stop, when closed, ends the sending; what is in flight gets a moment to
	// end, and the report is of what was measured.
	Stop <-chan struct{}
	// Live is told how the run goes, a few times a second.
	Live func(progress.Snapshot)
	// Enough is asked as often as Live is told, and ends the window in order
	// where it says so; nil never does.
	Enough func(progress.Snapshot) bool
	// Say is told, in one line each, what the user should know meanwhile.
	Say func(format string, args ...any)
	// Trace receives the wire trace of one request.
	Trace io.Writer

	// Target is a server that was opened before, for one of several runs; nil
	// finds one for this run alone.
	Target *Target

	// Hold locks the directories that the command writes to; nil locks that of
	// this run until it ends.
	Hold *store.Hold

	// Used is what runs before this one have taken of the plan's limits on
	// tokens and money, which hold for all of them together.
	Used Usage

	// Resume is the directory of a run whose workers go on without a conductor,
	// which this one becomes; "" begins a run.
	Resume string

	// Crew sends the load, where this process is not to; nil otherwise.
	Crew Crew

	// Clock, Dial and Open, where the embedded engine listens, are for virtual
	// time; all nil otherwise.
	Clock *clock.Clock
	Dial  client.Dial
	Open  func(ctx context.Context, addr string) (net.Listener, error)
}

const (
	liveEvery = 250 * time.Millisecond
	// Grace is what requests in flight get when the user stops a run.
	Grace = 5 * time.Second
	// sampledText is the share of replies that the local tokenizer counts
	// beside the server's own usage.
	sampledText = 0.02
	// sampledByWorkers is the same where several send the load.
	sampledByWorkers = 0.1
)

type run struct {
	Options
	id       string
	started  time.Time
	clock    *clock.Clock
	target   *Target
	work     *workload.Workload
	kinds    []workload.Kind // of requests, for the preflight: some of allKinds
	allKinds int
	text     token.Text
	stage    load.Stage
	e2e      time.Duration // of a lone request, as expected
	dir      *store.Dir
	log      *store.Log
	live     progress.Live
	spoils   spoils
	lookout  *lookout        // nil where the run has a length
	thin     account.Thinner // of records before they are kept or sent
	stint    Stint           // of the crew, nil without one
	// crewWarning is what became of workers before the load began, "" for nothing.
	crewWarning string
	lags        [][]float64 // of each of its workers, ms
	counts      load.Progress
	watched     *watch
	// engineLog is nil unless the plan asks for it, and logged what came of it.
	engineLog *engineLog
	logged    *telemetry.EngineLog
	outcome   load.Outcome
	happened  []fire.Happening
	before    tally // what the target had counted before this run
	exam      *quality.Exam
	booked    tokenUse // of what the exam has used
	cacheNote string   // why the server's cache was not emptied, "" where it was, or need not be
}

// Run measures and writes the run directory. Without a result there is an
// error; a result that could not be kept whole comes with an error beside it.
// A run that was stopped before it sent anything leaves no directory behind and
// gives context.Canceled.
func Run(ctx context.Context, o Options) (*result.Result, string, error) {
	r := newRun(o)
	if err := r.resume(); err != nil {
		return nil, "", err
	}
	if r.Hold == nil {
		r.Hold = &store.Hold{Command: "redline", Say: r.say}
		defer r.Hold.Release()
	}
	if path := o.Config.Output.Dir; path != "" { // before anything is sent
		if err := r.Hold.Check(path, o.Config.Output.Force); err != nil {
			return nil, "", err
		}
	}
	if o.Target == nil {
		if _, err := Await(r.Stop, func() (any, error) { return nil, r.loadTokenizer() }); err != nil {
			return nil, "", err
		}
	}
	err := r.untilStopped(ctx, r.setUp)
	if r.target != nil && o.Target == nil {
		defer r.target.Close()
	}
	if r.work != nil {
		defer r.work.Close()
	}
	if err != nil {
		return nil, "", err
	}
	if err := r.openDir(); err != nil {
		return nil, "", err
	}
	path := r.dir.Path
	lost, err := r.load(ctx)
	if err != nil {
		return nil, path, err
	}
	if r.Resume == "" && r.outcome.Stopped == result.ByUser && r.outcome.Counts.By[llm.Unsent] == r.outcome.Counts.Due {
		r.dir.Discard()
		r.forget()
		return nil, "", context.Canceled
	}
	r.askAfter(ctx)
	slow := time.AfterFunc(maxSilence, func() { r.say("the load is over; computing the figures") })
	res, err := assemble.Assemble(r.facts())
	slow.Stop()
	if err != nil {
		return nil, path, errors.Join(err, lost)
	}
	r.Config.Mask().Tidy(res)
	unkept := r.keepAnswers()
	if err := r.dir.WriteResult(res); err != nil {
		unkept = errors.Join(fmt.Errorf("the result could not be written: %w", err), unkept)
	} else {
		r.forget()
	}
	r.dir.NoteFull(cmp.Or(lost, unkept))
	return res, path, cmp.Or(lost, unkept)
}

// maxSilence is how long figures may take before the user is told that they are computed.
const maxSilence = 2 * time.Second

func newRun(o Options) *run {
	r := &run{Options: o, id: store.NewID(), started: time.Now(), clock: o.Clock}
	if o.Target != nil {
		r.target, r.text, r.clock = o.Target, o.Target.text, o.Target.clock
		r.before = r.target.tally()
		if r.target.engine != nil {
			r.target.engine.Lateness() // of what came before
		}
	}
	if r.clock == nil {
		r.clock = clock.New()
	}
	return r
}

// setUp finds the target, unless there is one, and prepares the load.
func (r *run) setUp(ctx context.Context) (err error) {
	if r.target == nil {
		if r.target, err = openTarget(ctx, r); err != nil {
			return err
		}
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	return r.askAlone(ctx)
}

// prepare makes the stage and everything that must not wait for the load.
func (r *run) prepare(ctx context.Context) error {
	r.settleModel()
	if err := r.openWorkload(); err != nil {
		return err
	}
	c, work := r.Config, r.work
	_, output := work.Mean()
	bounds := c.Load.Bounds
	r.e2e = cmp.Or(r.e2e, r.target.expectedTime(output))
	sentTogether := bounds.AtOnce && bounds.TotalRequests > 0 && bounds.TotalRequests <= bounds.MaxConcurrency
	r.stage = load.Stage{Run: r.id, Share: r.stage.Share, Session: work.Session, Cap: bounds.MaxConcurrency, Branching: work.Branches(), Pace: bounds.Pace,
		Duration: bounds.Duration, Requests: bounds.TotalRequests, Warmup: bounds.Warmup, MaxWarmup: bounds.MaxAround(),
		Drain: *bounds.Drain, Stop: r.Stop, Grace: Grace, Plain: bounds.Plain || sentTogether,
		Retries: bounds.Retries, MaxErrorRate: bounds.MaxErrorRate}
	if !bounds.Plain && !bounds.AtOnce {
		r.stage.Stagger = r.stage.StaggerFor(r.e2e)
	}
	if talk := work.Conversation(); talk != nil {
		r.stage.SettleTime = talk.SettleTime
	}
	if lanesOf(c) > 0 {
		r.warmLanes()
	}
	r.stage.Prime = work.Rounds()
	r.live.Objectives, r.thin.Share = c.Objectives, c.TokenTimes
	if r.lookout = newLookout(c); r.lookout != nil {
		r.stage.Duration, r.stage.MaxWarmup = bounds.MaxDuration, 0
		r.stage.Looks, r.stage.Decided = lookLengths(bounds), r.lookout.isDecided
	}
	switch {
	case c.Recorded():
		r.stage.Arrivals, r.stage.Whole = work.Times(c.Seed), coversWindow(bounds, work.Span())
	case c.Load.Open():
		r.stage.Arrivals = c.Load.Times(c.Seed)
	}
	r.stage.Budgets = r.budgets()
	r.stage.Count, r.stage.CountShare = r.text.Count, 1
	if r.target.usage {
		r.stage.CountShare = sampledText
	}
	r.stage.CheckText = c.CheckText
	r.stage.OwnCount = assemble.OwnTokenizer(c, cmp.Or(c.Metadata["tokenizer"], r.target.facts.Tokenizer))
	if r.Crew != nil {
		return r.engage(ctx)
	}
	if err := r.target.client.Room(r.connections(), r.target.filesEach()); err != nil {
		return err
	}
	if err := r.warnAhead(); err != nil {
		return err
	}
	return r.target.client.Open(ctx, min(r.connections(), maxOpenedAhead))
}

// warmLanes has the window begin behind the requests that warm the cache of agents
// who are met in the middle of a job. The mix of their turns is steady then.
func (r *run) warmLanes() {
	spread := r.stage.Stagger + time.Millisecond
	r.stage.SettleTime = func(time.Duration) time.Duration { return spread }
	if r.stage.Warmup != nil {
		r.stage.Warmup = new(max(*r.stage.Warmup, spread))
	}
}

// settleModel puts the model that was found into the plan, so that another run
// of it asks the same one whatever the server lists first by then.
func (r *run) settleModel() {
	if r.Config.Embedded() || r.Config.Provider.Model != "" {
		return
	}
	settled := *r.Config
	settled.Provider.Model = r.target.model
	r.Config = &settled
}

// maxOpenedAhead bounds the connections that are opened before the load: more
// would keep the user waiting, and idle ones are soon closed by servers.
const maxOpenedAhead = 2048

// likelyCrowd is by how much requests in flight may exceed what the rate and the
// time of a lone request make of them; spareConnections come on top.
const (
	likelyCrowd      = 1.5
	spareConnections = 8
)

// connections is how many are likely to be needed at once, with some to spare.
func (r *run) connections() int {
	share := r.stage.Share
	n := share.Part(r.stage.Cap)
	if rate := r.peakRate() / float64(max(1, share.Of)); rate > 0 {
		likely := int(likelyCrowd*rate*r.e2e.Seconds()) + spareConnections
		if n == 0 || likely < n {
			n = likely
		}
	}
	return n
}

// filesEach is how many open files a connection takes in this process.
func (t *Target) filesEach() int {
	if t.engine != nil {
		return 2 // both ends are in this process
	}
	return 1
}

// MaxRate is the highest rate of a plan's workload whose requests this machine,
// or workers like it, can hold connections for, while the server takes as long for each as it does
// alone; 0 where nothing bounds it.
func (t *Target) MaxRate(c *config.Config) float64 {
	_, output := t.MeanLengths(c)
	each := t.expectedTime(output).Seconds()
	if each == 0 {
		return 0
	}
	return float64(t.MaxConnections(c)) / (likelyCrowd * each)
}

// MaxConnections is how many connections this machine, or workers like it, can hold
// beside those to spare.
func (t *Target) MaxConnections(c *config.Config) int {
	return max(max(1, c.Workers.Count)*t.client.MaxConnections(t.filesEach())-spareConnections, 1)
}

// makeDir makes the directory that was asked for, or one of the run's own. That of
// a run to resume stays as it is: it is all there is should this one fail too.
func (r *run) makeDir() (*store.Dir, error) {
	if r.Resume != "" {
		return r.Hold.Open(r.Resume)
	}
	if path := r.Config.Output.Dir; path != "" {
		return r.Hold.Create(path, r.Config.Output.Force)
	}
	return r.Hold.Claim(store.Name(r.started, r.Config.MaskText(r.Config.Metadata["label"])))
}

// openDir makes the run directory, or leaves nothing of it behind.
func (r *run) openDir() error {
	plan, err := r.Config.YAML()
	if err != nil {
		return err
	}
	if r.dir, err = r.makeDir(); err != nil {
		return err
	}
	unixNS, monoNS := r.clock.Origin()
	header := record.Header{Run: r.id, OriginUnixNS: unixNS, OriginMonoNS: monoNS}
	if r.Resume != "" {
		r.log = r.dir.ReplaceLog(header)
	} else if err = r.dir.WritePlan(plan); err == nil {
		r.log, err = r.dir.StartLog(header)
	}
	if err != nil {
		r.dir.Discard()
		return err
	}
	r.stage.Note = r.log.Follow(r.clock.Now)
	return nil
}

// load offers the stage's load, with a watch on this machine and a live view.
// A disk that would not take all records does not end it: lost says so, and
// the result is made with those that are still in memory.
func (r *run) load(ctx context.Context) (lost, err error) {
	r.resetCache(ctx)
	r.watched = r.startWatch(ctx)
	r.readRest(ctx)
	r.engineLog = r.followLog()
	stopLive, stopNotices, stopSpoils := r.watch(), r.notices(), r.watchSpoils()
	tick, stopAsking := r.askUnderLoad(ctx)
	cached, noShape := assemble.CacheShapeOf(r.Config, r.target.model, r.watched.config(), r.target.facts.Flags)
	happening := r.schedule(ctx)
	r.outcome, err = r.offer(ctx, func(rec *record.Record) {
		rec = r.thin.Of(rec)
		if noShape == nil {
			rec.KVBytes = cached.Bytes(rec)
		}
		r.live.Observe(rec)
		r.spoils.add(rec)
		r.watched.count(rec)
		r.lookout.add(rec)
		r.log.Add(rec)
		tick(rec)
	})
	r.happened = happening.stop()
	stopAsking(r.outcome.Stopped == result.ByUser)
	stopSpoils()
	stopNotices()
	stopLive()
	r.logged = r.engineLog.stop()
	r.logCrew()
	r.awaitRest(ctx)
	r.target.cut = r.watched.cut.Load()
	if err := r.watched.stop(ctx, r.clock.Now); err != nil {
		r.say("the telemetry log is incomplete: %v", err)
	}
	if logErr := r.log.Close(); logErr != nil {
		lost = fmt.Errorf("the record log could not be written in full: %w", logErr)
	}
	return lost, err
}
