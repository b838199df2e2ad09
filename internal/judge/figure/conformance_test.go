package figure_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"redline/internal/answer/compare"
	"redline/internal/answer/pareto"
	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/show/export"
	"redline/internal/show/report"
)

func resultOf(times float64) *result.Result {
	d := &metric.Dist{N: 500, Mean: 20, Max: 90, P: map[string]float64{"p50": 20 * times, "p90": 30 * times, "p95": 40 * times, "p99": 50 * times},
		Firm: []string{"p50", "p99"}, CI: map[string][2]float64{"p50": {19 * times, 21 * times}, "p99": {45 * times, 55 * times}}}
	p := result.Point{Load: result.Load{Mode: "open", Rate: new(8.0)}}
	for _, field := range reflect.ValueOf(&p.Latency).Elem().Fields() {
		field.Set(reflect.ValueOf(d))
	}
	p.Window = metric.Window{EndS: 60}
	p.Interactivity, p.Fluidity, p.Goodput = d, new(0.9*times), &metric.Goodput{Requests: 7 * times, Fraction: 0.9 * times}
	p.Requests = metric.Requests{Due: 500, Sent: 500, OK: 480, Failed: 10, Rejected: 10, Retried: 5}
	p.Rates = metric.Rates{Asked: new(8.0), Offered: 8, Sent: 8, Completed: 7.5, Ended: 7.4}
	p.Throughput = metric.Throughput{Requests: 7.5, Output: 900 * times, Prompt: 2000 * times, Total: 2900, Inputs: 3, Images: 4}
	p.Concurrency = metric.Concurrency{Mean: 4, Max: 9}
	p.Tokens.OutputLengths = d
	p.Jobs = &metric.Jobs{Started: 40, Finished: 36, Failed: 1, Cut: 3, OKFraction: new(0.9 * times), PerHour: 90 * times, LiveMean: 4, LiveMax: 6, Time: d, Serving: d, First: d,
		PromptTokens: new(9000.0), OutputTokens: new(800.0)}
	checks := metric.Checks{Requests: 90, Checked: 80, OK: 72, OKFraction: new(0.9 * times)}
	p.Calls, p.Schemas = &metric.Calls{Checks: checks}, &metric.Schemas{Checks: checks}
	p.Phases = &metric.Phases{FirstToken: 0.2, Decode: 0.8, Overhead: new(0.1)}
	p.KV, p.Cache = &result.KV{MaxMBPerRequest: 12, PeakMB: 300}, &result.Cache{Usage: new(0.4)}
	p.Prediction, p.PrefillSlope = &result.Prediction{MBU: new(0.6), MFU: new(0.1)}, &result.PrefillSlope{MSPer1K: 30}
	p.Server = &telemetry.ServerUse{KVFragmentation: &telemetry.Gauge{Mean: 0.02, Max: 0.1}, Evictions: new(12.0), EvictionUnit: "block"}
	p.Accelerator = &telemetry.AcceleratorUse{JoulesPerOutputToken: new(0.8)}
	p.Cost = &result.Cost{PerRequest: 0.01, Per1kTokens: 0.002, Per1mOutput: 2.5 * times, Per1mAccepted: new(3.0), PerJob: new(0.3), Per1kJobs: new(300.0)}
	p.Quality = &result.Quality{Set: "q", Phases: []result.QualityPhase{{Phase: result.Alone, Score: new(0.9)}, {Phase: result.UnderLoad, Score: new(0.8)}, {Phase: result.After, Score: new(0.7)}}}
	p.Leak, p.Fire = &result.Leak{KVPer1000: new(0.03 * times)}, &result.Fire{RecoveryMS: new(900 * times), LostRate: 0.01 * times}
	return &result.Result{ID: "run", Hardware: result.Hardware{Count: 2}, Limit: &result.Limit{Rate: 9, Standing: result.LimitFound}, Points: []result.Point{p},
		Verdict: result.Verdict{Valid: result.Valid}}
}

