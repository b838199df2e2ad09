package experiment

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/traffic/workload"
)

// Rows are those of a matrix where the plan has none of its own: one shape
// after another, each of which differs in one thing from the row that it is
// compared with.
var Rows = []config.Row{
	{Name: "A", About: "short chat", Workload: shape(256, 128), Concurrency: 1, Pace: time.Second,
		Hypothesis:  "Alone on the server nothing waits: this is the floor that the other rows are compared with.",
		Question:    "What is the single-user interactive baseline?",
		Expectation: []string{"error:rate<1%"}},
	{Name: "B", About: "long prefill", Workload: shape(2048, 128), Concurrency: 1, Pace: time.Second,
		Hypothesis:  "Prefill is arithmetic: a prompt eight times as long delays the first token and leaves decode as it is.",
		Question:    "How much does long prefill raise TTFT?",
		Expectation: []string{"ttft:p50 >= 2x A", "tpot:p50 within 25% of A"}},
	{Name: "C", About: "long decode", Workload: shape(256, 1024), Concurrency: 1, Pace: time.Second, Requests: longRequests,
		Hypothesis:  "Decode is memory traffic: an answer eight times as long takes as much longer, each token the same time.",
		Question:    "What is the single-stream decode speed?",
		Expectation: []string{"e2e:p50 >= 4x A", "tpot:p50 within 25% of A"}},
	{Name: "D-single", About: "both long, alone", Workload: shape(2048, 1024), Concurrency: 1, Requests: longRequests,
		Hypothesis:  "The two phases add up: prefill as in B, decode as in C.",
		Question:    "What does the mixed shape cost before anything shares the server?",
		Expectation: []string{"ttft:p50 within 50% of B", "tpot:p50 within 25% of C"}},
	{Name: "D", About: "saturation", Workload: shape(2048, 1024), Concurrency: 8,
		Hypothesis:  "Eight streams share every read of the weights: together they are several times as fast, each a little slower.",
		Question:    "Where does the mixed workload saturate?",
		Expectation: []string{"throughput >= 3x D-single", "tpot:p50 <= 2x D-single"}},
	{Name: "E-cold", About: "shared prefix", Workload: prefixed("cold"), Concurrency: 16,
		Hypothesis:  "Without a cache every request prefills its whole prompt.",
		Question:    "What does the long prompt cost when no prefix is found?",
		Expectation: []string{"error:rate<1%"}},
	{Name: "E", About: "prefix, warm", Workload: prefixed("warm"), Concurrency: 16,
		Hypothesis:  "With a warm prefix only the rest of the prompt is computed.",
		Question:    "How much does prefix reuse reduce TTFT?",
		Expectation: []string{"ttft:p50 <= 0.5x E-cold"}},
	{Name: "F", About: "production estimate",
		Hypothesis:  "What the fixed shapes showed holds for the real mix at the real rate.",
		Question:    "Does the synthetic conclusion survive realism?",
		Expectation: []string{"objectives", "tpot:p50 <= 3x A"}},
}

// longRequests is how many long answers are waited for, one after another: a
// window of a minute might hold none of a slow server's.
const longRequests = 8

// shape is a workload of fixed lengths.
func shape(prompt, output int) workload.Spec {
	return workload.Spec{Traffic: workload.Traffic{Prompt: &workload.Dist{Fixed: prompt}, Output: &workload.Dist{Fixed: output}}}
}

// prefixed is 4096 tokens of prompt of which all but 256 are shared.
func prefixed(cache string) workload.Spec {
	s := shape(256, 256)
	s.Prefix, s.Cache = &workload.Prefix{Groups: 1, Tokens: 3840}, cache
	return s
}

// rowLength is how long a row is measured: the shortest that is no probe.
const rowLength = time.Minute

// Matrix runs one row after another and compares each with what was expected
// of it; or, where the plan names optimizations, each with and without.
func Matrix(ctx context.Context, o Options) (*result.Result, string, error) {
	return conduct(ctx, o, "matrix", func(x *conductor) error {
		if len(o.Config.Experiment.Toggles) > 0 {
			return x.toggles(ctx)
		}
		return x.matrix(ctx)
	})
}

func (x *conductor) matrix(ctx context.Context) error {
	rows := matrixRows(x.Config)
	for _, row := range rows {
		if err := x.row(ctx, row); err != nil {
			return err
		}
		if slices.Contains(row.Expectation, "objectives") {
			// The other rows are instruments: only of these is it asked
			// whether they meet the objectives.
			if x.rows[row.Name] == nil {
				x.unsupported("%s, which asks for the objectives, is left out", row.Name)
				continue
			}
			x.res.Verdict.SLO = slo.Overall(x.rows[row.Name].Objectives)
		}
	}
	if left := len(rows) - len(x.rows); 2*left > len(rows) {
		x.unsupported("%d of %d rows are left out", left, len(rows))
	}
	return nil
}

