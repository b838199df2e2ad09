package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// figures writes what a window amounts to beside its latencies.
func (p *page) figures(point *result.Point) {
	r, reconnects := point.Requests, ""
	if r.Reconnects > 0 {
		reconnects = plural(r.Reconnects, "reconnect")
	}
	p.Field(requestWord(point)+"s", joinDots(count(r.Due)+hard+"due = "+fates(r), strings.Join(present(countIfAny(r.Short, "of another length"), countIfAny(r.Retried, "retried"), reconnects), ", ")))
	for _, e := range r.Errors {
		p.Field("", count(e.Count)+hard+"×"+hard+clean(e.Text))
	}
	p.refusals("refused", "", r, point.Classes, func(r *metric.Requests) []metric.Refusal { return r.Refusals })
	p.refusals("sent again", " before an answer", r, point.Classes, func(r *metric.Requests) []metric.Refusal { return r.Mended })
	p.fire(point)
	p.leak(point.Leak)
	p.throughput(point)
	p.images(point)
	p.ledger(point.Ledger)
	if p.room >= explained {
		p.phases(point.Phases, point.Server)
		p.concurrency(point.Concurrency)
		p.setUp(point.Latency)
		p.kv(point.KV, point.Prediction)
	}
	if p.room >= explained || point.Jobs == nil { // of which the share is said above
		p.cache(point.Cache)
	}
	p.drift(point)
	p.serverUse(point.Server, point.Cache)
	p.drafts(point)
	p.prefillSlope(point.PrefillSlope)
	p.acceleratorUse(point.Accelerator)
	p.crossChecks(point.CrossChecks)
	p.prediction(point.Prediction)
	p.engineLog(point.EngineLog)
	if c := point.Calls; c != nil {
		p.checks("calls", "calls_ok_fraction", "with tools", &c.Checks)
	}
	if c := point.Schemas; c != nil {
		p.checks("schemas", "schema_ok_fraction", "with a schema", &c.Checks)
	}
	p.garbage(point.Garbage, point.Requests.OK)
	p.quality(point.Quality)
	p.cost(point)
}

// garbage writes what is wrong with replies, and that nothing is where all were looked
// at.
func (p *page) garbage(g *metric.Garbage, ok int) {
	switch {
	case g == nil || len(g.By) == 0 && g.Replies < ok:
	case len(g.By) == 0:
		p.Field("garbage", "none in "+text.Plural(g.Replies, "reply", "replies"))
	default:
		bad := 0
		for _, n := range g.By {
			bad += n
		}
		by := text.Each(slices.Sorted(maps.Keys(g.By)), func(kind string) string { return clean(kind) + hard + count(g.By[kind]) })
		p.Field("garbage", paint(lost, count(bad)+" of "+text.Plural(g.Replies, "reply", "replies"))+" looked at"+listInBrackets(by...))
	}
}

// refusals writes why requests were rejected, and of which classes.
func (p *page) refusals(name, tail string, r metric.Requests, classes []metric.Group, of func(*metric.Requests) []metric.Refusal) {
	all := of(&r)
	if len(all) == 0 {
		return
	}
	terms := []string{refusalTerms(all, true) + tail}
	for i := range classes {
		if own := refusalTerms(of(&classes[i].Requests), false); own != "" && len(classes) > 1 {
			terms = append(terms, clean(classes[i].Name)+": "+own)
		}
	}
	p.Field(name, joinDots(terms...))
}

func refusalTerms(all []metric.Refusal, withWait bool) string {
	byCount := slices.SortedStableFunc(slices.Values(all), func(a, b metric.Refusal) int { return b.Count - a.Count })
	return strings.Join(text.Each(byCount, func(one metric.Refusal) string {
		wait := when(withWait && one.WithRetryAfter > 0, " (Retry-After"+hard+"≤"+hard+text.Number(one.MaxRetryAfterS)+hard+"s)")
		return count(one.Count) + hard + "×" + hard + clean(one.Reason) + wait
	}), ", ")
}

