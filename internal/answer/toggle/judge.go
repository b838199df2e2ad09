package toggle

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/stats"
	"redline/internal/text"
)

// Request is one that was answered well on both sides.
type Request struct {
	Round int
	Due   int64 // nanoseconds from the beginning of its round
	// Context is the length of its prompt in tokens.
	Context       int
	With, Without Times
	// Down and Up are by how much the logarithm of With over Without may be lower or
	// higher without what the machines that measured them did.
	Down, Up Times
}

// Times are a request's figures in milliseconds by name, as far as they are
// known.
type Times = map[string]float64

const (
	// minBatches is what a curve over the lengths of prompts needs, minForMean the mean
	// change.
	minBatches = 10
	minForMean = 4
	// maxBatches is how finely a round is divided.
	maxBatches = 20
)

// metrics are those that are judged, the one that the verdict is about last.
var metrics = figure.Select(func(f *figure.Figure) bool { return f.Paired })

// tooFew is the verdict on what has fewer than minForMean, or whose mean these leave open.
const tooFew = "too few requests to tell"

// TooShort says that the rounds of a plan are too short to tell anything of a server whose
// replies take as long as is likely, and which are not; "" where they are long enough or
// the server decides how long they are.
func TooShort(c *config.Config, reply time.Duration) string {
	const grain = 10 * time.Second
	rounds, length := time.Duration(Rounds(c)), Length(c)
	if rate := c.Load.Mean(); length == 0 && rate > 0 && c.Mode() != config.Closed {
		length = time.Duration(float64(c.Load.Bounds.TotalRequests) / rate * float64(time.Second))
	}
	if longest := rounds * length / (2 * minForMean); length > 0 && longest < reply {
		needed := 2 * minForMean * reply / rounds
		return fmt.Sprintf("%s of %s are too short to tell if replies take more than %s on average: give rounds of %s or more (--duration)",
			text.Plural(int(rounds), "round"), text.Length(length), text.Seconds(longest.Seconds()), text.Length((needed+grain-1)/grain*grain))
	}
	return ""
}

// judge fills in what the requests say of a toggle. The tolerance is the relative
// change that makes no difference, the share that of alpha which this look may spend.
func judge(into *result.Toggle, requests []Request, tolerance, share float64) {
	into.Requests = len(requests)
	into.Metrics, into.Buckets = []result.ToggleMetric{}, buckets(requests)
	if len(requests) == 0 {
		into.Verdict = "not compared: no request was answered on both sides"
		return
	}
	batches, length := batch(requests)
	into.Batches = len(batches)
	into.Range = rangeOf(requests)
	for _, m := range metrics {
		if one, ok := judgeMetric(m, batches, into.Range, tolerance, share); ok {
			into.Metrics = append(into.Metrics, one)
			into.Verdict = m + " " + one.Verdict
			if one.Verdict == tooFew {
				wanted := minForMean
				if len(batches) >= minForMean {
					wanted = minBatches
				}
				needed := length.Minutes()*float64(wanted)/float64(len(batches)) + 0.5 // a half more than just enough
				if i := one.Interval; i != nil {
					into.Verdict += fmt.Sprintf(" for sure, %s%% (%s … %s%%) so far", text.SignedNumber(100*one.Change), text.SignedNumber(100*i[0]), text.SignedNumber(100*i[1]))
				}
				into.Verdict += fmt.Sprintf(": measure each setting for %s or more", text.Plural(int(math.Ceil(needed)), "minute"))
			}
		}
	}
	into.Verdict = cmp.Or(into.Verdict, "not compared: no request has a time")
}

// batch divides the requests into pieces of time: in each of them at least twice
// as long as a request takes, since requests that meet in the engine are not
// independent. length is that of all rounds.
func batch(requests []Request) (all [][]Request, length time.Duration) {
	rounds := map[int][]Request{}
	for _, r := range requests {
		rounds[r.Round] = append(rounds[r.Round], r)
	}
	for _, n := range slices.Sorted(maps.Keys(rounds)) {
		pieces, took := divide(rounds[n])
		all, length = append(all, pieces...), length+took
	}
	return all, length
}

// divide cuts a round into equal times, as many as are long enough.
func divide(round []Request) (pieces [][]Request, took time.Duration) {
	first, last, busy := round[0].Due, round[0].Due, 0.0
	for _, r := range round {
		first, last = min(first, r.Due), max(last, r.Due)
		busy += max(r.With["e2e"], r.Without["e2e"]) * 1e6
	}
	length := float64(last-first) + 1
	n := int(length / max(1, 2*busy/float64(len(round))))
	pieces = make([][]Request, max(1, min(n, maxBatches)))
	for _, r := range round {
		i := int(float64(r.Due-first) / length * float64(len(pieces)))
		pieces[i] = append(pieces[i], r)
	}
	return slices.DeleteFunc(pieces, func(p []Request) bool { return len(p) == 0 }), time.Duration(last - first)
}

// rangeOf is the prompt lengths but for the outermost fiftieth at each end, of
// which there are too few to say anything.
func rangeOf(requests []Request) [2]int {
	const edge = 0.02
	lengths := text.Each(requests, func(r Request) float64 { return float64(max(1, r.Context)) })
	slices.Sort(lengths)
	return [2]int{int(stats.Quantile(lengths, edge)), int(math.Ceil(stats.Quantile(lengths, 1-edge)))}
}

