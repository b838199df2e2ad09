package measure

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/catalog"
	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/quality"
	"redline/internal/judge/result"
	"redline/internal/judge/validity"
	"redline/internal/llm"
	"redline/internal/observe/engine"
	"redline/internal/plan/config"
	"redline/internal/run/assemble"
	"redline/internal/stats"
	"redline/internal/text"
	"redline/internal/traffic/token"
	"redline/internal/traffic/workload"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// Target is who answers: a server that was found and has answered once. Several
// runs can share it, one after another: the embedded engine, its caches and open
// connections are then the same for all.
type Target struct {
	client       *client.Client
	text         token.Text // of the tokenizer that fits it
	clock        *clock.Clock
	engine       *simserver.Running // the embedded engine, nil for a server
	launched     *launched          // the server that was started, nil for others
	late         *holdup.Recorder   // what it put out late, nil for a server
	spec         sim.Spec           // of the embedded engine
	model        string
	answeredHTTP bool // it has answered a preflight request with HTTP
	about        result.Engine
	usage        bool // it reports usage
	// template is how many tokens the server adds to a prompt, nil where it
	// does not count them; context is the most that it takes, 0 if unknown.
	template *int
	context  int
	// chatTemplate is what the server puts around prompts, where it shows it.
	chatTemplate string
	facts        engine.Facts  // what it said about itself
	ttft         time.Duration // of the preflight request
	tpot         time.Duration
	asked        []tokenUse       // by the preflight requests
	repeat       *validity.Repeat // nil where it was not tried
	exam         *quality.Exam    // what the golden set came to before any load, nil before it was asked
	cut          int64            // requests that the last run cut off
	reply        bytes.Buffer     // the preflight's exchange as it was traced
}

// tally is what a client has counted since it was made.
type tally struct{ kernel, user, retransmits, shortage, unasked int64 }

func (t *Target) tally() tally {
	kernel, user := t.client.Timestamps()
	files, ports := t.client.Shortage()
	return tally{kernel, user, t.client.Retransmits(), files + ports, t.client.UnsolicitedReads()}
}

func (t tally) less(before tally) tally {
	return tally{t.kernel - before.kernel, t.user - before.user, t.retransmits - before.retransmits, t.shortage - before.shortage, t.unasked - before.unasked}
}

// openTarget starts the embedded engine or finds the server, and sends one
// preflight request: a dead host, an unknown model or a body that is not a
// stream is found here, before anything is written.
func openTarget(ctx context.Context, r *run) (*Target, error) {
	t := &Target{}
	spec := r.Config.Provider
	if r.Config.Embedded() {
		if err := t.startEngine(ctx, r); err != nil {
			return nil, err
		}
		spec.URLs, spec.Model = []string{t.engine.URL()}, t.spec.ServedModelName
	}
	if r.Config.Launched() {
		if err := t.startServer(ctx, r); err != nil {
			return nil, err
		}
		spec.URLs = []string{t.launched.server.URL()}
	}
	spec.Secrets = r.Config.Secrets()
	if err := t.reach(ctx, r, spec); err != nil {
		t.Close()
		return nil, err
	}
	t.text, t.clock = r.text, r.clock
	return t, nil
}

func (t *Target) startEngine(ctx context.Context, r *run) error {
	spec, err := r.Config.Server.Sim.Resolve()
	if err != nil {
		return err
	}
	t.spec = spec
	// The engine outlives an interrupt: requests in flight may still end.
	t.late = &holdup.Recorder{}
	t.engine, err = simserver.Start(context.WithoutCancel(ctx), spec, simserver.ServeOptions{Version: r.Version, Clock: r.clock, Late: t.late, Open: r.Open})
	return err
}