// matrixRows are the rows that a plan asks for, or those built in.
func matrixRows(c *config.Config) []config.Row {
	if len(c.Experiment.Rows) > 0 {
		return c.Experiment.Rows
	}
	return Rows
}

// row runs one row and answers its expectations.
func (x *conductor) row(ctx context.Context, r config.Row) error {
	res, err := x.figuresOf(ctx, x.rowStage(r))
	if err != nil {
		return err
	}
	point, entry := &res.Points[0], x.last()
	entry.Row, entry.Hypothesis, entry.Question = r.Name, r.Hypothesis, r.Question
	entry.Expectation = strings.Join(r.Expectation, "; ")
	if x.leftOut != "" {
		entry.Outcome = "left out, not valid: " + x.leftOut
		return x.keep(result.Killed)
	}
	entry.Outcome, entry.Agrees = x.answerRow(r, point)
	if x.rows == nil {
		x.rows = map[string]*result.Point{}
	}
	x.rows[r.Name] = point
	if r.Name == sustainedRow {
		if err := x.judgeAccepted(); err != nil {
			return err
		}
	}
	if reflect.ValueOf(r.Workload).IsZero() && r.Profile == "" {
		// Of all rows these are the ones that the whole is about.
		x.res.Workload = res.Workload
		x.res.Workload.Point = len(x.res.Points) - 1
	}
	return x.keep(result.Killed)
}

// sustainedRow is the row that the stopping rule is about.
const sustainedRow = "sustained"

// answerRow compares a row's expectations with its point: refuted if one is,
// undecided if one is, else confirmed.
func (x *conductor) answerRow(r config.Row, point *result.Point) (string, *bool) {
	var outcomes []string
	agrees, decided := true, true
	for _, text := range r.Expectation {
		e, err := config.ParseExpectation(text)
		if err != nil {
			return err.Error(), nil
		}
		outcome, ok := weigh(e, point, x.rows)
		outcomes = append(outcomes, outcome)
		decided = decided && ok != nil
		agrees = agrees && (ok == nil || *ok)
	}
	if agrees && !decided || len(outcomes) == 0 {
		return strings.Join(outcomes, "; "), nil
	}
	return strings.Join(outcomes, "; "), &agrees
}

func rowName(r config.Row) string { return strings.TrimSpace(r.Name + " " + r.About) }

// rowStage is the run of a row. A row that says nothing of its load or its
// workload has the plan's.
func (x *conductor) rowStage(r config.Row) Stage {
	return x.stage(rowName(r), "row", func(c *config.Config) {
		if !reflect.ValueOf(r.Workload).IsZero() {
			c.Workload = r.Workload
		}
		if r.Rate > 0 || r.Concurrency > 0 || r.Profile != "" {
			c.Load.Rate, c.Load.Profile, c.Load.Bounds.Pace = r.Rate, r.Profile, r.Pace
		}
		// An open row that names no cap keeps the plan's, as a search does.
		c.Load.Bounds.MaxConcurrency = cmp.Or(r.Concurrency, c.Load.Bounds.MaxConcurrency)
		switch {
		case !c.Load.Open():
			c.Load.Process = ""
		case c.Load.Process == "":
			c.Load.Process = "poisson"
		}
		if r.Generation != "" {
			c.Generation = workload.Generation{Preset: r.Generation}
		}
		x.boundRow(c, r)
	})
}

// boundRow gives a row its length and its warm-up. A trace that comes as it was
// recorded has both of its own, unless the row says otherwise.
func (x *conductor) boundRow(c *config.Config, r config.Row) {
	b, open := &c.Load.Bounds, r.Duration == 0 && r.Requests == 0
	if open && c.Recorded() {
		return
	}
	b.TotalRequests, b.Duration = x.fewer(r.Requests), r.Duration
	if open {
		b.Duration = rowLength
	}
	b.Duration = x.scaled(b.Duration)
	if b.Warmup == nil && !c.Recorded() {
		b.Warmup = new(x.scaled(rowWarmup))
	}
}

// rowWarmup is what a change of shape needs to settle on a warm server.
const rowWarmup = 10 * time.Second

// shortest is what scaling leaves of any stage.
const shortest = 100 * time.Millisecond

// scaled is a length by the plan's factor; none stays none.
func (x *conductor) scaled(d time.Duration) time.Duration { return scaledBy(x.Config, d) }

func scaledBy(c *config.Config, d time.Duration) time.Duration {
	if s := c.Experiment.Scale; s > 0 && s < 1 && d > 0 {
		return max(time.Duration(float64(d)*s), min(shortest, d)).Round(time.Millisecond)
	}
	return d
}

// fewer is a number of requests by the plan's factor: of several at least two,
// so that there is something to compare.
func (x *conductor) fewer(requests int) int {
	if s := x.Config.Experiment.Scale; s > 0 && s < 1 && requests > 2 {
		return max(2, int(float64(requests)*s))
	}
	return requests
}
