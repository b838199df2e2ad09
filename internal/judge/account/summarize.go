// Package account turns records into figures: it takes the records of a stage
// and a window of time and gives the summary of that window, each number with
// what it is worth, and the objectives judged; and of a single record its own
// figures. It knows no file, no plan and no report, and never reads a clock.
package account

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
)

// Summarize gives every figure of one window. It walks the records twice, the
// second time for the gaps between tokens, whose batches the first has shown.
// It keeps about 200 bytes for each request due in the window, and the gaps
// that differ, however many there are; a record need be valid only until the
// next one is asked for. All records of the stage are wanted, whatever their
// phase: the requests in flight and the tokens of the window include those of
// its neighbours.
func Summarize(records func() iter.Seq2[*record.Record, error], o Options) (metric.Summary, error) {
	c := newCollector(o)
	gaps, err := c.collect(records, true)
	if err != nil {
		return metric.Summary{}, err
	}
	return c.summary(gaps), nil
}

// collect walks the records, and once more for their gaps where those are
// wanted.
func (c *collector) collect(records func() iter.Seq2[*record.Record, error], withGaps bool) (*tallies, error) {
	if err := c.o.check(); err != nil {
		return nil, err
	}
	err := walk(records, func(r *record.Record) {
		c.add(r)
		if c.o.Observe != nil {
			c.o.Observe(r)
		}
	})
	if err != nil {
		return nil, err
	}
	c.jobList = c.jobsSeen.list()
	gaps := newTallies(c)
	if withGaps {
		err = walk(records, func(r *record.Record) {
			if r.Outcome == llm.OK && r.Streamed {
				c.scratch = appendGroups(r, c.scratch[:0])
				gaps.add(r, c.o.machineOf(r), c.naming.keysOf(r), c.scratch)
			}
		})
	}
	gaps.close()
	return gaps, err
}

func walk(records func() iter.Seq2[*record.Record, error], take func(*record.Record)) error {
	for r, err := range records() {
		if err != nil {
			return fmt.Errorf("records: %w", err)
		}
		take(r)
	}
	return nil
}

// collector takes records in and keeps what a summary needs of them.
type collector struct {
	o         Options
	withTails bool
	// onlyJudged leaves out what no verdict needs: what moved in the window.
	onlyJudged bool
	naming     *naming

	requests list[request]
	digest   digest
	plain    bool  // every gap so far brought one token
	bounded  bool  // some figures have ends
	watched  bool  // hold-ups were looked for
	inFlight spans // between sent and end
	inSystem spans // between due and end
	tokens   metric.Tokens
	prompts  promptFlow
	arrived  arrivals
	flow     flow
	inputs   int // texts of the ok requests
	images   imageTotals
	along    along
	counts   tokenCheck
	garbage  metric.Garbage
	messages messages

	jobsSeen  jobTally
	jobList   []*Job
	jobTokens jobTokens

	scratch []group
	tails   tails
}

// flow counts events of the window by their own stamps.
type flow struct {
	sent, completed int
	endings         []float64 // completed, by whole second of the window
	// inFlightNS sums end − sent of the requests sent in the window, ended of
	// them.
	inFlightNS float64
	ended      int
}

// promptFlow sums the prompt tokens of requests whose first output came in
// the window.
type promptFlow struct{ fresh, cached int64 }

// arrivals sums the output tokens that arrived in the window.
type arrivals struct {
	total int64
	by    [dimensionCount][]int64
	// places splits them by stretch of the window and group of sessions.
	places stretchSums
	// blocks splits the window for each scope that an objective on throughput
	// is about.
	blocks []scopedBlocks
}

// scopedBlocks is the output tokens of a scope by block of the window.
type scopedBlocks struct {
	slo.Scope
	tokens []int64
}

func newCollector(o Options) *collector {
	return &collector{
		o:         o,
		withTails: slices.ContainsFunc(o.Objectives, func(o slo.Objective) bool { return isGap(o.Metric) }),
		naming:    newNaming(o),
		inFlight:  spans{start: o.Start, end: o.End},
		inSystem:  spans{start: o.Start, end: o.End},
		tokens:    metric.Tokens{Counted: map[string]int{}},
		arrived:   arrivals{blocks: blocksOf(o.Objectives)},
		plain:     true,
		flow:      flow{endings: make([]float64, max(o.End-o.Start, 0)/second)},
	}
}

