// Package metric is the vocabulary of figures: the summary of one window, over all
// and by prompt length, class, tenant and turn, as plain data that is written to
// and read from JSON. METRICS.md defines every number. Package account computes
// them from records.
package metric

import (
	"math"
	"slices"

	"redline/internal/judge/slo"
	"redline/internal/llm"
)

// Summary is every figure of one window, as METRICS.md defines them.
type Summary struct {
	Window      Window      `json:"window"`
	Requests    Requests    `json:"requests"`
	Rates       Rates       `json:"rates"`
	Bunching    *Bunching   `json:"bunching,omitempty"` // of an open loop
	Latency     Latency     `json:"latency"`
	Tokens      Tokens      `json:"tokens"`
	Throughput  Throughput  `json:"throughput"`
	Images      *Images     `json:"images,omitempty"`
	Concurrency Concurrency `json:"concurrency"`
	Goodput     *Goodput    `json:"goodput,omitempty"` // only where a per-request objective is set
	// Fluidity needs a ttft and a tpot threshold.
	Fluidity      *float64 `json:"fluidity,omitempty"`
	Interactivity *Dist    `json:"interactivity,omitempty"`
	// TailRatio is p99/p50 by latency name.
	TailRatio map[string]float64 `json:"tail_ratio,omitempty"`
	Phases    *Phases            `json:"phases,omitempty"`
	// Ledger is where the time to first token went, where a server tells any of it.
	Ledger     *Ledger       `json:"ledger,omitempty"`
	Objectives []slo.Verdict `json:"objectives,omitempty"`
	// StandardErrors say by how much figures of an equal run may differ.
	StandardErrors StandardErrors `json:"standard_errors,omitempty"`
	// Tenths are what each tenth of the window had, for a comparison with a run of the same requests.
	Tenths *Tenths `json:"tenths,omitempty"`
	// Drift is how figures moved over a window of five minutes or more.
	Drift   []Drift `json:"drift,omitempty"`
	Buckets []Group `json:"buckets,omitempty"`
	Classes []Group `json:"classes,omitempty"`
	Tenants []Group `json:"tenants,omitempty"`
	Turns   []Group `json:"turns,omitempty"`
	// TurnKinds is only there for sessions of several turns.
	TurnKinds *TurnKinds `json:"turn_kinds,omitempty"`
	// Depths are requests of a job's own agent, 0, of its subagents, and of theirs.
	Depths []Group `json:"depths,omitempty"`
	// Jobs are the sessions of which it is known how many requests they send; absent
	// where none has several.
	Jobs *Jobs `json:"jobs,omitempty"`
	// Calls and Schemas are replies that were compared with the tools and with the
	// schema that went with their requests; absent where none did.
	Calls   *Calls   `json:"calls,omitempty"`
	Schemas *Schemas `json:"schemas,omitempty"`
	// Drafts is how far drafts were right along the replies, by the tokens of their
	// events; absent where those are no steps of a server that drafts.
	Drafts []DraftStretch `json:"drafts,omitempty"`
	// Garbage is absent where no text was kept to be looked at.
	Garbage *Garbage `json:"garbage,omitempty"`
	// Forms are the requests by what went with them: nothing, tools, a schema.
	Forms []Group `json:"forms,omitempty"`
	// Adapters are the requests by what was laid over the model; the rarer of many are
	// one group.
	Adapters []Group `json:"adapters,omitempty"`
	// Replicas are the engines that generated, Prefillers those that read the prompts,
	// where they are others; Fleet is how they shared the requests.
	Replicas   []Group `json:"replicas,omitempty"`
	Prefillers []Group `json:"prefillers,omitempty"`
	Fleet      *Fleet  `json:"fleet,omitempty"`
	// Steps are the parts of a load that changes by plan.
	Steps []Group `json:"steps,omitempty"`
	// Notes say which figures are weak, and why. They travel beside the
	// figures: a document shows them as its warnings.
	Notes []Note `json:"-"`
}

