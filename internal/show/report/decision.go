package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"redline/internal/judge/slo"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/document"
	"redline/internal/text"
)

var errNoTuning = errors.New("the result is not that of a tuning: there is no decision to record")

// Decision writes the record of a tuning: the target, the settings to keep and
// those that were rejected, each with its reason, the percentiles and the cost,
// and why nothing more was tried. It is for whoever asks in half a year.
func Decision(w io.Writer, r *result.Result) error {
	switch {
	case r == nil:
		return ErrNoResult
	case r.Tuning == nil:
		return errNoTuning
	}
	p := newPage(r, whole)
	p.Title = clean("Decision: " + joinDots(r.Label, r.Model.Name, strings.TrimSpace(r.Engine.Name+" "+r.Engine.Version)))
	p.lead(tuningHeadline(r.Tuning))
	if r.Verdict.Valid == result.Invalid {
		p.Headline("INVALID: ", lost, clean(strings.Join(r.Verdict.Reasons, "; ")))
	}
	if r.Interrupted != "" {
		p.Headline("Cut short: ", unset, clean(r.Interrupted))
	}
	p.Field("date", text.Moment(r.Started))
	p.Field("stopped because", clean(r.Tuning.Stopped))
	p.Field("took", tookWords(r.Tuning))
	p.target(r)
	p.acceptedSettings(r)
	p.triedValues(r.Tuning)
	p.winner(r)
	p.tuningPoints(r)
	p.Section("Evidence")
	p.Field("runs", "each run has its plan, records, result and the server's log under stages/ beside this file")
	p.Field("baseline", joinDots(flagWords(r.Tuning.Baseline), plural(r.Tuning.BaselineRuns, "sound run"), spreadWords(r.Tuning)))
	if r.Command != "" {
		p.Add(document.Code{r.Command}) // without escapes: it is for a shell
	}
	return document.Markdown(w, &p.Document, 1)
}

// target is what the settings are to be good for.
func (p *page) target(r *result.Result) {
	p.Section("Target")
	p.Field("workload", clean(r.Workload.Name))
	if len(r.Points) > 0 {
		p.Field("load", loadPhrase(&r.Points[0]))
	}
	p.Field("objectives", clean(cmp.Or(strings.Join(ObjectiveTexts(r), ", "), "none stated")))
	p.Field("better is", clean(strings.Join(r.Tuning.Objective, ", then "))+
		"; differences up to "+percent(r.Tuning.Tolerance)+" do not matter")
	p.Field("hardware", clean(model(result.Model{}, r.Hardware)))
	p.Field("redline", clean(r.Version))
	p.Add(document.Code{r.Tuning.Command})
}

// acceptedSettings lists all settings, changed or not: the winner's are to be kept,
// unless the turns with the baseline did not show that it is better.
func (p *page) acceptedSettings(r *result.Result) {
	p.Section("Accepted settings")
	t, keep := r.Tuning, r.Tuning.Winner
	if t.Standing == slo.Unconfirmed && r.Comparison != nil {
		keep = t.Baseline
	}
	grid := document.NewTable(left("setting"), left("baseline"), left("keep"), left("because"))
	for i, f := range keep {
		why := "no other value was shown to be better"
		for _, s := range t.Steps {
			if f != t.Baseline[i] && s.Knob == f.Name && s.To == f.Value && s.Decision == slo.Accepted {
				why = s.Why
			}
		}
		grid.Add(clean(f.Name), clean(t.Baseline[i].Value), clean(f.Value), clean(why))
	}
	p.Add(grid)
}

// triedValues lists every value that was tried, with what came of it.
func (p *page) triedValues(t *result.Tuning) {
	p.Section("What was tried, and what became of it")
	if len(t.Steps) == 0 {
		p.Note("Nothing beyond the baseline.")
		return
	}
	grid := document.NewTable(left("value"), left("in place of"), left("decision"), left("what moved"), right("start-up"), left("hypothesis"), left("risk"))
	for _, s := range t.Steps {
		grid.Add(clean(s.Knob+"="+s.To), clean(s.From), plainWord(s.Decision), clean(s.Why), startUp(s.StartUpS), clean(s.Hypothesis), clean(s.Risk))
	}
	p.Add(grid)
	if slices.ContainsFunc(t.Steps, func(s result.TuningStep) bool { return len(s.Moves) > 0 }) {
		p.Note("Each p here compares one run with one other and is not corrected for how many values were tried: it picks what is " +
			"worth confirming. Only the interleaved rounds confirm.")
	}
	for _, s := range t.Steps {
		if len(s.Log) > 0 {
			p.Note("The end of the log with " + clean(s.Knob+"="+s.To) + ":")
			p.Add(document.Code(s.Log))
		}
	}
}

// winner sets baseline and winner side by side, over the turns.
func (p *page) winner(r *result.Result) {
	c := r.Comparison
	if c == nil || len(c.Metrics) == 0 {
		return
	}
	p.Section(fmt.Sprintf("Winner against baseline, %d interleaved rounds", c.Rounds))
	p.changes(c, left("figure"), right("baseline"), right("winner"), right("change"), right("95% interval"), right("p"), right("Wilcoxon p"), left("verdict"))
	p.Field("test", clean(c.Test)+"; the decision takes the objective's own p, uncorrected: it was named before")
	p.warn(c.Warnings)
}

// tuningPoints are the single runs of baseline, winner and every other value.
func (p *page) tuningPoints(r *result.Result) {
	t := document.NewTable(left("run"), right("ttft p50/p95/p99"), right("tpot p50/p95/p99"), right("output tokens/s"), right("goodput"), right("cost"))
	cost := func(c result.Cost) string { return amount(c.Per1mOutput, c.Currency) + " per 1M output tokens" }
	add := func(name string, index *int) {
		if index != nil && *index >= 0 && *index < len(r.Points) {
			point := &r.Points[*index]
			t.Add(name, triple(point, "ttft"), triple(point, "tpot"), figure(point.Throughput.Output), goodputCell(nil, point), cmp.Or(ifKnown(point.Cost, cost), "not priced"))
		}
	}
	add("baseline", r.Tuning.BaselinePoint)
	if b, w := r.Tuning.BaselinePoint, r.Tuning.WinnerPoint; b == nil || w == nil || *b != *w {
		add("winner", w)
	}
	for _, s := range r.Tuning.Steps {
		if w := r.Tuning.WinnerPoint; s.Point != nil && (w == nil || *w != *s.Point) {
			add(clean(s.Knob+"="+s.To)+", "+plainWord(s.Decision), s.Point)
		}
	}
	if len(t.Rows) > 0 {
		p.Section("Percentiles")
		p.Add(t)
	}
}

// triple is a latency in milliseconds at the percentiles that objectives name.
func triple(point *result.Point, name string) string {
	dist := point.Latency.JudgedDist(name)
	var parts []string
	for _, key := range []string{"p50", "p95", "p99"} {
		v, ok := dist.Get(key)
		if !ok {
			return absent
		}
		parts = append(parts, strings.TrimSpace(figure(v)))
	}
	return strings.Join(parts, " / ") + " ms"
}