func blocksOf(objectives []slo.Objective) []scopedBlocks {
	var blocks []scopedBlocks
	for _, o := range objectives {
		if o.Metric == "throughput" {
			blocks = append(blocks, scopedBlocks{o.Scope, make([]int64, arrivalBlocks)})
		}
	}
	return blocks
}

func (c *collector) within(at int64) bool { return at != 0 && at >= c.o.Start && at < c.o.End }

func (c *collector) add(r *record.Record) {
	if r.Due != 0 {
		c.inSystem.add(r.Due, r.End)
	}
	if r.Sent != 0 {
		c.inFlight.add(r.Sent, r.End)
	}
	c.naming.noteTrip(r)
	if j := c.jobsSeen.add(r); j != nil {
		j.keys = c.naming.keysOf(r)
	}
	due := c.within(r.Due)
	if c.onlyJudged && !due {
		return
	}
	k := c.naming.keysOf(r)
	c.scratch = appendGroups(r, c.scratch[:0])
	if !c.onlyJudged {
		c.addFlow(r)
		c.addOutput(r, k)
	}
	if due {
		c.addRequest(r, k)
	}
}

// addFlow counts what happened in the window, whenever the request was due.
func (c *collector) addFlow(r *record.Record) {
	if c.within(r.Sent) {
		c.flow.sent++
		if r.End != 0 {
			c.flow.inFlightNS += float64(r.End - r.Sent)
			c.flow.ended++
		}
	}
	if c.within(r.End) && r.Outcome == llm.OK {
		c.flow.completed++
		if at := int((r.End - c.o.Start) / second); at < len(c.flow.endings) {
			c.flow.endings[at]++
		}
	}
	if c.within(began(r)) {
		prompt := cmp.Or(r.PromptTokens, r.AskedPrompt)
		c.prompts.fresh += int64(max(prompt-r.CachedTokens, 0))
		c.prompts.cached += int64(r.CachedTokens)
	}
}

// began is when the answer began to come: what the prompt was read for.
func began(r *record.Record) int64 {
	if r.First == 0 && r.Outcome == llm.OK {
		return r.End
	}
	return r.First
}

// addOutput counts tokens by their arrival, also those of requests that failed
// later, and looks at the gaps of those that did not.
func (c *collector) addOutput(r *record.Record, k keys) {
	some := false
	for _, g := range c.scratch {
		if c.within(g.at) {
			c.arrived.add(g, k)
			c.arrived.places.add(c.placeOf(r, g.at), float64(g.tokens))
			c.addBlocks(r, g)
			some = true
		}
	}
	if !some || r.Outcome != llm.OK || !r.Streamed {
		return
	}
	c.tokens.Events += int64(r.ChunkCount())
	c.tokens.Coalesced += int64(r.Coalesced)
	c.plain = c.plain && plain(r, c.scratch, c.o.Start, c.o.End)
}

// arrivalBlocks is finer than any number of batches, which is not known while
// records are read.
const arrivalBlocks = 40 * 25

func (c *collector) addBlocks(r *record.Record, g group) {
	at := int(float64(g.at-c.o.Start) / float64(c.o.End-c.o.Start) * arrivalBlocks)
	for _, b := range c.arrived.blocks {
		if b.Covers(r.Class, r.Tenant) {
			b.tokens[at] += int64(g.tokens)
		}
	}
}

func (a *arrivals) add(g group, k keys) {
	n := int64(g.tokens)
	a.total += n
	for d, key := range k {
		for len(a.by[d]) <= int(key) {
			a.by[d] = append(a.by[d], 0)
		}
		a.by[d][key] += n
	}
}

