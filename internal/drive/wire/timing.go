package wire

import (
	"fmt"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// timingOf reads what engines say of one request beside its text. vLLM's "metrics"
// (--enable-per-request-metrics, asked for by include_metrics) begin at scheduling, not
// at arrival; SGLang's "meta_info" (--enable-metrics) has points in time, of which only the
// difference means something here; Dynamo's "nvext" has "timing" where extra_fields asks
// for it.
func timingOf(t jsonio.Tree) (told llm.Timing) {
	if m := t.Object("metrics"); m != nil {
		told.Queue, told.Prefill = timeOf(m, "queue_time_ms"), timeOf(m, "time_to_first_token_ms")
	}
	if m := t.Object("meta_info"); m != nil {
		var times sglangTimes
		times.queue, times.waited = m.Number("queue_time")
		times.began, _ = m.Number("forward_entry_time")
		times.ended, _ = m.Number("prefill_finished_time")
		told = times.timing()
	}
	if m := t.Object("nvext").Object("timing"); m != nil {
		told.Queue, told.Prefill = timeOf(m, "prefill_wait_time_ms"), timeOf(m, "prefill_time_ms")
	}
	return told
}

// appendMetrics writes the times of a request as vLLM does, where they are asked for.
func appendMetrics(dst []byte, r *Reply) []byte {
	if !r.IncludeMetrics {
		return dst
	}
	generation, tokens := r.Decode.Seconds(), float64(r.Usage.OutputTokens)
	return fmt.Appendf(dst, `,"metrics":{"time_to_first_token_ms":%.6f,"generation_time_ms":%.6f,"queue_time_ms":%.6f,"mean_itl_ms":%.6f,"tokens_per_second":%.3f}`,
		float64(r.Timing.Prefill)/1e6, generation*1e3, float64(r.Timing.Queue)/1e6, generation*1e3/max(1, tokens-1), tokens/max(generation, 1e-6))
}

// timeOf is a length of time that is stated in ms, in ns, 0 where it is not.
func timeOf(t jsonio.Tree, key string) int64 {
	if v, known := t.Number(key); known {
		return llm.TimingNS(v)
	}
	return 0
}

// sglangTimes are SGLang's, in seconds: a length, and two points in time.
type sglangTimes struct {
	queue, began, ended float64
	waited              bool
}

func (t sglangTimes) timing() (told llm.Timing) {
	if t.waited {
		told.Queue = llm.TimingNS(t.queue * 1e3)
	}
	if t.began > 0 && t.ended > 0 {
		told.Prefill = llm.TimingNS((t.ended - t.began) * 1e3)
	}
	return told
}
