package diagnose

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"redline/docs/pages"
	"redline/internal/catalog"
	_ "redline/internal/effort" // collects garbage seldom
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/stats"
	"redline/internal/twin/sim"
)

// sites are what runs where in the draws.
var sites = []sim.Spec{
	{Model: "llama-3.1-8b", GPU: "H100", TP: 1}, {Model: "llama-3.1-8b", GPU: "A100", TP: 1}, {Model: "llama-3.1-8b", GPU: "L40S", TP: 1},
	{Model: "qwen3-8b", GPU: "H200", TP: 1}, {Model: "qwen2.5-7b", GPU: "A100", TP: 1}, {Model: "mistral-7b", GPU: "H100-PCIe", TP: 1},
	{Model: "qwen3-32b", GPU: "H100", TP: 2}, {Model: "qwen2.5-32b", GPU: "H200", TP: 1}, {Model: "llama-3.1-70b", GPU: "H100", TP: 4},
	{Model: "llama-3.1-70b", GPU: "H200", TP: 4}, {Model: "qwen3-30b-a3b", GPU: "H100", TP: 1}, {Model: "llama-3.1-8b", GPU: "RTX-4090", TP: 1},
}

// between draws evenly on a line, spread on one of powers.
func between(r *rand.Rand, lo, hi float64) float64 { return lo + (hi-lo)*r.Float64() }
func spread(r *rand.Rand, lo, hi float64) float64  { return lo * math.Pow(hi/lo, r.Float64()) }

// draw is a trial that is healthy until a regime is put into it: so many
// requests of such lengths in flight on some machine.
type draw struct {
	trial
	r              *rand.Rand
	in, out, width float64
}

func newDraw(r *rand.Rand, in, out float64) *draw {
	d := &draw{r: r, in: in, out: out, width: between(r, 0.2, 0.5)}
	d.spec = sites[r.IntN(len(sites))]
	d.warmup, d.window = 15*time.Second, 40*time.Second
	d.lengths()
	return d
}

func (d *draw) lengths() {
	d.prompt, d.output = logNormal(d.in, d.width), logNormal(d.out, d.width)
}

// forecast is what so many requests at once would see.
func (d *draw) forecast(inFlight float64) catalog.Forecast {
	return deployment(d.spec).Forecast(catalog.Traffic{Prompt: float64(d.prefix) + d.in, Output: d.out, Concurrency: inFlight})
}

// rateFor is the rate at which so many are in flight, by Little's law.
func (d *draw) rateFor(inFlight float64) float64 {
	f := d.forecast(inFlight)
	return inFlight / (f.TTFT + d.out*f.TPOT)
}

// atLeast makes the window long enough for so many requests.
func (d *draw) atLeast(requests float64) {
	d.window = max(d.window, time.Duration(requests/d.rate*float64(time.Second)))
}

// roomy moves the draw to a machine whose cache holds so many requests.
func (d *draw) roomy(requests float64) {
	for d.forecast(requests).FullAt < requests {
		d.spec = sites[d.r.IntN(len(sites))]
	}
}

func healthy(r *rand.Rand) *draw {
	d := newDraw(r, spread(r, 100, 700), spread(r, 80, 200))
	d.roomy(40)
	d.rate = d.rateFor(between(r, 3, 10))
	d.atLeast(60)
	return d
}

// regime is a way to put the simulated engine into trouble.
type regime struct {
	name string // "" where nothing is to be said, of servers that are well
	make func(r *rand.Rand, i int) []*draw
	well string
}

// String is what stands in a table of draws.
func (g regime) String() string {
	if g.name == "" {
		return g.well
	}
	return "`" + g.name + "`"
}

func one(d *draw) []*draw { return []*draw{d} }

// regimes are all of them.
var regimes = slices.Concat(ofRequests, ofPools, ofAgents)

