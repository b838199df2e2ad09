package measure

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"time"

	"redline/internal/drive/record"
	"redline/internal/drive/wire"
	"redline/internal/judge/crosscheck"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/judge/validity"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// result makes the document of the run that just ended.
func (r *run) result() (*result.Result, error) {
	res := blank(r.Config, r.id, r.started)
	res.Command, res.Version = r.Command, r.Version
	about := r.target.about
	res.Engine.Name, res.Engine.Version, res.Engine.API = about.Name, about.Version, about.API
	res.Engine.URL, res.Engine.Embedded = about.URL, about.Embedded
	res.Model.Name = r.target.model
	if r.watched.unread != "" {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "server", Text: r.watched.unread})
	}
	seen := r.watched.boards.readings()
	if b := r.watched.boards; b != nil && b.unread != "" && len(seen) == 0 {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "accelerator", Text: b.unread})
	}
	nameHardware(res, seen)
	res.Workload.Name, res.Workload.Tokenizer = r.work.Name(), r.text.Name()
	res.Workload.TemplateTokens, res.Workload.TemplateHash = r.target.template, r.templateHash()
	for _, note := range r.work.Notes() {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "workload", Text: note})
	}
	res.Interrupted = r.outcome.Stopped
	start, end := r.outcome.WindowStart, r.outcome.WindowEnd
	if end == 0 {
		// Without a window, what the run used is what there is to tell.
		start, end = r.outcome.Start, r.clock.Now()
	}
	counted := r.target.tally().less(r.before)
	res.Client = result.Client{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: telemetry.Cores,
		Timestamps: result.Timestamps{Source: stampSource(counted.kernel, counted.user),
			Reads: counted.kernel + counted.user, Missing: counted.user},
		SharesHost: r.sharesHost(), Retransmits: counted.retransmits, Unasked: counted.unasked}
	if counted.unasked > 0 {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "requests", Text: fmt.Sprintf("replies that no request had asked for came %s; other answers on those connections may be of another request: look for a server or proxy that answers twice", text.Plural(counted.unasked, "time"))})
	}
	fill(&res.Client, r.watched.host.Over(start, end))
	use := r.watched.serverUse(start, end)
	describe(res, r.Config, r.target.facts, use)
	evidence := validity.Evidence{Client: res.Client, Embedded: r.target.engine != nil,
		Traffic: r.watched.traffic(), Server: use, Repeat: r.target.repeat,
		Natural: r.Config.Workload.EndsNaturally(), KeepsLength: keepsLength(r.Config), OwnTokenizer: ownTokenizer(r.Config, res.Model.Tokenizer)}
	if designed, err := r.work.DesignedSharing(max(1, r.outcome.Counts.Due)); err == nil {
		evidence.DesignedCache = &designed
	}
	evidence.Shortage = counted.shortage
	if r.target.engine != nil {
		late := r.target.engine.Lateness()
		evidence.Engine = &validity.Lateness{P99: int64(late.P99), Max: int64(late.Max)}
	}
	if r.outcome.WindowEnd == 0 {
		return nothingMeasured(res), nil
	}
	err := judge(res, r.Config, r.log.Records, start, end, plannedLoad{r.outcome.Start, r.recordedRate(start-r.outcome.Start, end-r.outcome.Start)}, evidence)
	for i := range res.Points {
		useAccelerators(res, &res.Points[i], seen, start, end)
		warmup := time.Duration(start - r.outcome.Start).Seconds()
		res.Points[i].Window.WarmupS = &warmup
	}
	r.engineLog.tell(res, r.logged)
	if r.outcome.WarmupCut {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "window", Text: r.warmupCut()})
	}
	if r.outcome.Broke {
		// The limit on errors is a promise too, and the server broke it.
		res.Verdict.SLO = slo.Missed
		res.Verdict.Reasons = append(res.Verdict.Reasons, r.outcome.Stopped)
	}
	return res, err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func stampSource(kernel, user int64) string {
	if kernel >= user && kernel > 0 {
		return "kernel"
	}
	return "user"
}

// blank fills in what the plan alone says.
func blank(c *config.Config, id string, started time.Time) *result.Result {
	res := &result.Result{Schema: result.Schema, ID: id, Started: started.UTC().Truncate(time.Millisecond),
		Seed: c.Seed, Label: c.Masked(c.Metadata["label"]), Note: c.Masked(c.Metadata["note"]), Plan: c.Resolved()}
	declare(res, c)
	res.Engine.Declared = c.Declared()
	res.Workload.Name = c.Workload.String()
	switch {
	case c.Recorded():
		res.Workload.Arrival = c.Workload.Timing()
	case c.Load.Open():
		res.Workload.Arrival = c.Load.Spec.String()
	}
	res.Verdict = result.Verdict{Valid: result.Valid, SLO: slo.None, Reasons: []string{}, Checks: []result.Check{}, Unchecked: []result.Unchecked{}}
	res.Points = []result.Point{}
	return res
}

// nothingMeasured is the result of a run that ended before its window began.
func nothingMeasured(res *result.Result) *result.Result {
	res.Verdict.Valid = result.Incomplete
	reason := "the run ended in its warm-up: nothing was measured"
	if res.Interrupted != "" {
		reason += " (" + res.Interrupted + ")"
	}
	res.Verdict.Reasons = []string{reason}
	return res
}

// records reads the log of a run, from its start at each call.
type records func() iter.Seq2[*record.Record, error]

