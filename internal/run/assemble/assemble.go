// Package assemble makes a result of what a run left behind: its plan, its
// records, its telemetry, and what was found out about the server and about this
// machine. A run that just ended, a directory that is read again, several runs
// together and objectives that are asked afterwards all go through it. It is
// pure: it opens no file and reads no clock.
package assemble

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"redline/internal/answer/diagnose"
	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/account"
	"redline/internal/judge/fire"
	"redline/internal/judge/metric"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/judge/series"
	"redline/internal/judge/slo"
	"redline/internal/judge/validity"
	"redline/internal/llm"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// Records reads the log of a run, from its start at each call.
type Records func() iter.Seq2[*record.Record, error]

// Run is everything that a result is made of. What is not known stays zero.
type Run struct {
	Plan    *config.Config
	Records Records
	// Start and End bound the window, in ns from the origin. Empty says that the
	// run ended before its window began.
	Start, End int64
	Empty      bool
	// MaxWindow is the longest window of a run that was judged several times and
	// ended when it was decided; 0 for a run that had a length.
	MaxWindow time.Duration
	// Hopeless says that it ended because an objective was missed and the queue
	// grew, whatever else was open.
	Hopeless bool
	Load     result.Load
	Warmup   *float64 // seconds of load before the window

	ID               string
	Started          time.Time
	Command, Version string
	// Interrupted says how the run was cut short; Broke that this was the limit
	// on errors, and Cutoff what the verdict has to say about it.
	Interrupted string
	Broke       bool
	Cutoff      string

	// Engine, Model and Facts are what was found before the load.
	Engine   result.Engine
	Model    string
	Facts    engine.Facts
	Workload result.Workload
	Client   result.Client
	Workers  []result.Worker
	// Preflight are the tokens of the requests beside the load.
	Preflight struct{ Prompt, Output int }
	// Watches are what this machine, or each worker, found of its own hold-ups;
	// none where nobody wrote it down.
	Watches []holdup.Watch
	// Conductor is this process, where workers sent the load.
	Conductor *result.Client

	// Server, Scrapes and Accelerators are what was seen meanwhile, Evidence
	// what else is known of whether the run was sound.
	Server       *telemetry.ServerUse
	Scrapes      []telemetry.Scrape
	Accelerators []telemetry.AcceleratorReading
	Evidence     validity.Evidence
	EngineLog    *telemetry.EngineLog
	// Quality is what the golden set came to. GoldenTokens of output were asked
	// for it beside the load.
	Quality *result.Quality
	// Happened is what was made to happen while the load went on.
	Happened []fire.Happening
	// LiveTokens is what a live job of the workload comes back to, nil where it has
	// none.
	LiveTokens   *float64
	GoldenTokens int
	Warnings     []result.Warning

	pooled     pooledRuns // the runs that this one is made of
	judgedOnly bool       // nothing but verdicts is wanted
}

// Assemble gives the result of a run. The caller hides what is secret in it.
func Assemble(in Run) (*result.Result, error) {
	in.Client.HeldUp = in.sumHoldups()
	res := in.setting()
	var err error
	if res.Billed, err = in.bill(res); err != nil {
		return nil, err
	}
	if in.Empty {
		return in.nothingMeasured(res), nil
	}
	requests := in.newRehearsal(res)
	point, err := in.figures(res, requests)
	if err != nil {
		return nil, err
	}
	point.Server, point.Window.WarmupS, point.EngineLog = in.Server, in.Warmup, in.EngineLog
	watched := in.Server
	if in.Server != nil && !point.IsWatched() {
		watched = nil
		res.Warnings = append(res.Warnings, result.Warning{Figure: "server", Text: fmt.Sprintf("the metrics are of %d of %d replicas at a time, so nothing is laid beside them: name each replica's page with --metrics-url",
			max(1, in.Server.Replicas), max(2, point.Engines()))})
	}
	splitFirstToken(&point.Summary, watched)
	in.addCaches(res, &point)
	in.doubtGuesses(res)
	compareGuesses(res, point.Tokens, in.Server)
	if !eventsAreSteps(&point.Summary, in.Server) {
		point.Drafts = nil
	}
	predict(res, in.Plan, &point, requests)
	if point.Fire == nil || !point.Fire.HasOutage() { // a server's own count ends with it
		point.CrossChecks = crossChecks(point.Summary, in.GoldenTokens, watched)
	}
	res.Warnings = append(res.Warnings, crossWarnings(point.CrossChecks)...)
	in.judge(res, &point)
	useAccelerators(res, &point, in.Accelerators, in.Start, in.End)
	res.Warnings = append(res.Warnings, in.grade(&point)...)
	res.Points = []result.Point{point}
	in.conclude(res)
	if res.Diagnosis = diagnose.Find(res); len(res.Diagnosis) > 0 && res.Diagnosis[0].Regime == diagnose.EventRegime {
		res.Diagnosis = append(res.Diagnosis, in.diagnoseSteady(point.Fire)...)
	}
	res.Choices, res.AntiPatterns = diagnose.Choices(res), validity.AntiPatterns(res)
	return res, nil
}