// fates is the identity that every run keeps: where the requests that were due
// have gone. Fates that nobody met are left out.
func fates(r metric.Requests) string {
	var terms []string
	for _, c := range llm.Counts() {
		if n := r.Of(c); n > 0 {
			terms = append(terms, countIfAny(n, c.Word+faults(c, r.Faults)))
		}
	}
	return cmp.Or(strings.Join(terms, " + "), "0")
}

// faults splits a count of faults by name, the most frequent first; one that has but
// its own is not split.
func faults(c *llm.Count, byName map[string]int) string {
	var names []string
	for name, n := range byName {
		if llm.Outcome(name).Count() == c && name != c.Name && n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(byName[b]-byName[a], strings.Compare(a, b)) })
	for i, name := range names {
		names[i] = clean(name) + hard + count(byName[name])
	}
	return listInBrackets(names...)
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
	requests, good := inUnit(figure(t.Requests), "requests/s")+p.markOn("throughput.requests_per_s"), ""
	if p.room&brief > 0 && figure(t.Requests) == figure(point.Rates.Completed) { // which the load has
		requests = ""
	}
	if g := point.Goodput; g != nil {
		p.shows("goodput", "good_fraction")
		good = "goodput " + inUnit(figure(g.Requests), requestWord(point)+"s/s") + " (" + percent(g.Fraction) + goodOf(point) + when(p.room >= explained, " met every objective") + ")"
	}
	if point.Fluidity != nil && point.Goodput != nil && p.room >= explained {
		p.shows("fluidity")
		good += " · " + percent(*point.Fluidity) + " of tokens on time"
	}
	p.Field("throughput", joinDots(requests, inputs, output, prompt, good))
}

// images says what images the requests had, in bytes beside pixels: both take
// time, one of the network and one of the model.
func (p *page) images(point *result.Point) {
	i := point.Images
	if i == nil {
		return
	}
	p.shows("images_per_s")
	timed := func(name string, d *metric.Dist) string {
		median, ok := percentile(d, "p50")
		if !ok {
			return ""
		}
		p.shows(name)
		tail, _ := percentile(d, "p99")
		return strings.ReplaceAll(name, "_per_", "/") + " p50" + hard + spoken(median) + " p99" + hard + spoken(tail)
	}
	vision := ""
	if t := point.Tokens; t.Vision > 0 && t.Prompt > 0 {
		vision = percent(float64(t.Vision)/float64(t.Prompt)) + " of prompt tokens"
	}
	p.Field("images", joinDots(inUnit(figure(point.Throughput.Images), "images/s"), text.Bytes(i.BytesMean)+", "+inUnit(figure(i.PixelsMean/1e6), "megapixels")+" each",
		vision, timed("ttft_per_image", point.Latency.TTFTPerImage), timed("upload", point.Latency.Upload)))
}

func (p *page) concurrency(c metric.Concurrency) {
	if c.Max == 0 && c.Mean == 0 {
		return // another benchmark does not say
	}
	p.shows("in_flight_mean")
	mean, most := figure(c.Mean)+" mean"+p.markOn("concurrency.mean"), count(c.Max)+" max"
	if c.Max == 0 {
		most = ""
	}
	p.Field("in flight", strings.Join(present(mean, most), ", "))
}

var phaseNames = map[metric.Phase]string{metric.ClientPhase: "waiting in the client", metric.FirstTokenPhase: "the first token", metric.QueuePhase: "queueing",
	metric.PrefillPhase: "prefill", metric.TransferPhase: "KV transfer", metric.NetworkPhase: "network and front end", metric.DecodePhase: "decode"}

