package result

import (
	"cmp"
	"time"

	"redline/internal/judge/slo"
)

// Curve is how the server answers to load: levels of one load axis.
type Curve struct {
	// By is the axis: "rate", "concurrency" or "agents".
	By string `json:"by"`
	// Points are indices into the result's points, by ascending load.
	Points []int `json:"points"`
	// Standing is what a search believes of runs at each of the points, from all
	// levels together; absent without a search.
	Standing []slo.Standing `json:"outcome,omitempty"`
	// Knee is the load from which on latency grows faster than load; absent
	// where the curve does not bend.
	Knee *float64 `json:"knee,omitempty"`
	// Stopped says why no higher load was offered: "saturated at 24
	// requests/s".
	Stopped string `json:"stopped,omitempty"`
	// MaxQPS is the highest level that met the objectives; absent without
	// objectives, and of a search, which finds the limit itself.
	MaxQPS *MaxQPS `json:"max_qps_under_slo,omitempty"`
}

// MaxQPS is how far levels met all objectives, and each of them alone.
type MaxQPS struct {
	HighestMet
	ByObjective map[string]HighestMet `json:"by_objective"`
}

// HighestMet is the highest load that met objectives below the first that missed.
type HighestMet struct {
	// Rate is in requests per second: as asked in an open loop, as completed in
	// a closed one. It is 0 where no level met them.
	Rate float64 `json:"rate"`
	// Concurrency is that of a closed loop.
	Concurrency *int `json:"concurrency,omitempty"`
	// MissedAt is the rate of the first level that missed; absent where none did.
	MissedAt *float64 `json:"missed_at,omitempty"`
}

// Limit is the highest load at which every objective is kept: a rate, or a number
// of agents.
type Limit struct {
	// Rate is the limit in requests per second, or in those of Unit: the median of
	// what is believed. Where Standing is LimitAtLeast it is the highest rate that was met, and 0 where it is LimitBelow.
	Rate float64 `json:"rate"`
	// Unit is "sessions/s" where sessions have several requests, and "agents" where
	// the limit is a number of live jobs; absent it is "requests/s".
	Unit string `json:"unit,omitempty"`
	// Interval is the middle 90 % of what is believed; where Standing is LimitAtLeast
	// it ends at the highest rate that was met.
	Interval [2]float64 `json:"interval"`
	// UnmissedTo is the highest rate that was met; absent where a level missed an
	// objective. A limit above it follows from the pace between tokens and from
	// percentiles near their limits.
	UnmissedTo *float64 `json:"unmissed_to,omitempty"`
	// Standing is LimitFound, LimitWide, LimitAtLeast or LimitBelow.
	Standing LimitStanding `json:"outcome"`
	// Held is the highest rate at which a sustained run met every objective:
	// the rate to rely on. Absent where none did.
	Held *HeldRate `json:"held,omitempty"`
	// Binding is the objective that breaks first.
	Binding     string           `json:"binding,omitempty"`
	ByObjective map[string]Bound `json:"by_objective"`
	// Edge is EdgeCliff or EdgeSlope; absent where no edge was seen.
	Edge string `json:"edge,omitempty"`
	// Knee is the rate from which on latency grows faster than load.
	Knee        *float64     `json:"knee,omitempty"`
	BestGoodput *BestGoodput `json:"best_goodput,omitempty"`
	// MinCost is where a request that kept every objective costs least;
	// absent without a price.
	MinCost *MinCost `json:"least_cost,omitempty"`
	// Confirmed says that a rate of at least 85 % of the limit was held.
	Confirmed bool `json:"confirmed"`
	// Unmet are objectives that are broken even at the lowest rate offered,
	// and throughputs that are not reached up to the limit.
	Unmet []string `json:"unmet,omitempty"`
	// LoadS is the wall-clock time that the search took, and Requests how many
	// it measured.
	LoadS    float64 `json:"load_s"`
	Requests int     `json:"requests"`
	// Notes say what makes the answer weaker than it looks.
	Notes []string `json:"notes,omitempty"`
}

// The units of a limit beside requests/s: sessions of several requests, and live
// jobs of agents.
const (
	SessionRates = "sessions/s"
	Agents       = "agents"
)

// RateUnit is the unit of the limit's rates.
func (l *Limit) RateUnit() string { return cmp.Or(l.Unit, "requests/s") }

// Noun is what the limit is one of.
func (l *Limit) Noun() string {
	if l.Unit == Agents {
		return "number of agents"
	}
	return "rate"
}

// Bound is the limit by one objective alone.
type Bound struct {
	Rate     float64       `json:"rate"`
	Interval [2]float64    `json:"interval"`
	Standing LimitStanding `json:"outcome"`
}