func (t *Target) reach(ctx context.Context, r *run, spec client.Spec) error {
	var err error
	if t.client, err = client.New(spec, client.Options{Clock: r.clock, Dial: r.Dial}); err != nil {
		return err
	}
	t.findWay(ctx, r)
	// A connection to each address says what is wrong with one that has none
	// better than the model list could.
	if err := t.client.Open(ctx, max(1, len(spec.URLs))); err != nil {
		return err
	}
	t.model = spec.Model
	t.about = result.Engine{API: t.client.Dialect().Name, URL: t.client.URL(), Embedded: t.engine != nil}
	served, listErr := t.client.Models(ctx)
	e := validity.Endpoint{URL: t.client.URL(), Models: text.Each(served, func(m client.ServedModel) string { return m.ID })}
	if listErr != nil {
		e.ModelsFault = listErr.Error()
		e.ModelsStatus, e.ModelsCure = client.Refusal(listErr)
	}
	if t.model == "" && len(served) > 0 {
		t.model = served[0].ID
	}
	e.Model = t.model
	if err := e.Preflight(); err != nil {
		return err
	}
	if err := assemble.Refuse(r.Config, t.model); err != nil {
		return err
	}
	if err := t.learnContext(ctx, r, served); err != nil {
		return err
	}
	var seen io.Writer = &t.reply
	if r.Trace != nil {
		seen = io.MultiWriter(seen, r.Trace)
	}
	t.client.TraceNext(seen)
	if err := t.preflight(ctx, r, e); err != nil {
		return err
	}
	t.identify(ctx, r, served)
	return nil
}

// findWay resolves the server's name and says what the user may not expect of
// the way to it.
func (t *Target) findWay(ctx context.Context, r *run) {
	if proxy := t.client.Proxy(); proxy != "" {
		r.say("asking through the proxy %s, whose time is part of every figure; NO_PROXY goes without", proxy)
	}
	dead := t.client.Resolve(ctx)
	for _, addr := range dead {
		r.say("%s accepts no connections and is left out", addr)
	}
	if n := len(t.client.Addresses()); n > len(r.Config.Provider.URLs) && n > 1 {
		r.say("spreading requests over %s", strings.Join(t.client.Addresses(), ", "))
	}
}

// identify asks the server for its engine, model and version.
func (t *Target) identify(ctx context.Context, r *run, served []client.ServedModel) {
	if t.engine != nil {
		t.facts = simFacts(t.spec, r.Version)
	} else {
		mask := r.Config.Mask()
		t.facts = engine.Ask(ctx, func(ctx context.Context, path string, body []byte) ([]byte, error) {
			page, err := t.page(ctx, path, body)
			return []byte(mask.Hide(string(page))), err // before any of it is cut
		}, t.model)
	}
	for _, m := range served {
		if m.ID == t.model {
			t.facts.Add(engine.Facts{Engine: m.OwnedBy, Model: m.Root, MaxLen: m.MaxModelLen})
		}
	}
	t.chatTemplate = cmp.Or(t.chatTemplate, t.facts.ChatTemplate)
	t.about.Name, t.about.Version = t.facts.Engine, t.facts.Version
}

// page is what the server has at a path, or answers to a body there.
func (t *Target) page(ctx context.Context, path string, body []byte) ([]byte, error) {
	if body != nil {
		return t.client.Post(ctx, path, body)
	}
	return t.client.Get(ctx, path)
}

// The preflight request is short: it asks whether, not how fast. Its number is
// one that no request of a stage reaches.
const (
	preflightTokens = 16
	preflightNumber = 999_999_999_999
)

