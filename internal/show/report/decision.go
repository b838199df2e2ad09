package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"redline/internal/judge/result"
)

var errNoTuning = errors.New("the result is not that of a tuning: there is no decision to record")

// Decision writes the record of a tuning: the target, the settings to keep and
// those that were rejected, each with its reason, the percentiles and the cost,
// and why nothing more was tried. It is for whoever asks in half a year.
func Decision(w io.Writer, r *result.Result) error {
	switch {
	case r == nil:
		return errNoResult
	case r.Tuning == nil:
		return errNoTuning
	}
	d := decision{result: r, tuning: r.Tuning}
	d.answer()
	d.target()
	d.accepted()
	d.rejected()
	d.percentiles()
	d.evidence()
	_, err := io.WriteString(w, strings.TrimRight(d.out.String(), "\n")+"\n")
	return err
}

// decision is a record in the making.
type decision struct {
	markdown
	result *result.Result
	tuning *result.Tuning
}

func (d *decision) fact(key, text string) {
	if text != "" {
		d.out.WriteString("- **" + key + "** " + escaped(text) + "\n")
	}
}

func (d *decision) heading(text string) {
	d.gap()
	d.block("## " + text)
}

// gap leaves one empty line before what follows.
func (d *decision) gap() {
	if text := d.out.String(); text != "" && !strings.HasSuffix(text, "\n\n") {
		d.out.WriteByte('\n')
	}
}

func (d *decision) answer() {
	r := d.result
	title := joined(r.Label, r.Model.Name, strings.TrimSpace(r.Engine.Name+" "+r.Engine.Version))
	d.block("# Decision: " + escaped(clean(title)))
	h := tuningHeadline(d.tuning)
	d.block("**" + escaped(strings.TrimSpace(h.word)) + "** " + escaped(h.why))
	if r.Verdict.Valid == result.Invalid {
		d.block("**INVALID:** " + escaped(clean(strings.Join(r.Verdict.Reasons, "; "))))
	}
	if r.Interrupted != "" {
		d.block("_Cut short: " + escaped(clean(r.Interrupted)) + "_")
	}
	d.fact("date", r.Started.Format("2006-01-02 15:04 MST"))
	d.fact("stopped because", clean(d.tuning.Stopped))
	d.fact("took", tookWords(d.tuning))
}

// target is what the settings are to be good for.
func (d *decision) target() {
	r := d.result
	d.heading("Target")
	d.fact("workload", clean(r.Workload.Name))
	if len(r.Points) > 0 {
		d.fact("load", loadPhrase(&r.Points[0]))
	}
	promises := strings.Join(objectiveTexts(r), ", ")
	if promises == "" {
		promises = "none stated"
	}
	d.fact("objectives", clean(promises))
	d.fact("better is", clean(strings.Join(d.tuning.Objective, ", then "))+
		"; differences up to "+percent(d.tuning.Tolerance)+" do not matter")
	d.fact("hardware", clean(model(result.Model{}, r.Hardware)))
	d.fact("redline", clean(r.Version))
	d.gap()
	d.fence(d.tuning.Command)
}

// fence shows lines as they are.
func (d *decision) fence(lines ...string) {
	text := strings.ReplaceAll(strings.Join(lines, "\n"), "```", "'''")
	d.block("```text\n" + text + "\n```")
}

// accepted lists all settings, changed or not.
func (d *decision) accepted() {
	d.heading("Accepted settings")
	t := table{columns: []column{{head: cell{text: "setting"}}, {head: cell{text: "baseline"}}, {head: cell{text: "keep"}}, {head: cell{text: "because"}}}}
	for i, f := range d.recommended() {
		t.rows = append(t.rows, []cell{{text: clean(f.Name)}, {text: clean(d.tuning.Baseline[i].Value)}, {text: clean(f.Value)}, {text: d.because(f, i)}})
	}
	d.grid(t)
}

// recommended are the settings to keep: the winner's, unless the turns with the
// baseline did not show that it is better.
func (d *decision) recommended() []result.Flag {
	if d.tuning.Standing == result.TuningUnconfirmed && d.result.Comparison != nil {
		return d.tuning.Baseline
	}
	return d.tuning.Winner
}

func (d *decision) because(f result.Flag, i int) string {
	if f == d.tuning.Baseline[i] {
		return "no other value was shown to be better"
	}
	why := ""
	for _, s := range d.tuning.Steps {
		if s.Knob == f.Name && s.To == f.Value && s.Decision == result.StepAccepted {
			why = s.Why
		}
	}
	return clean(why)
}

