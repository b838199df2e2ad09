package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"redline/internal/catalog"
	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/traffic/job"
	"redline/internal/twin/sim"
)

// trial is a load on the simulated engine, in virtual time.
type trial struct {
	spec     sim.Spec
	rate     float64 // requests per second; 0: closed loop of inFlight
	inFlight int
	burst    float64 // shape of the gaps between arrivals, 1 is Poisson
	prompt   func(*rand.Rand) int
	output   func(*rand.Rand) int
	groups   int // that share a prefix
	prefix   int // its tokens
	schemas  int // that half of the requests have one of
	warmup   time.Duration
	window   time.Duration
	slo      []string
	hidden   bool // the server shows no metrics
	secret   bool // it does not say what its largest batch is
	// device says that the accelerator is read: what of a step is not the
	// host's, it computes.
	device  bool
	unnamed bool // nobody says which accelerator it is
	// law is what steps really take, where it is not what the spec says.
	law *catalog.Law
	// jobs are what so many agents do, in place of single requests.
	jobs   *job.File
	agents int
}

const origin = int64(time.Second) // before which there is nothing

// watchedCore is an engine whose metrics are read once a second.
type watchedCore struct {
	sim.Core
	next    int64
	scrapes []telemetry.Scrape
	ttft    telemetry.Histogram
	queue   telemetry.Histogram
	prefill telemetry.Histogram
	ended   float64
	front   catalog.FrontEnd
	fleet   sim.Fleet
	worked  int64 // by the front end's processes, ns
	config  map[string]string
}

func (w *watchedCore) Step(now int64, emit func(sim.Token)) int64 {
	if now >= w.next {
		w.scrape(now)
		w.next = now + int64(time.Second)
	}
	return w.Core.Step(now, emit)
}

// replicas are the engines of a fleet one by one, as their metrics have them.
func (w *watchedCore) replicas(fleet sim.Fleet) (each []telemetry.Replica) {
	for i, one := range sim.Replicas(w.Core) {
		s := one.Stats()
		pool := telemetry.PrefillPool
		if i >= fleet.Prefill {
			pool = telemetry.DecodePool
		}
		each = append(each, telemetry.Replica{Name: fleet.EngineName(i), Pool: pool, Running: new(float64(s.Running)), Waiting: new(float64(s.Waiting)), KVUsage: new(s.KVUsage),
			GenerationTokens: new(float64(s.OutputTokens)), PromptTokens: new(float64(s.PromptTokens))})
	}
	return each
}

func (w *watchedCore) scrape(now int64) {
	s := w.Stats()
	ttft, queue, prefill, ended := w.ttft, w.queue, w.prefill, w.ended
	w.scrapes = append(w.scrapes, telemetry.Scrape{At: now, Reading: &telemetry.Reading{Engine: "vllm", Replicas: 1,
		Running: new(float64(s.Running)), Waiting: new(float64(s.Waiting)), KVUsage: new(s.KVUsage),
		PrefixHits: new(float64(s.PrefixHits)), PrefixQueries: new(float64(s.PrefixQueries)), Preemptions: new(float64(s.Preemptions)),
		PromptTokens: new(float64(s.PromptTokens)), GenerationTokens: new(float64(s.OutputTokens)), Requests: &ended,
		Steps: new(float64(s.Steps)), StepTokens: new(0.0), ProcessCPUS: new(float64(w.worked) / 1e9 / float64(max(1, w.front.APIServers))),
		TTFT: &ttft, Queue: &queue, Prefill: &prefill, Config: w.config}})
	if w.fleet.HasPools() {
		w.scrapes[len(w.scrapes)-1].Reading.Each = w.replicas(w.fleet)
	}
}

func observe(h *telemetry.Histogram, ns int64) { h.SumS, h.Count = h.SumS+float64(ns)/1e9, h.Count+1 }

// run plays a trial and gives the result that a run of it would have.
func (tr trial) run(t *testing.T, seed uint64) *result.Result {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0x6469616761))
	tr.spec.Seed = seed
	spec, err := tr.spec.Resolve()
	if err != nil {
		t.Fatalf("%+v: %v", tr.spec, err)
	}
	played := spec
	if tr.law != nil {
		played = sim.Spec{Law: tr.law, StepOverhead: spec.StepOverhead, Seed: seed, NumGPUBlocksOverride: 1 << 16}
	}
	core := must.Get(sim.New(played))(t)
	w := &watchedCore{Core: core, front: spec.FrontEnd, fleet: spec.Fleet, config: map[string]string{"max_num_seqs": fmt.Sprint(spec.MaxNumSeqs)}}
	if tr.secret {
		w.config = nil
	}
	var records []*record.Record
	if tr.jobs != nil {
		records = tr.playJobs(w)
	} else {
		records = tr.play(w, r)
	}
	start := origin + int64(tr.warmup)
	return tr.result(t, spec, records, w, start, start+int64(tr.window))
}