// preflight sends one request and looks at all of its reply; then, of a server
// that answers soon, whether it answers repeated requests from a cache. All of
// it is charged to the budgets.
func (t *Target) preflight(ctx context.Context, r *run, e validity.Endpoint) error {
	if short := r.shortFor(1, t.asked); short != "" {
		return fmt.Errorf("%s does not even pay for the request before the load, of %d prompt and %d output tokens",
			short, preflightTokens, preflightTokens)
	}
	rec, err := t.askAgain(ctx, r, 0)
	if err != nil {
		return t.unfit(err, e)
	}
	if header := r.Config.Provider.ReplicaHeader; header != "" && rec.Served.Replica == "" {
		r.say("the first reply has no header %s (--replica-header): replicas have no names where none has", header)
	}
	if err := t.tryKinds(ctx, r); err != nil {
		return err
	}
	t.usage = rec.Counted == record.ByUsage
	if added := rec.PromptTokens - preflightTokens; rec.PromptTokens > 0 && added >= 0 && !r.Config.Pools() {
		t.template = &added
	}
	t.observePace(rec)
	repeat := validity.Repeat{Fresh: whole(rec)}
	for prompt := uint64(1); repeat.Open(); prompt++ {
		if repeat.Fresh > repeatLimit || r.shortFor(2, t.asked) != "" {
			return nil
		}
		// Another prompt goes first, so that a cold start is not taken for a cache.
		fresh, err := t.askAgain(ctx, r, prompt)
		var again *record.Record
		if err == nil {
			again, err = t.askAgain(ctx, r, prompt-1)
		}
		switch {
		case err != nil && prompt > 1:
			return nil // a server that fails now and then is measured, not refused
		case err != nil:
			return t.unfit(err, e)
		}
		t.observePace(fresh)
		repeat.Add(whole(fresh), whole(again))
	}
	t.repeat = &repeat
	return nil
}

// observePace keeps the shortest times of the preflight's replies: the first may have waited
// for a model to be loaded or kernels to be compiled.
func (t *Target) observePace(rec *record.Record) {
	ttft := whole(rec)
	if rec.First > 0 {
		ttft = time.Duration(rec.First - rec.Sent)
	}
	t.ttft = min(cmp.Or(t.ttft, ttft), ttft)
	if n := rec.TokensAfterFirst(); n > 0 && rec.Last > rec.First {
		tpot := time.Duration(rec.Last-rec.First) / time.Duration(n)
		t.tpot = min(cmp.Or(t.tpot, tpot), tpot)
	}
}

// repeatLimit is how slow a server may be for more preflight requests.
const repeatLimit = 3 * time.Second

func whole(rec *record.Record) time.Duration { return time.Duration(max(rec.Last, rec.End) - rec.Sent) }

// maxKinds is how many kinds of requests the preflight tries, and kindsTime for how
// long.
const (
	maxKinds  = 32
	kindsTime = time.Minute
)

// tryKinds sends a request of each kind that carries something beside its text, so
// that a server which refuses that, such as a priority that its scheduler does not
// know, or has no such adapter is found before the load.
func (t *Target) tryKinds(ctx context.Context, r *run) error {
	tried, begun := 0, r.clock.Now()
	for _, kind := range r.kinds {
		if r.shortFor(1, t.asked) != "" || time.Duration(r.clock.Now()-begun) > kindsTime {
			break
		}
		if err := t.try(ctx, r, kind); err != nil {
			return err
		}
		tried++
	}
	if tried < r.allKinds {
		r.say("the preflight has tried %d of the %d kinds of requests that the workload has: what the server refuses of the others shows as errors", tried, r.allKinds)
	}
	return nil
}

// try sends one of a kind, and another where the server itself failed.
func (t *Target) try(ctx context.Context, r *run, kind workload.Kind) error {
	kind.Compose()
	defer kind.LetGo()
	_, err := t.ask(ctx, r, 0, kind.Request)
	var f *llm.Fault
	if errors.As(err, &f) && f.Status >= 500 {
		_, err = t.ask(ctx, r, 1, kind.Request)
	}
	if !errors.As(err, &f) || f.Outcome != llm.HTTP && f.Outcome != llm.ErrorEvent {
		return nil // a server that fails now and then is measured, not refused
	}
	place := "workload: "
	if kind.Place != "" {
		place += kind.Place + ": "
	}
	return fmt.Errorf("%sthe server refuses requests with %s (HTTP %d): %s", place, strings.Join(kind.Carried(), ", "), f.Status, f.Message)
}

