package slo

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"redline/internal/judge/figure"
	"redline/internal/text"
)

// FromPlan reads one entry of a plan's sla_thresholds. The key carries the
// unit: p{P}_{metric}_ms is in milliseconds, and latency in it means e2e; a
// figure of the window is min_ or max_ and its key or alias.
func FromPlan(key string, value float64) (Objective, error) {
	s, err := readKey(key)
	if err != nil {
		return Objective{}, err
	}
	limit, err := quantity(s.Unit).fromPlan(value)
	if err != nil {
		return Objective{}, fmt.Errorf("%s: %w", key, err)
	}
	return newObjective(s, limit), nil
}

func readKey(key string) (figure.Statistic, error) {
	head, tail, _ := strings.Cut(key, "_")
	if f, known := lookup(tail); known && !f.Spread() && (f.Name != tail || f.Key == tail) && head == boundWord(f) {
		return figure.Statistic{Figure: f, Stat: f.Stat}, nil
	}
	name, timed := strings.CutSuffix(tail, "_ms")
	f, known := lookup(name)
	if !timed || !known || !f.Spread() {
		return figure.Statistic{}, fmt.Errorf("%s: unknown objective; %s", key, cmp.Or(text.Hint(key, nearKeys(head)), "expected a key such as p99_ttft_ms, p95_latency_ms or min_throughput_tps"))
	}
	s, err := figure.Parse(name+":"+head, figure.Promise)
	if err != nil {
		return s, fmt.Errorf("%s: %w", key, err)
	}
	return s, nil
}

// boundWord is the word by which a plan's key limits a figure.
func boundWord(f *figure.Figure) string {
	if f.More {
		return "min"
	}
	return "max"
}

// fromPlan checks a bare number in the unit that the plan's key names.
func (u quantity) fromPlan(v float64) (float64, error) {
	number := text.Plain(v)
	switch figure.Unit(u) {
	case figure.Milliseconds:
		if !(math.Abs(v) < 1e12) {
			return 0, fmt.Errorf("limit %q: expected milliseconds above 0 and at most 24h", number)
		}
		return checkDuration(time.Duration(math.Round(v*float64(time.Millisecond))), number+"ms")
	case figure.Fraction:
		return checkFraction(v, number)
	default:
		return u.read(number)
	}
}

// nearKeys lists the keys that a misspelt one may have meant: the fixed ones,
// and every latency with the statistic that it begins with or a common one.
func nearKeys(head string) []string {
	var keys, spreads []string
	for _, f := range figure.All {
		switch {
		case !f.Can(figure.Promise):
		case f.Spread():
			spreads = append(append(spreads, f.Aliases...), f.Name)
		default:
			keys = append(keys, boundWord(f)+"_"+f.Key)
			for _, alias := range f.Aliases {
				keys = append(keys, boundWord(f)+"_"+alias)
			}
		}
	}
	stats := []string{"p50", "p90", "p95", "p99", "p999", "mean", "max"}
	if _, _, err := figure.Percentile(head); err == nil {
		stats = append([]string{head}, stats...)
	}
	for _, stat := range stats {
		for _, name := range spreads {
			keys = append(keys, stat+"_"+name+"_ms")
		}
	}
	return keys
}