// Window is the measured stretch, in seconds from the run's origin.
type Window struct {
	StartS float64 `json:"start_s"`
	EndS   float64 `json:"end_s"`
	// WarmupS is how long load was offered before it; absent where nobody
	// wrote it down.
	WarmupS *float64 `json:"warmup_s,omitempty"`
	// WarmupRequests is how many requests that was; absent where it is not known.
	WarmupRequests *int `json:"warmup_requests,omitempty"`
	// Steady is false where more than half of the window is still settling;
	// absent where the window is too short to tell.
	Steady *bool `json:"steady,omitempty"`
	// Varies says that the rate changed by plan: whether the server kept
	// steady, or its queue grew, cannot be told then.
	Varies bool `json:"varies,omitempty"`
	// SettledS is how much of the window MSER-5 would cut off its start.
	SettledS *float64 `json:"settled_s,omitempty"`
	// Overload says that the queue grew.
	Overload *bool `json:"overload,omitempty"`
	// Brief says that the requests in flight moved so slowly that the window
	// holds few independent stretches: verdicts keep a wider margin then.
	Brief bool `json:"brief,omitempty"`
	// Growth is the growth of requests in flight over the window.
	Growth *float64 `json:"in_flight_growth,omitempty"`
	// Opening lays the beginning of the window beside its end; absent where
	// the load changes by plan, or requests are few.
	Opening *Opening `json:"opening,omitempty"`
}

// Seconds is how long the window lasted. Its ends are whole nanoseconds, of
// which a difference of floating point seconds loses a hair: a window of a
// minute is never shorter than a minute.
func (w Window) Seconds() float64 { return math.Round((w.EndS-w.StartS)*1e9) / 1e9 }

// Sound reports whether figures of the window can be firm at all.
func (w Window) Sound() bool { return !w.Unsteady() && !w.Overloaded() }

// Unsteady reports whether the window was still settling.
func (w Window) Unsteady() bool { return w.Steady != nil && !*w.Steady }

// Overloaded reports whether the queue grew.
func (w Window) Overloaded() bool { return w.Overload != nil && *w.Overload }

// Requests counts the requests due in the window. Due is the sum of OK,
// Rejected, Failed, Abandoned, Cancelled, Censored, Unsent and Others.
type Requests struct {
	Due      int `json:"due"`
	Sent     int `json:"sent"`
	OK       int `json:"ok"`
	Failed   int `json:"failed"`
	Rejected int `json:"rejected"`
	// Abandoned were closed by redline before their end, as the load asks.
	Abandoned  int `json:"abandoned,omitempty"`
	Cancelled  int `json:"cancelled"`
	Censored   int `json:"censored"`
	Unsent     int `json:"unsent"`
	Retried    int `json:"retried"`
	Reconnects int `json:"reconnects"`
	Short      int `json:"short"` // ok, but not of the length asked for
	// Sessions is how many of Due begin one, where some are later turns: the
	// rate asked for is one of sessions then.
	Sessions int            `json:"sessions,omitempty"`
	Faults   map[string]int `json:"faults,omitempty"`
	// Others are the counts that have no key of their own.
	Others map[string]int `json:"others,omitempty"`
	// Errors are the commonest messages of faults, the most frequent first.
	Errors []ErrorCount `json:"errors,omitempty"`
	// Refusals are the reasons of those rejected, in the order in which they came.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Mended are those of tries that were refused before the request was answered when sent
	// again: it is ok, and counts in no other.
	Mended []Refusal `json:"mended_refusals,omitempty"`
}

// own is where a count has a key of its own, nil where it has none.
func (r *Requests) own(c *llm.Count) *int {
	switch c {
	case llm.OKs:
		return &r.OK
	case llm.Failures:
		return &r.Failed
	case llm.Rejections:
		return &r.Rejected
	case llm.Abandonments:
		return &r.Abandoned
	case llm.Cancellations:
		return &r.Cancelled
	case llm.Cutoffs:
		return &r.Censored
	case llm.Omissions:
		return &r.Unsent
	}
	return nil
}

// Add counts an outcome.
func (r *Requests) Add(o llm.Outcome) {
	count := o.Count()
	if count.Fault {
		add(&r.Faults, string(o))
	}
	if own := r.own(count); own != nil {
		*own++
	} else {
		add(&r.Others, count.Name)
	}
}

func add(counts *map[string]int, name string) {
	if *counts == nil {
		*counts = map[string]int{}
	}
	(*counts)[name]++
}

// Of is one of the counts that Due is the sum of.
func (r *Requests) Of(c *llm.Count) int {
	if own := r.own(c); own != nil {
		return *own
	}
	return r.Others[c.Name]
}

// UnfinishedShare is the share of the requests due that never ended.
func (r Requests) UnfinishedShare() float64 {
	return float64(r.Censored+r.Unsent) / float64(max(r.Due, 1))
}

