package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/run/store"
	"redline/internal/text"
)

// conclude answers what the protocol asks at its end.
func (x *conductor) conclude(found []result.Found) {
	p := &result.Protocol{Preflight: found, Neighbour: x.neighbour, Acceptance: accept(x.Config, x.res)}
	if s := x.Config.Experiment.Scale; s > 0 && s < 1 {
		p.Scale = s
		x.warn("every stage was shortened to %s of its length: what was measured shows the way and is no claim", text.Number(s))
	}
	switch p.Acceptance.Standing {
	case result.AcceptMet:
		x.res.Verdict.SLO = slo.Met
	case result.AcceptNot:
		x.res.Verdict.SLO = slo.Missed
	case result.AcceptUndecided:
		x.res.Verdict.SLO = slo.Undecided
	}
	for _, c := range p.Acceptance.Conditions {
		if c.Standing != result.AcceptMet {
			x.res.Verdict.Reasons = append(x.res.Verdict.Reasons, fmt.Sprintf("stopping rule %s %s: %s", c.Text, c.Standing, c.Outcome))
		}
	}
	p.Fields = fields(x.Config, x.res)
	x.res.Protocol = p
}

// accept answers the stopping rule: not met if a part is not, else undecided if
// a part is, else met.
func accept(c *config.Config, res *result.Result) result.Acceptance {
	conditions, err := c.Experiment.Conditions()
	if err != nil {
		return result.Acceptance{Standing: result.NotStated}
	}
	var out result.Acceptance
	var standings []string
	for _, condition := range conditions {
		answer := result.Condition{Text: condition.Text}
		if condition.Limit > 0 {
			answer.Standing, answer.Outcome = limitAbove(res.Limit, condition.Limit)
		} else {
			answer.Standing, answer.Outcome = atLimit(res, condition.Objective)
		}
		out.Conditions, standings = append(out.Conditions, answer), append(standings, answer.Standing)
	}
	out.Standing = accepted(standings)
	return out
}

// accepted is what all parts of an acceptance together are.
func accepted(parts []string) string {
	return leading(result.NotStated, parts, result.AcceptNot, result.AcceptUndecided, result.AcceptMet)
}

// leading is the first of an order that is among some, otherwise another.
func leading[T comparable](otherwise T, among []T, order ...T) T {
	for _, one := range order {
		if slices.Contains(among, one) {
			return one
		}
	}
	return otherwise
}

// inWords is what is known of a limit.
func inWords(l *result.Limit) string {
	switch {
	case l == nil:
		return "no limit was searched for"
	case l.Standing == result.LimitBelow:
		return "the objectives are met at no rate that was offered"
	case l.Standing == result.LimitAtLeast && !l.Confirmed:
		return fmt.Sprintf("nothing was missed up to %s, but no sustained run held that", text.Unit(text.Digits(l.Rate, 4), l.RateUnit()))
	case l.Standing == result.LimitAtLeast:
		return fmt.Sprintf("the limit is at least %s", text.Unit(text.Digits(l.Rate, 4), l.RateUnit()))
	case l.Held != nil:
		return fmt.Sprintf("the limit is %s, between %s and %s; %s was held", text.Unit(text.Digits(l.Rate, 4), l.RateUnit()),
			text.Digits(l.Interval[0], 4), text.Digits(l.Interval[1], 4), text.Digits(l.Held.Rate, 4))
	}
	return fmt.Sprintf("the limit is %s, between %s and %s", text.Unit(text.Digits(l.Rate, 4), l.RateUnit()), text.Digits(l.Interval[0], 4), text.Digits(l.Interval[1], 4))
}

// limitAbove says whether the limit is above a rate.
func limitAbove(l *result.Limit, rate float64) (standing, outcome string) {
	outcome = inWords(l)
	switch {
	case l == nil:
		return result.AcceptUndecided, outcome
	case l.Standing == result.LimitBelow:
		return result.AcceptNot, outcome
	case l.Standing == result.LimitAtLeast && (l.Rate <= rate || !l.Confirmed):
		return result.AcceptUndecided, outcome
	case l.Standing == result.LimitAtLeast, l.Interval[0] > rate:
		return result.AcceptMet, outcome
	case l.Interval[1] < rate:
		return result.AcceptNot, outcome
	}
	return result.AcceptUndecided, outcome
}

// atLimit judges an objective by the sustained run: the one that held its rate,
// else the last.
func atLimit(res *result.Result, o slo.Objective) (standing, outcome string) {
	if res.Sustained == nil || *res.Sustained >= len(res.Points) {
		return result.AcceptUndecided, "no sustained run was made"
	}
	return bound(&res.Points[*res.Sustained], o)
}

