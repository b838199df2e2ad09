package slo

import (
	"fmt"
	"math"
	"strings"
	"time"

	"redline/internal/text"
)

// planKeys are the keys of a plan's sla_thresholds that name one metric; the
// others are made of a statistic and a latency, as in p99_ttft_ms.
var planKeys = []struct{ key, metric, stat string }{
	{"min_throughput_tps", "throughput", "min"},
	{"max_kv_cache_mb_per_request", "kv", "max"},
	{"max_error_rate", "error", "rate"},
	{"max_reject_rate", "reject", "rate"},
	{"max_retry_rate", "retry", "rate"},
	{"min_good_fraction", "good", "fraction"},
	{"max_cost_per_1m_output_tokens", "cost", CostPer1mOutput},
	{"max_cost_per_request", "cost", CostPerRequest},
	{"max_cost_per_1k_tokens", "cost", CostPer1kTokens},
	{"max_cost_per_1m_accepted_tokens", "cost", CostPer1mAccepted},
}

// FromPlan reads one entry of a plan's sla_thresholds. The key carries the
// unit: p{P}_{metric}_ms is in milliseconds, and latency in it means e2e.
func FromPlan(key string, value float64) (Objective, error) {
	m, stat, p, err := readKey(key)
	if err != nil {
		return Objective{}, err
	}
	limit, err := m.unit.fromPlan(value)
	if err != nil {
		return Objective{}, fmt.Errorf("%s: %w", key, err)
	}
	return m.objective(stat, p, limit), nil
}

func readKey(key string) (m metric, stat string, p float64, err error) {
	for _, known := range planKeys {
		if known.key == key {
			m, _ = lookup(known.metric)
			return m, known.stat, 0, nil
		}
	}
	head, tail, _ := strings.Cut(key, "_")
	name, timed := strings.CutSuffix(tail, "_ms")
	m, known := lookup(name)
	if !timed || !known || m.unit != duration {
		return metric{}, "", 0, fmt.Errorf("%s: unknown objective; %s", key, suggest(key, nearKeys(head)))
	}
	if stat, p, err = m.readStat(head); err != nil {
		return metric{}, "", 0, fmt.Errorf("%s: %w", key, err)
	}
	return m, stat, p, nil
}

// fromPlan checks a bare number in the unit that the plan's key names.
func (u unit) fromPlan(v float64) (float64, error) {
	text := text.Plain(v)
	switch u {
	case duration:
		if !(math.Abs(v) < 1e12) {
			return 0, fmt.Errorf("limit %q: want milliseconds above 0 and at most 24h", text)
		}
		return checkDuration(time.Duration(math.Round(v*float64(time.Millisecond))), text+"ms")
	case fraction:
		return checkFraction(v, text)
	default:
		return u.read(text)
	}
}

// nearKeys lists the keys that a misspelt one may have meant: the fixed ones,
// and every latency with the statistic that it begins with or a common one.
func nearKeys(head string) []string {
	var keys []string
	for _, known := range planKeys {
		keys = append(keys, known.key)
	}
	stats := []string{"p50", "p90", "p95", "p99", "p999", "mean", "max"}
	if _, _, err := readPercentile(head); err == nil {
		stats = append([]string{head}, stats...)
	}
	for _, stat := range stats {
		keys = append(keys, stat+"_"+latency+"_ms")
		for _, m := range metrics {
			if m.unit == duration {
				keys = append(keys, stat+"_"+m.name+"_ms")
			}
		}
	}
	return keys
}

// suggest points from an unknown word to the nearest known one, or lists them
// all where none is near and they are few.
func suggest(word string, known []string) string {
	hint := text.Hint(word, known)
	switch {
	case hint != "":
		return hint
	case len(known) > 20:
		return "want a key such as p99_ttft_ms, p95_latency_ms or min_throughput_tps"
	}
	return "want one of " + strings.Join(known, ", ")
}
