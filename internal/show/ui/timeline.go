package ui

import (
	"cmp"
	"slices"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/show/chart"
	"redline/internal/text"
)

// timeline is what came out of a run over time, in stretches of one length.
type timeline struct {
	// start is when the first request was due: the stages of an experiment have
	// one origin, and a later one begins long after it.
	start  int64
	length int64 // of a stretch, in nanoseconds
	list   []stretch
	// latest are the gauges of the server that were read last.
	latest *telemetry.Reading
}

// stretch has replies by when they ended, requests by when they began and ended,
// and what the server said of itself last.
type stretch struct {
	replies, tokens      int
	began, ended         int
	ttft, tpot           []float64 // ms
	running, waiting, kv *float64
}

const (
	// maxStretches is how many are kept: two become one where there would be more.
	maxStretches = 120
	// maxValues is how many latencies of a stretch are kept: from there on half
	// of them.
	maxValues = 512
)

// at is the stretch of a moment, nil before the first request.
func (h *timeline) at(moment int64) *stretch {
	if h.length == 0 {
		return nil
	}
	offset := max(0, moment-h.start)
	for offset/h.length >= maxStretches {
		h.halve()
	}
	for int64(len(h.list)) <= offset/h.length {
		h.list = append(h.list, stretch{})
	}
	return &h.list[offset/h.length]
}

// begin takes in a request; one that was never begun has no time of its own but its end.
func (h *timeline) begin(r *record.Record) {
	if h.length == 0 {
		h.start, h.length = r.Due, int64(time.Second)
	}
	h.at(cmp.Or(r.Begin, r.End)).began++
}

// add takes in a request that has ended, whose beginning it has taken in.
func (h *timeline) add(r *record.Record) {
	if r.End <= 0 {
		return
	}
	s := h.at(r.End)
	s.ended++
	if r.Outcome != llm.OK {
		return
	}
	s.replies++
	s.tokens += r.OutputTokens
	ttft, tpot, _ := account.Latencies(r)
	s.ttft, s.tpot = appendKnown(s.ttft, ttft), appendKnown(s.tpot, tpot)
}

func appendKnown(list []float64, v float64) []float64 {
	if v != v {
		return list
	}
	if len(list) >= maxValues {
		list = thin(list)
	}
	return append(list, v)
}

// thin keeps every other value.
func thin(list []float64) []float64 {
	for i := range len(list) / 2 {
		list[i] = list[2*i]
	}
	return list[:len(list)/2]
}

// gauge takes in what the server said of itself.
func (h *timeline) gauge(moment int64, r *telemetry.Reading) {
	h.latest = r
	if s := h.at(moment); s != nil {
		s.running, s.waiting, s.kv = r.Running, r.Waiting, r.KVUsage
	}
}

func (h *timeline) halve() {
	half := h.list[:0]
	for pair := range slices.Chunk(h.list, 2) {
		s := pair[0]
		for _, next := range pair[1:] {
			s.replies, s.tokens, s.began, s.ended = s.replies+next.replies, s.tokens+next.tokens, s.began+next.began, s.ended+next.ended
			s.ttft, s.tpot = append(s.ttft, next.ttft...), append(s.tpot, next.tpot...)
			if next.running != nil {
				s.running, s.waiting, s.kv = next.running, next.waiting, next.kv
			}
		}
		for len(s.ttft) > maxValues {
			s.ttft, s.tpot = thin(s.ttft), thin(s.tpot)
		}
		half = append(half, s)
	}
	h.list, h.length = half, 2*h.length
}

// inFlight is how many requests have begun and not ended.
func (h *timeline) inFlight() int {
	n := 0
	for _, s := range h.list {
		n += s.began - s.ended
	}
	return n
}