// preflightTries is how often a request of the preflight is sent to a server that fails:
// behind a gateway another replica may not.
const preflightTries = 4

// askAgain sends the preflight request until the server itself does not fail, and says which
// replica did.
func (t *Target) askAgain(ctx context.Context, r *run, prompt uint64) (*record.Record, error) {
	var by []string
	for try := 1; ; try++ {
		rec, err := t.ask(ctx, r, prompt, nil)
		if err == nil {
			return rec, nil
		}
		var f *llm.Fault
		if !errors.As(err, &f) || f.Status < 500 {
			return nil, err
		}
		name := rec.Served.Replica
		if name != "" && !slices.Contains(by, name) {
			by = append(by, name)
		}
		if try < preflightTries {
			r.say("%s (HTTP %d); sending it again", text.Join(" at ", "a request before the load failed", name), f.Status)
			continue
		}
		again := *f
		again.Message += " (" + text.Join(", at ", fmt.Sprintf("%d of %d requests", try, try), strings.Join(by, ", ")) + ")"
		return nil, &again
	}
}

// ask sends the preflight request with the given prompt, or one of a kind.
func (t *Target) ask(ctx context.Context, r *run, prompt uint64, kind *llm.Request) (*record.Record, error) {
	text := r.text.Compose(nil, stats.Rand(r.Config.Seed, "preflight", prompt), preflightTokens)
	request := &llm.Request{Messages: []llm.Message{{Role: "user", Content: string(text)}}, Sampling: r.Config.Generation.Sampling()}
	if kind != nil {
		*request = *kind
		request.Natural = true
	}
	request.ID, request.Model, request.Stream = llm.RequestID(r.id, preflightNumber-len(t.asked)), cmp.Or(request.Model, t.model), r.Config.Streaming()
	request.MaxTokens = preflightTokens
	if r.Config.Pools() {
		request.Messages = []llm.Message{{Role: "query", Content: string(text)}, {Role: "document", Content: string(text)}}
		request.MaxTokens, request.Inputs = 0, 1
	}
	return t.observe(ctx, request)
}

// observe sends a request of the preflight, which is charged to the budgets.
func (t *Target) observe(ctx context.Context, request *llm.Request) (*record.Record, error) {
	rec := &record.Record{}
	for ev, err := range t.client.Stream(ctx, request) {
		if err != nil {
			return rec, err
		}
		t.answeredHTTP = t.answeredHTTP || ev.Kind == llm.Head
		rec.Observe(ev)
	}
	rec.Settle()
	t.asked = append(t.asked, tokenUse{max(rec.PromptTokens, preflightTokens), rec.OutputTokens})
	return rec, nil
}

var tracedModel = regexp.MustCompile(`(?m)^<.*?"model" ?: ?"([^"]+)"`)

// otherModel says that the server answers for another model than it was asked for, ""
// where it does not. Names with a path or a date are the same.
func (t *Target) otherModel() string {
	found := tracedModel.FindSubmatch(t.reply.Bytes())
	if found == nil {
		return ""
	}
	asked, answered := strings.ToLower(t.model), strings.ToLower(string(found[1]))
	if strings.Contains(asked, answered) || strings.Contains(answered, asked) {
		return ""
	}
	return fmt.Sprintf("the server answers as model %s, and %s was asked for: whose figures these are is not known", text.Quote(string(found[1])), text.Quote(t.model))
}

// unfit words a failed preflight, with its cure where one is known.
func (t *Target) unfit(err error, e validity.Endpoint) error {
	var f *llm.Fault
	if !errors.As(err, &f) {
		return err
	}
	if f.Outcome == llm.Cancelled {
		return context.Canceled
	}
	e.URL, e.Cold = t.client.LastURL(), &validity.Reply{Outcome: f.Outcome, Status: f.Status, Fault: f.Message, Answered: t.answeredHTTP}
	return e.Preflight()
}