// fields are what a report of a benchmark has to state, each with where it was
// read.
func fields(c *config.Config, res *result.Result) []result.Field {
	said := func(key string) string { return c.Metadata[key] }
	objectives := text.Each(c.Objectives, func(o slo.Objective) string { return o.Text })
	list := []result.Field{
		{Name: "Model and revision", Value: text.Join(", ", res.Model.Name, res.Model.Revision), Field: "model.name, model.revision"},
		{Name: "Tokenizer and chat template", Value: text.Join(", ", tokenizer(res), template(res)), Field: "model.tokenizer, workload.tokenizer, workload.template_hash"},
		{Name: "Runtime and version", Value: text.Join(", ", res.Engine.Name, res.Engine.Version), Field: "engine.name, engine.version"},
		{Name: "Hardware and driver", Value: text.Join(", ", res.Hardware.String(), called("driver ", res.Hardware.Driver), called("CUDA ", res.Hardware.CUDA)), Field: "hardware"},
		{Name: "Precision", Value: text.Join(", ", res.Model.Precision, res.Model.Quantization), Field: "model.precision, model.quantization"},
		{Name: "Serving flags", Value: text.Join(", ", res.Engine.Parallelism, listed(res.Engine.Flags), listed(res.Engine.Declared)), Field: "engine.parallelism, engine.flags, engine.declared"},
		{Name: "Traffic mix", Value: c.Workload.Mix(), Field: "plan.workload"},
		{Name: "SLO target", Value: strings.Join(objectives, ", "), Field: "plan.sla_thresholds"},
		{Name: "Pass or fail", Value: decision(res), Field: "verdict"},
		{Name: "Rollback risk", Value: said("rollback_risk"), Field: "plan.metadata.rollback_risk"},
	}
	for i := range list {
		list[i].Value = cmp.Or(list[i].Value, result.NotStated)
	}
	return list
}

// tokenizer is the model's own, as the plan or the server states it, and what
// counted the tokens where that is another.
func tokenizer(res *result.Result) string {
	own, counted := res.Model.Tokenizer, res.Workload.Tokenizer
	if own == "" || own == counted || counted == "" {
		return cmp.Or(own, counted)
	}
	return own + " (tokens counted by " + counted + ")"
}

func template(res *result.Result) string {
	switch w := res.Workload; {
	case w.TemplateHash != "":
		return "template " + w.TemplateHash
	case w.TemplateTokens != nil:
		return fmt.Sprintf("template of %d tokens", *w.TemplateTokens)
	}
	return ""
}

