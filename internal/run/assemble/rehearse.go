package assemble

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
	"redline/internal/stats"
	"redline/internal/text"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// maxRehearsed bounds what is kept of a long run: the first requests are
// enough for a median.
const maxRehearsed = 50_000

// rehearsal keeps the requests of a run, to offer them to the deployment as it
// is predicted to be.
type rehearsal struct{ replay.Recording }

// newRehearsal is nil where the hardware is not known, or where several runs are
// laid end to end that were not one load.
func (in Run) newRehearsal(on *result.Result) *rehearsal {
	if _, err := deploymentOf(in.Plan, on, in.Server); err != nil || len(in.pooled) > 0 || in.Plan.Pools() {
		return nil
	}
	h := &rehearsal{replay.Record(in.Load)}
	h.Start, h.End = in.Start, in.End
	return h
}

func (h *rehearsal) add(r *record.Record) {
	if h != nil && len(h.Requests) < maxRehearsed {
		h.Add(r)
	}
}

// rehearsalResult is what would have come of the requests.
type rehearsalResult struct {
	ttft, tpot medianPair
	peak       float64 // tokens in the cache at most, of one replica
	maxOutput  float64 // output tokens/s of all replicas
}

// medianPair are medians in ms, 0 where there are none: what the deployment would
// have had, and what the very same requests had. partly says that there were
// more of them.
type medianPair struct {
	predicted, measured float64
	partly              bool
}

// play offers the requests to one replica, which gets its share of them.
func (h *rehearsal) play(d deployment, hitRate float64) (rehearsalResult, bool) {
	spec := d.spec
	if h == nil || spec == nil || len(h.Requests) == 0 {
		return rehearsalResult{}, false
	}
	h.Order()
	share := replay.Recording{Cap: (h.Cap + d.replicas - 1) / d.replicas, Closed: h.Closed, Start: h.Start, End: h.End}
	told := slices.ContainsFunc(h.Requests, func(o replay.ObservedRequest) bool { return o.Cached > 0 })
	turns := slices.ContainsFunc(h.Requests, func(o replay.ObservedRequest) bool { return o.Turn > 0 })
	for i, o := range h.Requests {
		if !told {
			o.Cached = int(hitRate * float64(o.Prompt))
		}
		if turns {
			i = o.Session // whose turns stay together
		}
		if i%d.replicas == 0 {
			share.Requests = append(share.Requests, o)
		}
	}
	played, peak, err := replay.Play(*spec, &share)
	if err != nil {
		return rehearsalResult{}, false
	}
	var ttft, tpot pairs
	for i, f := range played {
		if o := &share.Requests[i]; o.Counted {
			ttft.add(o.TTFT, f.TTFT)
			tpot.add(o.TPOT, f.TPOT)
		}
	}
	partly := len(h.Requests) >= maxRehearsed
	return rehearsalResult{ttft: ttft.medians(partly), tpot: tpot.medians(partly), peak: float64(peak),
		maxOutput: float64(d.replicas) * maxOutputRate(*spec, share.Requests)}, true
}

// pairs are a figure of requests, in milliseconds.
type pairs struct{ predicted, measured []float64 }

func (p *pairs) add(measured, predicted float64) {
	if measured > 0 && predicted > 0 {
		p.predicted, p.measured = append(p.predicted, predicted/1e6), append(p.measured, measured/1e6)
	}
}

func (p *pairs) medians(partly bool) medianPair {
	return medianPair{median(p.predicted), median(p.measured), partly}
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return stats.Quantile(list, 0.5)
}