// line draws one value of each stretch that is over, where it has one.
func (h *timeline) line(name, role string, weight int, value func(stretch) (float64, bool)) chart.Line {
	l := chart.Line{Name: name, Plain: true, Role: role, Weight: weight}
	for i, s := range h.list[:max(0, len(h.list)-1)] {
		if v, known := value(s); known {
			l.Points = append(l.Points, chart.Point{X: (float64(i) + 0.5) * time.Duration(h.length).Seconds(), Y: v})
		}
	}
	return l
}

// percentile draws one of the latencies of each stretch.
func (h *timeline) percentile(name, role string, weight int, p float64, of func(stretch) []float64) chart.Line {
	return h.line(name, role, weight, func(s stretch) (float64, bool) {
		values := slices.Sorted(slices.Values(of(s)))
		if len(values) == 0 {
			return 0, false
		}
		return values[min(int(p*float64(len(values))), len(values)-1)], true
	})
}

// charts are the run so far, the most important first; limits are what objectives
// allow of a latency, and asked is the rate that is offered, 0 where none is.
func (h *timeline) charts(limits func(metric string) []chart.Bound, asked float64) []chart.Chart {
	seconds := time.Duration(h.length).Seconds()
	rate := func(of func(stretch) int) func(stretch) (float64, bool) {
		return func(s stretch) (float64, bool) { return float64(of(s)) / seconds, true }
	}
	gauge := func(of func(stretch) *float64, times float64) func(stretch) (float64, bool) {
		return func(s stretch) (float64, bool) {
			if v := of(s); v != nil {
				return times * *v, true
			}
			return 0, false
		}
	}
	now := 0
	flight := func(s stretch) (float64, bool) { now += s.began - s.ended; return float64(now), true }
	served := chart.Chart{Title: "requests served per second", Y: axis("requests/s"), Lines: []chart.Line{h.line("served", "completed", 0, rate(func(s stretch) int { return s.replies }))}}
	if asked > 0 {
		served.Bounds = []chart.Bound{{Y: asked, Text: "asked " + text.Number(asked), Plain: true}}
	}
	ttft, tpot := func(s stretch) []float64 { return s.ttft }, func(s stretch) []float64 { return s.tpot }
	list := []chart.Chart{
		{Title: "time to first token (ttft, from due)", Y: axis("ttft, ms"), Bounds: limits("ttft"),
			Lines: []chart.Line{h.percentile("p99", "ttft", 0, 0.99, ttft), h.percentile("p50", "ttft", 2, 0.5, ttft)}},
		{Title: "time per output token (tpot)", Y: axis("tpot, ms"), Bounds: limits("tpot"),
			Lines: []chart.Line{h.percentile("p99", "tpot", 0, 0.99, tpot), h.percentile("p50", "tpot", 2, 0.5, tpot)}},
		{Title: "requests in flight", Y: axis("requests"), Lines: []chart.Line{h.line("in flight", "inflight", 0, flight),
			h.line("running, by the server", "running", 0, gauge(func(s stretch) *float64 { return s.running }, 1)),
			h.line("waiting, by the server", "waiting", 0, gauge(func(s stretch) *float64 { return s.waiting }, 1))}},
		served,
		{Title: "output tokens of ended replies per second", Y: axis("tokens/s"), Lines: []chart.Line{h.line("output tokens/s", "output", 0, rate(func(s stretch) int { return s.tokens }))}},
		{Title: "key-value cache in use", Y: axis("KV cache, %"), Lines: []chart.Line{h.line("KV cache, %", "kv", 0, gauge(func(s stretch) *float64 { return s.kv }, 100))}},
	}
	for i := range list {
		c := &list[i]
		c.X = chart.Axis{Label: "seconds since the first request", Format: text.Number}
		c.Lines = slices.DeleteFunc(c.Lines, func(l chart.Line) bool { return len(l.Points) < 2 })
		c.Description = c.Title + " so far"
	}
	return slices.DeleteFunc(list, func(c chart.Chart) bool { return len(c.Lines) == 0 })
}

func axis(label string) chart.Axis { return chart.Axis{Label: label, Format: text.Number} }