var ofRequests = []regime{
	{name: "rate-limited", make: func(r *rand.Rand, i int) []*draw {
		d := healthy(r)
		d.spec.RateLimit, d.hidden = d.rate*between(r, 0.3, 0.8), i%2 == 1
		return one(d)
	}},
	{name: "grammar-compilation", make: func(r *rand.Rand, i int) []*draw {
		d := healthy(r)
		d.atLeast(500)
		ttft := d.forecast(4).TTFT
		d.spec.GrammarCompileTime = new(max(80*time.Millisecond, time.Duration(1e9*ttft*between(r, 3, 12))))
		d.schemas, d.hidden = 1_000_000, i%2 == 1
		d.slo = []string{fmt.Sprintf("ttft:p90<%dus", int(2e6*ttft))}
		if i%3 == 0 { // most of them wait for none
			d.schemas = int(d.rate * d.window.Seconds() / 10)
			d.slo = []string{fmt.Sprintf("ttft:p99<%dus", int(4e6*ttft))}
		}
		return one(d)
	}},
	{name: "cold-start", make: func(r *rand.Rand, i int) []*draw {
		d := healthy(r)
		d.warmup, d.hidden = 0, i%2 == 1
		d.rate = d.rateFor(between(r, 2, 4))
		d.atLeast(120)
		d.spec.ColdStart = time.Duration(between(r, 0.2, 0.3) * float64(d.window))
		return one(d)
	}},
	{name: "kv-pressure", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 200, 800), spread(r, 200, 400))
		n := between(r, 20, 40)
		d.roomy(n + 20)
		d.rate = d.rateFor(n)
		d.spec.NumGPUBlocksOverride = int(between(r, 0.4, 0.7) * n * (d.in + d.out/2) / 16)
		d.secret = i%2 == 1
		return one(d)
	}},
	{name: "scheduler-saturation", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 100, 500), spread(r, 100, 250))
		n := between(r, 16, 40)
		d.roomy(n + 20)
		d.rate = d.rateFor(n)
		d.spec.MaxNumSeqs = int(n * between(r, 0.4, 0.65))
		d.secret = i%2 == 1
		return one(d)
	}},
	{name: "prefix-cache", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 60, 300), spread(r, 60, 150))
		d.prefix, d.groups = int(spread(r, 800, 3000)), 4
		d.roomy(40)
		d.rate = d.rateFor(between(r, 3, 8))
		d.atLeast(100)
		if i%2 == 1 {
			d.spec.EnablePrefixCaching = new(false)
			return one(d)
		}
		// More prefixes than the cache holds beside what is running.
		d.groups = 150
		d.spec.NumGPUBlocksOverride = int((float64(d.prefix)*24 + 60*(d.in+d.out)) / 16)
		return one(d)
	}},
	{name: "host-bound", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 100, 500), spread(r, 100, 250))
		n := between(r, 24, 48)
		d.roomy(n + 20)
		if i%2 == 0 {
			// So much of each step that the accelerator waits.
			step := d.forecast(n).Step
			d.spec.StepOverhead = time.Duration(1e9 * step * between(r, 0.4, 1.2))
			d.rate = 0.8 * n / (d.out * (step + d.spec.StepOverhead.Seconds()))
			d.device = true
			d.atLeast(100)
			return one(d)
		}
		// So much for each sequence that it shows in the difference of two loads.
		model := deployment(d.spec).Steps()
		law, fixed := model.Law(d.in + d.out/2)
		law.SequenceUS += 1e6 * d.forecast(n).Step / n * between(r, 1.2, 2.5)
		d.law, d.spec.StepOverhead = &law, time.Duration(1e9*fixed)
		d.inFlight, d.window, d.warmup = int(n), 40*time.Second, 15*time.Second
		low := *d
		low.inFlight, low.window = 2, 2*time.Minute
		return []*draw{&low, d}
	}},
	{name: "front-end-bound", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 100, 500), spread(r, 100, 250))
		n := between(r, 24, 48)
		d.roomy(2*n + 20)
		d.rate = d.rateFor(n)
		d.atLeast(100)
		// Events take most of what one process can do, or prompts do.
		busy := between(r, 0.88, 0.96)
		if i%2 == 0 {
			d.spec.FrontEnd.EventUS = 1e6 * busy / (d.rate * d.out)
			return one(d)
		}
		d.spec.FrontEnd.EventUS = 1e6 * 0.3 * busy / (d.rate * d.out)
		d.spec.FrontEnd.TokenUS = 1e6 * 0.7 * busy / (d.rate * d.in)
		return one(d)
	}},
	{name: "network-bound", make: func(r *rand.Rand, i int) []*draw {
		d := healthy(r)
		d.spec.NetDelay = time.Duration(1e9 * d.forecast(4).TTFT * between(r, 0.6, 3))
		d.spec.NetDelay = max(d.spec.NetDelay, 10*time.Millisecond)
		return one(d)
	}},
	{name: "interference", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 100, 400), spread(r, 100, 250))
		share, long := between(r, 0.12, 0.2), between(r, 6000, 14000)
		short := logNormal(d.in, 0.3)
		d.prompt = func(r *rand.Rand) int {
			if r.Float64() < share {
				return int(long * between(r, 0.8, 1.2))
			}
			return short(r)
		}
		// The mean prompt decides the load.
		d.in += share * long
		d.roomy(30)
		d.rate = min(d.rateFor(between(r, 4, 8)), 0.3/d.forecast(1).Prefill)
		d.atLeast(140)
		d.hidden = i%2 == 1
		return one(d)
	}},
	{name: "queueing", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 1200, 3000), spread(r, 10, 30))
		d.roomy(150)
		f := d.forecast(1)
		if i%2 == 1 {
			d.rate, d.hidden = between(r, 1.3, 1.8)/(f.Prefill+d.out*f.TPOT/20), i%4 == 1
			return one(d)
		}
		d.rate, d.burst = between(r, 0.5, 0.6)/f.Prefill, between(r, 0.04, 0.08)
		d.atLeast(300)
		return one(d)
	}},
	{name: "prefill-bound", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 5000, 14000), spread(r, 20, 60))
		d.roomy(4)
		d.rate = 0.25 / d.forecast(1).Prefill
		if f := d.forecast(1); i%2 == 1 || f.TTFT < 2.5*d.out*f.TPOT {
			d.slo = []string{fmt.Sprintf("ttft:p50<%dms", int(600*f.TTFT)), "tpot:p50<500ms"}
		}
		if i%3 == 2 {
			d.hidden, d.width = true, 0.7
			d.rate = 0.12 / d.forecast(1).Prefill
			d.lengths()
		}
		d.atLeast(60)
		return one(d)
	}},
	{name: "device-full", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 400, 800), spread(r, 60, 120))
		d.roomy(260)
		alone := d.forecast(1).TPOT
		n := 64.0
		for n < 240 && (d.forecast(n).TPOT < 2.6*alone) {
			n += 8
		}
		d.roomy(n + 20)
		d.inFlight, d.window, d.warmup = int(n), 25*time.Second, 12*time.Second
		d.slo = []string{fmt.Sprintf("ttft:p50<%dus", int(1.2e6*d.forecast(1).TTFT))}
		d.hidden = i%3 == 1
		return one(d)
	}},
	{name: "inefficient-decode", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 100, 500), spread(r, 100, 250))
		d.spec.MemoryShare = spread(r, 0.1, 0.25)
		d.rate = d.rateFor(between(r, 1, 3)) * 0.5
		d.atLeast(60)
		d.hidden = i%2 == 1
		return one(d)
	}},
	{name: "slow-decode", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 100, 500), spread(r, 100, 250))
		d.inFlight, d.unnamed, d.hidden = 1, true, i%2 == 1
		d.spec.MemoryShare = spread(r, 0.1, 0.8)
		// What a stream takes of the memory's share that is usual is less than this.
		pace := d.forecast(1).TPOT * 0.8 / d.spec.MemoryShare
		d.window = time.Duration(45 * d.out * pace * float64(time.Second))
		d.slo = []string{fmt.Sprintf("tpot:p50<%dus", int(1e6*pace*between(r, 0.3, 0.6)))}
		return one(d)
	}},
	{name: "batching-trade-off", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 100, 400), spread(r, 60, 120))
		d.roomy(160)
		n := 24.0
		alone := d.forecast(1).TPOT
		for n < 160 && d.forecast(n).TPOT < 1.9*alone {
			n += 8
		}
		d.inFlight, d.window, d.warmup = int(n), 25*time.Second, 12*time.Second
		d.slo = []string{fmt.Sprintf("tpot:p50<%dus", int(1e6*math.Sqrt(alone*d.forecast(n).TPOT)))}
		d.hidden = i%3 == 1
		if i%2 == 1 {
			return one(d)
		}
		low := *d
		low.inFlight, low.window = 1, 60*time.Second
		return []*draw{&low, d}
	}},
	{name: "decode-memory-bound", make: func(r *rand.Rand, i int) []*draw {
		d := newDraw(r, spread(r, 100, 500), spread(r, 150, 300))
		d.inFlight = 1 + i%2
		f := d.forecast(float64(d.inFlight))
		d.window = time.Duration(45 * d.out * f.TPOT * float64(time.Second) / float64(d.inFlight))
		d.slo = []string{fmt.Sprintf("tpot:p50<%dus", int(1e6*f.TPOT*between(r, 0.5, 0.8)))}
		d.hidden = i%2 == 1
		return one(d)
	}},
}