// maxOutputRate is the output tokens per second of an engine in which another such
// request takes the place of each that ends: over the middle of the time, so
// that neither the filling nor the emptying counts.
func maxOutputRate(spec sim.Spec, mix []replay.ObservedRequest) float64 {
	var ends []int64
	var tokens []float64
	e, err := replay.NewInstance(spec, func(a replay.Answer) { ends, tokens = append(ends, a.Last), append(tokens, float64(a.Output)) })
	if err != nil {
		return 0
	}
	turn := 0
	submit := func(now int64) (taken bool) {
		for range mix {
			turn++
			if taken = e.Submit(now, mix[turn%len(mix)].Request, 0); taken {
				return true
			}
		}
		return false
	}
	places := cmp.Or(spec.MaxNumSeqs, 256)
	for asked := 0; asked < 6*places; {
		switch ended := asked - places; {
		case ended < 0:
			if !submit(0) {
				return 0 // it has room for none of them
			}
			asked++
		case ended < len(ends) && ends[ended] <= e.Next():
			submit(ends[ended])
			asked++
		default:
			e.Advance(e.Next())
		}
	}
	low, high := len(ends)*2/5, len(ends)-1
	if high-low < 10 || ends[high] <= ends[low] {
		return 0
	}
	sum := 0.0
	for i, n := range tokens[:high+1] {
		if ends[i] > ends[low] {
			sum += n
		}
	}
	return sum / (float64(ends[high]-ends[low]) / 1e9)
}

// rehearsable describes a real server as the simulator does, and says what of it
// is assumed.
func (d *deployment) rehearsable(res *result.Result, server *telemetry.ServerUse, length float64) {
	steps := d.Steps()
	law, fixed := steps.Law(length)
	off, none := false, 0.0
	s := &sim.Spec{Law: &law, StepOverhead: time.Duration(1e9 * fixed), EnablePrefixCaching: &off, Jitter: &none}
	s.MaxNumBatchedTokens, s.MaxNumSeqs = sim.SchedulerDefaults(d.Accelerator)
	for key, into := range map[string]*int{"max_num_seqs": &s.MaxNumSeqs, "max_num_batched_tokens": &s.MaxNumBatchedTokens} {
		if n, err := strconv.Atoi(res.Engine.Flags[key]); err == nil && n > 0 {
			*into = n
		}
	}
	s.MaxNumBatchedTokens = max(s.MaxNumBatchedTokens, s.MaxNumSeqs)
	s.NumGPUBlocksOverride = d.KVBlocks(replay.BlockSize)
	if server != nil {
		s.NumGPUBlocksOverride = cmp.Or(int(roomTokens(server.Config))/replay.BlockSize, s.NumGPUBlocksOverride)
	}
	var front *engine.Front
	if e := engine.Recognize(res.Engine.Name); e != nil {
		front = e.Front
	}
	if front == nil {
		d.assumed = append(d.assumed, "a front end that takes no time: none of this engine's was measured")
	} else {
		if n, err := strconv.Atoi(res.Engine.Flags["api_server_count"]); err == nil {
			s.APIServers = n
		}
		replay.Behind(s, front, d.Model)
		d.assumed = append(d.assumed, fmt.Sprintf("the front end of %s: %s a request, %s µs a prompt token, %s µs an event",
			front.Source, text.Time((front.Request+front.Delay).Seconds()*1e3), text.Number(front.TokenUS), text.Number(front.EventUS)))
	}
	d.spec = s
}

// rehearsableSim is the embedded engine, which says itself what it is.
func (d *deployment) rehearsableSim(s sim.Spec, length float64) {
	full, err := s.Resolve()
	if err != nil || full.StaticBatching || full.Speculation.Tokens > 0 {
		return // neither has a law
	}
	steps := d.Steps()
	law, fixed := steps.Law(length)
	off, none := false, 0.0
	d.spec = &sim.Spec{Law: &law, StepOverhead: full.StepOverhead + time.Duration(1e9*fixed), EnablePrefixCaching: &off, Jitter: &none,
		MaxNumSeqs: full.MaxNumSeqs, MaxNumBatchedTokens: full.MaxNumBatchedTokens, MaxModelLen: full.MaxModelLen,
		NumGPUBlocksOverride: cmp.Or(full.NumGPUBlocksOverride, d.KVBlocks(replay.BlockSize)), EnableChunkedPrefill: full.EnableChunkedPrefill,
		PrefillFirst: full.PrefillFirst, FrontEnd: full.FrontEnd, AsyncScheduling: full.AsyncScheduling, RequestOverhead: full.RequestOverhead}
}