// ManyUnfinished reports whether so many never ended that the figures of the
// others say little about the load.
func (r Requests) ManyUnfinished() bool { return r.UnfinishedShare() > 0.1 }

// ErrorCount is a message and how often it came.
type ErrorCount struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// Refusal is a reason for which requests were rejected: a gateway's word for it, or
// the status.
type Refusal struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	// WithRetryAfter is how many of them said when to come again, and MaxRetryAfterS
	// the longest time that they asked for.
	WithRetryAfter int     `json:"with_retry_after,omitempty"`
	MaxRetryAfterS float64 `json:"max_retry_after_s,omitempty"`
}

// maxReasons is how many are told apart: one that holds a number must not fill the
// result.
const maxReasons = 16

// AddRefusal counts a reason.
func AddRefusal(list []Refusal, one Refusal) []Refusal {
	same := func(known Refusal) bool { return known.Reason == one.Reason }
	i := slices.IndexFunc(list, same)
	if i < 0 && len(list) >= maxReasons {
		one.Reason = "others"
		i = slices.IndexFunc(list, same)
	}
	if i < 0 {
		return append(list, one)
	}
	known := &list[i]
	known.Count += one.Count
	known.WithRetryAfter += one.WithRetryAfter
	known.MaxRetryAfterS = max(known.MaxRetryAfterS, one.MaxRetryAfterS)
	return list
}

// Rates are requests per second. Asked is absent in a closed loop.
type Rates struct {
	Asked   *float64 `json:"asked,omitempty"`
	Offered float64  `json:"offered"`
	Sent    float64  `json:"sent"`
	// Completed are of those due in the window, Ended all that ended in it.
	Completed float64 `json:"completed"`
	Ended     float64 `json:"ended"`
}

// Bunching is how close together requests were due and were sent: how many
// others came within WithinMS before one, on average.
type Bunching struct {
	WithinMS float64 `json:"within_ms"`
	Due      float64 `json:"due"`
	Sent     float64 `json:"sent"`
}

// Tokens says what was asked, what came, and who counted it.
type Tokens struct {
	Prompt int64 `json:"prompt"`
	Cached int64 `json:"cached"`
	// CachedHost and CachedStorage are the parts of Cached that lay behind the device,
	// Drafted the tokens that were guessed and DraftsAccepted those guessed right, where
	// replies tell.
	CachedHost     int64 `json:"cached_host,omitempty"`
	CachedStorage  int64 `json:"cached_storage,omitempty"`
	Drafted        int64 `json:"drafted,omitempty"`
	DraftsAccepted int64 `json:"drafts_accepted,omitempty"`
	// Vision is the part of Prompt that stands for images, where the server tells.
	Vision    int64 `json:"vision,omitempty"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	// Accepted is output of requests that kept every objective about them;
	// absent where no objective is about single requests.
	Accepted *int64 `json:"accepted,omitempty"`
	// Lost is output of requests that did not end ok.
	Lost        int64 `json:"lost,omitempty"`
	AskedPrompt int64 `json:"asked_prompt"`
	AskedOutput int64 `json:"asked_output"`
	// DuePrompt and DueOutput are what all requests due asked for, answered or
	// not.
	DuePrompt int64          `json:"due_prompt,omitempty"`
	DueOutput int64          `json:"due_output,omitempty"`
	Counted   map[string]int `json:"counted"` // requests by the source of their output count
	Events    int64          `json:"events"`
	Coalesced int64          `json:"coalesced"` // output events whose time is only bounded
	// Buffered is ok replies most of whose events share their time with
	// another: something on the way holds them back.
	Buffered int `json:"buffered"`
	// MergedFirst and MergedStall are ok replies whose first output, or the
	// end of whose longest gap, shared its read with a later event, so that
	// its time is only bounded.
	MergedFirst int `json:"merged_first,omitempty"`
	MergedStall int `json:"merged_stall,omitempty"`
	// FirstEstimated is streamed ok replies the tokens of whose first event are
	// estimated by the tokenizer, FirstUnknown those where nothing tells them.
	FirstEstimated int `json:"first_estimated,omitempty"`
	FirstUnknown   int `json:"first_unknown,omitempty"`
	// Eventless is tokens of ok replies that came in no event of their own,
	// where nearly all did: itl counts each with the next.
	Eventless int64 `json:"eventless,omitempty"`
	// ReasoningApart is ok replies whose usage counts reasoning beside the
	// output tokens, RepeatedText those whose every event held the whole text
	// so far.
	ReasoningApart int `json:"reasoning_apart,omitempty"`
	RepeatedText   int `json:"repeated_text,omitempty"`
	// Check lays the accounts of the tokens that arrived beside each other.
	Check         *TokenCheck `json:"check,omitempty"`
	PromptLengths *Dist       `json:"prompt_lengths,omitempty"`
	OutputLengths *Dist       `json:"output_lengths,omitempty"`
}

// DraftStretch is what steps brought that began in a stretch of the replies.
type DraftStretch struct {
	// From and To are the tokens of a reply between which it lies, counted from 1; the
	// last stretch has no end.
	From int `json:"from"`
	To   int `json:"to,omitempty"`
	// Replies reached it, with so many Steps in it.
	Replies int `json:"replies"`
	Steps   int `json:"steps"`
	// Tokens is the mean of a step, with the bounds of its interval at 95%.
	Tokens float64 `json:"tokens_per_step"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Change is against the first stretch of the same replies.
	Change *DraftChange `json:"change,omitempty"`
}