func control(r *rand.Rand, i int) []*draw {
	d := healthy(r)
	d.hidden, d.secret = i%5 == 4, i%3 == 0
	if i%4 == 1 {
		d.prefix, d.groups = int(spread(r, 300, 1500)), 3
		d.rate = d.rateFor(between(r, 2, 5))
	}
	if i%5 == 2 {
		d.width = 0.8
		d.lengths()
	}
	if i%3 == 2 {
		d.schemas = 5
	}
	f := d.forecast(12)
	if i%2 == 0 {
		d.slo = []string{fmt.Sprintf("ttft:p95<%dms", int(20e3*f.TTFT)), fmt.Sprintf("tpot:p95<%dms", int(4e3*f.TPOT))}
	}
	if i%6 == 5 {
		d.inFlight, d.rate = 2+r.IntN(6), 0
	}
	return one(d)
}

// joinLoads joins the loads of a draw into one result, as a sweep does.
func joinLoads(t *testing.T, loads []*draw, seed uint64) *result.Result {
	t.Helper()
	var whole *result.Result
	for i, d := range loads {
		res := d.run(t, seed+uint64(i))
		if whole == nil {
			whole = res
		} else {
			whole.Points = append(whole.Points, res.Points...)
		}
	}
	return whole
}

// truthSeed is that of the draws that are asserted; thresholds were chosen on
// those of other seeds.
const truthSeed = 424242

