// Package consistency finds out whether a server gives the same greedy reply to the
// same prompt whatever else it does: in a full batch, on a hit of its prefix cache,
// after a preemption, from another replica. It asks, and judges each condition against
// how often a reply alone differs from itself.
package consistency

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/store"
	"redline/internal/text"
)

// Options is everything that it takes.
type Options struct {
	Target client.Spec
	// Others are asked alone too: replicas, or servers with a feature on.
	Others []Other
	// Prompts is how many there are, Tokens the longest reply, Batch how many are in
	// flight in a full batch.
	Prompts, Tokens, Batch int
	// Preempt is how many long requests go along to have others preempted; 0 does
	// not try.
	Preempt int
	Seed    uint64
	// Pages reads the server's metrics, nil where there are none.
	Pages telemetry.Fetch
	// Clock and Dial are the client's; a new clock and the network by default.
	Clock *clock.Clock
	Dial  client.Dial
	Say   func(format string, args ...any)
}

// Other is another server that should answer alike.
type Other struct{ Name, URL string }

// The defaults.
const (
	DefaultPrompts = 200
	DefaultTokens  = 64
	DefaultBatch   = 32
)

// The conditions; other servers are called by their names.
const (
	Alone      = "alone"
	Again      = "alone again"
	CacheHit   = "prefix cache hit"
	FullBatch  = "full batch"
	Preemption = "preemption"
)

// reply is what came back.
type reply struct {
	text   string
	cached int // prompt tokens
	failed string
}

// examiner asks one server.
type examiner struct {
	Options
	client *client.Client
	model  string
	run    string
	asked  atomic.Int64
	// unsalted says that the server refuses a salt, so that it cannot be kept from
	// its cache.
	unsalted atomic.Bool
}

// Run asks every prompt under every condition, and judges. Where it is interrupted, it
// judges what it has.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Clock == nil {
		o.Clock = clock.New()
	}
	x, err := o.open(ctx, o.Target.URLs[0])
	if err != nil {
		return nil, err
	}
	defer x.client.Close()
	var others []*examiner
	for _, other := range o.Others { // a mistake shows before the work
		y, err := o.open(ctx, other.URL)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", other.Name, err)
		}
		defer y.client.Close()
		others = append(others, y)
	}
	r := &Report{Schema: "redline/consistency/1", Model: x.model, URL: x.client.URL(), Prompts: o.Prompts}
	prompts, replies, err := x.askAlone(ctx, newPrompts(o.Seed, o.Prompts))
	if err != nil {
		return nil, err
	}
	order := []string{CacheHit}
	ask := func(name string, list func() ([]reply, error)) error {
		if ctx.Err() != nil {
			return nil
		}
		got, err := list()
		order, replies[name] = append(order, name), got
		return err
	}
	err = ask(FullBatch, func() ([]reply, error) {
		x.say("asking them %d at a time", o.Batch)
		return x.askAll(ctx, prompts, "batch"), nil
	})
	if o.Preempt > 0 && err == nil {
		err = ask(Preemption, func() ([]reply, error) {
			x.say("asking them beside %d long requests", o.Preempt)
			count, all := x.askPreempted(ctx, prompts)
			if count > 0 {
				return all, nil
			}
			r.Notes = append(r.Notes, fmt.Sprintf("preemption: not reached: the engine counted none beside %d long requests; a larger --preempt, or less memory for its cache, has some", o.Preempt))
			return nil, nil
		})
	}
	for i, y := range others {
		if err == nil {
			err = ask(o.Others[i].Name, func() ([]reply, error) {
				x.say("asking %s", o.Others[i].Name)
				return y.askOther(ctx, prompts, o.Others[i].Name)
			})
		}
	}
	if err != nil {
		return nil, err
	}
	if x.unsalted.Load() {
		r.Notes = append(r.Notes, "the server refuses cache_salt: every reply after the first may be a cache hit, so that the base rate may contain what the cache does")
	}
	if r.Interrupted = ctx.Err() != nil; r.Interrupted {
		r.Notes = append(r.Notes, fmt.Sprintf("interrupted: %d of %d prompts were asked, under these conditions: %s", len(prompts), o.Prompts, text.List(order)))
	}
	r.judge(prompts, order, replies)
	return r, nil
}

// askAlone puts every prompt alone, a second time, and alone again: the last behind the next
// prompt, because what a server mixes into a reply is mostly of the request before it. It
// gives the prompts that were asked so before an interruption.
func (x *examiner) askAlone(ctx context.Context, prompts []prompt) ([]prompt, map[string][]reply, error) {
	x.say("asking %d prompts alone, on a cache hit and alone again", len(prompts))
	alone, hit, again := make([]reply, len(prompts)), make([]reply, len(prompts)), make([]reply, len(prompts))
	asked := 0
	for i := range len(prompts) + 1 {
		if i < len(prompts) {
			alone[i] = x.ask(ctx, prompts[i], fmt.Sprint(i, "-alone"))
			hit[i] = x.ask(ctx, prompts[i], fmt.Sprint(i, "-alone"))
			if err := x.usable(alone[:i+1]); err != nil && ctx.Err() == nil {
				return nil, nil, err
			}
		}
		if i > 0 {
			again[i-1] = x.ask(ctx, prompts[i-1], fmt.Sprint(i-1, "-again"))
		}
		if ctx.Err() != nil {
			break
		}
		asked = i
	}
	if asked == 0 {
		return nil, nil, ctx.Err()
	}
	return prompts[:asked], map[string][]reply{Alone: alone[:asked], CacheHit: hit[:asked], Again: again[:asked]}, nil
}

