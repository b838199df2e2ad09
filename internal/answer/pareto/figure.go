package pareto

import (
	"fmt"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/text"
)

// Figure is what an axis shows.
type Figure struct {
	// Name is what a user calls it: "interactivity:p50".
	Name string `json:"name"`
	// Title says what it is, in its unit: "tokens/s/user (p50)".
	Title string `json:"title"`
	Unit  string `json:"unit"`
	// More says that more of it is better.
	More bool `json:"more_is_better"`

	of func(*result.Result, *result.Point) (float64, bool)
}

// perAccelerator is the name of the figure that takes the number of
// accelerators to know.
const perAccelerator = "tokens-per-accelerator"

const quality = "quality"

// money is the unit of costs until the runs name their currency.
const money = "money"

// figures are all that can be an axis, but for those that take a percentile.
var figures = []Figure{
	{perAccelerator, "tokens/s/accelerator", "tokens/s", true, func(r *result.Result, p *result.Point) (float64, bool) {
		return p.Throughput.Output / float64(max(r.Hardware.Count, 1)), p.Throughput.Output > 0
	}},
	{"throughput", "output tokens/s", "tokens/s", true, func(_ *result.Result, p *result.Point) (float64, bool) {
		return p.Throughput.Output, p.Throughput.Output > 0
	}},
	{"requests", "requests/s completed", "requests/s", true, func(_ *result.Result, p *result.Point) (float64, bool) {
		return p.Rates.Completed, p.Rates.Completed > 0
	}},
	{"goodput", "requests/s within every objective", "requests/s", true, func(_ *result.Result, p *result.Point) (float64, bool) {
		if p.Goodput == nil {
			return 0, false
		}
		return p.Goodput.Requests, true
	}},
	{"cost", "per 1M output tokens", money, false, ofCost(func(c *result.Cost) *float64 { return &c.Per1mOutput })},
	{"cost-accepted", "per 1M accepted output tokens", money, false, ofCost(func(c *result.Cost) *float64 { return c.Per1mAccepted })},
	{quality, "share of right answers", "", true, func(_ *result.Result, p *result.Point) (float64, bool) { return p.Quality.Decisive() }},
	{"energy", "J per output token", "J", false, func(_ *result.Result, p *result.Point) (float64, bool) {
		if p.Accelerator == nil || p.Accelerator.JoulesPerOutputToken == nil {
			return 0, false
		}
		return *p.Accelerator.JoulesPerOutputToken, true
	}},
}

func ofCost(of func(*result.Cost) *float64) func(*result.Result, *result.Point) (float64, bool) {
	return func(_ *result.Result, p *result.Point) (float64, bool) {
		if p.Cost == nil {
			return 0, false
		}
		v := of(p.Cost)
		if v == nil || *v <= 0 {
			return 0, false
		}
		return *v, true
	}
}

// spread is a figure of which a percentile is taken.
type spread struct {
	name, title, unit, stat string
	more                    bool
	of                      func(*result.Point) *metric.Dist
}

var spreads = []spread{
	{"interactivity", "tokens/s/user", "tokens/s", "p50", true, func(p *result.Point) *metric.Dist { return p.Interactivity }},
	{"ttft", "ttft from due", "ms", "p99", false, func(p *result.Point) *metric.Dist { return p.Latency.TTFTDue }},
	{"tpot", "tpot", "ms", "p99", false, func(p *result.Point) *metric.Dist { return p.Latency.TPOT }},
	{"itl", "itl", "ms", "p99", false, func(p *result.Point) *metric.Dist { return p.Latency.ITL }},
	{"e2e", "e2e from due", "ms", "p99", false, func(p *result.Point) *metric.Dist { return p.Latency.E2EDue }},
}

// at is the figure at a percentile. That of interactivity is one of tpot,
// inverted: p99 is what the slowest hundredth of requests saw.
func (s spread) at(stat string) Figure {
	return Figure{Name: s.name + ":" + stat, Title: s.titleAt(stat), Unit: s.unit, More: s.more,
		of: func(_ *result.Result, p *result.Point) (float64, bool) {
			return s.of(p).Get(strings.ReplaceAll(stat, ".", ""))
		}}
}

func (s spread) titleAt(stat string) string {
	if strings.Contains(s.title, s.unit) {
		return s.title + " (" + stat + ")"
	}
	return s.title + " " + stat + " in " + s.unit
}

// Names lists the figures that can be asked for.
func Names() []string {
	var names []string
	for _, s := range spreads {
		names = append(names, s.name)
	}
	for _, f := range figures {
		names = append(names, f.Name)
	}
	return names
}

// Find gives the figure of a name such as "interactivity:p99", "ttft" or
// "cost".
func Find(name string) (Figure, error) {
	for _, f := range figures {
		if f.Name == name {
			return f, nil
		}
	}
	base, stat, chosen := strings.Cut(name, ":")
	for _, s := range spreads {
		switch {
		case s.name != base:
		case !chosen:
			return s.at(s.stat), nil
		case !isPercentile(stat):
			return Figure{}, fmt.Errorf("%q: want a percentile such as %s:p99", name, base)
		default:
			return s.at(stat), nil
		}
	}
	return Figure{}, fmt.Errorf("%q is not a figure; %s", name, text.Cure(base, Names()))
}

// isPercentile reports whether a text is one of those that results keep.
func isPercentile(stat string) bool {
	digits, found := strings.CutPrefix(stat, "p")
	return found && digits != "" && strings.Trim(digits, "0123456789.") == "" && strings.Trim(digits, ".") == digits
}

// Pair is what is weighed against what.
type Pair struct{ X, Y Figure }

// Pairs are those that are shown where nothing else is asked for.
func Pairs() []Pair {
	var pairs []Pair
	for _, names := range [][2]string{{"interactivity", perAccelerator}, {"interactivity", "cost"}, {"throughput", quality}, {"cost", quality}} {
		x, errX := Find(names[0])
		y, errY := Find(names[1])
		if errX == nil && errY == nil {
			pairs = append(pairs, Pair{x, y})
		}
	}
	return pairs
}
