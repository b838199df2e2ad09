package report

import (
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// figures writes what a window amounts to beside its latencies.
func (p *page) figures(point *result.Point) {
	p.field("requests", joined(count(point.Requests.Due)+hard+"due = "+fates(point.Requests), asides(point.Requests)))
	for _, e := range point.Requests.Errors {
		p.field("", count(e.Count)+hard+"×"+hard+clean(e.Text))
	}
	p.throughput(point)
	p.goodput(point)
	p.concurrency(point.Concurrency)
	if p.whole {
		p.setUp(point.Latency)
	}
	p.kv(point.KV)
	p.cache(point.Cache)
	p.drift(point)
	p.serverUse(point.Server, point.Cache)
	p.prefillSlope(point.PrefillSlope)
	p.acceleratorUse(point.Accelerator)
	p.crossChecks(point.CrossChecks)
	p.prediction(point.Prediction)
	p.engineLog(point.EngineLog)
	p.quality(point.Quality)
	p.cost(point)
}

// fates is the identity that every run keeps: where the requests that were due
// have gone. Fates that nobody met are left out.
func fates(r metric.Requests) string {
	var terms []string
	for _, term := range []struct {
		n    int
		name string
	}{
		{r.OK, "ok"},
		{r.Rejected, "rejected"},
		{r.Failed, "failed" + faults(r.Faults)},
		{r.Cancelled, "cancelled"},
		{r.Censored, "unfinished"},
		{r.Unsent, "unsent"},
	} {
		if term.n != 0 {
			terms = append(terms, count(term.n)+hard+term.name)
		}
	}
	if len(terms) == 0 {
		return "0"
	}
	return strings.Join(terms, " + ")
}

// faults splits the failures by name, the most frequent first. Rejections have
// their own term.
func faults(byName map[string]int) string {
	var names []string
	for name, n := range byName {
		if name != "rejected" && n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if byName[a] != byName[b] {
			return byName[b] - byName[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = clean(name) + hard + count(byName[name])
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// asides counts what is no fate of its own.
func asides(r metric.Requests) string {
	var terms []string
	if r.Short > 0 {
		terms = append(terms, count(r.Short)+hard+"short")
	}
	if r.Retried > 0 {
		terms = append(terms, count(r.Retried)+hard+"retried")
	}
	if r.Reconnects > 0 {
		terms = append(terms, plural(r.Reconnects, "reconnect"))
	}
	return strings.Join(terms, ", ")
}

func (p *page) throughput(point *result.Point) {
	t, output := point.Throughput, ""
	if t.Output > 0 || point.Requests.OK == 0 {
		p.shows("output_tokens_per_s")
		output = inUnit(figure(t.Output), "output tokens/s") + p.markOn("throughput.output_tokens_per_s")
	}
	inputs := ""
	if t.Inputs > 0 {
		p.shows("inputs_per_s")
		inputs = inUnit(figure(t.Inputs), "inputs/s")
	}
	p.shows("prompt_tokens_per_s")
	prompt := inUnit(figure(t.Prompt), "prompt tokens/s") + p.markOn("throughput.prompt_tokens_per_s")
	if t.CachedPrompt > 0 {
		prompt += " (+" + hard + figure(t.CachedPrompt) + hard + "cached)"
	}
	p.field("throughput", joined(
		inUnit(figure(t.Requests), "requests/s")+p.markOn("throughput.requests_per_s"),
		inputs, output, prompt))
}

func (p *page) goodput(point *result.Point) {
	if point.Goodput == nil {
		return
	}
	p.shows("goodput", "good_fraction")
	fluid := ""
	if point.Fluidity != nil {
		p.shows("fluidity")
		fluid = percent(*point.Fluidity) + " of tokens on time"
	}
	p.field("goodput", joined(inUnit(figure(point.Goodput.Requests), "requests/s"),
		percent(point.Goodput.Fraction)+" of due met every objective", fluid))
}

func (p *page) concurrency(c metric.Concurrency) {
	p.shows("in_flight_mean")
	p.field("in flight", figure(c.Mean)+" mean"+p.markOn("concurrency.mean")+", "+count(c.Max)+" max")
}

// setUp shows the connections that had to be opened in the window: their cost
// is outside every latency above.
func (p *page) setUp(l metric.Latency) {
	var parts []string
	for _, d := range []struct {
		name string
		dist *metric.Dist
	}{{"connect", l.Connect}, {"tls", l.TLS}} {
		median, ok := percentile(d.dist, "p50")
		if !ok {
			continue
		}
		p.shows(d.name)
		parts = append(parts, d.name+" p50"+hard+milliseconds(median)+" max"+hard+milliseconds(d.dist.Max))
	}
	if len(parts) == 0 {
		return
	}
	opened := ""
	if l.Connect != nil {
		opened = plural(l.Connect.N, "connection") + " opened"
	}
	p.field("set-up", joined(opened, strings.Join(parts, ", ")))
}

func (p *page) kv(kv *result.KV) {
	if kv == nil {
		return
	}
	p.shows("kv_cache_mb_per_request", "kv_peak_mb")
	peak := "peak " + inUnit(figure(kv.PeakMB), "MB")
	if kv.RoomMB > 0 {
		peak += " of " + inUnit(figure(kv.RoomMB), "MB")
	}
	if figure(kv.PeakLowMB) != figure(kv.PeakMB) && kv.PeakLowMB > 0 {
		peak += " (at least " + inUnit(figure(kv.PeakLowMB), "MB") + ", shared prefixes once)"
	}
	if kv.ServerPeakMB != nil {
		peak += ", " + inUnit(figure(*kv.ServerPeakMB), "MB") + " by the server's gauge"
	}
	shape := ""
	if kv.Model != "" && p.whole {
		shape = "shape of " + clean(kv.Model)
	}
	p.field("kv cache", joined(peak, "largest request "+inUnit(figure(kv.MaxMBPerRequest), "MB"), shape))
}

// cache lays the designed share of repeated prompt tokens beside the measured
// ones.
func (p *page) cache(c *result.Cache) {
	if c == nil {
		return
	}
	share := func(before string, v *float64, behind string) string {
		if v == nil {
			return ""
		}
		return before + percent(*v) + behind
	}
	var measured []string
	for _, text := range []string{share("", c.Usage, " by usage"), share("", c.Server, " by the server's counters")} {
		if text != "" {
			measured = append(measured, text)
		}
	}
	if len(measured) == 0 {
		measured = []string{"not, the server does not say"}
	}
	p.shows("prefix_hit_rate")
	p.field("cache", joined(share("designed ", c.Designed, " of prompt tokens"), "measured "+strings.Join(measured, ", ")))
}
