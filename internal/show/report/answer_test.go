package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/schema"
	"redline/internal/show/document"
)

// changed is a sample with one thing different.
func changed(r *result.Result, change func(*result.Result)) *result.Result {
	change(r)
	return r
}

// rejecting turns the violations from 22.5 requests/s on into rejections.
func rejecting(r *result.Result) {
	for _, i := range r.Curve.Points[5:] {
		n := &r.Points[i].Requests
		n.Rejected, n.Failed, n.Faults = n.Due*35/100, 0, nil
		n.OK = n.Due - n.Rejected
		n.Errors = []metric.ErrorCount{{Text: "HTTP 429: slow down", Count: n.Rejected}}
		r.Points[i].Objectives[0].Violations = n.Rejected
	}
}

// refusing makes a run of 800 requests of which none is answered.
func refusing(r *result.Result) {
	p := &r.Points[0]
	r.Plan = map[string]any{"sla_thresholds": []any{"ttft:p99<500ms"}}
	p.Requests = metric.Requests{Due: 800, Sent: 800, Rejected: 800, Errors: []metric.ErrorCount{{Text: "HTTP 429: slow down", Count: 800}}}
	p.Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Missed, Unit: "ms", Limit: 500, N: 800, Violations: 800}}
}

// unfinished has a server answer too slowly, and not even half of the requests.
func unfinished(r *result.Result) {
	p := &r.Points[0]
	p.Requests = metric.Requests{Due: 808, Sent: 808, OK: 358, Censored: 450}
	p.Objectives = []slo.Verdict{{Objective: "tpot:p95<25ms", Standing: slo.Missed, Unit: "ms", Limit: 25, N: 808, Violations: 808}}
}

// withAgents makes a sweep over rates one over numbers of agents.
func withAgents(r *result.Result) {
	r.Curve.By, r.Curve.Knee, r.Curve.Stopped = result.Agents, nil, ""
	for i := range r.Points {
		live := int(math.Round(*r.Points[i].Load.Rate))
		r.Points[i].Load = result.Load{Mode: "closed", Concurrency: &live, Agents: true}
	}
	if l := r.Limit; l != nil {
		l.Unit, l.Rate, l.Interval, l.Held.Rate = result.Agents, 21, [2]float64{20, 22}, 21
	}
}

