package ui

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/show/chart"
	"redline/internal/show/document"
	"redline/internal/show/objective"
	"redline/internal/text"
)

// news is what a page shows of a run under way: figures as a person reads them, and
// charts.
type news struct {
	Stage, Phase, Elapsed string
	// Share is how much of the window is over, negative where that is not known;
	// Progress says it in words.
	Share    float64
	Progress string
	Tiles    []document.Tile
	// Goals are the objectives by the figures so far.
	Goals  []goal
	Server []document.Tile
	Spoils []string // what would spoil the run were it over
	Charts []picture
	Stages []*run
}

// goal is an objective, where it stands so far, and the class of that.
type goal struct{ Name, Figure, Limit, Word, Tone string }

type picture struct {
	Title string
	SVG   template.HTML
}

var phaseWords = map[record.Phase]string{record.Warmup: "warm-up", record.Measure: "measuring", record.Cooldown: "last replies"}

func (f *follower) news(now time.Time) news {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := news{Phase: "before the load", Share: -1}
	if f.origin.IsZero() {
		return n
	}
	elapsed := now.Sub(f.origin)
	s := f.live.Snapshot(progress.Snapshot{Elapsed: elapsed}, f.events)
	n.Phase, n.Elapsed = phaseWords[f.phase], text.Seconds(math.Round(elapsed.Seconds()))
	n.Share, n.Progress = f.progress(elapsed)
	tile := func(name string, v float64, unit, remark string) {
		if v == v {
			n.Tiles = append(n.Tiles, document.Tile{Name: name, Number: text.Number(v), Unit: unit, Remark: remark})
		}
	}
	latency := func(name string, of progress.Spread) {
		unit, by := text.TimeUnit(of.P99)
		tile(name+" p99", of.P99/by, unit, "p50 "+text.Time(of.P50))
	}
	latency("ttft", s.TTFT)
	latency("tpot", s.TPOT)
	latency("e2e", s.E2E)
	tile("served, last 5 s", s.RequestsPerS, "requests/s", f.plannedLoad())
	tile("output, last 5 s", s.TokensPerS, "tokens/s", "of ended replies")
	tile("in flight", float64(f.past.inFlight()), "requests", "")
	tile("ended ok", float64(s.OK), "requests", fmt.Sprintf("%s failed, %s rejected", text.Count(s.Of(llm.Failures)), text.Count(s.Of(llm.Rejections))))
	for _, v := range s.Objectives {
		n.Goals = append(n.Goals, goalOf(v))
	}
	if r := f.past.latest; r != nil {
		n.gauges(r)
	}
	n.Spoils = f.spoils
	rate := 0.0
	if f.plan != nil && f.plan.Load.Profile == "" {
		rate = f.plan.Load.Rate
	}
	for i, c := range f.past.charts(f.limits, rate) {
		n.Charts = append(n.Charts, picture{document.Capital(c.Title), template.HTML(c.SVG(fmt.Sprintf("live%d", i), liveSize))}) // a picture escapes what it is given
	}
	return n
}

// liveSize is that of a chart of which three stand side by side.
var liveSize = chart.Size{Width: 420, Height: 240}

func (n *news) gauges(r *telemetry.Reading) {
	add := func(name string, v *float64, say func(float64) string) {
		if v != nil {
			n.Server = append(n.Server, document.Tile{Name: name, Number: say(*v)})
		}
	}
	add("running", r.Running, text.Number)
	add("waiting", r.Waiting, text.Number)
	add("KV cache", r.KVUsage, text.RoughPercent)
}

// plannedLoad says what load the plan asks for.
func (f *follower) plannedLoad() string {
	switch {
	case f.plan == nil:
	case f.plan.Load.Rate > 0:
		return "asked " + text.Number(f.plan.Load.Rate)
	case f.plan.Load.Bounds.MaxConcurrency > 0:
		return text.Count(f.plan.Load.Bounds.MaxConcurrency) + " at a time"
	}
	return ""
}

// progress is how much of the window is over, negative where that is not known.
func (f *follower) progress(elapsed time.Duration) (share float64, words string) {
	if f.window == 0 || f.plan == nil || f.phase != record.Measure {
		return -1, ""
	}
	over, b := max(0, elapsed-time.Duration(f.window)), f.plan.Load.Bounds
	seconds := func(d time.Duration) string { return text.Seconds(math.Round(d.Seconds())) }
	switch {
	case b.Duration > 0:
		return min(1, over.Seconds()/b.Duration.Seconds()), seconds(min(over, b.Duration)) + " of " + seconds(b.Duration)
	case b.TotalRequests > 0:
		return min(1, float64(f.measured)/float64(b.TotalRequests)), text.Count(f.measured) + " of " + text.Plural(b.TotalRequests, "request")
	case b.MaxDuration > 0:
		return min(1, over.Seconds()/b.MaxDuration.Seconds()), seconds(over) + "; it ends once the objectives are decided, after " + seconds(b.MaxDuration) + " at most"
	}
	return -1, seconds(over) + " so far"
}

// limits are what objectives allow of a latency.
func (f *follower) limits(metric string) (list []chart.Bound) {
	for _, o := range f.live.Objectives {
		if o.Metric == metric && !o.Above && o.P > 0 && o.Scope == (slo.Scope{}) {
			list = append(list, chart.Bound{Y: o.Limit / 1e6, Text: "objective " + text.Line(o.Text)})
		}
	}
	return list
}

func goalOf(v slo.Verdict) goal {
	sign := objective.Sign(v)
	_, limit, _ := strings.Cut(v.Objective, sign)
	g := goal{Name: objective.Name(v), Limit: sign + " " + text.Line(limit), Figure: text.Absent, Word: "no figure yet"}
	if v.Value == nil {
		return g
	}
	g.Figure, g.Limit = objective.Figure(v), strings.TrimSpace(sign+" "+objective.Limit(v))
	g.Word, g.Tone = "within so far", "good"
	switch v.Standing {
	case slo.Missed:
		g.Word, g.Tone = "over so far", "bad"
	case slo.Undecided:
		g.Word, g.Tone = "too few yet", ""
	}
	return g
}
