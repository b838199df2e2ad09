package twin

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/docs/pages"
	"redline/internal/catalog"
	"redline/internal/must"
	"redline/internal/text"
	"redline/internal/traffic/dist"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// partTruth is a simulated engine with a part that a twin has to know, and the load
// that shows it.
type partTruth struct {
	name   string
	spec   sim.Spec
	rates  [3]float64 // fitted to the first and the last but one, judged at the last
	carry  func(r *rand.Rand, q *replay.Request)
	prefix int // tokens that prompts of a group have in common
	// part is what the calibration calls it.
	part string
}

// zipf draws from n things with Zipf popularity.
func zipf(r *rand.Rand, n int) int {
	return dist.NewUrn(dist.Popularity{Zipf: 1}.Shares(n)).Draw(r)
}

func partTruths() []partTruth {
	const ms = time.Millisecond
	base := func() sim.Spec { return sim.Spec{Model: "llama-3.1-8b", GPU: "H100"} }
	with := func(change func(*sim.Spec)) sim.Spec {
		s := base()
		change(&s)
		return s
	}
	groups := func(n int) func(*rand.Rand, *replay.Request) {
		return func(r *rand.Rand, q *replay.Request) { q.Prefix, q.Shared = 1+r.IntN(n), 2048 }
	}
	return []partTruth{
		{name: "adapters: 12, Zipf, 6 slots, 60 ms to load one", part: "adapters", rates: [3]float64{2, 4, 6}, carry: func(r *rand.Rand, q *replay.Request) { q.Adapter = fmt.Sprint(zipf(r, 12)) },
			spec: with(func(s *sim.Spec) { s.LoraModules, s.MaxLoras, s.LoraLoadTime = []string{"*"}, 6, new(60*ms) })},
		{name: "grammars: 300 schemas, 250 ms to compile one", part: "grammars", rates: [3]float64{4, 8, 16}, carry: func(r *rand.Rand, q *replay.Request) {
			if r.IntN(2) == 0 {
				q.Grammar = fmt.Sprint(r.IntN(300))
			}
		}, spec: with(func(s *sim.Spec) { s.GrammarCompileTime = new(250 * ms) })},
		{name: "priorities: a fifth of the requests first, 12 places", part: "priorities", rates: [3]float64{6, 8.5, 9.5}, carry: func(r *rand.Rand, q *replay.Request) { q.Priority = min(r.IntN(5), 1) },
			spec: with(func(s *sim.Spec) { s.SchedulingPolicy, s.MaxNumSeqs = sim.Priority, 12 })},
		{name: "prefix cache: 60 prefixes, room for about 40", part: "prefix cache", rates: [3]float64{3, 6, 12}, prefix: 2048, carry: groups(60),
			spec: with(func(s *sim.Spec) { s.NumGPUBlocksOverride = 6000 })},
		{name: "host tier: 60 prefixes, room for about 20, 4 GiB behind it", part: "host tier", rates: [3]float64{3, 6, 12}, prefix: 2048, carry: groups(60),
			spec: with(func(s *sim.Spec) { s.NumGPUBlocksOverride, s.KVOffloadingSize = 4000, 4 })},
		{name: "speculation: drafts of 3, 70% right", part: "speculation", rates: [3]float64{4, 8, 16}, spec: with(func(s *sim.Spec) { s.Speculation.Tokens, s.Acceptance = 3, 0.7 })},
		{name: "adapters, grammars and priorities together", part: "adapters", rates: [3]float64{2, 4, 6}, carry: func(r *rand.Rand, q *replay.Request) {
			q.Adapter, q.Priority = fmt.Sprint(zipf(r, 12)), min(r.IntN(5), 1)
			if r.IntN(3) == 0 {
				q.Grammar = fmt.Sprint(r.IntN(200))
			}
		}, spec: with(func(s *sim.Spec) {
			s.LoraModules, s.MaxLoras, s.LoraLoadTime, s.GrammarCompileTime, s.SchedulingPolicy = []string{"*"}, 6, new(60*ms), new(250*ms), sim.Priority
		})},
	}
}