// addRequest keeps the figures of a request that was due in the window.
func (c *collector) addRequest(r *record.Record, k keys) {
	q := request{figures: figuresOf(r), cut: cutOff(r), due: r.Due, session: int32(r.Session), replica: c.naming.replica(r.Addr), outcome: r.Outcome, keys: k,
		prompt: int32(r.PromptTokens), cached: int32(r.CachedTokens), output: int32(r.OutputTokens), drafted: int32(r.Drafted), accepted: int32(r.Accepted),
		kvTokens: int32(CacheTokens(r)), fluidity: float32(math.NaN()),
		sent: r.Sent, retried: r.Try > 1, short: r.Short(), thinned: r.Thinned(), reconnects: int32(r.Reconnects), place: c.placeOf(r, r.Due),
		tools: r.Tools > 0, schema: r.Schema > 0, called: placeOfCheck(r.Called), formed: placeOfCheck(r.Formed)}
	if r.Outcome == llm.Rejected {
		q.refusal = refusalOf(r)
	}
	if r.Outcome == llm.OK {
		q.mended = r.Refused
	}
	c.digest.add(r)
	c.tokens.DuePrompt += int64(r.AskedPrompt)
	c.tokens.DueOutput += int64(r.AskedOutput)
	var essence record.Essence
	if r.Outcome == llm.OK {
		if r.Streamed {
			essence = c.addStream(r, &q)
			c.along.add(r)
		}
		c.addTokens(r)
		c.jobTokens.add(r)
		c.images.add(r)
		if c.o.Inputs != nil {
			c.inputs += c.o.Inputs(r)
		}
	} else {
		c.tokens.Lost += int64(max(r.OutputTokens, r.StreamedTokens))
	}
	m := c.o.machineOf(r)
	q.ends = m.endsOf(r, q.figures, c.scratch, essence)
	c.bounded, c.watched = c.bounded || q.ends != nil, c.watched || m.Watched
	c.messages.add(r)
	c.requests.add(q)
}

// addStream fills in what only a stream shows.
func (c *collector) addStream(r *record.Record, q *request) record.Essence {
	e := c.tails.essence(r, c.scratch, c.withTails)
	q.figures[stall] = orNaN(e.Stall)
	icl, itl := gapCounts(r, c.scratch)
	q.icl, q.itl = int32(icl), int32(itl)
	if c.withTails {
		q.figures[iclTail], q.figures[itlTail] = orNaN(e.ICLTail), orNaN(e.ITLTail)
	}
	q.fluidity = deadlinesOf(c.o.Objectives, r.Class, r.Tenant).fluidity(r, c.scratch)
	if e.MergedFirst {
		c.tokens.MergedFirst++
	}
	if e.MergedStall {
		c.tokens.MergedStall++
	}
	return e
}

// minToBuffer is the number of events below which sharing a read says
// nothing about a stream.
const minToBuffer = 4

// addTokens sums what ok requests asked for and got. Prompts are compared only
// where the server counted them.
func (c *collector) addTokens(r *record.Record) {
	t := &c.tokens
	if r.PromptTokens > 0 {
		t.Prompt += int64(r.PromptTokens)
		t.AskedPrompt += int64(r.AskedPrompt)
	}
	t.Cached += int64(r.CachedTokens)
	t.CachedHost += int64(r.HostTokens)
	t.CachedStorage += int64(r.StorageTokens)
	t.Drafted += int64(r.Drafted)
	t.DraftsAccepted += int64(r.Accepted)
	t.Vision += int64(r.VisionTokens)
	t.Output += int64(r.OutputTokens)
	t.AskedOutput += int64(r.AskedOutput)
	t.Reasoning += int64(r.ReasoningTokens)
	if c.o.machineOf(r).isBuffered(r, c.scratch) {
		t.Buffered++
	}
	if r.Counted != "" {
		t.Counted[string(r.Counted)]++
	}
	if r.Apart {
		t.ReasoningApart++
	}
	if r.Repeats {
		t.RepeatedText++
	}
	eventless := r.Eventless()
	t.Eventless += int64(eventless)
	if r.Streamed && r.ChunkCount() > 1 && !r.TokensKnown() && eventless == 0 {
		if r.FirstEstimate > 0 {
			t.FirstEstimated++
		} else {
			t.FirstUnknown++
		}
	}
	c.counts.add(r)
	if r.Garbage != "" {
		c.garbage.Replies++
	}
	if r.Garbage != "" && r.Garbage != llm.NoGarbage {
		if c.garbage.By == nil {
			c.garbage.By = map[string]int{}
		}
		c.garbage.By[string(r.Garbage)]++
	}
}

