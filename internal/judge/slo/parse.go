package slo

import (
	"fmt"
	"slices"
	"strings"
)

// unit is the kind of quantity that an objective bounds.
type unit int

const (
	duration  unit = iota // nanoseconds
	fraction              // 0 to 1
	tokenRate             // tokens per second
	memory                // MB
	money                 // dollars, of what the statistic says
)

// metric is one row of the table of what can be promised.
type metric struct {
	name string
	unit unit
	// above is true where more is better.
	above bool
	// stat is the statistic that the metric has, others those beside it; empty
	// where percentiles, mean and max all make sense.
	stat   string
	others []string
	// own reads a request's own figure; nil where a single request has none.
	own func(Request) float64
}

// metrics is everything that can be promised.
var metrics = []metric{
	{name: "ttft", own: func(r Request) float64 { return r.TTFT }},
	{name: "ttfa", own: func(r Request) float64 { return r.TTFA }},
	{name: "tpot", own: func(r Request) float64 { return r.TPOT }},
	{name: "itl", own: func(r Request) float64 { return r.ITL }},
	{name: "icl", own: func(r Request) float64 { return r.ICL }},
	{name: "stall", own: func(r Request) float64 { return r.Stall }},
	{name: "e2e", own: func(r Request) float64 { return r.E2E }},
	{name: "decode", own: func(r Request) float64 { return r.Decode }},
	{name: "throughput", unit: tokenRate, above: true, stat: "min"},
	{name: "good", unit: fraction, above: true, stat: "fraction"},
	{name: "error", unit: fraction, stat: "rate"},
	{name: "reject", unit: fraction, stat: "rate"},
	{name: "retry", unit: fraction, stat: "rate"},
	{name: "kv", unit: memory, stat: "max"},
	{name: "cost", unit: money, stat: CostPer1mOutput, others: []string{CostPerRequest, CostPer1kTokens, CostPer1mAccepted}},
}

// The statistics of cost: what the money is counted against.
const (
	CostPer1mOutput   = "max" // a million output tokens
	CostPerRequest    = "request"
	CostPer1kTokens   = "1k"
	CostPer1mAccepted = "accepted" // a million output tokens of requests that kept every objective
)

// latency is the everyday name of e2e.
const latency = "latency"

// lookup finds a metric by name.
func lookup(name string) (metric, bool) {
	if name == latency {
		name = "e2e"
	}
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == name })
	if i < 0 {
		return metric{}, false
	}
	return metrics[i], true
}

// ParseAll parses each text; the first that is wrong is the error.
func ParseAll(texts []string) ([]Objective, error) {
	list := make([]Objective, 0, len(texts))
	for _, text := range texts {
		o, err := Parse(text)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// Parse reads metric:stat<limit or metric:stat>limit, with spaces allowed
// between the parts and letters in any case; before it, class=NAME and
// tenant=NAME say whose requests are meant. "<=" and ">=" are read as "<" and
// ">": a figure equal to its limit keeps the promise either way, because no
// measured time is exact enough to tell the two apart.
func Parse(text string) (Objective, error) {
	fail := func(format string, args ...any) (Objective, error) {
		return Objective{}, fmt.Errorf("objective %q: %s", text, fmt.Sprintf(format, args...))
	}
	scope, promise, err := readScope(text)
	if err != nil {
		return fail("%v", err)
	}
	name, rest, colon := strings.Cut(promise, ":")
	at := strings.IndexAny(rest, "<>")
	if !colon || at < 0 {
		return fail("want metric:stat<limit, such as ttft:p99<500ms")
	}
	name = clean(name)
	m, ok := lookup(name)
	if !ok {
		return fail("unknown metric %q; %s", name, suggest(name, metricNames()))
	}
	stat, p, err := m.readStat(clean(rest[:at]))
	if err != nil {
		return fail("%v", err)
	}
	if above := rest[at] == '>'; above != m.above {
		return fail("%s is better %s; write %q", m.name, m.better(), m.sign())
	}
	limit, err := m.unit.read(clean(strings.TrimPrefix(rest[at+1:], "=")))
	if err != nil {
		return fail("%v", err)
	}
	return m.objective(stat, p, limit).Within(scope), nil
}

// clean drops the letter case and every space.
func clean(part string) string {
	return strings.ToLower(strings.Join(strings.Fields(part), ""))
}

func (m metric) better() string {
	if m.above {
		return "high"
	}
	return "low"
}

func (m metric) sign() string {
	if m.above {
		return ">"
	}
	return "<"
}

func (m metric) objective(stat string, p, limit float64) Objective {
	return Objective{
		Metric: m.name,
		Stat:   stat,
		P:      p,
		Above:  m.above,
		Limit:  limit,
		Text:   m.name + ":" + stat + m.sign() + m.unit.write(limit, stat),
	}
}

// readStat checks a statistic against the metric; p is its percentile as a
// fraction, if it is one.
func (m metric) readStat(text string) (stat string, p float64, err error) {
	switch {
	case m.stat != "" && (text == m.stat || slices.Contains(m.others, text)):
		return text, 0, nil
	case m.stat != "":
		return "", 0, fmt.Errorf("%s has no %q; write %s:%s", m.name, text, m.name, strings.Join(append([]string{m.stat}, m.others...), " or "+m.name+":"))
	case text == "mean" || text == "max":
		return text, 0, nil
	}
	return readPercentile(text)
}

func metricNames() []string {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.name
	}
	return names
}