func at(f *figure.Figure) figure.Statistic {
	s := figure.Statistic{Figure: f, Stat: f.Stat}
	if f.Spread() {
		s.Stat = "p99"
	}
	return s
}

// Every figure is good for every use, or its row says why not.
func TestEveryFigureIsGoodForEveryUse(t *testing.T) {
	for _, f := range figure.All {
		t.Run(f.Key, func(t *testing.T) { conforms(t, f) })
	}
}

func conforms(t *testing.T, f *figure.Figure) {
	t.Helper()
	if f.Formula == "" || f.Can(figure.Export) && f.Unit == "" {
		t.Error("it has no formula or no unit")
	}
	s, res := at(f), resultOf(1)
	point := &res.Points[0]
	if _, ok := s.Read(point, res); ok != (f.At != "") {
		t.Errorf("a point that has everything has it: %v, at %q", ok, f.At)
	}
	for use, try := range map[figure.Use]func(figure.Statistic) error{figure.Promise: checkObjective, figure.Compare: checkComparison, figure.Plot: checkPlot, figure.Export: checkExport} {
		err := try(s)
		switch why := f.Not[use]; {
		case why == "" && err != nil:
			t.Errorf("%s: %v", use, err)
		case why != "" && err == nil:
			t.Errorf("it is good as %s, and its row says: %s", use, why)
		case why != "" && use != figure.Export && !strings.Contains(err.Error(), why):
			t.Errorf("%s: %v; want the reason: %s", use, err, why)
		}
	}
}

// A new row is parsed, judged, compared, plotted, exported and explained without
// another word: CONTRIBUTING.md says so.
func TestAFigureIsARow(t *testing.T) {
	f := &figure.Figure{Name: "pause", Aliases: []string{"rest"}, Unit: figure.Milliseconds, Of: figure.Request, Phase: figure.First,
		At: "latency.slot_wait_ms", Formula: "second breath − first", Note: "made up"}
	defer figure.With(f)()
	conforms(t, f)
	res := resultOf(1)
	res.Limit = nil
	res.Points[0].Objectives = []slo.Verdict{{Objective: "pause:p99<60ms", Standing: slo.Met, Value: new(50.0), Unit: "ms", Limit: 60, N: 500}}
	var page bytes.Buffer
	must.Do(t, report.Terminal(&page, res, report.TerminalOptions{Explain: true}))
	if text := strings.Join(strings.Fields(page.String()), " "); !strings.Contains(text, "pause p99") || !strings.Contains(text, f.Definition()) {
		t.Errorf("the page does not judge and explain it:\n%s", page.String())
	}
	if rows := table(figure.All); !strings.Contains(rows, "| `pause` | `pause:p99`, `rest:p99` | ms | less | second breath − first; made up |  |\n") {
		t.Error("the manual's table lacks it")
	}
}

type failure string

func (f failure) Error() string { return string(f) }

// checkObjective parses an objective on the figure, under all its names.
func checkObjective(s figure.Statistic) error {
	sign, limit := "<", map[figure.Unit]string{figure.Milliseconds: "50ms", figure.Fraction: "0.5", figure.Memory: "64MB"}[s.Unit]
	if s.More {
		sign = ">"
	}
	if limit == "" {
		limit = "5"
	}
	want, err := slo.Parse(s.Name + ":" + s.Stat + sign + limit)
	if err != nil {
		return err
	}
	for _, name := range append([]string{s.Key}, s.Aliases...) {
		if got, err := slo.Parse(name + ":" + s.Stat + sign + limit); err != nil || got != want {
			return failure(name + " is not " + s.Name)
		}
	}
	return nil
}