// meanE2E is how long a request takes: what batches and blocks are measured
// by. Where none succeeded, the time in flight of any outcome stands in.
func (c *collector) meanE2E(p part) float64 {
	var took []float64
	for q := range c.requests.all {
		if p(q.keys) && !math.IsNaN(q.figures[e2e]) {
			took = append(took, q.figures[e2e])
		}
	}
	if len(took) > 0 {
		return stats.Mean(took)
	}
	if c.flow.ended > 0 {
		return c.flow.inFlightNS / float64(c.flow.ended)
	}
	return 0
}

// batchesOf cuts the window into batches as long as those requests ask for.
func (c *collector) batchesOf(p part) batches {
	return newBatches(c.o.Start, c.o.End, c.meanE2E(p))
}

// meanService is how long a request is served, once its wait is over: from its
// first output to its last, or all of its time where that is not known. Unlike
// the whole time it does not grow with the queue.
func (c *collector) meanService() float64 {
	var took []float64
	for q := range c.requests.all {
		served := q.figures[decode]
		if math.IsNaN(served) {
			served = q.figures[e2e]
		}
		if !math.IsNaN(served) {
			took = append(took, served)
		}
	}
	if len(took) > 0 {
		return stats.Mean(took)
	}
	return c.meanE2E(everything)
}

func (c *collector) summary(gaps *tallies) metric.Summary {
	s := metric.Summary{
		Window:   metric.Window{StartS: float64(c.o.Start) / second, EndS: float64(c.o.End) / second, Varies: c.o.Varies},
		Requests: countAll(c.requests.all),
	}
	s.Requests.Errors = c.messages.commonest()
	s.Requests.Sessions = c.sessions()
	judgeWindow(&s.Window, c, s.Requests.Due)
	if !c.o.Varies {
		judgeSettling(&s.Window, &c.inFlight, c.flow.endings, c.meanService(), c.o.Seed)
		s.Window.Opening = c.opening()
	}
	v := c.view(gaps, s.Window)
	s.Rates, s.Throughput, s.Concurrency = c.rates(s.Requests), c.throughput(s.Requests), c.concurrency()
	s.Images = c.images.summary()
	s.Latency = v.latency(everything, gaps.everything)
	s.Phases = s.Latency.Phases()
	s.Ledger = v.ledger(everything)
	s.Bunching = c.bunching(s.Latency)
	s.Tokens = v.tokenCounts()
	s.Tokens.Check = c.counts.sums()
	s.Drafts = c.along.summary()
	if c.garbage.Replies > 0 {
		s.Garbage = &c.garbage
	}
	s.Interactivity = inverse(s.Latency.TPOT)
	s.TailRatio = tailRatios(s.Latency)
	s.Fluidity = c.fluidity()
	s.Goodput = c.goodput()
	v.judgesGood = s.Goodput != nil
	s.Tokens.Accepted = v.acceptedTokens(everything)
	s.Objectives = v.verdicts(s)
	s.StandardErrors, s.Tenths = v.sections()
	s.Buckets, s.Classes = v.groups(byBucket), v.groups(byClass)
	v.judgeBuckets(&s)
	s.Tenants, s.Turns, s.Steps = v.groups(byTenant), v.groups(byTurn), v.groups(byStep)
	s.TurnKinds = c.turnKinds()
	s.Depths = v.groups(byDepth)
	s.Jobs = v.jobs()
	if c := v.checks("calls_ok"); c != nil {
		s.Calls = &metric.Calls{Checks: *c}
	}
	if c := v.checks("schema_ok"); c != nil {
		s.Schemas = &metric.Schemas{Checks: *c}
	}
	s.Forms, s.Adapters = v.groups(byForm), v.groups(byAdapter)
	s.Replicas, s.Prefillers, s.Fleet = v.groups(byReplica), v.groups(byPrefiller), v.fleet()
	s.Drift = v.drift()
	s.Notes = v.notes(s)
	return s
}