// listed are settings by their names, in one order.
func listed(settings map[string]string) string {
	var parts []string
	for name, value := range settings {
		parts = append(parts, name+" "+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// called is a text behind its name, "" where there is none.
func called(name, text string) string {
	if text == "" {
		return ""
	}
	return name + text
}

// decision is pass, fail or undecided, and why it may not be trusted.
func decision(res *result.Result) string {
	word := cmp.Or(map[slo.Standing]string{slo.Met: "pass", slo.Missed: "fail"}[res.Verdict.SLO], "undecided")
	if res.Verdict.Valid == result.Invalid {
		word += ", but the run is not valid"
	}
	return word
}

// benchVariants goes through the protocol once for each variant, each in a
// directory of its own below the whole's.
func benchVariants(ctx context.Context, o Options) (*result.Result, string, error) {
	x := &conductor{Options: o, kind: "bench"}
	if err := x.beginVariants(ctx); err != nil {
		return nil, "", err
	}
	p := &result.Protocol{}
	for i, v := range o.Config.Experiment.Variants {
		res, err := x.variant(ctx, i)
		if res != nil {
			x.addVariant(i, v.Name, res, p)
			err = errors.Join(err, x.spend(filepath.Join(x.dir.Path, variantDir(i, v.Name)), o.Config, res))
		}
		switch {
		case err != nil && x.res == nil:
			return x.stoppedVariants(fmt.Errorf("%s: %w", v.Name, err), "")
		case err != nil && !errors.Is(err, context.Canceled):
			return x.res, x.dir.Path, errors.Join(fmt.Errorf("%s: %w", v.Name, err), x.keep(result.Killed))
		case err != nil || res.Interrupted == result.ByUser:
			return x.stoppedVariants(err, result.ByUser)
		case res.Interrupted != "":
			return x.stoppedVariants(err, res.Interrupted)
		}
		if err := x.keep(result.Killed); err != nil {
			return x.res, x.dir.Path, err
		}
	}
	p.Fields = fields(o.Config, x.res)
	return x.res, x.dir.Path, x.keep("")
}

// beginVariants makes or opens the directory of the whole. One that is to be
// replaced stays as it is until the first variant has answered.
func (x *conductor) beginVariants(ctx context.Context) error {
	if err := x.checkDir(); err != nil {
		return err
	}
	if x.Resume == "" && x.Config.Output.Force {
		first, err := x.Config.Variant(0)
		if err != nil {
			return err
		}
		o := x.Options.Options
		o.Config = first
		target, err := measure.Open(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", x.Config.Experiment.Variants[0].Name, err)
		}
		target.Close()
	}
	return x.settle(nil)
}

// stoppedVariants ends a protocol that was interrupted within a variant.
func (x *conductor) stoppedVariants(err error, why string) (*result.Result, string, error) {
	if x.res == nil {
		if x.Resume == "" {
			x.dir.Discard()
		}
		return nil, "", err
	}
	x.res.Interrupted = why
	return x.res, x.dir.Path, x.keep(why)
}

// variantDir is where a variant's protocol is kept, relative to the whole's
// directory: it is a stage that has stages of its own.
func variantDir(i int, name string) string {
	return fmt.Sprintf("%s/%02d-%s", store.StagesDir, i+1, fileName(name))
}

// variant runs one of them, or resumes it.
func (x *conductor) variant(ctx context.Context, i int) (*result.Result, error) {
	c, err := x.Config.Variant(i)
	if err != nil {
		return nil, err
	}
	o := x.Options
	name := x.Config.Experiment.Variants[i].Name
	c.Output.Dir = filepath.Join(x.dir.Path, filepath.FromSlash(variantDir(i, name)))
	o.Config, o.Resume, o.Used = c, "", x.used
	c.Output.Force = true
	if res, same := x.keptVariant(c); same {
		if res != nil && res.Interrupted == "" {
			return res, nil
		}
		o.Resume = c.Output.Dir
	}
	o.say("variant %s", name)
	res, _, err := Bench(ctx, o)
	return res, err
}

// keptVariant is what an earlier attempt left of a variant, nil where it had no
// result yet; same is false where there is nothing that the same plan made.
func (x *conductor) keptVariant(c *config.Config) (res *result.Result, same bool) {
	if x.Resume == "" {
		return nil, false
	}
	dir, err := store.Open(c.Output.Dir)
	if err != nil {
		return nil, false
	}
	settled := *c
	if res, err = dir.Result(); err != nil {
		res = nil
	}
	if was, err := config.Reopen(dir.PlanPath()); err == nil && !c.Embedded() && c.Provider.Model == "" {
		settled.Provider.Model = was.Provider.Model
	}
	same, err = samePlan(dir, &settled)
	return res, same && err == nil
}

// addVariant takes the answers of a variant into the whole: its point at the
// limit, and a line of its own.
func (x *conductor) addVariant(i int, name string, res *result.Result, p *result.Protocol) {
	if x.res == nil {
		x.res = x.blank(res)
		x.res.Limit, x.res.Curve, x.res.Sustained, x.res.Checklist = nil, nil, nil, nil
		x.res.Verdict.SLO = res.Verdict.SLO
	}
	dir := variantDir(i, name)
	line := result.Variant{Name: name, Dir: dir, Model: res.Model.Name, Engine: res.Engine.Name, Limit: res.Limit,
		Valid: res.Verdict.Valid, SLO: res.Verdict.SLO}
	entry := result.Stage{Name: name, Dir: dir, Purpose: "variant", Outcome: inWords(res.Limit),
		Expectation: strings.Join(x.Config.Experiment.Accept, "; ")}
	if res.Protocol != nil {
		line.Acceptance, p.Scale, p.Preflight = res.Protocol.Acceptance, res.Protocol.Scale, res.Protocol.Preflight
		entry.Agrees = answered(line.Acceptance.Standing)
	}
	if res.Sustained != nil && *res.Sustained < len(res.Points) {
		point := res.Points[*res.Sustained]
		point.Name = name
		x.res.Points = append(x.res.Points, point)
		entry.Point = new(len(x.res.Points) - 1)
	}
	x.res.Stages = append(x.res.Stages, entry)
	x.adopt(name, res)
	x.res.Verdict.SLO = leading(res.Verdict.SLO, []slo.Standing{x.res.Verdict.SLO, res.Verdict.SLO}, slo.Missed, slo.Undecided)
	p.Variants = append(p.Variants, line)
	standings := text.Each(p.Variants, func(v result.Variant) string { return v.Acceptance.Standing })
	p.Acceptance = result.Acceptance{Standing: accepted(standings)}
	x.res.Protocol = p
}