// play offers the load and gives the fate of each request.
func (tr trial) play(w *watchedCore, r *rand.Rand) []*record.Record {
	var records []*record.Record
	byJob := map[uint64]*record.Record{}
	delay := int64(tr.spec.NetDelay)
	ration := sim.NewRateLimiter(tr.spec.RateLimit)
	begin := func(due int64) *sim.Job {
		j := tr.job(uint64(len(records)+1), r)
		rec := &record.Record{ID: len(records), Phase: record.Measure, Try: 1, Due: due, Begin: due, Slot: due, Conn: due, Sent: due,
			AskedPrompt: len(j.Prompt), AskedOutput: j.Output, Streamed: true}
		if tr.schemas > 0 && len(records)%2 == 0 {
			rec.Schema = 1 + r.IntN(tr.schemas)
			j.Grammar = fmt.Sprint(rec.Schema)
		}
		records = append(records, rec)
		if !ration.Allow(due) {
			rec.Fail(&llm.Fault{Outcome: llm.Rejected, Status: 429, At: due + 2*delay, Message: "HTTP 429: Rate limit reached."})
			return nil
		}
		byJob[j.ID] = rec
		return j
	}
	tr.offer(w, r, begin, sim.Watch{Token: func(tok sim.Token) { w.take(tok, byJob[tok.Job.ID], delay) }})
	return settledRecords(records)
}

// take notes a token in a record and in the server's own figures.
func (w *watchedCore) take(tok sim.Token, rec *record.Record, delay int64) {
	w.worked += w.front.Events(1)
	rec.Observe(llm.Event{Kind: llm.Output, At: tok.At + delay, Text: []byte("word")})
	if tok.Index == 0 {
		observe(&w.ttft, tok.At-cmp.Or(tok.Job.Received, tok.Job.Arrived))
		w.worked += w.front.Prompt(len(tok.Job.Prompt))
	}
	if tok.Last {
		observe(&w.queue, tok.Job.Scheduled-tok.Job.Arrived)
		observe(&w.prefill, cmp.Or(tok.Job.Prefilled, tok.Job.First)-tok.Job.Scheduled)
		w.ended++
		rec.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{PromptTokens: len(tok.Job.Prompt), CachedTokens: tok.Job.Cached, OutputTokens: tok.Job.Output}})
		rec.Observe(llm.Event{Kind: llm.End, At: tok.At + delay})
	}
}

// settledRecords are records of which none is open.
func settledRecords(records []*record.Record) []*record.Record {
	for _, rec := range records {
		if rec.Outcome == "" {
			rec.Outcome = llm.Censored
		}
		rec.Settle()
	}
	return records
}

// offer sends open or closed.
func (tr trial) offer(w *watchedCore, r *rand.Rand, begin func(int64) *sim.Job, watch sim.Watch) {
	end := origin + int64(tr.warmup+tr.window)
	cool := end + int64(5*time.Second)
	delay := int64(tr.spec.NetDelay)
	if tr.rate > 0 {
		sim.RunOpen(w, func(yield func(int64, *sim.Job) bool) {
			for at := origin; at < cool; at += int64(gap(r, tr.rate, tr.burst)) {
				if j := begin(at); j != nil && !yield(at+delay, j) {
					return
				}
			}
		}, watch)
		return
	}
	now := origin
	inner := watch.Token
	watch.Token = func(tok sim.Token) { now = tok.At; inner(tok) }
	sim.RunClosed(w, origin, tr.inFlight, func(yield func(*sim.Job) bool) {
		for now < cool {
			if !yield(begin(now)) {
				return
			}
		}
	}, watch)
}

// gap is a time between arrivals, in nanoseconds: a gamma of shape k as the
// sum of k exponentials, or, below one, as a mix of bursts and pauses.
func gap(r *rand.Rand, rate, shape float64) float64 {
	mean := 1e9 / rate
	if shape >= 1 || shape == 0 {
		return 1 + mean*r.ExpFloat64()
	}
	if r.Float64() < 1-shape {
		return 1 + 0.02*mean*r.ExpFloat64()
	}
	return 1 + mean*(1-0.02*(1-shape))/shape*r.ExpFloat64()
}

