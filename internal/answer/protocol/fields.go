package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
)

// Fields are what a report of a benchmark has to state, each with where it was
// read.
func Fields(c *config.Config, res *result.Result) []result.Field {
	said := func(key string) string { return c.Metadata[key] }
	objectives := text.Each(c.Objectives, func(o slo.Objective) string { return o.Text })
	// Pass, fail or undecided, and why it may not be trusted.
	word := cmp.Or(map[slo.Standing]string{slo.Met: "pass", slo.Missed: "fail"}[res.Verdict.SLO], "undecided")
	if res.Verdict.Valid == result.Invalid {
		word += ", but the run is not valid"
	}
	list := []result.Field{
		{Name: "Model and revision", Value: text.Join(", ", res.Model.Name, res.Model.Revision), Field: "model.name, model.revision"},
		{Name: "Tokenizer and chat template", Value: text.Join(", ", tokenizer(res), template(res)), Field: "model.tokenizer, workload.tokenizer, workload.template_hash"},
		{Name: "Runtime and version", Value: text.Join(", ", res.Engine.Name, res.Engine.Version), Field: "engine.name, engine.version"},
		{Name: "Hardware and driver", Value: text.Join(", ", res.Hardware.String(), withName("driver ", res.Hardware.Driver), withName("CUDA ", res.Hardware.CUDA)), Field: "hardware"},
		{Name: "Precision", Value: text.Join(", ", res.Model.Precision, res.Model.Quantization), Field: "model.precision, model.quantization"},
		{Name: "Serving flags", Value: text.Join(", ", res.Engine.Parallelism, listSettings(res.Engine.Flags), listSettings(res.Engine.Declared)), Field: "engine.parallelism, engine.flags, engine.declared"},
		{Name: "Traffic mix", Value: c.Workload.Mix(), Field: "plan.workload"},
		{Name: "SLO target", Value: strings.Join(objectives, ", "), Field: "plan.sla_thresholds"},
		{Name: "Pass or fail", Value: word, Field: "verdict"},
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

// listSettings are settings by their names, in one order.
func listSettings(settings map[string]string) string {
	var parts []string
	for name, value := range settings {
		parts = append(parts, name+" "+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// withName is a text behind its name, "" where there is none.
func withName(name, text string) string {
	if text == "" {
		return ""
	}
	return name + text
}