// DraftChange is by how much more a step brought, as a share. The bounds hold for all
// stretches at once with a chance of 99%.
type DraftChange struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Differs reports whether the steps of a stretch brought more, or less, than those of the
// first.
func (s DraftStretch) Differs() bool {
	return s.Change != nil && (s.Change.Low > 0 || s.Change.High < 0)
}

// Garbage counts ok replies whose text was looked at, and those of them with which
// something is wrong, by what it is.
type Garbage struct {
	Replies int            `json:"replies"`
	By      map[string]int `json:"by,omitempty"`
}

// TokenCheck sums the accounts of what streamed, over the ok replies whose text
// the local tokenizer counted.
type TokenCheck struct {
	Replies int `json:"replies"`
	// ByUsage of them came with the server's count; Usage is its sum.
	ByUsage int   `json:"by_usage"`
	Usage   int64 `json:"usage"`
	// Local is the tokenizer's count of whole replies.
	Local int64 `json:"local"`
	// Events is how many output events carried them, 0 where nothing streamed.
	// EventsCounted of them were counted each alone; LocalByEvent is the sum.
	Events        int64 `json:"events"`
	EventsCounted int64 `json:"events_counted"`
	LocalByEvent  int64 `json:"local_by_event"`
	// EventsAgree is how many replies had as many events as tokens by usage,
	// within 10% or one.
	EventsAgree int `json:"events_agree"`
	// SameText is how many replies of ten tokens or more have the text of another.
	SameText int `json:"same_text,omitempty"`
	// Scatter is the standard deviation of local over usage between replies, as
	// a share of its mean; absent where fewer than five can tell.
	Scatter *float64 `json:"scatter,omitempty"`
}

// Throughput is what moved in the window, per second.
type Throughput struct {
	Requests     float64 `json:"requests_per_s"`
	Output       float64 `json:"output_tokens_per_s"`
	Prompt       float64 `json:"prompt_tokens_per_s"`
	CachedPrompt float64 `json:"cached_prompt_tokens_per_s"`
	Total        float64 `json:"total_tokens_per_s"`
	Inputs       float64 `json:"inputs_per_s,omitempty"`
	Images       float64 `json:"images_per_s,omitempty"`
}

// Images is what ok requests showed the model.
type Images struct {
	Count int64 `json:"count"`
	// BytesMean and PixelsMean are of one image: as it is encoded, and what it
	// shows.
	BytesMean  float64 `json:"bytes_mean"`
	PixelsMean float64 `json:"pixels_mean"`
}

// Concurrency is requests between sent and end.
type Concurrency struct {
	Mean float64 `json:"mean"`
	Max  int     `json:"max"`
	// Little is the sent rate times the mean time in flight: a check on Mean.
	Little float64 `json:"little"`
}

// Goodput counts requests that met every per-request objective.
type Goodput struct {
	Requests float64 `json:"requests_per_s"`
	Fraction float64 `json:"fraction"` // of all due
}