// checkComparison finds the figure in a comparison of two results.
func checkComparison(s figure.Statistic) error {
	if _, err := figure.Parse(s.String(), figure.Compare); err != nil {
		return err
	}
	c, err := compare.Runs([]*result.Result{resultOf(1)}, []*result.Result{resultOf(1.1)}, compare.Options{Figures: []string{s.String()}})
	if err == nil && !slices.ContainsFunc(c.Metrics, func(m compare.Metric) bool { return m.Name == s.String() && m.A != nil && m.B != nil }) {
		err = failure("it is not in the comparison")
	}
	return err
}

// checkPlot makes it both axes of a picture.
func checkPlot(s figure.Statistic) error {
	axis, err := pareto.Find(s.String())
	if err != nil {
		return err
	}
	front := pareto.Of([]pareto.Series{{Name: "a", Runs: []*result.Result{resultOf(1)}}}, pareto.Pair{X: axis, Y: axis})
	if len(front.Points) != 1 || front.X.Title == "" {
		return failure("the picture has no point")
	}
	return nil
}

// checkExport finds the figure's column filled.
func checkExport(s figure.Statistic) error {
	var out bytes.Buffer
	if err := export.CSV(&out, resultOf(1)); err != nil {
		return err
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		return err
	}
	for i, name := range rows[0] {
		if name == s.Key || s.Spread() && (name == s.Key+"_p99_ms" || name == s.Key+"_p99") {
			if rows[1][i] == "" {
				return failure(name + " is empty")
			}
			return nil
		}
	}
	return failure("no column has it")
}

// A name means one figure.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, f := range figure.All {
		for _, name := range append([]string{f.Name, f.Key}, f.Aliases...) {
			if other, taken := seen[name]; taken && other != f.Name {
				t.Errorf("%s means %s and %s", name, other, f.Name)
			}
			seen[name] = f.Name
		}
	}
}

// Old spellings stay, and what is wrong is said with the cure.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{"tbt:p99.9": "itl:p999", "latency:p95": "e2e:p95", "throughput": "throughput", "throughput:min": "throughput",
		"ttft": "ttft:p99", "interactivity": "interactivity:p50", "errors": "error:rate", "good_fraction": "good:fraction", "cost": "cost",
		"cost-accepted": "cost:accepted", "cost_per_request": "cost:request", "completed_rate": "requests"} {
		if s, err := figure.Parse(text, figure.Plot); err != nil || s.String() != want {
			t.Errorf("%s is read as %v, %v; want %s", text, s, err, want)
		}
	}
	for text, want := range map[string]string{"ttfd:p99": "did you mean ttft?", "": "expected one of ttft", "ttft:": `unknown statistic ""`, "ttft:p100": "expected one below 100",
		"cost:min": "write cost or cost:request or cost:1k or cost:accepted", "lag": "the client's own time", "cost_per_request:max": "write cost:request"} {
		if s, err := figure.Parse(text, figure.Plot); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %v, %v; want %q", text, s, err, want)
		}
	}
}

// A result's JSON Schema has every figure where the table says, with the
// table's definition.
func TestTheSchemaDefinesFigures(t *testing.T) {
	data := must.Read(t, "../../plan/schema/result.schema.json")
	var root map[string]any
	must.Do(t, json.Unmarshal(data, &root))
	child := func(node map[string]any, keys ...string) map[string]any {
		for _, key := range keys {
			if ref, ok := node["$ref"].(string); ok {
				node, _ = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			}
			node, _ = node[key].(map[string]any)
		}
		return node
	}
	for _, f := range figure.All {
		for place := range strings.SplitSeq(f.At, "+") {
			if place == "" {
				continue
			}
			node := child(root, "properties", "points", "items")
			if f.Not[figure.Plot] != "" && f.Not[figure.Export] != "" {
				node = root
			}
			for key := range strings.SplitSeq(place, ".") {
				node = child(node, "properties", key)
			}
			if node == nil {
				t.Errorf("the schema has no %s for %s", place, f.Name)
			} else if described, _ := node["description"].(string); f.Defines() && described != f.Definition() {
				t.Errorf("%s is %q in the schema, want %q: make golden", place, described, f.Definition())
			}
		}
	}
}