// judge summarises the records of a window and judges run and server.
func judge(res *result.Result, c *config.Config, log records, start, end int64, offered plannedLoad, evidence validity.Evidence) error {
	kv := kvModel(c, res, evidence.Server)
	load := offered.load(c, start, end)
	options := metric.Options{Start: start, End: end, Varies: c.Recorded() || c.Load.Varies(),
		Percentiles: c.Metrics.Percentiles, Objectives: c.Objectives, Seed: c.Seed, Confidence: c.Confidence, Looked: looked(c)}
	if len(c.Objectives) == 0 {
		options.Objectives = implied
	}
	if load.Rate != nil && !c.Recorded() {
		options.AskedRate = *load.Rate
	}
	if pools(c) {
		options.Inputs = func(r *record.Record) int { return max(1, r.Inputs) }
	}
	if kv != nil {
		options.KVMB = kv.requestMB
	}
	summary, err := metric.Summarize(log, options)
	if err != nil {
		return err
	}
	if len(c.Objectives) == 0 {
		summary.Objectives = onlyMissed(summary.Objectives)
	}
	point := result.Point{Load: load, Summary: summary, Server: evidence.Server, Cache: cacheOf(summary, evidence)}
	if kv != nil {
		if point.KV, err = kv.estimate(log, start, end); err != nil {
			return err
		}
		point.KV.RoomMB = kv.roomMB(evidence.Server)
		if s := evidence.Server; s != nil && s.KVUsage != nil && point.KV.RoomMB > 0 {
			point.KV.ServerPeakMB = new(s.KVUsage.Max * point.KV.RoomMB)
		}
	}
	if c.Metrics.TrackPrefill != nil && *c.Metrics.TrackPrefill && !pools(c) {
		if err := trackPrefill(res, &point, log, start, end); err != nil {
			return err
		}
	}
	predict(res, c, &point)
	charge(&point, c, res.Hardware.Count)
	point.CrossChecks = crosscheck.Of(summary, evidence.Server)
	res.Warnings = append(res.Warnings, crosscheck.Warnings(point.CrossChecks)...)
	res.Points = append(res.Points, point)
	evidence.Summary, evidence.Load = summary, point.Load
	evidence.Strict, evidence.Dispersion = c.Strict, c.Load.Dispersion()
	if len(c.Objectives) > 0 {
		evidence.Judged = summary.Objectives
	}
	judged := validity.Judge(evidence)
	res.Verdict.Checks, res.Verdict.Unchecked = judged.Checks, judged.Unchecked
	res.Warnings = append(res.Warnings, judged.Notes...)
	res.Verdict.SLO = slo.Overall(summary.Objectives)
	conclude(res)
	for _, n := range summary.Notes {
		res.Warnings = append(res.Warnings, result.Warning{Figure: n.Figure, Text: n.Text})
	}
	return nil
}

// conclude words the verdict from its checks and objectives.
func conclude(res *result.Result) {
	v := &res.Verdict
	for _, check := range v.Failed() {
		v.Valid = result.Invalid
		v.Reasons = append(v.Reasons, check.Reason())
	}
	res.Points[0].Invalid = strings.Join(v.Reasons, "; ")
	for _, o := range res.Points[0].Objectives {
		if o.Standing == slo.Missed {
			v.Reasons = append(v.Reasons, "missed "+o.Objective)
		}
	}
}

// pools reports whether replies are vectors or scores, not text.
func pools(c *config.Config) bool {
	d, ok := wire.ByName(c.Provider.API)
	return ok && d.Items != nil
}

// cacheOf lays what the workload repeats beside what a cache made of it.
func cacheOf(s metric.Summary, e validity.Evidence) *result.Cache {
	cache := result.Cache{Designed: e.DesignedCache}
	if t := s.Tokens; t.Cached > 0 && t.Prompt > 0 {
		cache.Usage = new(float64(t.Cached) / float64(t.Prompt))
	}
	if e.Server != nil {
		cache.Server = e.Server.PrefixHitRate
	}
	if (cache.Designed == nil || *cache.Designed == 0) && cache.Usage == nil && (cache.Server == nil || *cache.Server == 0) {
		return nil
	}
	return &cache
}

// plannedLoad is what decides the rate of a window: when the stage began and,
// for recorded times, how many requests come in a second.
type plannedLoad struct {
	stageStart int64
	recorded   float64
}

// load is what was asked for over a window.
func (p plannedLoad) load(c *config.Config, start, end int64) result.Load {
	l := result.Load{Mode: c.Mode()}
	switch {
	case c.Recorded():
		l.Profile = c.Workload.Timing()
		if p.recorded > 0 {
			l.Rate = &p.recorded
		}
	case c.Load.Open():
		l.Rate = new(text.Round(c.Load.MeanOver(time.Duration(start-p.stageStart), time.Duration(end-p.stageStart)), 6))
		l.Profile = c.Load.Shape()
	}
	if n := c.Load.Bounds.MaxConcurrency; n > 0 {
		l.Concurrency = &n
	}
	return l
}

// implied is what is asked of every server, where its user asks nothing: a run
// full of errors must not end as if all were well.
var implied = []slo.Objective{must("error:rate<1%"), must("reject:rate<1%")}

func must(text string) slo.Objective {
	o, err := slo.Parse(text)
	if err != nil {
		panic(err) // a literal of this file
	}
	return o
}

// onlyMissed drops the implied objectives that need no mention.
func onlyMissed(verdicts []slo.Verdict) []slo.Verdict {
	return slices.DeleteFunc(verdicts, func(v slo.Verdict) bool { return v.Standing != slo.Missed })
}