// diagnoseDraws runs the draws of a regime and gives the first finding of each, ""
// where there is none.
func diagnoseDraws(t *testing.T, seed uint64, g regime, draws int) []string {
	t.Helper()
	var found []string
	for i := range draws {
		r := stats.Rand(seed, g.name, uint64(i))
		res := joinLoads(t, g.make(r, i), r.Uint64())
		findings := Find(res)
		name := ""
		if len(findings) > 0 {
			name = findings[0].Regime
		}
		for _, f := range findings {
			checkPaths(t, res, f)
		}
		found = append(found, name)
		if testing.Verbose() {
			t.Logf("%s %d: %s", g.name, i, describeFindings(res, findings))
		}
	}
	return found
}

// checkPaths holds the evidence to the document that it cites.
func checkPaths(t *testing.T, res *result.Result, f result.Finding) {
	t.Helper()
	for _, e := range f.Evidence {
		if strings.HasPrefix(e.Text, "no ") {
			continue // it tells what is not there
		}
		if err := lookUp(t, res, e.Field); err != nil {
			t.Errorf("%s: %v", f.Regime, err)
		}
	}
}

// describeFindings words what was seen, for whoever tunes a rule.
func describeFindings(res *result.Result, findings []result.Finding) string {
	p := &res.Points[len(res.Points)-1]
	text := fmt.Sprintf("ok %d/%d ttft %.0f/%.0f tpot %.1f itl %.1f/%.1f conc %.1f prompt %.0f out %.0f", p.Requests.OK, p.Requests.Due,
		p50(p.Latency.TTFT), at(p.Latency.TTFT, "p99"), p50(p.Latency.TPOT), p50(p.Latency.ITL), at(p.Latency.ITL, "p99"), p.Concurrency.Mean,
		p.Tokens.PromptLengths.Mean, p.Tokens.OutputLengths.Mean)
	if s := p.Server; s != nil && s.Running != nil && s.Queue != nil && s.TTFT != nil {
		text += fmt.Sprintf(" | run %.1f/%.0f wait %.1f kv %.2f q %.0f ttft %.0f pf %.0f", s.Running.Mean, s.Running.Max, s.Waiting.Mean, s.KVUsage.Max,
			s.Queue.Mean, s.TTFT.Mean, s.Prefill.Mean)
		if s.Preemptions != nil {
			text += fmt.Sprintf(" pre %.0f", *s.Preemptions)
		}
	}
	if pr := p.Prediction; pr != nil && pr.Steady.TPOT > 0 {
		text += fmt.Sprintf(" | pred %.2f/%.2f", p50(p.Latency.TPOT)/pr.Steady.TPOT, p50(p.Latency.TTFT)/pr.Steady.TTFT)
	}
	if u := p.Server; u != nil && u.FrontEndCores != nil && u.Steps != nil {
		text += fmt.Sprintf(" | front %.2f step %.1f", *u.FrontEndCores, 1e3*u.CoveredS / *u.Steps)
	}
	if o := p.Window.Opening; o != nil {
		text += fmt.Sprintf(" | opening %.0f/%.0f", o.FirstTTFT, o.LaterTTFT)
		if o.FirstTPOT != nil {
			text += fmt.Sprintf(" %.1f/%.1f", *o.FirstTPOT, *o.LaterTPOT)
		}
	}
	if g := p.Window.Growth; g != nil {
		text += fmt.Sprintf(" | growth %.0f", *g)
	}
	if p.Window.Overload != nil {
		text += fmt.Sprintf(" overload %v", *p.Window.Overload)
	}
	for _, o := range p.Objectives {
		text += fmt.Sprintf(" | %s %s", o.Objective, o.Standing)
	}
	for _, f := range findings {
		text += "\n      -> " + f.Regime + " " + f.Confidence + ": " + f.Title
	}
	return text
}

