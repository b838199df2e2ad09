// Package fire judges a server around what is done to it: whether it gives back what
// requests held that were closed before their end, and how it comes through
// something that happens under load. It takes records and readings of gauges and
// gives verdicts as plain data. It opens no file and reads no clock.
package fire

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/stats"
)

// Readings is how many of a gauge stand for its rest, before the load and after it.
const Readings = 5

// Load is what a leak is judged by: when a load began and ended, and what of it redline
// closed before its end, as --cancel asks or by a time limit.
type Load struct {
	start, end     int64
	closed, cut    int
	prompt, output int64
}

// Add takes in one request.
func (l *Load) Add(r *record.Record) {
	if r.Sent == 0 {
		return
	}
	if l.start == 0 || r.Sent < l.start {
		l.start = r.Sent
	}
	l.end = max(l.end, r.End)
	switch {
	case r.Outcome.Count().Unfinished, r.Outcome == llm.Timeout:
		l.cut++
	case r.Outcome == llm.Abandoned:
		l.closed++
		l.prompt += int64(max(r.PromptTokens, r.AskedPrompt))
		l.output += int64(r.OutputTokens)
	}
}

// gauges are those that a server at rest has to bring back.
// A server without adapters or lasting connections has no gauge of them, which is not
// worth a word.
var gauges = []struct {
	name, unit string
	isRare     bool
	of         func(*telemetry.Reading) *float64
}{
	{"running", "requests", false, func(r *telemetry.Reading) *float64 { return r.Running }},
	{"waiting", "requests", false, func(r *telemetry.Reading) *float64 { return r.Waiting }},
	{kvGauge, "fraction", false, func(r *telemetry.Reading) *float64 { return r.KVUsage }},
	{"adapters", "adapters", true, func(r *telemetry.Reading) *float64 { return r.Adapters }},
	{"connections", "connections", true, func(r *telemetry.Reading) *float64 { return r.Connections }},
	{"open files", "files", false, func(r *telemetry.Reading) *float64 { return r.OpenFiles }},
}

const kvGauge = "kv"

type sample struct {
	at    int64
	value float64
}

// Leak judges the readings of a server around a load. Of a gauge at rest any order of
// the readings is as likely as any other: all of those after the load lie above all
// of those before it once in 252 times.
func (l *Load) Leak(scrapes []telemetry.Scrape) *result.Leak {
	out := &result.Leak{Standing: result.LeakUnset, Closed: l.closed, Cut: l.cut, Prompt: l.prompt, Output: l.output}
	judged, shown := 0, false
	for _, g := range gauges {
		before, after := l.split(scrapes, g.of)
		if len(before) == 0 && len(after) == 0 {
			if !g.isRare {
				out.Missing = append(out.Missing, g.name)
			}
			continue
		}
		shown = true
		if len(before) < Readings || len(after) < Readings {
			continue
		}
		judged++
		out.WaitedS = max(out.WaitedS, float64(after[len(after)-1].at-l.end)/1e9)
		one, leaks := l.returns(before, after)
		one.Name, one.Unit = g.name, g.unit
		out.Gauges = append(out.Gauges, one)
		if leaks {
			out.Standing = result.Leaks
		} else if out.Standing == result.LeakUnset {
			out.Standing = result.NoLeak
		}
		if g.name == kvGauge && l.closed+l.cut > 0 {
			per := 1000 / float64(l.closed+l.cut) // either may leave something
			lo, hi := extremes(rest(before, after))
			out.KVPer1000, out.KVBound = new((one.After-one.Before)*per), new((max(0, hi-lo)+resolution(scrapes))*per)
		}
	}
	switch {
	case judged > 0:
		out.FalseAlarm = new(min(1, float64(judged)/choose(2*Readings, Readings)))
	case !shown:
		out.Note = "the server shows none of these gauges: name its Prometheus page with --metrics-url, and leave out --no-telemetry"
	default:
		out.Note = fmt.Sprintf("fewer than %d readings before or after the load: was the run stopped early, or its metrics page lost?", Readings)
	}
	return out
}

// resolution is the share of the cache that is one block, 0 where the server does not
// say how many there are: no gauge shows less.
func resolution(scrapes []telemetry.Scrape) float64 {
	for _, s := range scrapes {
		if s.Reading == nil {
			continue
		}
		if blocks, err := strconv.ParseFloat(s.Reading.Config["num_gpu_blocks"], 64); err == nil && blocks > 0 {
			return 1 / (blocks * float64(max(1, s.Reading.Replicas)))
		}
	}
	return 0
}

// split gives a gauge's readings before the load and after it.
func (l *Load) split(scrapes []telemetry.Scrape, of func(*telemetry.Reading) *float64) (before, after []sample) {
	for _, s := range scrapes {
		if s.Reading == nil {
			continue
		}
		value := of(s.Reading)
		switch {
		case value == nil:
		case s.At <= l.start:
			before = append(before, sample{s.At, *value})
		case s.At >= l.end:
			after = append(after, sample{s.At, *value})
		}
	}
	return before, after
}

// rest is the readings nearest to the load before it, and the last ones after it.
func rest(before, after []sample) (b, a []float64) {
	return values(before[len(before)-Readings:]), values(after[len(after)-Readings:])
}

func values(list []sample) (out []float64) {
	for _, s := range list {
		out = append(out, s.value)
	}
	return out
}

// extremes are the smallest reading before and the largest after.
func extremes(before, after []float64) (lo, hi float64) { return slices.Min(before), slices.Max(after) }

// returns says whether a gauge came back, and when for good.
func (l *Load) returns(before, after []sample) (one result.GaugeReturn, leaks bool) {
	b, a := rest(before, after)
	limit := slices.Max(b)
	leaks = slices.Min(a) > limit
	slices.Sort(b)
	slices.Sort(a)
	one = result.GaugeReturn{Before: stats.Quantile(b, 0.5), After: stats.Quantile(a, 0.5)}
	if leaks {
		return one, true
	}
	back := l.end
	for _, s := range after[:len(after)-Readings] {
		if s.value > limit {
			back = s.at
		}
	}
	one.ReturnS = new(float64(back-l.end) / 1e9)
	return one, false
}

// AtRest reports whether the last readings of every gauge since end are no higher
// than those before the load, which ends the wait for them.
func AtRest(scrapes []telemetry.Scrape, start, end int64) bool {
	l := Load{start: start, end: end}
	seen := false
	for _, g := range gauges {
		before, after := l.split(scrapes, g.of)
		if len(before) < Readings {
			continue
		}
		seen = true
		if len(after) < Readings {
			return false
		}
		b, a := rest(before, after)
		if slices.Max(a) > slices.Max(b) {
			return false
		}
	}
	return seen
}

// choose is the number of ways to take k of n.
func choose(n, k int) float64 {
	ways := 1.0
	for i := range k {
		ways = ways * float64(n-i) / float64(i+1)
	}
	return math.Round(ways)
}
