package compare

import (
	"math"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/text"
)

// Values are the figures of one run or one side of a round by their names:
// "ttft:p99" in milliseconds, "throughput" in tokens/s, shares as fractions.
// What was not measured is absent.
type Values map[string]float64

// ValuesOf gives the figures of a point that comparisons judge.
func ValuesOf(p *result.Point) Values {
	values := Values{}
	for _, f := range figures {
		if v, ok := f.of(p); ok {
			values[f.name] = v
		}
	}
	return values
}

// figure is one metric that is judged.
type figure struct {
	name, unit string
	// warning is its name in a result's warnings.
	warning string
	// moreIsBetter tells a throughput from a latency.
	moreIsBetter bool
	// share marks a figure that may be 0, compared by difference, not by ratio.
	share bool
	// counts marks a share of all requests due.
	counts bool
	of     func(*result.Point) (float64, bool)
	// within bounds the figure at 95 % by what one run alone shows.
	within func(*result.Point) (lo, hi float64, ok bool)
}

// figures are all metrics that are judged, in the order in which they are
// shown. Each one more costs all others some power.
var figures = []figure{
	latency("ttft", "p50", func(l *metric.Latency) *metric.Dist { return l.TTFTDue }),
	latency("ttft", "p99", func(l *metric.Latency) *metric.Dist { return l.TTFTDue }),
	latency("tpot", "p50", func(l *metric.Latency) *metric.Dist { return l.TPOT }),
	latency("tpot", "p99", func(l *metric.Latency) *metric.Dist { return l.TPOT }),
	latency("itl", "p99", func(l *metric.Latency) *metric.Dist { return l.ITL }),
	latency("e2e", "p50", func(l *metric.Latency) *metric.Dist { return l.E2EDue }),
	latency("e2e", "p99", func(l *metric.Latency) *metric.Dist { return l.E2EDue }),
	{name: "throughput", unit: "tokens/s", warning: "throughput.output_tokens_per_s", moreIsBetter: true,
		of: outputRate, within: outputRateWithin},
	{name: "good:fraction", unit: "fraction", warning: "goodput.fraction", moreIsBetter: true, share: true,
		of: goodShare, within: goodWithin},
	countShare("error:rate", func(r *metric.Requests) int { return r.Failed }),
	countShare("reject:rate", func(r *metric.Requests) int { return r.Rejected }),
}

func latency(name, key string, dist func(*metric.Latency) *metric.Dist) figure {
	return figure{
		name: name + ":" + key, unit: "ms", warning: "latency." + dueForm(name) + "_ms." + key,
		of: func(p *result.Point) (float64, bool) {
			v, ok := dist(&p.Latency).Get(key)
			return v, ok && v > 0
		},
		within: func(p *result.Point) (lo, hi float64, ok bool) {
			d := dist(&p.Latency)
			if !d.IsFirm(key) {
				return 0, 0, false
			}
			ci, ok := d.CI[key]
			return ci[0], ci[1], ok && ci[0] > 0 && ci[1] >= ci[0]
		},
	}
}

func dueForm(name string) string {
	if name == "ttft" || name == "e2e" {
		return name + "_due"
	}
	return name
}

func outputRate(p *result.Point) (float64, bool) {
	return p.Throughput.Output, p.Throughput.Output > 0
}

// outputRateWithin takes replies as independent draws at random times. That
// is wider than the truth where both runs saw the same requests. The squared
// mean over the squared median is the second moment of log-normal lengths in
// units of the mean, and 1 for replies of one length.
func outputRateWithin(p *result.Point) (lo, hi float64, ok bool) {
	lengths := p.Tokens.OutputLengths
	median, ok := lengths.Get("p50")
	rate, moving := outputRate(p)
	if !ok || !moving || p.Requests.OK < 2 || median <= 0 {
		return 0, 0, false
	}
	moment := max(lengths.Mean*lengths.Mean/(median*median), 1)
	reach := math.Exp(stats.NormalQuantile(0.975) * math.Sqrt(moment/float64(p.Requests.OK)))
	return rate / reach, rate * reach, true
}

func goodShare(p *result.Point) (float64, bool) {
	if p.Goodput == nil {
		return 0, false
	}
	return p.Goodput.Fraction, true
}

// goodWithin counts the requests for no more than the objectives found them
// worth: violations come in crowds.
func goodWithin(p *result.Point) (lo, hi float64, ok bool) {
	share, ok := goodShare(p)
	if !ok || p.Requests.Due == 0 {
		return 0, 0, false
	}
	worth := 1.0
	for _, o := range p.Objectives {
		if o.NEff != nil && o.N > 0 {
			worth = min(worth, *o.NEff/float64(o.N))
		}
	}
	lo, hi = wilson(share, float64(p.Requests.Due)*worth)
	return lo, hi, true
}

func countShare(name string, count func(*metric.Requests) int) figure {
	of := func(p *result.Point) (float64, bool) {
		if p.Requests.Due == 0 {
			return 0, false
		}
		return float64(count(&p.Requests)) / float64(p.Requests.Due), true
	}
	return figure{name: name, unit: "fraction", warning: "requests", share: true, counts: true, of: of,
		within: func(p *result.Point) (lo, hi float64, ok bool) {
			share, ok := of(p)
			lo, hi = wilson(share, float64(p.Requests.Due))
			return lo, hi, ok
		}}
}

// wilson is the 95 % score interval of a share of n independent requests.
func wilson(share, n float64) (lo, hi float64) {
	z := stats.NormalQuantile(0.975)
	middle := (share + z*z/(2*n)) / (1 + z*z/n)
	reach := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return max(middle-reach, 0), min(middle+reach, 1)
}

// scaled puts a value on the scale on which two are subtracted: logarithms
// make a ratio a difference.
func (f figure) scaled(v float64) float64 {
	if f.share {
		return v
	}
	return math.Log(v)
}

func (f figure) unscaled(v float64) float64 {
	if f.share {
		return v
	}
	return math.Exp(v)
}

// usable reports whether the value can be put on the scale.
func (f figure) usable(v float64) bool {
	return finite(v) != nil && (f.share || v > 0)
}

// tolerated is the difference on the scale that does not matter. A tenth of
// the tolerance in errors is as grave as the whole of it in latency.
func (f figure) tolerated(tolerance float64) float64 {
	if f.share && !f.moreIsBetter {
		return tolerance / 10
	}
	return f.step(tolerance)
}

// step puts a relative difference on the scale.
func (f figure) step(relative float64) float64 {
	if f.share {
		return relative
	}
	return math.Log1p(relative)
}

// relative takes a difference on the scale to the one that is shown.
func (f figure) relative(step float64) float64 {
	if f.share {
		return step
	}
	return math.Expm1(step)
}

// word says in which direction B differs.
func (f figure) word(step float64) string {
	switch up := step > 0; {
	case f.unit == "ms" && up:
		return "slower"
	case f.unit == "ms":
		return "faster"
	case up:
		return "higher"
	}
	return "lower"
}

// show words a difference as it is shown.
func (f figure) show(relative float64) string {
	if f.share {
		return text.Rough(100*math.Abs(relative)) + " points"
	}
	return text.RoughPercent(math.Abs(relative))
}
