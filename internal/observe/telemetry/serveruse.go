package telemetry

import (
	"slices"
	"strconv"
	"time"
)

// Scrape is one attempt to read the server's page.
type Scrape struct {
	// At is halfway between asking and the answer, from the run's origin; the
	// page was made at some moment between the two.
	At int64 `json:"-"`
	// Took is how long the server took to answer.
	Took time.Duration `json:"took_ns"`
	// Failed says why there is no reading.
	Failed string `json:"failed,omitempty"`
	// BadLines counts lines that could not be read.
	BadLines int `json:"bad_lines,omitempty"`
	// Reading is what the page said.
	Reading *Reading `json:"reading,omitempty"`
}

// ServerUse is what the server said of itself over a stretch of time. What it
// did not say is nil. Counters and timings are differences, each end taken by
// linear interpolation between the two pages around it; where no page lies
// beyond an end, the outermost page stands for it and Covered is shorter than
// what was asked for. Counters are therefore rarely whole numbers. What a
// server counted between the last page before a restart and the first one
// after it is lost: differences over a restart are lower bounds.
type ServerUse struct {
	// Engine is the name of the engine.
	Engine string `json:"engine,omitempty"`
	// Replicas is how many engines answer behind the endpoint.
	Replicas int `json:"replicas,omitempty"`
	// Config is how the engine says it is set up.
	Config map[string]string `json:"config,omitempty"`

	// Samples is how many pages were read in the stretch.
	Samples int `json:"samples"`
	// Failures is how many attempts in the stretch gave no reading.
	Failures int `json:"failures"`
	// Failure is why the last of them did not.
	Failure string `json:"failure,omitempty"`
	// ScrapeMS is how long answers took, in milliseconds.
	ScrapeMS *Gauge `json:"scrape_ms,omitempty"`
	// CoveredS is the part of the stretch that differences are of, in seconds.
	CoveredS float64 `json:"covered_s"`
	// Restarted is set when the server began to count from zero again.
	Restarted bool `json:"restarted"`
	// InTurn is set where pages come from several processes in turn, as through a gateway:
	// no two of them can be compared then.
	InTurn bool `json:"in_turn,omitempty"`

	// Running is how many requests were in the batch.
	Running *Gauge `json:"running,omitempty"`
	// Waiting is how many requests waited to be scheduled.
	Waiting *Gauge `json:"waiting,omitempty"`
	// WaitingFor is how many waited for what, in the engine's words.
	WaitingFor map[string]Gauge `json:"waiting_for,omitempty"`
	// KVUsage is the share of the KV cache in use, 0 to 1.
	KVUsage *Gauge `json:"kv_usage,omitempty"`
	// KVFragmentation is the share of that which holds no token, 0 to 1, and
	// FragmentationBy how it is known: "tokens" that the engine counts, or
	// "blocks", which are half empty at the end of a sequence.
	KVFragmentation *Gauge `json:"kv_fragmentation,omitempty"`
	FragmentationBy string `json:"kv_fragmentation_by,omitempty"`

	// PrefixHitRate is hits over queries.
	PrefixHitRate *float64 `json:"prefix_hit_rate,omitempty"`
	// PrefixHits is prompt tokens that were found in the prefix cache.
	PrefixHits *float64 `json:"prefix_hits,omitempty"`
	// TierHits is those of them that lay in a tier behind the device: memory of the
	// host, a disk, another machine.
	TierHits *float64 `json:"tier_hits,omitempty"`
	// HitsBy is prompt tokens from the cache by the tier that had them, in the
	// engine's words: device, host, disk.
	HitsBy map[string]float64 `json:"hits_by,omitempty"`
	// PrefixQueries is prompt tokens that were looked up in it.
	PrefixQueries *float64 `json:"prefix_queries,omitempty"`
	// Preemptions is requests that were put out of the batch.
	Preemptions *float64 `json:"preemptions,omitempty"`
	// Evictions is what was cached and made room for others, in EvictionUnit:
	// "token", "block", or "sampled block" of an engine that watches a part of
	// them. Swaps is what was moved away and back and Recomputes what was made
	// again, requests or tokens, as the engine counts.
	Evictions    *float64 `json:"evictions,omitempty"`
	EvictionUnit string   `json:"eviction_unit,omitempty"`
	Swaps        *float64 `json:"swaps,omitempty"`
	Recomputes   *float64 `json:"recomputes,omitempty"`
	// SpecAcceptance is the share of drafted tokens that were accepted.
	SpecAcceptance *float64 `json:"spec_acceptance,omitempty"`
	// SpecLength is the tokens that a step with a draft brought on average, the one
	// that a step brings anyway included, and SpecByPlace the share of drafts of which
	// the first, second, third … guess was accepted.
	SpecLength  *float64  `json:"spec_length,omitempty"`
	SpecByPlace []float64 `json:"spec_by_place,omitempty"`
	// PromptTokens is prompt tokens that were processed.
	PromptTokens *float64 `json:"prompt_tokens,omitempty"`
	// GenerationTokens is tokens that were generated.
	GenerationTokens *float64 `json:"generation_tokens,omitempty"`
	// Requests is requests that ended, for whatever reason.
	Requests *float64 `json:"requests,omitempty"`
	// PrefillTokensPerS is how fast prompts were computed while they were, of
	// engines that count that time.
	PrefillTokensPerS *float64 `json:"prefill_tokens_per_s,omitempty"`
	// Steps is passes through the model, and TokensPerStep the tokens that one
	// computed, of prompts and of replies.
	Steps         *float64 `json:"steps,omitempty"`
	TokensPerStep *float64 `json:"tokens_per_step,omitempty"`
	// FrontEndCores is how many processor cores the process that serves the API
	// kept busy, where the page is its own; of several, their mean.
	FrontEndCores *float64 `json:"front_end_cores,omitempty"`

	// Each holds the replicas one by one, and Imbalance is by how much the
	// busiest of them did more than their mean, as a share of the mean: tokens
	// generated, requests, or requests running, the first of them that all
	// replicas tell.
	Each      []ReplicaUse `json:"each,omitempty"`
	Imbalance *float64     `json:"imbalance,omitempty"`

	// Pools are those of engines that prefill and of such that decode, where there are
	// both. Transfer is how long handing the cache of a request from the one to the
	// other takes, in milliseconds, TransferBytes how much that was, and
	// TransferFailures how often it failed.
	Pools            []PoolUse `json:"pools,omitempty"`
	Transfer         *Timing   `json:"transfer_ms,omitempty"`
	TransferBytes    *float64  `json:"transfer_bytes,omitempty"`
	TransferFailures *float64  `json:"transfer_failures,omitempty"`

	// TTFT is from arrival to the first token, in milliseconds.
	TTFT *Timing `json:"ttft_ms,omitempty"`
	// ITL is between two tokens, in milliseconds.
	ITL *Timing `json:"itl_ms,omitempty"`
	// Queue is from arrival until first scheduled, in milliseconds.
	Queue *Timing `json:"queue_ms,omitempty"`
	// Prefill is from first scheduled to the first token, in milliseconds.
	Prefill *Timing `json:"prefill_ms,omitempty"`
	// Decode is from the first token to the last, in milliseconds.
	Decode *Timing `json:"decode_ms,omitempty"`
	// Inference is from first scheduled to the last token, in milliseconds.
	Inference *Timing `json:"inference_ms,omitempty"`
	// E2E is from arrival to the last token, in milliseconds.
	E2E *Timing `json:"e2e_ms,omitempty"`
}

