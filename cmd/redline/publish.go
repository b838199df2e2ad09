package main

import (
	"context"
	"fmt"

	"redline/internal/exposition"
	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/show/export"
	"redline/internal/show/gauge"
)

// publish begins to show a run to monitoring, where that is asked for. live is told
// how the run goes, beside whoever was told before; done ends it with what came of
// the run, nil where that is nothing.
func (p *process) publish(ctx context.Context, cfg *config.Config, before func(progress.Snapshot), say func(string, ...any)) (live func(progress.Snapshot), done func(*result.Result), err error) {
	m := cfg.Metrics
	if m.Listen == "" && m.OTLP == "" {
		return before, func(*result.Result) {}, nil
	}
	out := &gauge.Publisher{Version: version, Say: say, Labels: []exposition.Label{{Name: "label", Value: cfg.Metadata["label"]}, {Name: "model", Value: cfg.Provider.Model}}}
	if m.Listen != "" {
		if err := out.Listen(ctx, m.Listen); err != nil {
			return nil, nil, fmt.Errorf("--metrics-listen: %w", err)
		}
		say("live figures at http://%s/metrics", out.Address())
	}
	if m.OTLP != "" {
		out.Push(m.OTLP)
	}
	live = func(s progress.Snapshot) {
		out.Live(s)
		if before != nil {
			before(s)
		}
	}
	done = func(res *result.Result) {
		var final []exposition.Family
		if res != nil {
			final = export.Gauges(res)
		}
		out.Close(final)
	}
	return live, done, nil
}
