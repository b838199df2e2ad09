package matrix

import (
	"time"

	"redline/internal/plan/config"
	"redline/internal/traffic/workload"
)

// Rows are those of a matrix where the plan has none of its own: one shape
// after another, each of which differs in one thing from the row that it is
// compared with.
var Rows = []config.Row{
	{Name: "A", About: "short chat", Workload: Shape(256, 128), Concurrency: 1, Pace: time.Second,
		Hypothesis:  "Alone on the server nothing waits: this is the floor that the other rows are compared with.",
		Question:    "What is the single-user interactive baseline?",
		Expectation: []string{"error:rate<10%"}},
	{Name: "B", About: "long prefill", Workload: Shape(2048, 128), Concurrency: 1, Pace: time.Second,
		Hypothesis:  "Prefill is arithmetic: a prompt eight times as long delays the first token and leaves decode as it is.",
		Question:    "How much does long prefill raise TTFT?",
		Expectation: []string{"ttft:p50 >= 2x A", "tpot:p50 within 25% of A"}},
	{Name: "C", About: "long decode", Workload: Shape(256, 1024), Concurrency: 1, Pace: time.Second, Requests: longRequests,
		Hypothesis:  "Decode is memory traffic: an answer eight times as long takes as much longer, each token the same time.",
		Question:    "What is the single-stream decode speed?",
		Expectation: []string{"e2e:p50 >= 4x A", "tpot:p50 within 25% of A"}},
	{Name: "D-single", About: "both long, alone", Workload: Shape(2048, 1024), Concurrency: 1, Requests: longRequests,
		Hypothesis:  "The two phases add up: prefill as in B, decode as in C.",
		Question:    "What does the mixed shape cost before anything shares the server?",
		Expectation: []string{"ttft:p50 within 50% of B", "tpot:p50 within 25% of C"}},
	{Name: "D", About: "saturation", Workload: Shape(2048, 1024), Concurrency: 8,
		Hypothesis:  "Eight streams share every read of the weights: together they are several times as fast, each a little slower.",
		Question:    "Where does the mixed workload saturate?",
		Expectation: []string{"throughput >= 3x D-single", "tpot:p50 <= 2x D-single"}},
	{Name: "E-cold", About: "shared prefix", Workload: sharedPrefix("cold"), Concurrency: 16,
		Hypothesis:  "Without a cache every request prefills its whole prompt.",
		Question:    "What does the long prompt cost when no prefix is found?",
		Expectation: []string{"error:rate<10%"}},
	{Name: "E", About: "prefix, warm", Workload: sharedPrefix("warm"), Concurrency: 16,
		Hypothesis:  "With a warm prefix only the rest of the prompt is computed.",
		Question:    "How much does prefix reuse reduce TTFT?",
		Expectation: []string{"ttft:p50 <= 0.5x E-cold"}},
	{Name: "F", About: "production estimate",
		Hypothesis:  "What the fixed shapes showed holds for the real mix at the real rate.",
		Question:    "Does the synthetic conclusion survive realism?",
		Expectation: []string{"objectives", "tpot:p50 <= 3x A"}},
}

// longRequests is how many long answers are waited for, one after another: a
// window of a minute might hold none of a slow server's.
const longRequests = 8

// Shape is a workload of fixed lengths.
func Shape(prompt, output int) workload.Spec {
	return workload.Spec{Traffic: workload.Traffic{Prompt: &workload.Dist{Fixed: prompt}, Output: &workload.Dist{Fixed: output}}}
}

// sharedPrefix is 4096 tokens of prompt of which all but 256 are shared.
func sharedPrefix(cache string) workload.Spec {
	s := Shape(256, 256)
	s.Prefix, s.Cache = &workload.Prefix{Groups: 1, Tokens: 3840}, cache
	return s
}
