package main

import (
	"context"
	"math"
	"strings"
	"time"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/show/live"
	"redline/internal/text"
)

// follow shows a run or an experiment while it goes on: a full screen where the
// plan and the terminal allow it, else a line. Where it is told to be quiet only
// what the user should know is said.
func (p *process) follow(ctx context.Context, cfg *config.Config, s live.Screen, window time.Duration) (*live.Line, error) {
	o := live.Options{Terminal: p.terminal, Width: p.width, Window: window}
	shown, err := p.screenFor(cfg.Output)
	if shown {
		s.Terminal = p.takeOver()
	}
	if s.Terminal == nil {
		return live.NewLine(p.stderr, o), err
	}
	s.Title = p.line(text.Join(" · ", s.Title, cfg.Provider.Model, targetName(cfg)))
	s.Sides = [2]string{p.line(p.sides[0]), p.line(p.sides[1])}
	s.Stop, s.Stopping, s.Gone = p.interrupt, p.stop, ctx.Done()
	noColor, _ := p.lookupEnv("NO_COLOR")
	s.Color = noColor == ""
	o.Screen = &s
	return live.NewLine(p.stderr, o), nil
}

// screenFor decides whether a full screen is shown.
func (p *process) screenFor(o config.Output) (bool, error) {
	able := p.terminal && p.takeOver != nil
	switch {
	case o.Progress == config.ProgressScreen && !able:
		return false, usage("--progress screen: stderr is not a terminal in the foreground; use --progress line")
	case o.Quiet || o.Verbose || o.Progress == config.ProgressLine:
		return false, nil
	case o.Progress == config.ProgressScreen:
		return true, nil
	}
	ci, _ := p.lookupEnv("CI")
	return able && p.columns() > 0 && ci == "", nil
}

func targetName(cfg *config.Config) string {
	if cfg.Embedded() {
		return "embedded engine"
	}
	if cfg.Launched() {
		return "launched server"
	}
	return strings.Join(cfg.Provider.URLs, " ")
}

// panelOf is what a screen shows of the stages of an experiment.
func panelOf(cfg *config.Config, command string) live.Screen {
	s := live.Screen{Title: "redline " + command}
	switch {
	case command == "sweep":
		s.Panel = live.CurvePanel
	case command == "compare", command == "matrix" && len(cfg.Experiment.Toggles) > 0:
		s.Panel = live.SidesPanel
	}
	return s
}

// stageLoad is the load of a stage: its rate, or its requests in flight.
func stageLoad(s experiment.Stage) (load float64, closed bool) {
	if l := s.Config.Load; l.Rate == 0 && l.Bounds.MaxConcurrency > 0 {
		return float64(l.Bounds.MaxConcurrency), true
	}
	return s.Config.Load.Rate, false
}

// stageEnded is a stage as the panels show it.
func stageEnded(s experiment.Stage, res *result.Result, said string) live.EndedStage {
	nan := math.NaN()
	e := live.EndedStage{Name: s.Name, Text: said, Side: s.Side, Measures: s.Measures(), Valid: res.Verdict.Valid != result.Invalid || !s.Measures(),
		Served: nan, TokensPerS: nan, TTFTp50: nan, TTFTp99: nan, TPOTp50: nan, Failed: nan, Standing: slo.None}
	e.Load, _ = stageLoad(s)
	if len(res.Points) == 0 {
		return e
	}
	point := &res.Points[0]
	e.Why = point.Invalid
	e.Served, e.TokensPerS = point.Rates.Completed, point.Throughput.Output
	e.TTFTp50, e.TTFTp99 = percentiles(point.Latency.TTFTDue)
	e.TPOTp50, _ = percentiles(point.Latency.TPOT)
	e.Failed = float64(point.Requests.Failed + point.Requests.Rejected)
	if s.Measures() {
		e.Standing = slo.Overall(point.Objectives)
	}
	for _, v := range point.Objectives {
		if v.Unit == "ms" && v.Value != nil && e.Objective == "" {
			e.Objective, e.Value, e.Limit = v.Objective, *v.Value, v.Limit
		}
	}
	return e
}

func percentiles(d *metric.Dist) (p50, p99 float64) {
	if d == nil {
		return math.NaN(), math.NaN()
	}
	return d.P["p50"], d.P["p99"]
}