// nothingMeasured is the result of a run that ended before its window began.
func (in Run) nothingMeasured(res *result.Result) *result.Result {
	res.Verdict.Valid = result.Incomplete
	if in.Broke {
		res.Verdict.SLO = slo.Missed
	}
	reason := "the run ended in its warm-up: nothing was measured"
	if res.Interrupted != "" {
		reason += " (" + res.Interrupted + ")"
	}
	res.Verdict.Reasons = []string{reason}
	return res
}

// figures are what the requests of a window came to, and what that cost. What
// they ran on is taken from a result; the requests are kept where someone asks.
func (in Run) figures(on *result.Result, kept *rehearsal) (result.Point, error) {
	c, options := in.Plan, in.summaryOptions()
	cache, prompts, binned := in.newCacheUse(on), in.newPrefill(), in.newSeries()
	if cache != nil {
		options.KVMB = cache.requestMB
	}
	warmup := 0
	var loaded fire.Load
	var found fire.Hits
	events := in.newEvents()
	options.Observe = func(r *record.Record) {
		if r.Phase == record.Warmup && r.Try <= 1 {
			warmup++
		}
		cache.add(r)
		prompts.add(r)
		loaded.Add(r)
		if events != nil || c.Workload.ResetCache {
			found.Add(r)
		}
		if events != nil {
			events.Add(r)
		}
		kept.add(r)
		binned.Add(r)
	}
	summary, err := account.Summarize(in.Records, options)
	if err != nil {
		return result.Point{}, err
	}
	if len(c.Objectives) == 0 {
		// Those that are implied need no mention unless they are missed.
		summary.Objectives = slices.DeleteFunc(summary.Objectives, func(v slo.Verdict) bool { return v.Standing != slo.Missed })
		for i := range summary.Buckets {
			summary.Buckets[i].Objectives = nil
		}
	}
	if in.Warmup != nil {
		summary.Window.WarmupRequests = &warmup
	}
	point := result.Point{Load: in.Load, Summary: summary, KV: cache.sum(), PrefillSlope: prompts.slope(),
		Distributions: binned.Distributions(), Series: binned.Over(in.Scrapes, in.Accelerators)}
	in.addWarmth(&point, binned, &found)
	if c.WatchesLeaks() && len(in.pooled) < 2 && !in.judgedOnly {
		if point.Leak = loaded.Leak(in.Scrapes); point.Leak.Standing == result.LeakUnset {
			point.Leak.Note = cmp.Or(in.leakCure(), point.Leak.Note)
		}
	}
	if events != nil {
		point.Fire = events.Judge(in.Happened)
		in.addWarming(point.Fire, &found)
		if err := in.compareAround(on, &point); err != nil {
			return result.Point{}, err
		}
	}
	in.pooled.restore(&point, c.Objectives)
	judgeFire(c.Objectives, &point)
	charge(&point, c, on.Hardware.Count, in.meanPower(on))
	return point, nil
}

