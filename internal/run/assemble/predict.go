package assemble

import (
	"cmp"
	"errors"
	"fmt"

	"redline/internal/catalog"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// predict lays what arithmetic says of a point beside what was measured. Of
// hardware that nobody named there is nothing to say but how to name it.
func predict(res *result.Result, c *config.Config, point *result.Point, requests *rehearsal) {
	if c.Pools() || c.Embedded() && c.Server.Sim.Law != nil {
		return // no tokens, or an engine of measured constants
	}
	d, err := deploymentOf(c, res, point.Server)
	switch {
	case errors.Is(err, errNoHardware):
		res.Unknown = append(res.Unknown, err.Error())
	case err != nil:
		res.Warnings = append(res.Warnings, result.Warning{Figure: "prediction", Text: err.Error()})
	default:
		point.Prediction = d.prediction(res, c, point, requests)
	}
}

// prediction is nil where nothing was generated.
func (d deployment) prediction(res *result.Result, c *config.Config, point *result.Point, requests *rehearsal) *result.Prediction {
	traffic, ok := d.traffic(point)
	if !ok {
		return nil
	}
	if length := traffic.Prompt + traffic.Output/2; c.Embedded() {
		d.rehearsableSim(c.Server.Sim, length)
	} else {
		d.rehearsable(res, point.Server, length)
	}
	hitRate := 0.0
	if traffic.Prompt > 0 {
		hitRate = traffic.Cached / traffic.Prompt
	}
	played, _ := requests.play(d, hitRate)
	return d.predict(point, traffic, played)
}

// predict computes with the point's own mean lengths and concurrency, and takes
// what came of its requests where they were played.
func (d deployment) predict(point *result.Point, traffic catalog.Traffic, played rehearsalResult) *result.Prediction {
	f := d.Forecast(traffic)
	p := &result.Prediction{Model: d.Model.Name, Accelerator: d.Accelerator.Name, Count: d.TP * d.replicas, Precision: string(d.Weights), ExpertSpread: d.ExpertSpread,
		TPOT: alike(played.tpot, 1e3*f.TPOT, point.Latency.TPOT), TTFT: alike(played.ttft, 1e3*f.TTFT, point.Latency.TTFT),
		Steady: result.Steady{TTFT: 1e3 * d.Forecast(typical(traffic, point)).TTFT, TPOT: 1e3 * f.TPOT}, Assumed: d.assumed,
		Ridge: f.Ridge, FullAt: d.fullAt(f, traffic, point)}
	if played.maxOutput > 0 {
		p.MaxOutput = &played.maxOutput
	}
	if pace := point.Latency.TPOT; pace != nil && pace.Mean > 0 {
		p.MBU = new(f.StepBytesRead / (pace.Mean / 1e3) / d.Accelerator.Read)
	}
	work := d.Work(point.Throughput.Prompt, point.Throughput.Output, traffic)
	p.MFU = new(work / float64(d.replicas) / d.Peak())
	d.peak(p, traffic, point, played.peak)
	p.Decode, p.Prefill, p.Agreement = decodeSentence(p, f), prefillSentence(p, f, traffic), agreementSentence(p, f.Batch*float64(d.replicas))
	return p
}

// traffic is the point's mean request, and how many of them each replica ran.
func (d deployment) traffic(point *result.Point) (catalog.Traffic, bool) {
	prompt, output := point.Tokens.PromptLengths, point.Tokens.OutputLengths
	if point.Requests.OK == 0 || output == nil || output.Mean < 1 {
		return catalog.Traffic{}, false
	}
	t := catalog.Traffic{Output: output.Mean, Concurrency: point.Concurrency.Mean / float64(d.replicas)}
	if prompt != nil {
		t.Prompt = prompt.Mean
	}
	switch hits := point.Cache; {
	case hits != nil && hits.Usage != nil:
		t.Cached = *hits.Usage * t.Prompt
	case hits != nil && hits.Server != nil:
		t.Cached = *hits.Server * t.Prompt
	}
	if point.Load.Mode != config.Closed {
		// Requests that come at random moments find the mean number there, and
		// are one more.
		t.Concurrency++
	}
	if s := point.Server; s != nil && s.Running != nil && s.Waiting != nil && s.Waiting.Mean >= 1 {
		// What waits in the server does not run beside the others.
		t.Concurrency = min(t.Concurrency, s.Running.Mean/float64(d.replicas))
	}
	if d.seqs > 0 {
		t.Concurrency = min(t.Concurrency, float64(d.seqs))
	}
	return t, true
}

// fullAt prefers the room that the server tells to that of arithmetic.
func (d deployment) fullAt(f catalog.Forecast, t catalog.Traffic, point *result.Point) *float64 {
	if kv, each := point.KV, d.requestMB(t); kv != nil && kv.RoomMB > 0 && each > 0 {
		return new(kv.RoomMB / each)
	}
	if f.Room <= 0 {
		return nil
	}
	return new(f.FullAt * float64(d.replicas))
}

// peak compares the highest use of the cache with the server's gauge, or with
// the records: that of the requests played, else so many as there were at once,
// of the mean length.
func (d deployment) peak(p *result.Prediction, t catalog.Traffic, point *result.Point, tokens float64) {
	if point.KV == nil {
		return
	}
	requests := float64(point.Concurrency.Max)
	if p.FullAt != nil {
		requests = min(requests, *p.FullAt)
	}
	predicted := requests * d.requestMB(t)
	if tokens > 0 {
		predicted = tokens * float64(d.replicas) * float64(d.Model.GrowingLayers()) * d.Model.LayerKVBytes(d.KV, 1) / mb
	}
	p.KVPeak = agreement(predicted, cmp.Or(point.KV.ServerPeakMB, new(point.KV.PeakMB)))
}

// requestMB is the cache of a request of the mean prompt and half the mean output.
func (d deployment) requestMB(t catalog.Traffic) float64 {
	return float64(d.Model.KVBytes(int(t.Prompt+t.Output/2), d.KV)) / mb
}

// agreement lays what was measured, where it was, beside what was computed.
func agreement(predicted float64, measured *float64) *result.Agreement {
	a := &result.Agreement{Predicted: predicted, Measured: measured}
	if measured != nil && predicted > 0 {
		a.Ratio = new(*measured / predicted)
	}
	return a
}

// alike lays the median of the requests that were played beside their own, and
// arithmetic for the mean request beside the mean: of skewed lengths the two are
// far apart.
func alike(played medianPair, forecast float64, d *metric.Dist) *result.Agreement {
	if played.predicted > 0 {
		a := agreement(played.predicted, medianOf(d))
		if played.partly {
			a = agreement(played.predicted, &played.measured)
		}
		a.Statistic = "p50"
		return a
	}
	a := agreement(forecast, nil)
	if d != nil && d.N > 0 {
		a = agreement(forecast, &d.Mean)
	}
	a.Statistic = "mean"
	return a
}

// typical is a request with the median prompt, beside the others as they are.
func typical(t catalog.Traffic, point *result.Point) catalog.Traffic {
	if p50 := medianOf(point.Tokens.PromptLengths); p50 != nil && t.Prompt > 0 {
		t.Cached *= *p50 / t.Prompt
		t.Prompt = *p50
	}
	return t
}

// medianOf is what a prediction is compared with, nil where it is not known.
func medianOf(d *metric.Dist) *float64 {
	if d == nil {
		return nil
	}
	if p50, ok := d.P["p50"]; ok {
		return &p50
	}
	return nil
}

// The measured figure lies within these of a prediction that holds.
const (
	ratioLow  = 0.8
	ratioHigh = 1.25
	ratioTTFT = 1.5
)

func describeAgreement(a *result.Agreement) string {
	out := text.Time(a.Predicted) + " predicted"
	if a.Measured != nil {
		out += ", " + text.Time(*a.Measured) + " measured"
	}
	if a.Statistic == "mean" {
		out += " on average"
	}
	return out
}

func decodeSentence(p *result.Prediction, f catalog.Forecast) string {
	bound := "memory"
	if f.Batch > f.Ridge {
		bound = "arithmetic"
	}
	out := fmt.Sprintf("%s a token for %s at once, bound by %s (the ridge is at %s)", describeAgreement(p.TPOT), text.Units(text.Number(f.Batch), "request"), bound, text.Number(f.Ridge))
	if p.MBU != nil {
		out += fmt.Sprintf("; it reads at %s of the peak bandwidth", text.RoughPercent(*p.MBU))
	}
	return out
}

func prefillSentence(p *result.Prediction, f catalog.Forecast, t catalog.Traffic) string {
	out := fmt.Sprintf("%s to the first token; the mean prompt of %s tokens takes %s alone", describeAgreement(p.TTFT), text.Number(t.Prompt), text.Time(1e3*f.Prefill))
	if p.MFU != nil {
		out += fmt.Sprintf("; over the window %s of the peak arithmetic", text.RoughPercent(*p.MFU))
	}
	return out
}

// agreementSentence says what the differences mean, of so many requests at once
// on all replicas.
func agreementSentence(p *result.Prediction, atOnce float64) string {
	tpot, ttft := p.TPOT.Ratio, p.TTFT.Ratio
	switch {
	case p.FullAt != nil && atOnce >= *p.FullAt:
		return fmt.Sprintf("the KV cache is predicted to be full at %s: more of them wait or are preempted", text.Units(text.FixedNumber(*p.FullAt, 0), "request"))
	case tpot != nil && *tpot < ratioLow:
		return fmt.Sprintf("tokens come in %.2f of the predicted time: the hardware, the precision or the model is better than stated, or tokens are guessed ahead", *tpot)
	case tpot != nil && *tpot > ratioHigh:
		return fmt.Sprintf("tokens take %s times as long as the hardware allows: look at kernels, batching and interference before buying more of it", text.Number(*tpot))
	case ttft != nil && *ttft > ratioTTFT:
		return fmt.Sprintf("decode is as fast as the hardware allows; the first token takes %s times the predicted time, so prompts wait", text.Number(*ttft))
	case tpot == nil && ttft == nil:
		return "nothing was measured that could be compared"
	case tpot == nil:
		return "tokens were not timed one by one, so only the first can be compared"
	}
	return fmt.Sprintf("the engine does what the hardware allows: tokens in %.2f of the predicted time", *tpot)
}