// buckets are p50 and p95 of both sides by prompt length.
func buckets(requests []Request) []result.ToggleBucket {
	in := make([][]Request, len(metric.BucketNames))
	for _, r := range requests {
		i := metric.Bucket(r.Context)
		in[i] = append(in[i], r)
	}
	out := []result.ToggleBucket{}
	for i, name := range metric.BucketNames {
		if len(in[i]) == 0 {
			continue
		}
		one := result.ToggleBucket{Name: name, Requests: len(in[i]), Metrics: map[string]result.TogglePair{}}
		for _, m := range metrics {
			if pair, n := pairOf(in[i], m); n > 0 {
				one.Metrics[m] = pair
			}
		}
		out = append(out, one)
	}
	return out
}

// pairOf is the p50 and the p95 of the requests that have the figure on both sides.
func pairOf(requests []Request, name string) (result.TogglePair, int) {
	var with, without []float64
	for _, r := range requests {
		if a, b := r.With[name], r.Without[name]; a > 0 && b > 0 {
			with, without = append(with, a), append(without, b)
		}
	}
	if len(with) == 0 {
		return result.TogglePair{}, 0
	}
	slices.Sort(with)
	slices.Sort(without)
	return result.TogglePair{WithP50MS: stats.Quantile(with, 0.5), WithoutP50MS: stats.Quantile(without, 0.5),
		WithMS: stats.Quantile(with, 0.95), WithoutMS: stats.Quantile(without, 0.95)}, len(with)
}

// judgeMetric says what the toggle does to one metric; it is false where no request
// has it.
func judgeMetric(name string, batches [][]Request, over [2]int, tolerance, share float64) (result.ToggleMetric, bool) {
	var sampled [][]sample
	var means, lowMeans, highMeans []float64 // of the batches
	rounds := map[int][]float64{}
	for _, batch := range batches {
		var list []sample
		sum, down, up := 0.0, 0.0, 0.0
		for _, r := range batch {
			if a, b := r.With[name], r.Without[name]; a > 0 && b > 0 {
				s := sample{math.Log(float64(max(1, r.Context))), math.Log(a / b), r.Down[name], r.Up[name]}
				list, sum, down, up = append(list, s), sum+s.y, down+s.down, up+s.up
			}
		}
		if len(list) > 0 {
			n := float64(len(list))
			rounds[batch[0].Round] = append(rounds[batch[0].Round], sum/n)
			sampled, means = append(sampled, list), append(means, sum/n)
			lowMeans, highMeans = append(lowMeans, (sum-down)/n), append(highMeans, (sum+up)/n)
		}
	}
	pair, n := pairOf(slices.Concat(batches...), name)
	m := result.ToggleMetric{Name: name, TogglePair: pair, Standing: slo.Undecided, Verdict: tooFew}
	if n == 0 {
		return m, false
	}
	alpha := (1 - compare.Level) * share
	moves := reachOfRounds(rounds, alpha)
	m.Change = math.Expm1(stats.Mean(means))
	if len(means) > 1 {
		low, high := meanInterval(lowMeans, highMeans, alpha, moves)
		m.Interval = &[2]float64{math.Expm1(low), math.Expm1(high)}
	}
	switch n := len(means); {
	case n >= minBatches:
		decide(&m, sampled, over, tolerance, alpha, moves)
	case n >= minForMean:
		decideOnAverage(&m, lowMeans, highMeans, tolerance, alpha, moves)
	}
	return m, true
}

// reachOfRounds is how far the mean change may lie from the true one by what rounds differ
// by: what slows one turn down for minutes is in all its batches. Half of alpha, since a
// round also resembles the next. 0 where there is one round.
func reachOfRounds(rounds map[int][]float64, alpha float64) float64 {
	if len(rounds) < 2 {
		return 0
	}
	var means []float64
	for _, round := range slices.Sorted(maps.Keys(rounds)) {
		means = append(means, stats.Mean(rounds[round]))
	}
	n := float64(len(means))
	return stats.StudentQuantile(1-alpha/4, n-1) * math.Sqrt(stats.Variance(means)/n)
}

// meanInterval is that of the mean change, by batches or by rounds, whichever is wider.
func meanInterval(lowMeans, highMeans []float64, alpha, moves float64) (low, high float64) {
	below, above := stats.OneSampleT(lowMeans, 1-alpha), stats.OneSampleT(highMeans, 1-alpha)
	return min(below.Lo, below.Mean-moves), max(above.Hi, above.Mean+moves)
}

// decideOnAverage decides by the means of batches that are too few for a curve, where they
// do plainly: what batches say is corrected for all metrics.
func decideOnAverage(m *result.ToggleMetric, lowMeans, highMeans []float64, tolerance, alpha, moves float64) {
	low, high := meanInterval(lowMeans, highMeans, alpha/float64(len(metrics)), moves)
	switch standing := meanStanding([2]float64{low, high}); {
	case standing != slo.Undecided:
		m.Standing = standing
		m.Verdict = fmt.Sprintf("%s on average, %s; too few requests to say at which lengths", standing, compare.Words(m.Name, math.Log1p(m.Change)))
	case max(-low, high) < math.Log1p(tolerance):
		m.Standing = slo.Same
		m.Verdict = "makes no difference on average: less than " + text.Percent(tolerance)
	}
}