// askOther puts the prompts to another server.
func (x *examiner) askOther(ctx context.Context, prompts []prompt, name string) ([]reply, error) {
	list := make([]reply, len(prompts))
	for i, p := range prompts {
		list[i] = x.ask(ctx, p, fmt.Sprint(i, "-other"))
	}
	if err := x.usable(list); err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// open connects to a server and finds its model.
func (o Options) open(ctx context.Context, url string) (*examiner, error) {
	spec := o.Target
	spec.URLs = []string{url}
	c, err := client.New(spec, client.Options{Clock: o.Clock, Dial: o.Dial})
	if err != nil {
		return nil, err
	}
	x := &examiner{Options: o, client: c, model: spec.Model, run: store.NewID()}
	if x.model == "" {
		served, err := c.Models(ctx)
		if err == nil && len(served) == 0 {
			err = errors.New("its list is empty")
		}
		if err != nil {
			c.Close()
			if errors.As(err, new(*net.OpError)) {
				return nil, fmt.Errorf("%s does not answer: %w: is the server running there?", c.URL(), err)
			}
			return nil, fmt.Errorf("%s lists no model (%w): name one with --model", c.URL(), err)
		}
		x.model = served[0].ID
	}
	return x, nil
}

func (x *examiner) say(format string, args ...any) {
	if x.Say != nil {
		x.Say(format, args...)
	}
}

// maxFailed is how many replies in a row may fail before the server is given up.
const maxFailed = 5

// usable gives an error where the last replies all failed.
func (x *examiner) usable(list []reply) error {
	for i := range maxFailed {
		if at := len(list) - 1 - i; at < 0 || list[at].failed == "" {
			return nil
		}
	}
	return fmt.Errorf("%s does not answer: %s", x.client.URL(), list[len(list)-1].failed)
}

// ask puts one prompt, greedily. Requests of the same salt share the prefix cache, and
// no others: vLLM and SGLang know cache_salt, llama.cpp cache_prompt.
func (x *examiner) ask(ctx context.Context, p prompt, salt string) reply {
	r := x.request(p.text)
	if !x.unsalted.Load() {
		r.Body = map[string]any{"cache_salt": x.run + salt}
	}
	got, status := x.send(ctx, r)
	if r.Body != nil && (status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) {
		again := x.request(p.text)
		if got, _ = x.send(ctx, again); got.failed == "" {
			x.unsalted.Store(true)
		}
	}
	return got
}

func (x *examiner) request(content string) *llm.Request {
	return &llm.Request{ID: llm.RequestID(x.run, int(x.asked.Add(1))), Model: x.model, Stream: x.Target.Streams(), MaxTokens: x.Tokens, Natural: true,
		Messages: []llm.Message{{Role: "user", Content: content}}, Sampling: llm.Sampling{Temperature: new(0.0), Seed: new(int64(1))}}
}

func (x *examiner) send(ctx context.Context, r *llm.Request) (got reply, status int) {
	var said strings.Builder
	for ev, err := range x.client.Stream(ctx, r) {
		if err != nil {
			if f := (*llm.Fault)(nil); errors.As(err, &f) {
				status = f.Status
			}
			return reply{failed: err.Error()}, status
		}
		switch ev.Kind {
		case llm.Output:
			said.Write(ev.Text)
		case llm.UsageSeen:
			got.cached = ev.Usage.CachedTokens
		}
	}
	got.text = said.String()
	return got, 0
}

// askAll puts all prompts with Batch of them in flight.
func (x *examiner) askAll(ctx context.Context, prompts []prompt, salt string) []reply {
	list := make([]reply, len(prompts))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(x.Batch, len(prompts)) {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(prompts); i = next.Add(1) - 1 {
				list[i] = x.ask(ctx, prompts[i], fmt.Sprint(i, "-", salt))
			}
		})
	}
	all.Wait()
	return list
}

// longReply is how many tokens a request asks for that is to fill the cache, and
// maxFill how long that may take.
const (
	longReply = 1024
	maxFill   = time.Minute
)

// askPreempted puts all prompts beside long requests, and gives how many preemptions the
// engine counted meanwhile.
func (x *examiner) askPreempted(ctx context.Context, prompts []prompt) (count float64, list []reply) {
	before := x.preemptions(ctx)
	long, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for n := range x.Preempt {
		all.Go(func() {
			for long.Err() == nil {
				r := x.request(prompts[n%len(prompts)].text + " Be long.")
				r.MaxTokens, r.Natural = longReply, false
				if got, _ := x.send(long, r); got.failed != "" {
					return
				}
			}
		})
	}
	for until := time.Now().Add(maxFill); ctx.Err() == nil && time.Now().Before(until) && x.preemptions(ctx) == before; {
		time.Sleep(200 * time.Millisecond)
	}
	list = x.askAll(ctx, prompts, "preempted")
	stop()
	all.Wait()
	return x.preemptions(ctx) - before, list
}

// preemptions is the engine's own count, 0 where it shows none.
func (x *examiner) preemptions(ctx context.Context) float64 {
	fetch := x.Pages
	if fetch == nil {
		fetch = func(ctx context.Context) ([]byte, error) { return x.client.Get(ctx, "/metrics") }
	}
	page, err := fetch(ctx)
	if err != nil {
		return 0
	}
	if r, ok := telemetry.ParsePage(page).Read(); ok && r.Preemptions != nil {
		return *r.Preemptions
	}
	return 0
}