// phases says what takes the time of a reply, and how much of it is overhead.
func (p *page) phases(f *metric.Phases, server *telemetry.ServerUse) {
	if f == nil {
		return
	}
	p.shows("decode_share")
	share := func(name string) func(float64) string {
		return func(v float64) string { return name + " " + percent(v) }
	}
	inFirst := "queueing, prefill or network: the server does not say"
	if server != nil && server.Queue != nil && server.Prefill != nil { // of other replies than these, as while a queue grows
		inFirst = "of its replies the server says queue " + spoken(server.Queue.Mean) + ", prefill " + spoken(server.Prefill.Mean) + " mean"
	}
	first, client := share("first token")(f.FirstToken)+" ("+inFirst+")", share("client")(f.Client)
	if f.Overhead != nil {
		p.shows("overhead_share")
		first, client = ifKnown(f.Prefill, share("prefill")), share("overhead")(*f.Overhead)+listInBrackets(present(ifKnown(f.Queue, share("queue")), ifKnown(f.Transfer, share("KV transfer")), ifKnown(f.Network, share("network and front end")), client)...)
	}
	p.Field("phases", joinDots(when(f.Dominant != "", "mostly "+phaseNames[f.Dominant]), "of e2e: "+strings.Join(present(share("decode")(f.Decode), first, client), ", ")))
}

// setUp shows the connections that had to be opened in the window: their cost
// is outside every latency above.
func (p *page) setUp(l metric.Latency) {
	of := func(name string, d *metric.Dist) string {
		median, ok := percentile(d, "p50")
		if !ok {
			return ""
		}
		p.shows(name)
		return name + " p50" + hard + spoken(median) + " max" + hard + spoken(d.Max)
	}
	if parts := present(of("connect", l.Connect), of("tls", l.TLS)); len(parts) > 0 {
		opened := ifKnown(l.Connect, func(d metric.Dist) string { return plural(d.N, "connection") + " opened" })
		p.Field("set-up", joinDots(opened, strings.Join(parts, ", ")))
	}
}

func (p *page) kv(kv *result.KV, a *result.Prediction) {
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
	parts := []string{peak, "largest request " + inUnit(figure(kv.MaxMBPerRequest), "MB")}
	if p.room >= explained {
		if a != nil && a.FullAt != nil {
			parts = append(parts, "full at "+figure(*a.FullAt)+" such requests")
		}
		parts = append(parts, when(kv.Model != "", "shape of "+clean(kv.Model)))
	}
	p.Field("kv cache", joinDots(parts...))
}

// cache lays the designed share of repeated prompt tokens beside the measured
// ones.
func (p *page) cache(c *result.Cache) {
	if c == nil {
		return
	}
	share := func(by string) func(float64) string { return func(v float64) string { return percent(v) + by } }
	measured := strings.Join(present(ifKnown(c.Usage, share(" by usage")), ifKnown(c.Server, share(" by the server's counters"))), ", ")
	if len(c.Tiers) > 0 {
		tiers := each(slices.Sorted(maps.Keys(c.Tiers)), func(tier string) string { return clean(tier) + " " + percent(c.Tiers[tier]) })
		measured += " (" + strings.Join(tiers, ", ") + ")"
	}
	if c.Early != nil && c.Steady != nil {
		measured += " · early " + percent(*c.Early) + ", steady " + percent(*c.Steady)
	}
	p.shows("prefix_hit_rate")
	p.Field("cache", joinDots(ifKnown(c.Designed, func(v float64) string { return "designed " + percent(v) + " of prompt tokens" }),
		"measured "+cmp.Or(measured, "unknown, as the server does not report it")))
	if c.Warming != nil {
		p.Field("", warmingText(c.Warming))
	}
}

// goodOf names what goodput is a share of: no objective is about what --cancel closed.
func goodOf(point *result.Point) string {
	if point.Requests.Abandoned > 0 {
		return " of the " + count(point.Requests.Due-point.Requests.Abandoned) + " due and not closed by --cancel"
	}
	return " of due"
}