// expectedTime guesses the time of a request for so many tokens from the preflight's,
// for the stagger of a closed loop and the number of connections.
func (t *Target) expectedTime(output float64) time.Duration {
	const limit = 30 * time.Second
	return min(t.ttft+time.Duration(output*float64(t.tpot)), limit)
}

// Lone is how long a mean request of a plan's workload takes by itself, and the
// time between the tokens of its reply, by the preflight; 0 is not known.
func (t *Target) Lone(c *config.Config) (reply, pace time.Duration) {
	_, output := t.MeanLengths(c)
	if t.tpot > 0 || len(t.asked) == 0 || t.asked[0].output < 2 || output <= 0 {
		return t.ttft + time.Duration(output*float64(t.tpot)), t.tpot
	}
	// Nothing was streamed: each token takes its share of the whole.
	return time.Duration(float64(t.ttft) * output / float64(t.asked[0].output)), 0
}

// GuessLimit is the rate at which a plan's objectives are met by arithmetic over
// model and hardware, 0 where they are not known.
func (t *Target) GuessLimit(c *config.Config) float64 {
	prompt, output := t.MeanLengths(c)
	return assemble.GuessLimit(c, t.model, t.facts, prompt, output)
}

// Close gives the target back.
func (t *Target) Close() {
	if t.client != nil {
		t.client.Close()
	}
	if t.launched != nil {
		_ = t.launched.halt(false) // it may have been stopped before
	}
	if t.engine != nil {
		// The run is over: an engine that does not close in order has
		// nothing left to lose.
		_ = t.engine.Close()
	}
}

// Open finds the target of a plan, as Run does.
func Open(ctx context.Context, o Options) (*Target, error) {
	r := newRun(o)
	if err := r.loadTokenizer(); err != nil {
		return nil, err
	}
	err := r.untilStopped(ctx, func(ctx context.Context) (err error) {
		r.target, err = openTarget(ctx, r)
		return err
	})
	if err != nil && r.target != nil {
		r.target.Close()
	}
	if err != nil {
		return nil, err
	}
	return r.target, nil
}

// URL is where it is asked, without query and user.
func (t *Target) URL() string { return t.client.URL() }

// Model is the name that is asked for.
func (t *Target) Model() string { return t.model }

func simFacts(s sim.Spec, version string) engine.Facts {
	f := engine.Facts{Engine: assemble.SimName, Version: version, Model: s.Model, Revision: "simulated", Tokenizer: simTokenizer,
		Precision: s.Dtype, Quantization: s.Quantization, MaxLen: s.MaxModelLen, Parallelism: fmt.Sprintf("tp %d", max(1, s.TP)),
		Flags: map[string]string{
			"max_num_seqs": strconv.Itoa(s.MaxNumSeqs), "max_num_batched_tokens": strconv.Itoa(s.MaxNumBatchedTokens),
			"gpu_memory_utilization": strconv.FormatFloat(s.GPUMemoryUtilization, 'g', -1, 64),
			"max_model_len":          strconv.Itoa(s.MaxModelLen), "scheduling_policy": cmp.Or(s.SchedulingPolicy, sim.FCFS)}}
	if s.EnablePrefixCaching != nil {
		f.Flags["enable_prefix_caching"] = strconv.FormatBool(*s.EnablePrefixCaching)
	}
	if s.EnableChunkedPrefill != nil {
		f.Flags["enable_chunked_prefill"] = strconv.FormatBool(*s.EnableChunkedPrefill)
	}
	// Of a fitted engine the name says whose twin it is, not how its weights are stored.
	if m, err := catalog.FindModel(s.Model); err == nil && s.Law == nil && (f.Precision == "" || f.Precision == "auto") {
		f.Precision = string(m.Precision)
	}
	return f
}

// simTokenizer is what the simulated engine counts with.
const simTokenizer = "o200k_base"