// summaryOptions say how the requests of a window are added up.
func (in Run) summaryOptions() account.Options {
	c := in.Plan
	options := account.Options{Start: in.Start, End: in.End, Varies: c.Recorded() || c.Load.Varies() || len(in.pooled) > 1, Plain: c.Load.Bounds.Plain,
		Percentiles: c.Metrics.Percentiles, Objectives: c.Objectives, Seed: c.Seed, Confidence: c.Confidence, MaxWindow: int64(in.MaxWindow), Machine: in.machine(), Opaque: c.Telemetry.Scrapes() && (in.Server == nil || in.Server.Samples == 0)}
	if len(c.Objectives) == 0 {
		options.Objectives = impliedObjectives
	}
	if in.Load.Rate != nil && !c.Recorded() {
		options.AskedRate = *in.Load.Rate
	}
	in.step(&options)
	if c.Pools() {
		options.Inputs = func(r *record.Record) int { return max(1, r.Inputs) }
	}
	return options
}

// addWarmth says what the cache had early and late, and how long it took to be warm.
func (in Run) addWarmth(point *result.Point, binned *series.Series, found *fire.Hits) {
	early, steady := in.stretches()
	if share := binned.CacheHits(early[0], early[1]); share != nil {
		point.Cache = &result.Cache{Early: share, Steady: binned.CacheHits(steady[0], steady[1])}
	}
	if in.Plan.Workload.ResetCache && len(in.pooled) < 2 && !in.judgedOnly {
		if warming := found.Warming(in.begin(), in.End, steady); warming != nil {
			point.Cache = cmp.Or(point.Cache, &result.Cache{})
			point.Cache.Warming = warming
		}
	}
}

// step asks for figures of each part of a load that changes by plan.
func (in Run) step(o *account.Options) {
	steps, begin := in.Plan.Load.Steps(), in.begin()
	if len(steps.Names) == 0 || in.Plan.Recorded() || len(in.pooled) > 1 {
		return
	}
	lengths := steps.Within(time.Duration(in.Start-begin), time.Duration(in.End-begin))
	for i, name := range steps.Names {
		o.Steps = append(o.Steps, account.Step{Name: name, Seconds: lengths[i].Seconds()})
	}
	o.StepOf = func(due int64) int { return steps.At(time.Duration(max(due-begin, 0))) }
}

// newSeries is nil where only verdicts are wanted.
func (in Run) newSeries() *series.Series {
	if in.judgedOnly {
		return nil
	}
	return series.New(in.begin(), in.Start, in.End)
}

// begin is where the load begins: the warm-up, where there is one, or the window.
func (in Run) begin() int64 {
	if in.Warmup != nil {
		return in.Start - int64(*in.Warmup*1e9)
	} else if in.pooled == nil {
		return 0
	}
	return in.Start
}

// stretches are the first fifth of the load and the second half of the window.
func (in Run) stretches() (early, steady [2]int64) {
	begin := in.begin()
	return [2]int64{begin, begin + (in.End-begin)/5}, [2]int64{in.Start + (in.End-in.Start)/2, in.End}
}

// impliedObjectives is what is asked of every server, where its user asks nothing: a run
// full of errors must not end as if all were well.
var impliedObjectives = []slo.Objective{mustParse("error:rate<1%"), mustParse("reject:rate<1%")}

func mustParse(text string) slo.Objective {
	o, err := slo.Parse(text)
	if err != nil {
		panic(err) // a literal of this file
	}
	return o
}