// measure plays the load against the engine in virtual time, and gives what a client
// and the server's metrics would tell of it.
func (p partTruth) measure(t *testing.T, seed uint64, seconds float64) *Evidence {
	t.Helper()
	ev := &Evidence{Model: "m", Engine: "vllm", Embedded: true, adapterSlots: p.spec.MaxLoras}
	for n, rate := range p.rates {
		spec := p.spec
		spec.Seed = seed + p.spec.Seed
		core := must.Get(sim.NewBatching(spec))(t)
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		l := Level{Name: text.Number(rate) + "/s", Load: rate}
		for now := 0.0; now < seconds; now += r.ExpFloat64() / rate {
			q := replay.Request{Prompt: 100 + r.IntN(800), Output: 50 + r.IntN(200)}
			if p.carry != nil {
				p.carry(r, &q)
			}
			q.Prompt += q.Shared
			l.Requests = append(l.Requests, replay.ObservedRequest{Request: q, Session: len(l.Requests), At: int64(now * 1e9), TTFT: -1, TPOT: -1,
				Counted: now > seconds/4 && now < 0.95*seconds})
		}
		sim.RunOpen(core, func(yield func(int64, *sim.Job) bool) {
			for i := range l.Requests {
				o := &l.Requests[i]
				j := &sim.Job{ID: uint64(i), Output: o.Output, Priority: o.Priority, Adapter: o.Adapter, Grammar: o.Grammar, Prompt: make([]int32, o.Prompt)}
				for k := range j.Prompt {
					if j.Prompt[k] = int32(k*7919 + o.Prefix); k >= o.Shared {
						j.Prompt[k] = int32(r.Uint32())
					}
				}
				if !yield(o.At, j) {
					return
				}
			}
		}, sim.Watch{Token: func(tok sim.Token) {
			o := &l.Requests[tok.Job.ID]
			if tok.Index == 0 {
				o.First, o.TTFT, o.Cached = tok.At, float64(tok.At-o.At), tok.Job.Cached
			}
			if tok.Last {
				o.Last, o.E2E, o.TPOT = tok.At, float64(tok.At-o.At), float64(tok.At-o.First)/float64(o.Output-1)
			}
		}})
		told := core.Stats()
		ev.Blocks = told.KVBlocks
		l.tierShare = float64(told.HostHits) / float64(max(1, told.PrefixQueries))
		if told.SpecDrafts > 0 {
			ev.specLength, ev.specByPlace = 1+float64(told.SpecAccepted)/float64(told.SpecDrafts), nil
			for i := range p.spec.Speculation.Tokens {
				ev.specByPlace = append(ev.specByPlace, float64(told.SpecAcceptedAt[i])/float64(told.SpecDrafts))
			}
		}
		ev.Levels = append(ev.Levels, l)
	}
	return ev
}

// predict fits a twin to all levels but the last, and gives the row of that one.
func predict(t *testing.T, ev *Evidence) (Row, *Calibration) {
	t.Helper()
	last := len(ev.Levels) - 1
	fitted := *ev
	fitted.Levels = ev.Levels[:last]
	c := must.Get(Calibrate(t.Context(), &fitted))(t)
	return must.Get(rows(ev.Levels[last:], c.Spec, true))(t)[0], c
}

// without is the same evidence as a twin saw it that knew lengths alone.
func (ev *Evidence) without() *Evidence {
	plain := *ev
	plain.specByPlace, plain.adapterSlots = nil, 0
	plain.Levels = slices.Clone(ev.Levels)
	for i := range plain.Levels {
		l := &plain.Levels[i]
		l.Requests, l.tierShare = slices.Clone(l.Requests), 0
		for k := range l.Requests {
			o := &l.Requests[k]
			o.Request = replay.Request{Prompt: o.Prompt, Cached: o.Cached, Output: o.Output}
		}
	}
	return &plain
}