// Group is the summary of a part of the requests: a prompt-length bucket, a
// class, a tenant, a turn.
type Group struct {
	Name     string   `json:"name"`
	Requests Requests `json:"requests"`
	Latency  Latency  `json:"latency"`
	Phases   *Phases  `json:"phases,omitempty"`
	Ledger   *Ledger  `json:"ledger,omitempty"`
	OutputPS float64  `json:"output_tokens_per_s"`
	// Objectives are those of all requests, judged on a bucket's alone: where
	// the whole misses one, they show at which prompt lengths.
	Objectives []slo.Verdict `json:"objectives,omitempty"`
	// Goodput counts its requests that kept every objective about them.
	Goodput *Goodput `json:"goodput,omitempty"`
	// Of its ok requests.
	PromptTokens int64 `json:"prompt_tokens,omitempty"`
	CachedTokens int64 `json:"cached_tokens,omitempty"`
	OutputTokens int64 `json:"output_tokens,omitempty"`
	// Drafted tokens were guessed and DraftsAccepted of them right, by the replies.
	Drafted        int64 `json:"drafted_tokens,omitempty"`
	DraftsAccepted int64 `json:"drafts_accepted,omitempty"`
	// AcceptedTokens is output of those that kept every objective about them.
	AcceptedTokens *int64 `json:"accepted_tokens,omitempty"`
}

// Arrivals is what the schedule made due: sessions, or requests that stand
// alone. A window may have none but later turns of sessions that began before.
func (s Summary) Arrivals() int {
	if s.Requests.Sessions > 0 || len(s.Turns) > 0 {
		return s.Requests.Sessions
	}
	return s.Requests.Due
}

// Drift is how a figure moved over a long window: the median of the slopes
// between all pairs of its blocks (Theil and Sen), and the chance of such a
// trend where there is none (Mann and Kendall).
type Drift struct {
	// Figure is ttft_p50, tpot_p50, e2e_p50 or prefix_hit_rate.
	Figure string `json:"figure"`
	// PerMinute is the slope over the figure's median; of prefix_hit_rate it
	// is the change of the share itself.
	PerMinute float64 `json:"per_min"`
	P         float64 `json:"p"`
	Blocks    int     `json:"blocks"`
	// Drifts says that P is below 0.01 and the whole window's change is not
	// too small to matter: 5 %, or a twentieth of a share.
	Drifts bool `json:"drifts"`
}

// Opening compares the beginning of a window with its end, in milliseconds: the
// lower quartile over the ok requests due in its first fifth with the upper one
// over those due in its second half. Where the first is the larger, the server
// was slow to begin with and then no longer; chance seldom turns them round.
type Opening struct {
	FirstTTFT float64 `json:"first_ttft_p25_ms"`
	LaterTTFT float64 `json:"later_ttft_p75_ms"`
	// Absent where replies have no time per token.
	FirstTPOT *float64 `json:"first_tpot_p25_ms,omitempty"`
	LaterTPOT *float64 `json:"later_tpot_p75_ms,omitempty"`
}

// Note weakens one figure, which it names by its place in the summary:
// "latency.itl_ms.p99".
type Note struct {
	Figure string
	Text   string
}

// StandardErrors say by how much a figure of an equal run may differ, as far as
// the window itself shows it, by the names that comparisons use ("ttft:p99"): of
// shares as a difference, of all others as one of logarithms.
type StandardErrors map[string]float64

// Tenths are the figures that comparisons judge unasked in each tenth of the window. Those of
// two runs with the same Requests are pairs: the same requests in the same order.
type Tenths struct {
	// Requests is a digest of what was due in the window: its sessions, turns and lengths.
	Requests string               `json:"requests"`
	Values   map[string][]float64 `json:"values"`
}

// TurnKinds splits the ok turns of sessions: by what the prefix cache had of their
// prompts, and by whether another turn of their session waited for its first token
// at the same time.
type TurnKinds struct {
	// Cached are those of which the cache had half of the prompt and more; absent,
	// with Uncached, where no reply says so of any.
	Cached   *TurnKind `json:"cached,omitempty"`
	Uncached *TurnKind `json:"uncached,omitempty"`
	Alone    *TurnKind `json:"alone,omitempty"`
	Beside   *TurnKind `json:"beside,omitempty"`
}

// TurnKind is the turns of a kind: how many, their mean ttft, the mean of the prompt
// tokens that were not cached, and by how much ttft grows with each of those.
type TurnKind struct {
	Turns int     `json:"turns"`
	TTFT  float64 `json:"ttft_mean_ms"`
	Fresh float64 `json:"fresh_tokens_mean"`
	Slope float64 `json:"ttft_ms_per_fresh_token"`
}
