package validity

import (
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

// soundResult is a result that none of the patterns is true of.
func soundResult() *result.Result {
	lengths := &metric.Dist{N: 100, Mean: 700, Max: 4000}
	p := result.Point{Load: result.Load{Rate: new(8.0)}, Quality: &result.Quality{}, Cache: &result.Cache{Designed: new(0.5), Usage: new(0.45)}}
	p.Window.WarmupS, p.Tokens.PromptLengths, p.Tokens.OutputLengths = new(5.0), lengths, lengths
	p.Tenants = []metric.Group{{Name: "a"}, {Name: "b"}}
	return &result.Result{Points: []result.Point{p}, Plan: map[string]any{"metrics": map[string]any{"percentiles": []any{50, 95.0}}}}
}

// Each pattern is named where it is, and only there.
func TestAntiPatterns(t *testing.T) {
	t.Parallel()
	if got := AntiPatterns(soundResult()); len(got) > 0 {
		t.Errorf("a sound set-up: %+v", got)
	}
	same := &metric.Dist{N: 100, Mean: 2000, Max: 2000}
	for want, spoil := range map[string]func(*result.Point, *result.Result){
		"one prompt length": func(p *result.Point, _ *result.Result) { p.Tokens.PromptLengths = same },
		"one output length": func(p *result.Point, _ *result.Result) { p.Tokens.OutputLengths = same },
		"short prompts only": func(p *result.Point, _ *result.Result) {
			p.Tokens.PromptLengths = &metric.Dist{N: 9, Mean: 200, Max: 900}
		},
		"averages only":               func(_ *result.Point, r *result.Result) { r.Plan["metrics"] = map[string]any{"percentiles": []any{50}} },
		"one request at a time":       func(p *result.Point, _ *result.Result) { p.Load = result.Load{Concurrency: new(1)} },
		"no warm-up":                  func(p *result.Point, _ *result.Result) { p.Window.WarmupS = new(0.0) },
		"one tenant":                  func(p *result.Point, _ *result.Result) { p.Tenants = nil },
		"no quality gate":             func(p *result.Point, _ *result.Result) { p.Quality = nil },
		"client on the server's host": func(_ *result.Point, r *result.Result) { r.Client.SharesHost = true },
		"cache hits by repetition":    func(p *result.Point, _ *result.Result) { p.Cache.Usage = new(0.8) },
	} {
		r := soundResult()
		spoil(&r.Points[0], r)
		got := AntiPatterns(r)
		if len(got) != 1 || got[0].Name != want || got[0].Why == "" || got[0].Cure == "" {
			t.Errorf("%s: %+v", want, got)
		}
	}
}

// The ramp of a search warms the server up, and so does a stage for it.
func TestARampWarmsUp(t *testing.T) {
	t.Parallel()
	for _, purpose := range []string{result.PurposeRamp, result.PurposeWarmUp} {
		r := soundResult()
		r.Points[0].Window.WarmupS = new(0.0)
		r.Stages = []result.Stage{{Purpose: purpose, Point: new(0)}}
		if got := AntiPatterns(r); len(got) > 0 {
			t.Errorf("%s: %+v", purpose, got)
		}
	}
}