func TestAnswersLead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		result *result.Result
		want   string
	}{
		{"found and confirmed", limitSample(),
			"LIMIT: 21.4 requests/s (20.6–22.3) · held for 5 min at 21.2; under ttft:p99<500ms, the first of 2 to be missed; cliff"},
		{"a number of agents", changed(limitSample(), withAgents),
			"LIMIT: 21 agents (20–22) · held for 5 min at 21; under ttft:p99<500ms, the first of 2 to be missed; cliff"},
		{"agents, nothing held", changed(changed(limitSample(), withAgents), func(r *result.Result) { r.Limit.Held = nil }),
			"LIMIT: 21 agents (20–22) under ttft:p99<500ms, the first of 2 to be missed; cliff; no number of agents was held in a sustained run"},
		{"a sweep over agents", changed(curveSample(), withAgents), "HELD: 21 agents met every objective; the limit lies between 21 and 23 agents"},
		{"one objective", changed(limitSample(), func(r *result.Result) { delete(r.Limit.ByObjective, "tpot:p99<50ms") }),
			"LIMIT: 21.4 requests/s (20.6–22.3) · held for 5 min at 21.2; under ttft:p99<500ms; cliff"},
		{"found, nothing held", changed(limitSample(), func(r *result.Result) { r.Limit.Held = nil }),
			"LIMIT: 21.4 requests/s (20.6–22.3) under ttft:p99<500ms, the first of 2 to be missed; cliff; no rate was held in a sustained run"},
		{"a rate held above the middle of the interval", changed(limitSample(), func(r *result.Result) { r.Limit.Held.Rate = 22 }),
			"LIMIT: 21.4 requests/s (20.6–22.3) · held for 5 min at 22, within the interval; under ttft:p99<500ms, the first of 2 to be missed; cliff"},
		{"too little time", wideSample(),
			"LIMIT: 21.4 requests/s (16.0–29.0) under ttft:p99<500ms, the first of 2 to be missed; cliff; no rate was held in a sustained run"},
		{"nothing broke", changed(limitSample(), func(r *result.Result) {
			*r.Limit = result.Limit{Rate: 64, Interval: [2]float64{60, 64}, Standing: result.LimitAtLeast, Held: &result.HeldRate{Rate: 64, Seconds: 60}, ByObjective: map[string]result.Bound{"ttft:p99<500ms": {}}}
		}), "LIMIT: at least 64.0 requests/s · held for 60 s at 64; under ttft:p99<500ms; nothing was missed up to there"},
		{"nothing broke, of a few requests", changed(limitSample(), func(r *result.Result) {
			*r.Limit = result.Limit{Rate: 64, Interval: [2]float64{60, 64}, Standing: result.LimitAtLeast, ByObjective: map[string]result.Bound{"ttft:p99<500ms": {}}}
		}), "LIMIT: at least 64.0 requests/s under ttft:p99<500ms; nothing was missed up to there"},
		{"nothing broke, and the pace tells where the limit is", changed(limitSample(), func(r *result.Result) {
			*r.Limit = result.Limit{Rate: 60, Interval: [2]float64{40, 80}, Standing: result.LimitWide, Held: &result.HeldRate{Rate: 55, Seconds: 18},
				UnmissedTo: new(57.0), Binding: "ttft:p99<500ms", ByObjective: map[string]result.Bound{"ttft:p99<500ms": {}, "tpot:p99<50ms": {}}}
		}), "LIMIT: 60.0 requests/s (40.0–80.0) · held for 18 s at 55; under ttft:p99<500ms, the tightest of 2; nothing was missed up to 57"},
		{"broken from the start", changed(limitSample(), func(r *result.Result) {
			*r.Limit = result.Limit{Interval: [2]float64{0, 0.5}, Standing: result.LimitBelow, Binding: "ttft:p99<500ms"}
		}), "LIMIT: below 0.500 requests/s under ttft:p99<500ms; missed even there"},
		{"a server that rejects", changed(limitSample(), rejecting),
			"LIMIT: 21.4 requests/s (20.6–22.3) · held for 5 min at 21.2; under ttft:p99<500ms, the first of 2 to be missed; rejects 35% of requests (429) at 22.5 requests/s"},
		{"a curve of a server that rejects", changed(curveSample(), rejecting),
			"HELD: 21.2 requests/s met every objective; the limit lies between 21.2 and 22.5 requests/s; rejects 35% of requests (429) at 22.5 requests/s; saturated at 32 requests/s; knee at 20"},
		{"a run of which everything is rejected", changed(missedSample(), refusing),
			"MISSED  ttft p99: 800 of 800 over the limit of 500 ms or without a full answer · rejects 100% of requests (429)"},
		{"a run of which some is answered, too late, and the rest is unfinished", changed(missedSample(), unfinished),
			"MISSED  tpot p95: 808 of 808 over the limit of 25 ms or without a full answer (358 ok + 450 unfinished)"},
		{"the same without objectives", changed(changed(missedSample(), refusing), func(r *result.Result) { r.Plan = nil }),
			"NOTHING SERVED: none of 800 requests succeeded: 800 rejected"},
		{"a curve alone", curveSample(), "HELD: 21.2 requests/s met every objective; the limit lies between 21.2 and 22.5 requests/s; saturated at 32 requests/s; knee at 20"},
		{"a curve without objectives", changed(curveSample(), unjudged), "CURVE: 8 levels from 4 requests/s to 32 requests/s; saturated at 32 requests/s; knee at 20"},
		{"no level that misses", changed(curveSample(), func(r *result.Result) { r.Curve.Points, r.Curve.Stopped, r.Curve.Knee = r.Curve.Points[:4], "", nil }),
			"HELD: 20 requests/s met every objective; no level missed one, so the limit lies above"},
		{"no level that is met", changed(curveSample(), func(r *result.Result) { r.Curve.Points, r.Curve.Stopped, r.Curve.Knee = r.Curve.Points[5:], "", nil }),
			"MISSED: no level below 22.5 requests/s met every objective; the limit lies below that"},
		{"open levels below one that is missed", changed(curveSample(), func(r *result.Result) {
			r.Curve.Stopped, r.Curve.Knee = "", nil
			for _, i := range r.Curve.Points[:5] {
				r.Points[i].Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Undecided}}
			}
		}), "TOO CLOSE TO CALL: no level below 22.5 requests/s could be decided; that one missed, so the limit lies below it"},
		{"open levels alone", changed(curveSample(), func(r *result.Result) {
			r.Curve.Points, r.Curve.Stopped, r.Curve.Knee, r.Curve.MaxQPS = r.Curve.Points[:4], "", nil, nil
			for _, i := range r.Curve.Points {
				r.Points[i].Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Undecided}}
			}
		}), "TOO CLOSE TO CALL: no level of 4 could be decided, and none missed an objective: give each level more time (--duration)"},
		{"levels of which one objective is open", changed(curveSample(), func(r *result.Result) {
			r.Curve.Points, r.Curve.Stopped, r.Curve.Knee = r.Curve.Points[:4], "", nil
			r.Curve.MaxQPS.ByObjective = map[string]result.HighestMet{"ttft:p99<500ms": {}, "tpot:p99<50ms": {Rate: 20}}
			for _, i := range r.Curve.Points {
				r.Points[i].Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Undecided, N: 20, Needed: 6000}, {Objective: "tpot:p99<50ms", Standing: slo.Met}}
			}
		}), "TOO FEW REQUESTS: tpot:p99<50ms is met up to 20; ttft:p99<500ms could be decided at no level of 4, and none missed it: give each level more time (--duration 5m)"},
		{"a regression", comparisonSample(), "WORSE: tpot:p50 slower by 5.1%; too close to call: ttft:p99"},
		{"a matrix", matrixSample(), "MEASURED: 3 stages; 1 as expected, 1 not"},
		{"a matrix that was stopped", changed(matrixSample(), func(r *result.Result) { r.Stages[2].Point = nil }), "MEASURED: 2 stages; 1 as expected, 1 not"},
		{"repeats", repeatsSample(), "MET  every objective in each of 3 runs at 20 requests/s"},
		{"repeats of which one misses", changed(repeatsSample(), func(r *result.Result) {
			r.Verdict.SLO, r.Points[1].Objectives = "missed", missedSample().Points[0].Objectives
		}), "MISSED  in 1 of 3 runs at 20 requests/s"},
		{"an invalid search", changed(limitSample(), func(r *result.Result) { r.Verdict.Valid = "no" }),
			"INVALID  the figures below are unproven"},
		{"a search of which nothing was answered", changed(limitSample(), func(r *result.Result) {
			for i := range r.Points {
				requests := &r.Points[i].Requests
				requests.OK, requests.Failed, requests.Faults = 0, requests.Due, map[string]int{"timeout": requests.Due}
			}
		}), "NOTHING SERVED: none of 960 requests succeeded: 960 failed (timeout 960)"},
	} {
		lines := newPage(tt.result, glance).headlines(tt.result)
		if len(lines) != 1 {
			t.Errorf("%s: %d headlines", tt.name, len(lines))
			continue
		}
		expect.NoDiff(t, cmp.Diff(tt.want, document.PlainSpaces(lines[0].word+lines[0].why)), "%s (-want +got)", tt.name)
	}
}

