package report

import (
	"slices"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

const (
	explainWidth = 22
	stampsMeant  = "times are arrivals at this machine; due is when the schedule wanted the request, slot when the cap let it through, " +
		"conn when its connection was ready, sent just before its first byte, first and last its first and last output, answer the first that is not reasoning"
)

// explain writes the formula of every figure that the page shows, in the order
// of the definitions, and why some checks could not be made.
func (p *page) explain(r *result.Result) {
	p.gap()
	p.line(p.paint(bold, "what the figures mean"))
	p.explained("stamps", stampsMeant)
	for _, definition := range metric.Definitions {
		if !slices.Contains(p.shown, definition.Name) {
			continue
		}
		text := definition.Formula
		if definition.Note != "" {
			text += "; " + definition.Note
		}
		p.explained(shownAs(definition.Name), text)
	}
	if len(r.Verdict.Unchecked) == 0 {
		return
	}
	p.gap()
	p.line(p.paint(bold, "what was not checked"))
	for _, u := range r.Verdict.Unchecked {
		p.explained(label(u.Name), clean(u.Why))
	}
}

// shownNames are the figures that a page calls by other words than the
// definitions do.
var shownNames = map[string]string{
	"offered_rate": "due per second", "sent_rate": "sent per second", "completed_rate": "completed per second", "ended_rate": "within the window",
	"output_tokens_per_s": "output tokens/s", "prompt_tokens_per_s": "prompt tokens/s",
	"concurrency": "in flight", "fluidity": "tokens on time", "good_fraction": "met every objective",
	"error_rate": "error rate", "reject_rate": "reject rate", "retry_rate": "retry rate",
	"prefix_hit_rate": "cache", "inputs_per_s": "inputs/s", "joules_per_output_token": "J/token", "prefill_slope": "prompts", "mbu": "peak bandwidth", "mfu": "peak arithmetic",
}

// shownAs is the name under which the page above has a figure.
func shownAs(name string) string {
	for _, row := range latencyRows {
		if row.key == name+"_ms" {
			return row.name
		}
	}
	if shown, other := shownNames[name]; other {
		return shown
	}
	return name
}

func (p *page) explained(name, text string) {
	p.hang(indent+padRight(name, explainWidth)+indent, text)
}
