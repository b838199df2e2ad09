package diagnose

// workloadClass is a kind of traffic and the set-up that suits it.
type workloadClass struct {
	// Bounds says in words what is tells.
	Name, Bounds, Advice string
	is                   func(*scene) bool
}

// Bounds of the classes, in tokens of a prompt.
const (
	heavyTail   = 8.0
	longTail    = 4096.0
	longContext = 8192.0
	shortPrompt = 4096.0
	manyAgents  = 8.0
)

// Classes lists the kinds of traffic, the most particular first.
var Classes = []workloadClass{
	{"mixed, with a heavy tail", "p99 of prompts 8 times the median and 4,096 tokens", "route by prompt length: short prompts to a pool tuned for decode, long ones to one tuned for prefill; " +
		"the most complex set-up, and the lowest cost per token",
		func(s *scene) bool {
			d := s.point.Tokens.PromptLengths
			return at(d, "p99") >= heavyTail*p50(d) && at(d, "p99") >= longTail
		}},
	{"agent loops", "three turns and more, 8 requests in flight", "a scheduler that batches dynamically and balances prefill with decode, prefix caching on, and a cap on concurrency " +
		"found by measurement", func(s *scene) bool { return len(s.point.Turns) > 2 && inFlight(s.point) >= manyAgents }},
	{"long context", "median prompt of 8,192 tokens", "accelerators with dense compute and much memory, or chunked prefill: parallel prefill decides, and room for the cache " +
		"keeps the batch from collapsing", func(s *scene) bool { return p50(s.point.Tokens.PromptLengths) >= longContext }},
	{"short-context chat", "median prompt below 4,096 tokens", "a stack tuned for decode: memory bandwidth decides the pace, and a smaller precision is worth more than compute",
		func(s *scene) bool { d := s.point.Tokens.PromptLengths; return p50(d) > 0 && p50(d) < shortPrompt }},
}

// advice is one line for the class of the point's workload, "" for none.
func advice(s *scene) string {
	for _, c := range Classes {
		if c.is(s) {
			return c.Name + ": " + c.Advice
		}
	}
	return ""
}
