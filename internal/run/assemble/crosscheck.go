package assemble

import (
	"fmt"
	"math"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// How far two figures may lie apart, as a share of the larger, and below which
// difference nobody need care. docs/reference/ENGINES.md gives the reasons.
const (
	ttftTolerance     = 0.20
	ttftFloorMS       = 5.0
	tokensTolerance   = 0.02
	queueTolerance    = 0.25
	runningTolerance  = 0.15
	runningFloor      = 1.0
	replicasTolerance = 0.20
	cachedFloor       = 0.05

	// Below these there is too little to compare.
	minCoveredS = 3.0
	minSamples  = 3
	minTimed    = 10
)

// pair is what is known of a window on both sides. Which of two counts is wrong
// nobody can know: neither the run nor the server is judged by it.
type pair struct {
	client metric.Summary
	server *telemetry.ServerUse
}

// crossChecks compares what both sides know of a window. The server counts the
// tokens of golden questions too. One that restarted meanwhile, or that was
// watched too briefly, is compared with nothing.
func crossChecks(client metric.Summary, golden int, server *telemetry.ServerUse) []result.CrossCheck {
	if !watchedThroughout(server) {
		return nil
	}
	if length := client.Window.Seconds(); length > 0 {
		client.Throughput.Output += float64(golden) / length
	}
	p := pair{client, server}
	var all []result.CrossCheck
	for _, check := range []func() *result.CrossCheck{p.ttft, p.queue, p.tokens, p.cached, p.running, p.replicas} {
		if c := check(); c != nil {
			all = append(all, *c)
		}
	}
	return all
}

// splitFirstToken completes the ledger of the first token by the server's mean times,
// where the server timed the requests that the client did and their replies do not
// tell; and the phases by the ledger.
func splitFirstToken(client *metric.Summary, server *telemetry.ServerUse) {
	p := pair{*client, server}
	if l := client.Ledger; l != nil && watchedThroughout(server) && server.Queue != nil && server.Prefill != nil && server.Prefill.N >= minTimed && !client.Requests.ManyUnfinished() && !p.queueGrew() {
		l.Scrape(metric.PrefillPart, server.Prefill.Mean)
		l.Scrape(metric.QueuePart, server.Queue.Mean)
	}
	if !client.Ledger.IsKnown() {
		client.Ledger = nil
	} else if client.Phases != nil {
		client.Phases.Split(client.Latency.E2EDue, client.Ledger)
	}
}

// watchedThroughout reports whether a server was watched long enough, and without a restart.
func watchedThroughout(server *telemetry.ServerUse) bool {
	return server != nil && !server.Restarted && server.CoveredS >= minCoveredS && server.Samples >= minSamples
}

// crossWarnings are those of the pairs that differ by more than they may.
func crossWarnings(checks []result.CrossCheck) []result.Warning {
	var all []result.Warning
	for _, c := range checks {
		if !c.OK {
			all = append(all, result.Warning{Figure: "cross_checks." + c.Name, Text: c.Text})
		}
	}
	return all
}

// crossCheck lays two figures beside each other, which may differ by a share of the
// larger, or by less than matters.
func crossCheck(name, unit string, here, there, share, floor float64) *result.CrossCheck {
	return &result.CrossCheck{Name: name, Unit: unit, Client: &here, Server: &there, Tolerance: share,
		OK: math.Abs(here-there) <= max(share*max(here, there), floor)}
}

// queueGrew reports whether the two sides time different requests: the client
// those that were due in the window, the server those that it got to, which
// came earlier and waited less where the queue grows or has not settled.
func (p pair) queueGrew() bool {
	w := p.client.Window
	return w.Overload != nil && *w.Overload || w.Steady != nil && !*w.Steady
}

// ttft: what the client waits for beyond the server's own account of it is the
// way there and back, and whatever stands in front of the engine.
func (p pair) ttft() *result.CrossCheck {
	here, there := p.client.Latency.TTFT, p.server.TTFT
	if p.queueGrew() || here == nil || here.N < minTimed || there == nil || there.N < minTimed {
		return nil
	}
	c := crossCheck("ttft", "ms", here.Mean, there.Mean, ttftTolerance, ttftFloorMS)
	ours, theirs := text.Time(here.Mean), text.Time(there.Mean)
	low, _, bounded := here.Ends("mean")
	switch difference := here.Mean - there.Mean; {
	case difference >= 0 && bounded && low <= there.Mean:
		c.OK = true
		c.Text = fmt.Sprintf("mean ttft is %s here and %s by the server: this machine's hold-ups can be all of the difference", ours, theirs)
	case difference >= 0 && bounded && low < here.Mean:
		c.Text = fmt.Sprintf("mean ttft is %s here and %s by the server: network and front end take at least %s, this machine's hold-ups up to %s",
			ours, theirs, text.Time(low-there.Mean), text.Time(here.Mean-low))
	case difference >= 0:
		c.Text = fmt.Sprintf("mean ttft is %s here and %s by the server: network and front end take %s", ours, theirs, text.Time(difference))
	case c.OK:
		c.Text = fmt.Sprintf("mean ttft is %s here and %s by the server, whose requests of the window are not quite the same ones", ours, theirs)
	default:
		c.Text = fmt.Sprintf("mean ttft is %s here but %s by the server: it also serves requests that are not of this run, or times another thing", ours, theirs)
	}
	return c
}

// queue splits the time to the first token as the server does.
func (p pair) queue() *result.CrossCheck {
	here, queue, prefill := p.client.Latency.TTFT, p.server.Queue, p.server.Prefill
	if p.queueGrew() || here == nil || here.N < minTimed || queue == nil || prefill == nil || queue.N < minTimed || prefill.N < minTimed {
		return nil
	}
	sum := queue.Mean + prefill.Mean
	c := crossCheck("queue", "ms", here.Mean, sum, queueTolerance, ttftFloorMS)
	c.OK = c.OK || sum <= here.Mean
	if rest := here.Mean - sum; rest >= 0 {
		c.Text = fmt.Sprintf("mean ttft of %s = queue %s + prefill %s + %s outside the engine", text.Time(here.Mean), text.Time(queue.Mean), text.Time(prefill.Mean), text.Time(rest))
		return c
	}
	c.Text = fmt.Sprintf("queue %s + prefill %s by the server is more than the mean ttft of %s here", text.Time(queue.Mean), text.Time(prefill.Mean), text.Time(here.Mean))
	if c.OK {
		c.Text += ", because it counts requests when they end"
	}
	return c
}

// tokens compares rates, because the two sides may not cover quite the same
// stretch.
func (p pair) tokens() *result.CrossCheck {
	if p.server.GenerationTokens == nil || p.client.Throughput.Output <= 0 {
		return nil
	}
	here, there := p.client.Throughput.Output, *p.server.GenerationTokens/p.server.CoveredS
	c := crossCheck("tokens", "tokens/s", here, there, p.tokensTolerance(), 0)
	c.Text = fmt.Sprintf("%s output tokens/s arrived here, %s were generated by the server's count", text.Number(here), text.Number(there))
	switch {
	case c.OK:
	case there > here:
		c.Text += ": other clients, tokens that no event carried, or requests that were given up"
	case p.client.Tokens.Counted["usage"] == 0:
		c.Text += ": they are counted by another tokenizer here"
	default:
		c.Text += ": part of the replicas is not watched"
	}
	return c
}

func (p pair) tokensTolerance() float64 {
	edge := 0.0
	if lengths := p.client.Tokens.OutputLengths; lengths != nil && engine.ByName(p.server.Engine).CountsAtEnd {
		edge = p.client.Concurrency.Mean * lengths.Mean
	} else {
		// Pages are seconds apart; between two of them a straight line stands
		// for what a busy engine does in steps.
		edge = p.client.Throughput.Output * 0.1
	}
	return tokensTolerance + edge/(p.client.Throughput.Output*p.server.CoveredS)
}

// cached: the share of prompt tokens from the cache by usage and by the counters. An
// engine whose replies name no cached token does not report them.
func (p pair) cached() *result.CrossCheck {
	t := p.client.Tokens
	if t.Cached == 0 || t.Prompt == 0 || p.server.PrefixHits == nil || p.server.PrefixHitRate == nil || p.queueGrew() {
		return nil
	}
	here, there := float64(t.Cached)/float64(t.Prompt), *p.server.PrefixHitRate
	c := crossCheck("cached", "share", here, there, 0, max(cachedFloor, 2/math.Sqrt(float64(max(1, p.client.Requests.OK)))))
	c.Tolerance = cachedFloor
	c.Text = fmt.Sprintf("%s of prompt tokens were cached by the replies, %s by the server's counters", text.RoughPercent(here), text.RoughPercent(there))
	if !c.OK {
		c.Text += ": they count different requests, or one of them leaves a tier out"
	}
	return c
}

// running compares requests in flight with those that the engine holds, whether
// they run or wait. A gauge that is seen now and then has an error of its own.
func (p pair) running() *result.CrossCheck {
	if p.server.Running == nil {
		return nil
	}
	here, there := p.client.Concurrency.Mean, p.server.Running.Mean
	if p.server.Waiting != nil {
		there += p.server.Waiting.Mean
	}
	if math.IsInf(there, 0) {
		return nil
	}
	noise := math.Sqrt(max(here, there)/float64(p.server.Samples)) * 2
	c := crossCheck("running", "requests", here, there, runningTolerance, max(runningFloor, noise))
	c.Text = fmt.Sprintf("%s in flight here, %s running and waiting in the engine", text.Units(text.Number(here), "request"), text.Number(there))
	switch {
	case c.OK:
	case there > here:
		c.Text += ": it serves others too, or still works on requests that were given up"
	default:
		c.Text += ": the rest is on the way, or held by something in front of it"
	}
	return c
}

// replicas: the busiest against the mean of all.
func (p pair) replicas() *result.CrossCheck {
	if p.server.Imbalance == nil || len(p.client.Prefillers) > 0 { // engines of two pools do not do the same
		return nil
	}
	busiest := *p.server.Imbalance
	c := &result.CrossCheck{Name: "replicas", Unit: "share", Server: &busiest, Tolerance: replicasTolerance, OK: busiest <= replicasTolerance}
	c.Text = fmt.Sprintf("the busiest of %d replicas did %s more than the mean of all", p.server.Replicas, text.RoughPercent(busiest))
	return c
}
