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

// treeDetails reads what engines say of the cache's tiers and of drafts beside usage:
// vLLM in "metrics" (--per-request-spec-decode-metrics), SGLang in "meta_info", or in
// "sglext" of a chat that asks for it, llama.cpp in "timings".
func treeDetails(t jsonio.Tree, d *Delta) {
	for _, from := range []struct {
		in                               jsonio.Tree
		host, storage, drafted, accepted string
	}{
		{in: t.Object("metrics").Object("speculative_decoding"), drafted: "num_draft_tokens", accepted: "num_accepted_draft_tokens"},
		{in: t.Object("meta_info"), drafted: "spec_num_proposed_drafts", accepted: "spec_num_correct_drafts"},
		{in: t.Object("meta_info").Object("cached_tokens_details"), host: "host", storage: "storage"},
		{in: t.Object("sglext").Object("cached_tokens_details"), host: "host", storage: "storage"},
		{in: t.Object("timings"), drafted: "draft_n", accepted: "draft_n_accepted"},
	} {
		count := func(key string) int {
			if key == "" {
				return 0
			}
			return from.in.Count(key)
		}
		told := llm.Usage{HostTokens: count(from.host), StorageTokens: count(from.storage), Drafted: count(from.drafted), Accepted: count(from.accepted)}
		if told != (llm.Usage{}) {
			MergeUsage(&d.Usage, told)
			d.HasUsage = true
		}
	}
}

// appendMetrics writes the times of a request as vLLM does, where they are asked for.
func appendMetrics(dst []byte, r *Reply) []byte {
	if !r.IncludeMetrics {
		return dst
	}
	generation, tokens := r.Decode.Seconds(), float64(r.Usage.OutputTokens)
	guesses := ""
	if u := r.Usage; u.Drafted > 0 {
		guesses = fmt.Sprintf(`,"speculative_decoding":{"num_draft_tokens":%d,"num_accepted_draft_tokens":%d}`, u.Drafted, u.Accepted)
	}
	return fmt.Appendf(dst, `,"metrics":{"time_to_first_token_ms":%.6f,"generation_time_ms":%.6f,"queue_time_ms":%.6f,"mean_itl_ms":%.6f,"tokens_per_second":%.3f%s}`,
		float64(r.Timing.Prefill)/1e6, generation*1e3, float64(r.Timing.Queue)/1e6, generation*1e3/max(1, tokens-1), tokens/max(generation, 1e-6), guesses)
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