// TestOnlyTheSustainedRunIsToldInFull: levels of a sweep have one row each.
func TestOnlyTheSustainedRunIsToldInFull(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		result *result.Result
		want   []int
	}{
		{"a plain run", metSample(), []int{0}},
		{"two plain points", twoPointsSample(), []int{0, 1}},
		{"a limit", limitSample(), []int{4}},
		{"a curve", curveSample(), nil},
		{"a matrix", matrixSample(), nil},
		{"repeats", repeatsSample(), []int{3}},
		{"a sustained run that is not there", changed(limitSample(), func(r *result.Result) { r.Sustained = new(99) }), nil},
	} {
		expect.NoDiff(t, cmp.Diff(tt.want, detailedPoints(tt.result)), "%s (-want +got)", tt.name)
	}
}

// TestProbesAreHollow: in the table and in the picture.
func TestProbesAreHollow(t *testing.T) {
	t.Parallel()
	r := limitSample()
	var out strings.Builder
	must.Do(t, Terminal(&out, r, TerminalOptions{Width: 80}))
	_, table, _ := strings.Cut(out.String(), "\nrequests/s  ")
	var signs []string
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 5 && (fields[0] == FullSign || fields[0] == HollowSign) && len(signs) < len(sweepLevels) {
			signs = append(signs, fields[0])
		}
	}
	expect.Same(t, []string{"○", "○", "●", "●", "●", "●", "●", "○"}, signs)
	chart := latencyChart(r, chartedLatencies(r)[0])
	for i, p := range chart.Lines[0].Points {
		if hollow := sweepLevels[i].seconds < 60; p.Hollow != hollow {
			t.Errorf("the point at %g is hollow: %v, want %v", p.X, p.Hollow, hollow)
		}
	}
}