// Gauge is what a value was over a stretch of time, as the pages saw it.
type Gauge struct {
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

// counters lists everything that can only grow while a server runs.
func (r *Reading) counters() []*float64 {
	all := []*float64{r.PrefixHits, r.TierHits, r.PrefixQueries, r.Preemptions, r.Evictions, r.Swaps, r.Recomputes, r.SpecDrafted, r.SpecAccepted,
		r.PromptTokens, r.GenerationTokens, r.Requests, r.PrefillSeconds, r.Prefilled, r.Steps, r.StepTokens, r.ProcessCPUS, r.TransferBytes, r.TransferFailures}
	for _, h := range r.histograms() {
		all = append(all, h.count())
	}
	return all
}

// hasRestarted reports whether the server that gave the reading b is not the one
// that gave a before. A process that says when it began is believed: a counter
// of it that falls is a bad counter.
func hasRestarted(a, b *Reading) bool {
	if a.StartedUnixS != nil && b.StartedUnixS != nil {
		return *a.StartedUnixS != *b.StartedUnixS
	}
	before := a.counters()
	for i, now := range b.counters() {
		if now != nil && before[i] != nil && *now < *before[i] {
			return true
		}
	}
	return a.Engine != b.Engine
}

// ServerOver gives what the server said between two offsets. Scrapes are in
// the order of their times.
func ServerOver(scrapes []Scrape, start, end int64) ServerUse {
	w := windowOf(scrapes, start, end)
	use := ServerUse{}
	use.attempts(scrapes, start, end)
	if len(w.pages) == 0 {
		return use
	}
	latest := w.pages[len(w.pages)-1].Reading
	use.Engine, use.Replicas, use.Config = latest.Engine, latest.Replicas, latest.Config
	use.Running = w.gauge(func(r *Reading) *float64 { return r.Running })
	use.Waiting = w.gauge(func(r *Reading) *float64 { return r.Waiting })
	use.WaitingFor = w.waitingFor()
	use.KVUsage = w.gauge(func(r *Reading) *float64 { return r.KVUsage })
	if use.KVFragmentation = w.gauge((*Reading).fragmentation); use.KVFragmentation != nil {
		use.FragmentationBy = latest.fragmentationBy()
	}
	// Where the engine counts, the counters say it better below.
	use.PrefixHitRate = w.gauge(func(r *Reading) *float64 { return r.PrefixRate }).mean()
	use.SpecAcceptance = w.gauge(func(r *Reading) *float64 { return r.SpecRate }).mean()
	use.SpecLength = w.gauge(func(r *Reading) *float64 { return r.SpecLength }).mean()
	use.Each = w.replicas()
	// From here on the window is what lies between pages.
	w.start, w.end = max(w.start, w.pages[0].At), min(w.end, w.pages[len(w.pages)-1].At)
	use.CoveredS = max(0, time.Duration(w.end-w.start).Seconds())
	if w.start < w.end {
		use.InTurn = w.takesTurns()
		use.Restarted = !use.InTurn && w.hasRestarted()
		use.differences(w)
	}
	use.Pools = w.pools(use.Each)
	if use.Evictions != nil {
		use.EvictionUnit = latest.EvictionUnit
	}
	use.Imbalance = imbalance(use.Each)
	return use
}

// attempts sums up how the scraping itself went.
func (u *ServerUse) attempts(scrapes []Scrape, start, end int64) {
	var took []float64
	for _, s := range scrapes {
		switch {
		case s.At < start || s.At > end:
		case s.Reading == nil:
			u.Failures++
			u.Failure = s.Failed
		default:
			took = append(took, s.Took.Seconds()*1e3)
		}
	}
	u.Samples, u.ScrapeMS = len(took), gaugeOf(took)
}

func (u *ServerUse) differences(w *window) {
	u.PrefixHits = w.rise(func(r *Reading) *float64 { return r.PrefixHits })
	u.TierHits = w.rise(func(r *Reading) *float64 { return r.TierHits })
	u.PrefixQueries = w.rise(func(r *Reading) *float64 { return r.PrefixQueries })
	if rate := ratio(u.PrefixHits, u.PrefixQueries); rate != nil {
		u.PrefixHitRate = rate
	}
	u.Preemptions = w.rise(func(r *Reading) *float64 { return r.Preemptions })
	u.Evictions = w.rise(func(r *Reading) *float64 { return r.Evictions })
	u.Swaps = w.rise(func(r *Reading) *float64 { return r.Swaps })
	u.Recomputes = w.rise(func(r *Reading) *float64 { return r.Recomputes })
	accepted := w.rise(func(r *Reading) *float64 { return r.SpecAccepted })
	if rate := ratio(accepted, w.rise(func(r *Reading) *float64 { return r.SpecDrafted })); rate != nil {
		u.SpecAcceptance = rate
	}
	u.HitsBy = w.risesBy(func(r *Reading) map[string]float64 { return r.HitsBy })
	u.speculation(w, accepted)
	prefilled := w.rise(func(r *Reading) *float64 { return r.Prefilled })
	u.PrefillTokensPerS = ratio(prefilled, w.rise(func(r *Reading) *float64 { return r.PrefillSeconds }))
	u.PromptTokens = w.rise(func(r *Reading) *float64 { return r.PromptTokens })
	u.GenerationTokens = w.rise(func(r *Reading) *float64 { return r.GenerationTokens })
	u.Requests = w.rise(func(r *Reading) *float64 { return r.Requests })
	u.Steps = w.rise(func(r *Reading) *float64 { return r.Steps })
	u.TokensPerStep = ratio(w.rise(func(r *Reading) *float64 { return r.StepTokens }), u.Steps)
	u.FrontEndCores = ratio(w.rise(func(r *Reading) *float64 { return r.ProcessCPUS }), &u.CoveredS)
	u.Transfer = w.timing(func(r *Reading) *Histogram { return r.Transfer })
	u.TransferBytes = w.rise(func(r *Reading) *float64 { return r.TransferBytes })
	u.TransferFailures = w.rise(func(r *Reading) *float64 { return r.TransferFailures })
	u.TTFT = w.timing(func(r *Reading) *Histogram { return r.TTFT })
	u.ITL = w.timing(func(r *Reading) *Histogram { return r.ITL })
	u.Queue = w.timing(func(r *Reading) *Histogram { return r.Queue })
	u.Prefill = w.timing(func(r *Reading) *Histogram { return r.Prefill })
	u.Decode = w.timing(func(r *Reading) *Histogram { return r.Decode })
	u.Inference = w.timing(func(r *Reading) *Histogram { return r.Inference })
	u.E2E = w.timing(func(r *Reading) *Histogram { return r.E2E })
}

// speculation is how long accepted drafts are, and how far they are right.
func (u *ServerUse) speculation(w *window, accepted *float64) {
	drafts := w.rise(func(r *Reading) *float64 { return r.SpecDrafts })
	length := ratio(accepted, drafts)
	if length == nil {
		return
	}
	u.SpecLength = new(1 + *length)
	at := w.risesBy(func(r *Reading) map[string]float64 { return r.SpecAcceptedAt })
	for i := 0; ; i++ {
		n, ok := at[strconv.Itoa(i)]
		if !ok {
			break
		}
		u.SpecByPlace = append(u.SpecByPlace, n / *drafts)
	}
}

// risesBy is by how much counters with a label grew, of those that the latest page
// has.
func (w *window) risesBy(of func(*Reading) map[string]float64) map[string]float64 {
	var all map[string]float64
	for label := range of(w.pages[len(w.pages)-1].Reading) {
		grown := w.rise(func(r *Reading) *float64 {
			if v, ok := of(r)[label]; ok {
				return &v
			}
			return nil
		})
		if grown == nil {
			continue
		}
		if all == nil {
			all = map[string]float64{}
		}
		all[label] = *grown
	}
	return all
}

// ratio is a part of a whole, nil where there is none.
func ratio(part, whole *float64) *float64 {
	if part == nil || whole == nil || *whole <= 0 {
		return nil
	}
	return new(*part / *whole)
}

// window is a stretch of time over pages.
type window struct {
	start, end int64
	pages      []Scrape
	// lives numbers the servers that the pages are of, one more after each
	// restart.
	lives []int
}

// windowOf takes the scrapes that can be compared with each other.
func windowOf(scrapes []Scrape, start, end int64) *window {
	w := &window{start: start, end: end}
	var read []Scrape
	for _, s := range scrapes {
		if s.Reading != nil {
			read = append(read, s)
		}
	}
	life := 0
	for i, s := range read {
		if isTorn(read, i) {
			continue
		}
		if n := len(w.pages); n > 0 && hasRestarted(w.pages[n-1].Reading, s.Reading) {
			life++
		}
		w.pages, w.lives = append(w.pages, s), append(w.lives, life)
	}
	return w
}

// isTorn reports whether a page lost more lines than those on either side of it.
// It is not compared with them, because a sum over replicas with a part missing
// looks like a restart. A line that is bad on every page from some time on is
// no such loss.
func isTorn(pages []Scrape, i int) bool {
	fewer := func(j int) bool {
		return j < 0 || j >= len(pages) || pages[j].BadLines < pages[i].BadLines
	}
	return len(pages) > 1 && fewer(i-1) && fewer(i+1)
}

// hasRestarted looks at every pair of pages with a part of the window between
// them.
func (w *window) hasRestarted() bool {
	for i := 1; i < len(w.pages); i++ {
		if w.lives[i] != w.lives[i-1] && w.pages[i].At > w.start && w.pages[i-1].At < w.end {
			return true
		}
	}
	return false
}

// minReturns is how often counters come back to where they were before they fell, for that
// to be another process that counts on.
const minReturns = 2

// takesTurns reports whether pages are of several processes in turn: one that began at
// another time comes back, or counters fall and are beyond where they were later on.
func (w *window) takesTurns() bool {
	before := map[float64]int{}
	returns := 0
	for i := range w.pages {
		if start := w.pages[i].Reading.StartedUnixS; start != nil {
			if life, seen := before[*start]; seen && life != w.lives[i] {
				return true
			}
			before[*start] = w.lives[i]
		}
		if i > 0 && w.lives[i] != w.lives[i-1] && slices.ContainsFunc(w.pages[i:], func(s Scrape) bool { return isBeyond(w.pages[i-1].Reading, s.Reading) }) {
			returns++
		}
	}
	return returns >= minReturns
}

// isBeyond reports whether no counter of b is below that of a.
func isBeyond(a, b *Reading) bool {
	before := a.counters()
	for i, now := range b.counters() {
		if now != nil && before[i] != nil && *now < *before[i] {
			return false
		}
	}
	return a.Engine == b.Engine
}

func (w *window) gauge(of func(*Reading) *float64) *Gauge {
	var values []float64
	for _, p := range w.pages {
		if v := of(p.Reading); v != nil && p.At >= w.start && p.At <= w.end {
			values = append(values, *v)
		}
	}
	return gaugeOf(values)
}

// waitingFor gives what the latest page names, each over the whole window.
func (w *window) waitingFor() map[string]Gauge {
	var all map[string]Gauge
	for reason := range w.pages[len(w.pages)-1].Reading.WaitingFor {
		seen := w.gauge(func(r *Reading) *float64 {
			if v, ok := r.WaitingFor[reason]; ok {
				return &v
			}
			return nil
		})
		if seen == nil {
			continue
		}
		if all == nil {
			all = map[string]Gauge{}
		}
		all[reason] = *seen
	}
	return all
}

func (g *Gauge) mean() *float64 {
	if g == nil {
		return nil
	}
	return &g.Mean
}

func gaugeOf(values []float64) *Gauge {
	if len(values) == 0 {
		return nil
	}
	g := &Gauge{Max: slices.Max(values)}
	for _, v := range values {
		g.Mean += v / float64(len(values))
	}
	return g
}

// rise gives by how much a counter grew in the window, nil where fewer than
// two pages have it, or where it fell although the server went on.
func (w *window) rise(of func(*Reading) *float64) *float64 {
	var total float64
	last, pairs := -1, 0
	for i, p := range w.pages {
		v := of(p.Reading)
		if v == nil {
			continue
		}
		if last >= 0 {
			pairs++
			if before := w.pages[last]; w.lives[last] == w.lives[i] {
				grown := *v - *of(before.Reading)
				if grown < 0 {
					return nil
				}
				if inside := min(p.At, w.end) - max(before.At, w.start); inside > 0 {
					total += grown * (float64(inside) / float64(p.At-before.At))
				}
			}
		}
		last = i
	}
	if pairs == 0 {
		return nil
	}
	return &total
}