// Every draw of every regime is told for what it is, and nothing is said of
// healthy servers. The manual shows the count.
func TestTruth(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| regime | draws told right |\n|---|--:|\n")
	for _, g := range allDraws {
		draws := 10
		if g.name == "" {
			draws = 20
		}
		hits := 0
		for i, found := range diagnoseDraws(t, seedOf(t), g, draws) {
			if found != g.name {
				t.Errorf("%s, draw %d: %q", g, i, found)
				continue
			}
			hits++
		}
		fmt.Fprintf(&table, "| %s | %d/%d |\n", g, hits, draws)
	}
	if *tuning == 0 {
		keepPart(t, "truth", table.String())
	}
}

// allDraws are those of every regime, and of servers that are well.
var allDraws = append(slices.Clone(regimes), regime{make: control, well: "healthy: silence"}, regime{make: controlPools, well: "healthy, with pools: silence"}, regime{make: controlAgents, well: "healthy, with agents: silence"})

// REDLINE_DIAGNOSIS=100 tries as many draws of each regime, of seeds that no threshold
// was chosen on, and writes docs/measured/RATES.md.
func TestDiagnosisRates(t *testing.T) {
	draws, _ := strconv.Atoi(os.Getenv("REDLINE_DIAGNOSIS"))
	if draws == 0 {
		t.Skip("make diagnosis runs it")
	}
	rows := make([]string, len(allDraws))
	t.Run("all", func(t *testing.T) {
		for i, g := range allDraws {
			t.Run(g.String(), func(t *testing.T) {
				t.Parallel()
				hits, others := 0, map[string]int{}
				for _, found := range diagnoseDraws(t, 9_000_000, g, draws) {
					if found == g.name {
						hits++
					} else {
						others["`"+found+"`"]++
					}
				}
				words := ""
				for _, name := range slices.Sorted(maps.Keys(others)) {
					words += fmt.Sprintf(" %s %d", strings.ReplaceAll(name, "``", "nothing"), others[name])
				}
				if float64(hits) < 0.95*float64(draws) {
					t.Errorf("%d of %d, and%s", hits, draws, words)
				}
				rows[i] = fmt.Sprintf("| %s | %d of %d |%s |\n", g, hits, draws, words)
			})
		}
	})
	must.Do(t, pages.Write("RATES.md", "diagnosis", "| drawn | told right | told otherwise |\n|---|--:|---|\n"+strings.Join(rows, "")))
}