// TestPartsOfATwin fits twins to two loads on engines with one part each that lengths
// alone do not tell, and judges them at a third, higher load. It takes some 20 minutes
// of CPU, so that only make parts runs it.
func TestPartsOfATwin(t *testing.T) {
	draws, _ := strconv.Atoi(os.Getenv("REDLINE_PARTS")) // 0 where it is no number
	if draws == 0 {
		t.Skip("REDLINE_PARTS=5 runs it, on as many seeds")
	}
	seeds := make([]uint64, draws)
	for i := range seeds {
		seeds[i] = uint64(21 + i) // others than those on which the constants were chosen
	}
	only := os.Getenv("REDLINE_PARTS_ONLY")
	truths := slices.DeleteFunc(partTruths(), func(p partTruth) bool { return !strings.Contains(p.name, only) })
	type outcome struct {
		known, plain Row
		decided      bool
	}
	outcomes := make([][]outcome, len(truths))
	var all sync.WaitGroup
	for i, truth := range truths {
		outcomes[i] = make([]outcome, len(seeds))
		for k, seed := range seeds {
			all.Go(func() {
				ev := truth.measure(t, seed, 120)
				o := &outcomes[i][k]
				var c *Calibration
				o.known, c = predict(t, ev)
				o.decided = slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Name == truth.part && p.Decided })
				o.plain, _ = predict(t, ev.without())
				t.Logf("%s, seed %d: %v, without the part %v, %+v", truth.name, seed, offs([]Row{o.known}), offs([]Row{o.plain}), c.Parts)
			})
		}
	}
	all.Wait()
	table := "| engine and load | fitted to | judged at | off in ttft, tpot, e2e, ttft p99 | worst ttft | without the part | part decided |\n|---|---|---|---|---|---|---|\n"
	for i, truth := range truths {
		var known, plain []Row
		decided, worst := 0, 0.0
		for _, o := range outcomes[i] {
			worst = max(worst, o.known.P50["ttft"].Error)
			known, plain = append(known, o.known), append(plain, o.plain)
			if o.decided {
				decided++
			}
		}
		table += fmt.Sprintf("| %s | %g and %g/s | %g/s | %s | %s | %s | %d of %d |\n", truth.name, truth.rates[0], truth.rates[1], truth.rates[2],
			strings.Join(offs(known), ", "), text.RoughPercent(worst), strings.Join(offs(plain), ", "), decided, len(seeds))
	}
	if t.Log(table); only == "" {
		must.Do(t, pages.Write("RATES.md", "parts", table))
	}
}

// offs is the median error over rows of the medians, and of the tail of ttft.
func offs(list []Row) (out []string) {
	if len(list) == 0 {
		return nil
	}
	mid := func(of func(Row) float64) string {
		var all []float64
		for _, r := range list {
			all = append(all, of(r))
		}
		slices.SortFunc(all, cmp.Compare[float64])
		return text.RoughPercent(all[len(all)/2])
	}
	for _, figure := range Figures {
		out = append(out, mid(func(r Row) float64 { return r.P50[figure].Error }))
	}
	return append(out, mid(func(r Row) float64 { return r.P99["ttft"].Error }))
}

// Requests that wait for a place show how many there are; those that wait for a grammar
// or an adapter show nothing of it.
func TestBatchIsFullWhereRequestsWaitForAPlace(t *testing.T) {
	t.Parallel()
	for _, truth := range partTruths()[:3] {
		seen := look(truth.measure(t, 12, 60).Levels[:2])
		if want := truth.spec.MaxNumSeqs > 0; seen.full != want || want && seen.streaming != truth.spec.MaxNumSeqs {
			t.Errorf("%s: full %t with %d streaming of %d in flight", truth.name, seen.full, seen.streaming, seen.inFlight)
		}
	}
}

// With an engine's own constants the data decide each of its parts, and a cache finds
// what the engine's found.
func TestDataDecideParts(t *testing.T) {
	t.Parallel()
	for _, truth := range partTruths()[:5] {
		t.Run(truth.part, func(t *testing.T) {
			t.Parallel()
			truth.spec.Model, truth.spec.GPU, truth.spec.Jitter = "", "", new(float64)
			truth.spec.MaxNumSeqs, truth.spec.MaxNumBatchedTokens = cmp.Or(truth.spec.MaxNumSeqs, 256), 8192
			truth.spec.Law = &catalog.Law{WeightsUS: 6000, TokenUS: 22.5, Corner: 1.5, SequenceUS: 4, ContextUS: 0.065, PairUS: 0.0005}
			if truth.spec.KVOffloadingSize > 0 {
				truth.spec.KVOffloadingSize, truth.spec.Law.HostBlocks, truth.spec.Law.HostBlockUS = 0, 2000, 400
			}
			ev := truth.measure(t, 1, 30)
			c := &Calibration{Evidence: ev, Spec: truth.spec}
			c.Spec.EnablePrefixCaching = new(bool)
			law := *truth.spec.Law
			law.HostBlocks, law.HostBlockUS = 0, 0
			c.Spec.Law = &law
			if truth.prefix > 0 {
				from := candidate{base: c.Spec, x: make([]float64, constants), usual: make([]expectation, constants)}
				for i, us := range []float64{weights: law.WeightsUS, perToken: law.TokenUS, perSequence: law.SequenceUS, perContext: law.ContextUS, perPair: law.PairUS, constants - 1: 0} {
					from.x[i] = math.Log(max(us, negligible))
				}
				from, c.cache = fitCache(t.Context(), ev.Levels, from)
				c.Spec = from.spec()
			}
			parts := c.parts()
			if !slices.ContainsFunc(parts, func(p Part) bool { return p.Name == truth.part && p.Decided }) {
				t.Errorf("%s is not decided: %+v", truth.part, parts)
			}
		})
	}
}