// HeldRate is a rate at which a sustained run met every objective, and how long the
// run was.
type HeldRate struct {
	Rate    float64 `json:"rate"`
	Seconds float64 `json:"seconds"`
}

// BestGoodput is where most requests per second kept every objective.
type BestGoodput struct {
	Rate     float64 `json:"rate"`
	Requests float64 `json:"requests_per_s"`
}

// MinCost is where a request that kept every objective costs least.
type MinCost struct {
	Rate       float64 `json:"rate"`
	PerRequest float64 `json:"cost_per_good_request"`
}

// LimitStanding is how much is known of a limit or of a bound.
type LimitStanding string

// The standings of a limit and of a bound.
const (
	LimitFound   LimitStanding = "found"
	LimitWide    LimitStanding = "wide"     // the interval is more than twice as wide as asked for
	LimitAtLeast LimitStanding = "at_least" // nothing was missed up to the highest rate offered
	LimitBelow   LimitStanding = "below"    // missed even at the lowest rate offered
	LimitNeeds   LimitStanding = "needs"    // a throughput, reached from this rate on
)

// The edges of a limit.
const (
	EdgeCliff = "cliff"
	EdgeSlope = "slope"
)

// Comparison is B against A.
type Comparison struct {
	Way string `json:"way"` // "stored" or "live"
	A   Side   `json:"a"`
	B   Side   `json:"b"`
	// Cliffs are those of A and B where both are sweeps over working sets.
	Cliffs *[2]Cliff `json:"cliffs,omitempty"`
	// Rounds counts those of a live comparison that were judged.
	Rounds int `json:"rounds,omitempty"`
	// Ended says why a live comparison has fewer rounds than it may have.
	Ended string `json:"ended,omitempty"`
	// Test names what decided.
	Test     string       `json:"test"`
	Alpha    float64      `json:"alpha"`
	Metrics  []Change     `json:"metrics"`
	Standing slo.Standing `json:"outcome"`
	// Verdict is the answer in words.
	Verdict string `json:"verdict"`
	// Shapes are the means and tails of the latencies, which are not judged.
	Shapes []Shape `json:"shapes,omitempty"`
	// Differences are what B adds on average, in units and not in shares: to the time to first
	// token, its parts, the gaps between tokens and the throughput. They are not judged.
	Differences []Difference `json:"differences,omitempty"`
	// Flags are the settings of the servers that differ, where both tell theirs.
	Flags []FlagPair `json:"flags,omitempty"`
	// Invalid says why stored runs do not carry the answer: one is not valid,
	// or they are not comparable and were compared all the same.
	Invalid  []string  `json:"invalid,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Shape is the mean of a latency and its p99/p50 on both sides; what one does
// not have is absent.
type Shape struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	MeanA *float64 `json:"mean_a,omitempty"`
	MeanB *float64 `json:"mean_b,omitempty"`
	TailA *float64 `json:"tail_ratio_a,omitempty"`
	TailB *float64 `json:"tail_ratio_b,omitempty"`
}

// Difference is a mean on both sides, or the median of the same requests; its interval is over rounds or runs, absent where
// there is one alone.
type Difference struct {
	Name     string      `json:"name"`
	Unit     string      `json:"unit"`
	A        float64     `json:"a"`
	B        float64     `json:"b"`
	Interval *[2]float64 `json:"interval,omitempty"` // of B − A
	// Paired says that it is the median of the same requests on both sides, and Step the median of
	// their differences, which is not that of the medians.
	Paired bool     `json:"paired,omitempty"`
	Step   *float64 `json:"step,omitempty"`
	// Part says that it is a part of the time to first token.
	Part bool `json:"part,omitempty"`
	// ScrapedA and ScrapedB say that a side's part is the mean of its server's metrics: no
	// reply told it.
	ScrapedA bool `json:"scraped_a,omitempty"`
	ScrapedB bool `json:"scraped_b,omitempty"`
}

// FlagPair is a setting that is not the same on both sides; empty where one has
// none of that name.
type FlagPair struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Side is one of the two.
type Side struct {
	Name   string   `json:"name"`
	Runs   []string `json:"runs,omitempty"` // their paths as they were given, else their ids
	Model  string   `json:"model,omitempty"`
	Engine string   `json:"engine,omitempty"`
	URL    string   `json:"url,omitempty"`
	// Distributions are those of its runs or rounds: the geometric mean at each
	// percentage.
	Distributions *Distributions `json:"distributions,omitempty"`
}

// Change is one figure of both sides. What could not be computed is absent.
type Change struct {
	// Name is that of an objective: "ttft:p99" is in its due form.
	Name string `json:"name"`
	// Load is the point's, where the runs have several.
	Load string `json:"load,omitempty"`
	Unit string `json:"unit"`
	// A and B are the means of the runs or rounds: geometric where the two are
	// compared by their ratio, so that B/A is the ratio.
	A *float64 `json:"a,omitempty"`
	B *float64 `json:"b,omitempty"`
	// Ratio is B/A. Shares are compared by their Difference B − A instead.
	Ratio      *float64 `json:"ratio,omitempty"`
	Difference *float64 `json:"difference,omitempty"`
	// Interval bounds the ratio, or the difference of shares, by the test;
	// Bootstrap does by drawing rounds again.
	Interval  *[2]float64 `json:"interval,omitempty"`
	Bootstrap *[2]float64 `json:"bootstrap,omitempty"`
	// P is that of the test, PHolm corrected for all metrics; WilcoxonP is the
	// signed-rank test's over rounds, the rank-sum test's over sets of runs.
	P         *float64 `json:"p,omitempty"`
	PHolm     *float64 `json:"p_holm,omitempty"`
	WilcoxonP *float64 `json:"wilcoxon_p,omitempty"`
	// Effect is Cohen's: the mean difference in standard deviations.
	Effect *float64 `json:"effect,omitempty"`
	// Detectable is the smallest relative difference, or difference of shares,
	// that so many runs or rounds would probably have shown.
	Detectable *float64     `json:"detectable,omitempty"`
	Standing   slo.Standing `json:"outcome"`
	// Verdict is the answer in words: "slower by 5.1 %".
	Verdict string `json:"verdict"`
	// Tail says that it is a percentile above the median, which runs of minutes hardly bound:
	// left undecided, it does not leave the comparison so.
	Tail bool `json:"tail,omitempty"`
	// Suspicion is what was seen of an undecided figure that would count by itself, and not
	// among as many as were compared.
	Suspicion string `json:"suspicion,omitempty"`
}

// Item is one question of the validation checklist.
type Item struct {
	Name string `json:"name"`
	// State is ItemYes, ItemNo or ItemUnknown.
	State string `json:"state"`
	// Field is where the answer was read: "points[3].window.end_s".
	Field string `json:"field"`
	Text  string `json:"text,omitempty"`
}

// The states of a checklist item.
const (
	ItemYes     = "yes"
	ItemNo      = "no"
	ItemUnknown = "unknown"
)

// The purposes of stages that carry no claim.
const (
	PurposeSmoke  = "smoke"
	PurposeWarmUp = "warm-up"
	PurposeRamp   = "ramp" // by which a search finds the scale
)

// Exploratory is the length below which a level carries no claim either.
const Exploratory = time.Minute

// Stage is one run of an experiment.
type Stage struct {
	Name string `json:"name"`
	// Dir is its run directory, relative to that of the experiment.
	Dir string `json:"dir,omitempty"`
	// Point is an index into the result's points; absent where nothing was
	// measured.
	Point   *int   `json:"point,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	// TookS is the wall-clock time of a level of a search, which plans the next
	// ones by it, also when it is resumed.
	TookS float64 `json:"took_s,omitempty"`
	// HeldUp is what the machine did to the client in it; absent where nobody watched.
	HeldUp *Holdups `json:"held_up,omitempty"`
	// LeftOut says why the stage does not count in the answer.
	LeftOut string `json:"left_out,omitempty"`
	// The row of a matrix: its short name, what is supposed, what is asked, what is expected,
	// and what came of it.
	Row         string `json:"row,omitempty"`
	Hypothesis  string `json:"hypothesis,omitempty"`
	Question    string `json:"question,omitempty"`
	Expectation string `json:"expectation,omitempty"`
	Outcome     string `json:"outcome,omitempty"`
	// Agrees says whether the outcome is as expected; absent where that is
	// not decided.
	Agrees *bool `json:"agrees,omitempty"`
}

// Repeats is how far runs of one plan lie apart.
type Repeats struct {
	Runs    int      `json:"runs"`
	Metrics []Spread `json:"metrics"`
	// Point is the index of the point with the figures of all runs together.
	Point *int `json:"point,omitempty"`
}

// Spread is one metric over several runs.
type Spread struct {
	Name string `json:"name"`
	Load string `json:"load,omitempty"`
	Unit string `json:"unit"`
	// N is how many runs have it.
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	// CV is the standard deviation between runs over their mean.
	CV *float64 `json:"cv,omitempty"`
	// WithinCV is the same as the runs' own intervals predict it; a CV far
	// above it says that runs differ by more than a single one can show.
	WithinCV *float64 `json:"within_cv,omitempty"`
	// Interval bounds the mean at 95 % by Student's t over the runs, so it
	// includes what differs between them.
	Interval *[2]float64 `json:"interval,omitempty"`
}