// There is a way into every regime that there is a rule for.
func TestEveryRuleIsTried(t *testing.T) {
	t.Parallel()
	var tried, known []string
	for _, g := range regimes {
		tried = append(tried, g.name)
	}
	for i := range Rules {
		known = append(known, Rules[i].Regime)
	}
	slices.Sort(tried)
	slices.Sort(known)
	expect.Same(t, known, tried)
}

// seedOf lets whoever chooses thresholds look at other draws.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	if *tuning != 0 {
		return *tuning
	}
	return truthSeed
}

var tuning = flag.Uint64("tuning", 0, "look at the draws of this seed instead of those that are asserted")

// An objective on whole replies that decode misses is not put down to a queue
// before the first token, nor is the batch that the client's own limit makes taken
// for the server's.
func TestDecodeIsNotAQueue(t *testing.T) {
	t.Parallel()
	for i := range 12 {
		r := stats.Rand(truthSeed, "decode is not a queue", uint64(i))
		d := newDraw(r, spread(r, 2000, 4000), spread(r, 50, 80))
		d.inFlight, d.secret = 32, true
		d.roomy(40)
		d.slo = []string{"e2e:p95<100ms"}
		res := d.run(t, r.Uint64())
		p := &res.Points[0]
		if p.Phases == nil || p.Phases.Dominant != "decode" {
			t.Fatalf("draw %d: phases %+v, want a decode that takes most", i, p.Phases)
		}
		for _, f := range Find(res) {
			switch f.Regime {
			case "queueing", "scheduler-saturation", "long-queue", "long-first-token", "prefill-bound", "network-bound", "front-end-bound":
				t.Errorf("draw %d, decode %.0f%% of e2e: %s: %s", i, 100*p.Phases.Decode, f.Regime, f.Title)
			}
		}
	}
}

// Where the client lets too few through, it says so, and not that the server queues.
func TestTheClientsOwnLimit(t *testing.T) {
	t.Parallel()
	res := slow()
	p := &res.Points[0]
	p.Load = result.Load{Mode: "capped", Rate: new(9.0), Concurrency: new(32)}
	p.Concurrency, p.Latency.SlotWait, p.Latency.E2EDue, p.Latency.TTFTDue = metric.Concurrency{Mean: 31, Max: 32}, spreadOf(9000, 9000), spreadOf(15000, 16000), spreadOf(9050, 9060)
	p.Objectives = []slo.Verdict{{Objective: "e2e:p90<4s", Standing: slo.Missed}}
	p.Server = &telemetry.ServerUse{Samples: 9, Queue: &telemetry.Timing{Mean: 60}, TTFT: &telemetry.Timing{Mean: 70}, Waiting: &telemetry.Gauge{Mean: 1, Max: 2},
		Running: &telemetry.Gauge{Mean: 31, Max: 32}}
	found := Find(res)
	if want := "the client's own limit of 32 in flight holds requests back for 9,000 ms of a mean e2e of 15 s"; len(found) != 1 || found[0].Title != want {
		t.Errorf("got %+v, want %q", found, want)
	}
}
