package compare

import (
	"slices"

	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/stats"
)

// Adds are means of a point in their units, of which differences are wanted. An interval of
// them says what a gateway costs, which a ratio does not.
type Adds struct {
	means map[string]float64
	parts []metric.LedgerEntry
}

// addedTo are the means that something in front of a server adds to, or takes from.
var addedTo = []string{"ttft_due", "itl", "throughput"}

// AddsOf takes them from a point.
func AddsOf(p *result.Point) *Adds {
	a := &Adds{means: map[string]float64{}, parts: p.Ledger.All()}
	if p.Throughput.Output > 0 {
		a.means["throughput"] = p.Throughput.Output
	}
	for _, name := range addedTo {
		if d := p.Latency.Of(name); d != nil && d.Mean > 0 {
			a.means[name] = d.Mean
		}
	}
	return a
}

func (a *Adds) of(name string) (float64, bool) {
	v, ok := a.means[name]
	return v, ok
}

func (a *Adds) part(name string) (float64, bool) {
	i := slices.IndexFunc(a.parts, func(e metric.LedgerEntry) bool { return e.Name == name })
	if i < 0 {
		return 0, len(a.parts) > 0 && slices.Contains(areNothing, name)
	}
	return a.parts[i].MeanMS, true
}

// areNothing are the parts whose absence says that there is no such thing: no gateway,
// no second pool, no connection to be opened.
var areNothing = []string{"slot", "connect", "tls", "gateway", "transfer"}

// differences lays what two sides have on average beside each other; those of rounds are
// paired.
func differences(a, b []*Adds, paired bool) (list []result.Difference) {
	add := func(name, unit string, isPart bool, of func(*Adds) (float64, bool)) {
		var va, vb, steps []float64
		for i := range max(len(a), len(b)) {
			x, okA := value(a, i, of)
			y, okB := value(b, i, of)
			if okA && (okB || !paired) {
				va = append(va, x)
			}
			if okB && (okA || !paired) {
				vb = append(vb, y)
			}
			if okA && okB {
				steps = append(steps, y-x)
			}
		}
		if len(va) == 0 || len(vb) == 0 || isPart && stats.Mean(va) == 0 && stats.Mean(vb) == 0 && name != metric.Rest {
			return
		}
		test := stats.WelchT(va, vb, Level)
		if paired {
			test = stats.OneSampleT(steps, Level)
		}
		d := result.Difference{Name: name, Unit: unit, A: stats.Mean(va), B: stats.Mean(vb), Part: isPart, ScrapedA: isScraped(a, name), ScrapedB: isScraped(b, name)}
		if len(va) > 1 && len(vb) > 1 {
			d.Interval = interval(test.Lo, test.Hi)
		}
		list = append(list, d)
	}
	for _, name := range addedTo {
		f, _ := figure.Find(name)
		add(name, string(f.Unit), false, func(s *Adds) (float64, bool) { return s.of(name) })
		if name != addedTo[0] {
			continue
		}
		for _, part := range metric.LedgerNames() {
			add(part, string(f.Unit), true, func(s *Adds) (float64, bool) { return s.part(part) })
		}
	}
	return list
}

// isScraped reports whether any of them has a part from the server's metrics.
func isScraped(of []*Adds, part string) bool {
	return slices.ContainsFunc(of, func(a *Adds) bool {
		return a != nil && slices.ContainsFunc(a.parts, func(e metric.LedgerEntry) bool { return e.Name == part && e.Scraped })
	})
}

func value(of []*Adds, i int, get func(*Adds) (float64, bool)) (float64, bool) {
	if i >= len(of) || of[i] == nil {
		return 0, false
	}
	return get(of[i])
}

// addsOfAll takes the means of runs of one load.
func addsOfAll(runs []*result.Result) (list []*Adds) {
	for _, r := range runs {
		if len(r.Points) == 1 {
			list = append(list, AddsOf(&r.Points[0]))
		}
	}
	return list
}
