package diagnose

import (
	"redline/internal/judge/result"
	"redline/internal/text"
)

// workloadClass is a kind of traffic and the set-up that suits it.
type workloadClass struct {
	// Bounds says in words what is tells.
	Name, Bounds, Advice, Why, Cost string
	is                              func(Traffic) bool
}

// Traffic is what decides which set-up suits a workload. What is not known is 0.
type Traffic struct {
	PromptP50, PromptP99 float64 // tokens
	Turns                float64 // of a session, the longest or their median
	InFlight             float64
	Tenants              int
}

// Bounds of the classes, in tokens of a prompt.
const (
	heavyTail   = 8.0
	longTail    = 4096.0
	longContext = 16_000.0
	shortPrompt = 2000.0
	manyAgents  = 8.0
)

// Classes is the decision matrix: kinds of traffic, the most particular first.
var Classes = []workloadClass{
	{"mixed, with a heavy tail", "p99 of prompts 8 times the median and 4,096 tokens",
		"route by prompt length: short prompts to a pool tuned for decode, long ones to one tuned for prefill",
		"each phase meets hardware that suits it, and no short request waits behind a long prompt", "the most complex set-up, and the lowest cost per token",
		func(t Traffic) bool { return t.PromptP99 >= heavyTail*t.PromptP50 && t.PromptP99 >= longTail }},
	{"agent loops", "three turns and more, 8 requests in flight",
		"a scheduler that batches dynamically, prefix caching on, and a cap on concurrency found by measurement",
		"it balances prefill with decode while contexts grow from turn to turn", "moderate; concurrency has to be tuned with care",
		func(t Traffic) bool { return t.Turns > 2 && (t.InFlight == 0 || t.InFlight >= manyAgents) }},
	{"several tenants", "two tenants and more", "a rate limit and a fair share for each tenant, or a pool for the largest",
		"a noisy neighbor must not take the batch and the cache from the others", "headroom for the largest tenant's peak",
		func(t Traffic) bool { return t.Tenants > 1 }},
	{"long context", "median prompt of 16,000 tokens and more", "accelerators with dense compute and much memory, or chunked prefill",
		"parallel prefill decides, and room for the cache keeps the batch from collapsing", "more for each accelerator, better throughput at scale",
		func(t Traffic) bool { return t.PromptP50 >= longContext }},
	{"medium context", "median prompt of 2,000 to 16,000 tokens", "one pool with chunked prefill and prefix caching, both phases measured",
		"neither phase decides alone: which does depends on the length of replies", "moderate; split the pool once one phase decides",
		func(t Traffic) bool { return t.PromptP50 >= shortPrompt && t.PromptP50 < longContext }},
	{"short-context chat", "median prompt below 2,000 tokens", "a stack tuned for decode: fast memory before compute, and a smaller precision",
		"memory bandwidth decides the pace of tokens", "lower: cheaper compute is enough, and memory bandwidth is used well",
		func(t Traffic) bool { return t.PromptP50 > 0 && t.PromptP50 < shortPrompt }},
}

// Matrix is the decision matrix for some traffic: every scenario, and which of
// them it is.
func Matrix(t Traffic) []result.Choice {
	if t.PromptP50 <= 0 {
		return nil
	}
	rows := make([]result.Choice, len(Classes))
	for i, c := range Classes {
		rows[i] = result.Choice{Scenario: c.Name, When: c.Bounds, Approach: c.Advice, Why: c.Why, Cost: c.Cost, Applies: c.is(t)}
	}
	return rows
}

// trafficOf is the traffic of a measured point.
func trafficOf(p *result.Point) Traffic {
	d := p.Tokens.PromptLengths
	return Traffic{PromptP50: p50(d), PromptP99: at(d, "p99"), Turns: float64(len(p.Turns)), InFlight: inFlight(p), Tenants: len(p.Tenants)}
}

// Choices is the decision matrix for what a result measured at its last load.
func Choices(res *result.Result) []result.Choice {
	if len(res.Points) == 0 || res.Comparison != nil {
		return nil
	}
	return Matrix(trafficOf(&res.Points[len(res.Points)-1]))
}

// Words says what of it decides: "median prompt 477 tokens, p99 2,590".
func (t Traffic) Words() string {
	turns, tenants := "", ""
	if t.Turns > 1 {
		turns = text.Number(t.Turns) + " turns"
	}
	if t.Tenants > 1 {
		tenants = text.Plural(t.Tenants, "tenant")
	}
	return text.Join(", ", "median prompt "+text.Number(t.PromptP50)+" tokens", "p99 "+text.Number(t.PromptP99), turns, tenants)
}

// advice is one line for the class of the point's workload, "" for none.
func advice(s *scene) string {
	for _, c := range Matrix(trafficOf(s.point)) {
		if c.Applies {
			return c.Scenario + ": " + c.Approach + "; " + c.Cost
		}
	}
	return ""
}
