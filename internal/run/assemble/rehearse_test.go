package assemble

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"redline/internal/catalog"
	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// The requests of a run are played to medians that the engine itself had, from
// an idle one to one whose front end has no time left.
func TestRehearsalFindsWhatTheEngineDid(t *testing.T) {
	t.Parallel()
	none := 0.0
	for _, rate := range []float64{2, 10, 25} {
		spec := sim.Spec{Model: "llama-3.1-8b", GPU: "H200", Jitter: &none, AsyncScheduling: true,
			FrontEnd: catalog.FrontEnd{Request: 4 * time.Millisecond, TokenUS: 3.4, EventUS: 90}}
		records, ttft, tpot := playPoisson(t, spec, rate)
		full := must.Get(spec.Deployment())(t)
		d := deployment{Deployment: full, replicas: 1}
		d.rehearsableSim(spec, 800)
		h := &rehearsal{replay.Record(result.Load{Mode: "open", Rate: &rate})}
		for _, r := range records {
			h.add(r)
		}
		got, ok := h.play(d, 0)
		if !ok {
			t.Fatal("not played")
		}
		if math.Abs(got.ttft.predicted/ttft-1) > 0.05 || math.Abs(got.tpot.predicted/tpot-1) > 0.02 {
			t.Errorf("%g requests/s: ttft %.4g ms, tpot %.4g ms; the engine had %.4g and %.4g", rate, got.ttft.predicted, got.tpot.predicted, ttft, tpot)
		}
		if got.maxOutput <= 0 {
			t.Error("no maximum of output tokens")
		}
	}
}

// playPoisson plays a minute of Poisson arrivals against the simulator's own
// scheduler and gives the records with the medians in them, in ms.
func playPoisson(t *testing.T, spec sim.Spec, rate float64) (records []*record.Record, ttft, tpot float64) {
	t.Helper()
	core := must.Get(sim.NewBatching(spec))(t)
	r := rand.New(rand.NewPCG(7, uint64(rate)))
	sim.RunOpen(core, func(yield func(int64, *sim.Job) bool) {
		for at := 1e9; at < 61e9; at += r.ExpFloat64() / rate * 1e9 {
			prompt, output := 50+r.IntN(1200), 20+r.IntN(400)
			ids := make([]int32, prompt)
			for i := range ids {
				ids[i] = int32(len(records)*7919 + i) // nothing is shared
			}
			records = append(records, &record.Record{ID: len(records), Session: len(records), Phase: record.Measure, Outcome: llm.OK, Streamed: true,
				Sent: int64(at), PromptTokens: prompt, OutputTokens: output, StreamedTokens: output, FirstEstimate: 1})
			if !yield(int64(at), &sim.Job{ID: uint64(len(records) - 1), Prompt: ids, Output: output}) {
				return
			}
		}
	}, sim.Watch{Token: func(token sim.Token) {
		r := records[token.Job.ID]
		if token.Index == 0 {
			r.First = token.At
		}
		r.Last, r.End = token.At, token.At
	}})
	var firsts, paces []float64
	for _, r := range records {
		firsts = append(firsts, float64(r.First-r.Sent)/1e6)
		paces = append(paces, float64(r.Last-r.First)/1e6/float64(r.OutputTokens-1))
	}
	return records, median(firsts), median(paces)
}

// Of an engine whose front end nobody measured, nothing is made up.
func TestRehearsalSaysWhatIsAssumed(t *testing.T) {
	t.Parallel()
	model := must.Get(catalog.FindModel("llama-3.1-8b"))(t)
	h200 := must.Get(catalog.FindAccelerator("H200"))(t)
	for engine, front := range map[string]bool{"vllm": true, "sglang": false, "": false} {
		d := deployment{Deployment: catalog.Deploy(model, h200, 1), replicas: 1}
		server := &telemetry.ServerUse{Config: map[string]string{"num_gpu_blocks": "52478", "block_size": "16"}}
		d.rehearsable(&result.Result{Engine: result.Engine{Name: engine, Flags: map[string]string{"max_num_seqs": "64"}}}, server, 800)
		if d.spec.FrontEnd.Idle() == front || len(d.assumed) != 1 {
			t.Errorf("%q: front end %+v, assumed %q", engine, d.spec.FrontEnd, d.assumed)
		}
		if d.spec.MaxNumSeqs != 64 || d.spec.NumGPUBlocksOverride != 52478 {
			t.Errorf("%q: the server's own limits are not taken: %+v", engine, d.spec)
		}
	}
}

// Requests that all end in one step have no rate, and some that find no room
// leave one of the others.
func TestMostOutputIsANumber(t *testing.T) {
	t.Parallel()
	none, off := 0.0, false
	spec := sim.Spec{Law: &catalog.Law{WeightsUS: 1000, Corner: 1}, MaxNumSeqs: 1024, MaxNumBatchedTokens: 1 << 20, MaxModelLen: 4096, Jitter: &none, EnablePrefixCaching: &off}
	one, long, usual := replay.Request{Prompt: 1, Output: 1}, replay.Request{Prompt: 1 << 20, Output: 1}, replay.Request{Prompt: 10, Output: 100}
	if got := maxOutputRate(spec, []replay.ObservedRequest{{Request: one}}); math.IsInf(got, 0) || math.IsNaN(got) {
		t.Errorf("%v output tokens/s", got)
	}
	// 1,024 at once, a token each in a step of 1 ms.
	if got := maxOutputRate(spec, []replay.ObservedRequest{{Request: usual}, {Request: long}, {Request: usual}}); got < 0.3e6 || got > 1.1e6 {
		t.Errorf("%.0f output tokens/s", got)
	}
}
