package report

import "redline/internal/judge/result"

// missedWhy is why the objectives of the missed sample are missed: a cause, and
// another one beside it.
func missedWhy() []result.Finding {
	return []result.Finding{
		{Regime: "scheduler-saturation", Title: "the batch is at its limit of 128 requests while 31 wait", Confidence: "certain",
			Evidence: []result.Evidence{
				{Field: "points[0].server.running.mean", Text: "127 requests run on average, 128 at most"},
				{Field: "points[0].server.waiting.mean", Text: "31 wait on average"}},
			Confirm:  "redline run --url http://server:8000 --workload chat --rate 34",
			Settled:  "the same load with a larger limit has no queue; if it has, the accelerator is the limit",
			Response: []string{"a larger batch, if tpot has room for it; else another replica", "vllm: --max-num-seqs up, --max-num-batched-tokens with it"},
			Advice:   "short-context chat: a stack tuned for decode"},
		{Regime: "network-bound", Title: "network and front end take 80 ms of a mean ttft of 168 ms", Confidence: "likely",
			Evidence: []result.Evidence{{Field: "points[0].latency.ttft_ms.mean", Text: "mean ttft 168 ms at the client"}},
			Confirm:  "redline doctor --url http://server:8000", Response: []string{"bring client and server closer"}},
	}
}