// addCaches adds what the key-value cache and the prefix cache were used for,
// and says where prompts cannot be told from the queue.
func (in Run) addCaches(res *result.Result, point *result.Point) {
	if point.KV != nil && in.Server != nil && in.Server.KVUsage != nil && point.KV.RoomMB > 0 {
		point.KV.ServerPeakMB = new(in.Server.KVUsage.Max * point.KV.RoomMB)
	}
	if in.wantsPrefill() && point.PrefillSlope == nil {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "ttft", Text: noSlope})
	}
	cache := result.Cache{}
	if point.Cache != nil {
		cache = *point.Cache
	}
	if early, steady := in.stretches(); cache.Early == nil && in.Server != nil && isNonZero(in.Server.PrefixHitRate) {
		cache.Early = telemetry.ServerOver(in.Scrapes, early[0], early[1]).PrefixHitRate
		cache.Steady = telemetry.ServerOver(in.Scrapes, steady[0], steady[1]).PrefixHitRate
	}
	cache.Designed, cache.LiveTokens = in.Evidence.DesignedCache, in.LiveTokens
	if in.Server != nil {
		if room := float64(in.Server.Replicas) * roomTokens(in.Server.Config); room > 0 && cache.LiveTokens != nil {
			cache.RoomTokens = &room
		}
	}
	if t := point.Tokens; t.Cached > 0 && t.Prompt > 0 {
		cache.Usage = new(float64(t.Cached) / float64(t.Prompt))
	}
	if in.Server != nil {
		cache.Server, cache.Tiers = in.Server.PrefixHitRate, tierShares(in.Server)
	}
	if t := point.Tokens; len(cache.Tiers) == 0 && t.CachedHost+t.CachedStorage > 0 && t.Prompt > 0 {
		share := func(tokens int64) float64 { return float64(tokens) / float64(t.Prompt) }
		cache.Tiers = map[string]float64{"device": share(t.Cached - t.CachedHost - t.CachedStorage), "host": share(t.CachedHost), "storage": share(t.CachedStorage)}
	}
	if cache.Usage != nil || isNonZero(cache.Designed) || isNonZero(cache.Server) {
		point.Cache = &cache
	}
}

// tierShares are the prompt tokens that each tier of the cache had, as shares of all
// that were looked up; nil where the server does not tell tiers apart.
func tierShares(s *telemetry.ServerUse) map[string]float64 {
	if s.PrefixQueries == nil || *s.PrefixQueries <= 0 {
		return nil
	}
	var shares map[string]float64
	for tier, tokens := range s.HitsBy {
		if tokens <= 0 {
			continue
		}
		if shares == nil {
			shares = map[string]float64{}
		}
		shares[tier] = tokens / *s.PrefixQueries
	}
	return shares
}

func isNonZero(share *float64) bool { return share != nil && *share != 0 }

// judge asks whether the run itself was sound.
func (in Run) judge(res *result.Result, point *result.Point) {
	judged := in.sound(point.Summary, res.Model.Tokenizer)
	res.Verdict.Checks, res.Verdict.Unchecked = judged.Checks, judged.Unchecked
	if len(in.Watches) > 0 && in.Client.HeldUp == nil {
		res.Verdict.Unchecked = append(res.Verdict.Unchecked, result.SkippedCheck{Name: "hold-ups", Why: "this system does not say how long threads wait for a core"})
	}
	res.Warnings = append(res.Warnings, judged.Notes...)
	for _, n := range point.Notes {
		res.Warnings = append(res.Warnings, result.Warning{Figure: n.Figure, Text: n.Text})
	}
}

// sound asks every question about the run that led to a summary.
func (in Run) sound(s metric.Summary, tokenizer string) validity.Judgement {
	c, e := in.Plan, in.Evidence
	e.Summary, e.Load, e.Client, e.Workers, e.Server, e.Embedded = s, in.Load, in.Client, in.Workers, in.Server, c.Embedded()
	e.Natural, e.OwnTokenizer = c.Workload.EndsNaturally(), OwnTokenizer(c, tokenizer)
	if d, err := c.Provider.Dialect(); err == nil {
		e.KeepsLength = d.IgnoreEOS
	}
	e.Events = len(in.Happened) > 0
	e.Strict, e.Dispersion, e.Plain = c.Strict, c.Load.Dispersion(), c.Load.Bounds.Plain
	if len(c.Objectives) > 0 {
		e.Judged = s.Objectives
	}
	return validity.Judge(e)
}

// grade puts what the golden set came to into the point, and its gates among the
// objectives.
func (in Run) grade(point *result.Point) (warnings []result.Warning) {
	if point.Quality = in.Quality; in.Quality == nil {
		return nil
	}
	point.Objectives = append(point.Objectives, in.Quality.Gates...)
	for _, note := range in.Quality.Notes {
		warnings = append(warnings, result.Warning{Figure: "quality", Text: note})
	}
	return warnings
}