// TestTheBindingObjectiveIsChartedFirst: also where it was not written first.
func TestTheBindingObjectiveIsChartedFirst(t *testing.T) {
	t.Parallel()
	r := limitSample()
	r.Limit.Binding = "tpot:p99<50ms"
	var rows []string
	for _, c := range chartedLatencies(r) {
		rows = append(rows, c.row.key+" "+c.stat)
	}
	expect.Same(t, []string{"tpot_ms p99", "ttft_due_ms p99"}, rows)
}

// TestSweepsOfConcurrencies: a closed loop has its axis too.
func TestSweepsOfConcurrencies(t *testing.T) {
	t.Parallel()
	r := curveSample()
	r.Curve.By, r.Curve.Knee = "concurrency", nil
	for i := range r.Points {
		r.Points[i].Load = result.Load{Mode: "closed", Concurrency: new(1 << i)}
	}
	var out strings.Builder
	must.Do(t, Terminal(&out, r, TerminalOptions{}))
	for _, want := range []string{"HELD: 16 in flight met every objective; the limit lies between 16 and 32 in flight", "\nin flight  ", "requests in flight (logarithmic)\n", "○ 128"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestSamplesFollowTheSchema: what is shown here is what a document can say.
func TestSamplesFollowTheSchema(t *testing.T) {
	t.Parallel()
	text := must.Get(schema.Get("result"))(t)
	document := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource("result", document))
	compiled := must.Get(compiler.Compile("result"))(t)
	for _, s := range []sample{{"curve", curveSample()}, {"limit", limitSample()}, {"comparison", comparisonSample()}, {"matrix", matrixSample()}} {
		if s.result.Points == nil {
			s.result.Points = []result.Point{}
		}
		encoded := must.Get(json.Marshal(s.result))(t)
		value := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(encoded)))(t)
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

// unjudged takes the objectives from every level.
func unjudged(r *result.Result) {
	for i := range r.Points {
		r.Points[i].Objectives, r.Points[i].Window.Overload = nil, nil
	}
}

// Where nothing was missed the mark in the curve says so too.
func TestLimitMark(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		standing result.LimitStanding
		want     string
	}{
		{result.LimitAtLeast, "limit at least 433"},
		{result.LimitFound, "limit 433 (400–450)"},
	} {
		if got := limitMark(&result.Limit{Rate: 433, Interval: [2]float64{400, 450}, Standing: tt.standing}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.standing, got, tt.want)
		}
	}
}

// A limit of which little is known ends with what is known.
func TestLimitHeadlineEndsWithAWord(t *testing.T) {
	t.Parallel()
	for _, held := range []*result.HeldRate{nil, {Rate: 17.4, Seconds: 180}} {
		for _, binding := range []string{"", "ttft:p99<500ms"} {
			for _, standing := range []result.LimitStanding{result.LimitFound, result.LimitWide, result.LimitAtLeast, result.LimitBelow, result.LimitNeeds} {
				r := &result.Result{Limit: &result.Limit{Rate: 18, Interval: [2]float64{17, 19}, Standing: standing, Binding: binding, Held: held}}
				if why := document.PlainSpaces(limitHeadline(r).why); strings.HasSuffix(strings.TrimSpace(why), ";") || strings.Contains(why, ";;") || strings.Contains(why, "  ") {
					t.Errorf("%s, held %v, by %q: %q", standing, held, binding, why)
				}
			}
		}
	}
}