// rejected lists every value that was tried, with what came of it.
func (d *decision) rejected() {
	d.heading("What was tried, and what became of it")
	t := table{columns: []column{{head: cell{text: "value"}}, {head: cell{text: "in place of"}}, {head: cell{text: "decision"}},
		{head: cell{text: "what moved"}}, {head: cell{text: "start-up"}, align: alignRight}, {head: cell{text: "hypothesis"}}}}
	for _, s := range d.tuning.Steps {
		t.rows = append(t.rows, []cell{{text: clean(s.Knob + "=" + s.To)}, {text: clean(s.From)}, {text: plainWord(s.Decision)}, {text: clean(s.Why)},
			{text: startUp(s.StartUpS)}, {text: clean(s.Hypothesis)}})
	}
	if len(t.rows) == 0 {
		d.block("Nothing beyond the baseline.")
		return
	}
	d.grid(t)
	if slices.ContainsFunc(d.tuning.Steps, func(s result.TuningStep) bool { return len(s.Moves) > 0 }) {
		d.block("_Each p here is that of one run held against one, not corrected for how many values were tried: it picks what is " +
			"worth confirming. Only the rounds by turns confirm._")
	}
	for _, s := range d.tuning.Steps {
		if len(s.Log) > 0 {
			d.block("The end of the log with " + escaped(clean(s.Knob+"="+s.To)) + ":")
			d.fence(s.Log...)
		}
	}
}

// percentiles sets the figures of baseline and winner side by side: over the
// turns where there were some.
func (d *decision) percentiles() {
	if c := d.result.Comparison; c != nil && len(c.Metrics) > 0 {
		d.heading(fmt.Sprintf("Winner against baseline, %d rounds by turns", c.Rounds))
		d.changes(c.Metrics)
		d.fact("test", clean(c.Test))
		for _, w := range c.Warnings {
			d.fact("warning", clean(strings.TrimPrefix(w.Figure+": "+w.Text, ": ")))
		}
	}
	d.points()
}

func (d *decision) changes(list []result.Change) {
	t := table{columns: []column{{head: cell{text: "figure"}}, {head: cell{text: "baseline"}, align: alignRight}, {head: cell{text: "winner"}, align: alignRight},
		{head: cell{text: "change"}, align: alignRight}, {head: cell{text: "95% interval"}, align: alignRight}, {head: cell{text: "p"}, align: alignRight}, {head: cell{text: "verdict"}}}}
	for i := range list {
		t.rows = append(t.rows, changeRow(&list[i]))
	}
	d.grid(t)
}

// points are the single runs of baseline and winner.
func (d *decision) points() {
	t := table{columns: []column{{head: cell{text: "run"}}, {head: cell{text: "ttft p50/p95/p99"}, align: alignRight}, {head: cell{text: "tpot p50/p95/p99"}, align: alignRight},
		{head: cell{text: "output tokens/s"}, align: alignRight}, {head: cell{text: "goodput"}, align: alignRight}, {head: cell{text: "cost"}, align: alignRight}}}
	var seen []int
	for _, one := range []struct {
		name  string
		index *int
	}{{"baseline", d.tuning.BaselinePoint}, {"winner", d.tuning.WinnerPoint}} {
		if one.index == nil || *one.index < 0 || *one.index >= len(d.result.Points) || len(seen) > 0 && seen[0] == *one.index {
			continue
		}
		seen = append(seen, *one.index)
		point := &d.result.Points[*one.index]
		t.rows = append(t.rows, []cell{{text: one.name}, {text: triple(point, "ttft")}, {text: triple(point, "tpot")},
			{text: figure(point.Throughput.Output)}, goodputCell(nil, point), {text: costWords(point)}})
	}
	if len(t.rows) == 0 {
		return
	}
	d.heading("Percentiles")
	d.grid(t)
}

// triple is a latency in milliseconds at the percentiles that promises are made
// of.
func triple(point *result.Point, name string) string {
	dist := point.Latency.Judged(name)
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

// evidence says where to look for the rest.
func (d *decision) evidence() {
	d.heading("Evidence")
	d.fact("command", clean(d.result.Command))
	d.fact("runs", "each run has its plan, records, result and the server's log under stages/ beside this file")
	d.fact("baseline", joined(flagWords(d.tuning.Baseline), plural(d.tuning.BaselineRuns, "sound run"), spreadWords(d.tuning)))
}

// costWords is what a million output tokens cost, where there is a price.
func costWords(point *result.Point) string {
	if point.Cost == nil {
		return "not priced"
	}
	return clean(amount(point.Cost.Per1mOutput, point.Cost.Currency) + " per 1M output tokens")
}