// job draws one request. Tokens are numbers that no other request has, but for
// the prefix of its group.
func (tr trial) job(id uint64, r *rand.Rand) *sim.Job {
	own := min(tr.prompt(r), 24_000) // what every model takes
	prompt := make([]int32, tr.prefix+own)
	if tr.prefix > 0 {
		group := int32(r.IntN(tr.groups))
		for i := range tr.prefix {
			prompt[i] = -1 - group*10_000 - int32(i)
		}
	}
	for i := range own {
		prompt[tr.prefix+i] = int32(id)<<12 + int32(i)
	}
	return &sim.Job{ID: id, Prompt: prompt, Output: tr.output(r)}
}

// result summarises as a run does.
func (tr trial) result(t *testing.T, spec sim.Spec, records []*record.Record, w *watchedCore, start, end int64) *result.Result {
	t.Helper()
	objectives := must.Get(slo.ParseAll(tr.slo))(t)
	summary := must.Get(account.Summarize(record.FromList(records), account.Options{Start: start, End: end, AskedRate: tr.rate, Objectives: objectives, Seed: 1}))(t)
	point := result.Point{Summary: summary, Load: result.Load{Mode: "closed", Concurrency: &tr.inFlight}}
	if tr.rate > 0 {
		point.Load = result.Load{Mode: "open", Rate: &tr.rate}
	}
	if !tr.hidden {
		point.Server = new(telemetry.ServerOver(w.scrapes, start, end))
	}
	if tr.device {
		u := point.Server
		host := *u.Steps * spec.StepOverhead.Seconds() / u.CoveredS
		point.Accelerator = &telemetry.AcceleratorUse{Utilization: &telemetry.Gauge{Mean: 1 - host, Max: 1}}
	}
	if tr.jobs != nil {
		point.Load = result.Load{Mode: "closed", Concurrency: &tr.agents}
		point.Cache = tr.cacheOfJobs(&point, w)
	}
	if tr.prefix > 0 {
		point.Cache = cacheOf(&point, float64(tr.prefix))
	}
	if !tr.unnamed {
		point.Prediction = predictPoint(spec, &point)
	}
	return &result.Result{Verdict: result.Verdict{Valid: "yes"}, Points: []result.Point{point}, Model: result.Model{Name: spec.Model},
		Engine: result.Engine{Name: "vllm", URL: "http://server:8000"}, Plan: map[string]any{"workload": "chat"}}
}

// cacheOf is what is shared, but for the first request of each group, and what
// came of it.
func cacheOf(p *result.Point, prefix float64) *result.Cache {
	c := &result.Cache{Designed: new(prefix / p.Tokens.PromptLengths.Mean)}
	if p.Tokens.Cached > 0 {
		c.Usage = new(float64(p.Tokens.Cached) / float64(p.Tokens.Prompt))
	}
	if p.Server != nil {
		c.Server = p.Server.PrefixHitRate
	}
	return c
}

// predictPoint is what arithmetic says of a point, of an engine that reaches what
// engines usually do.
func predictPoint(spec sim.Spec, p *result.Point) *result.Prediction {
	d := deployment(spec)
	t := catalog.Traffic{Prompt: p.Tokens.PromptLengths.Mean, Output: p.Tokens.OutputLengths.Mean, Concurrency: p.Concurrency.Mean}
	if p.Cache != nil && p.Cache.Usage != nil {
		t.Cached = *p.Cache.Usage * t.Prompt
	}
	if p.Load.Mode == "open" {
		t.Concurrency++
	}
	if s := p.Server; s != nil && s.Running != nil && s.Waiting != nil && s.Waiting.Mean >= 1 {
		t.Concurrency = min(t.Concurrency, s.Running.Mean)
	}
	f := d.Forecast(t)
	return &result.Prediction{Model: d.Model.Name, Accelerator: d.Accelerator.Name, Count: d.TP, Precision: string(d.Weights),
		Steady: result.Steady{TPOT: 1e3 * f.TPOT, TTFT: 1e3 * f.TTFT}, FullAt: &f.FullAt}
}

func deployment(spec sim.Spec) catalog.Deployment {
	m, err := catalog.FindModel(spec.Model)
	if err != nil {
		panic(err)
	}
	a, err := catalog.FindAccelerator(spec.GPU)
	if err != nil {
		panic(err)
	}
	return catalog.Deploy(m, a, spec.TP)
}

// logNormal draws lengths around a median.
func logNormal(median, sigma float64) func(*rand.Rand) int {
	return func(r *rand.Rand) int { return max(8, int(median*math.Exp(sigma*r.NormFloat64()))) }
}