// conclude words the verdict: it comes last, and stands in no other place.
func (in Run) conclude(res *result.Result) {
	v, point := &res.Verdict, &res.Points[0]
	for _, check := range v.FailedChecks() {
		v.Valid = result.Invalid
		v.Reasons = append(v.Reasons, check.Reason())
	}
	point.Invalid = strings.Join(v.Reasons, "; ")
	for _, o := range point.Objectives {
		if o.Standing == slo.Missed {
			v.Reasons = append(v.Reasons, "missed "+o.Objective)
		}
	}
	v.SLO = slo.Overall(point.Objectives)
	if in.Broke {
		// The limit on errors is an objective too, and the server missed it.
		v.SLO = slo.Missed
		v.Reasons = append(v.Reasons, in.Interrupted)
	}
	for _, why := range []string{in.Cutoff, in.hopeless(point)} {
		if why != "" {
			v.Reasons = append(v.Reasons, why)
		}
	}
}

// hopeless says of a run that was to last until it was decided why it ended with
// objectives open, "" where it did not.
func (in Run) hopeless(point *result.Point) string {
	if !in.Hopeless || in.Interrupted != "" {
		return ""
	}
	var missed, open []string
	for _, v := range point.Objectives {
		o, err := slo.Parse(v.Objective)
		if name := strings.TrimSpace(v.Scope.String() + " " + o.Metric + " " + text.Percentile(o.Stat)); err != nil {
			continue // a gate of answers, judged apart
		} else if v.Standing == slo.Missed {
			missed = append(missed, name)
		} else if v.Standing == slo.Undecided {
			open = append(open, name)
		}
	}
	if len(missed) == 0 || len(open) == 0 {
		return ""
	}
	return "stopped after " + text.Seconds(point.Window.Seconds()) + ", as the queue grows; missed: " + strings.Join(missed, ", ") + "; left open: " + strings.Join(open, ", ")
}

// bill is what all requests cost, those outside the window too; nil where that cannot
// be priced.
func (in Run) bill(on *result.Result) (*float64, error) {
	if !in.Plan.Cost.Given() {
		return nil, nil
	}
	prices, err := in.Plan.Cost.WithMeasuredPower(on.Hardware.Count, in.meanPower(on))
	if err != nil {
		return nil, nil // charge says why
	}
	prompt, cached, output, end := in.Preflight.Prompt, 0, in.Preflight.Output, in.End
	for r, err := range in.Records() {
		if err != nil {
			return nil, err
		}
		if r.Sent == 0 || r.Outcome == llm.Unsent {
			continue
		}
		prompt, cached, output, end = prompt+cmp.Or(r.PromptTokens, r.AskedPrompt)-r.CachedTokens, cached+r.CachedTokens, output+r.OutputTokens, max(end, r.End)
	}
	return new(prices.Tokens(float64(prompt), float64(cached), float64(output)) + prices.Hour*float64(end-in.begin())/3600e9), nil
}

// charge adds to a point what it cost, and judges the objectives about that. What
// cannot be priced is said with the cure: a run is no worse for it.
func charge(point *result.Point, c *config.Config, devices int, watts *float64) {
	if !c.Cost.Given() {
		return
	}
	prices, err := c.Cost.WithMeasuredPower(devices, watts)
	if err != nil {
		point.Notes = append(point.Notes, metric.Note{Figure: "cost", Text: "no cost is known: cost." + err.Error()})
		return
	}
	point.Cost = prices.Of(&point.Summary)
	point.GroupCosts = prices.Groups(&point.Summary, func(tenant string) string {
		return cmp.Or(c.Workload.ModelOf(tenant), c.Provider.Model)
	})
	if watts == nil && c.Cost.Watts > 0 {
		price.Energy(point, new(c.Cost.Watts*point.Window.Seconds()))
	}
	price.Judge(c.Objectives, point)
}
