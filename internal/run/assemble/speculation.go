package assemble

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// doubtGuesses says where the share of guesses that were right is not one of real
// text: a server that accepts at a given rate, and prompts that nobody wrote.
func (in Run) doubtGuesses(res *result.Result) {
	if in.Server == nil || in.Server.SpecAcceptance == nil || res.Engine.Embedded {
		return
	}
	stated := []string{in.Plan.Metadata.Get("flags"), in.Plan.Server.Command}
	for _, name := range slices.Sorted(maps.Keys(res.Engine.Flags)) {
		stated = append(stated, name+"="+res.Engine.Flags[name])
	}
	for _, e := range engine.All() {
		for _, word := range e.Forced {
			if slices.ContainsFunc(stated, func(s string) bool { return strings.Contains(s, word) }) {
				res.Warnings = append(res.Warnings, result.Warning{Figure: "server", Text: fmt.Sprintf(
					"the server accepts drafts at a rate that was set (%s), right or wrong: the times hold for that rate, and the text is no answer", strings.Trim(word, `'"`))})
				return
			}
		}
	}
	if isScheduled(in.Server.SpecByPlace) {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "server", Text: fmt.Sprintf(
			"drafts are accepted to a place and no further (%s by place), as vLLM does where its acceptance length is set: the times hold for that length, and the text is no answer",
			strings.Join(percents(in.Server.SpecByPlace), " "))})
		return
	}
	if !in.Plan.Workload.HasText() {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "server", Text: "the server drafts tokens, and the prompts are made up: how many are accepted, and how much that saves, is not that of real text; " +
			"give prompts as users write them (--workload FILE), or set the acceptance that you know"})
	}
}

// isScheduled reports whether guesses are taken as vLLM takes them for a given length:
// always at the first places, sometimes at one, never behind it. No text does that. Less
// than two tokens a step look like drafts that were seldom longer than one guess.
func isScheduled(byPlace []float64) bool {
	const always = 0.9999
	if len(byPlace) < 2 || byPlace[0] < always {
		return false
	}
	partly := slices.IndexFunc(byPlace, func(share float64) bool { return share < always })
	return partly < 0 || !slices.ContainsFunc(byPlace[partly+1:], func(share float64) bool { return share > 1-always })
}

func percents(shares []float64) (out []string) {
	for _, share := range shares {
		out = append(out, text.Percent(share))
	}
	return out
}

// maxDisagreement is how far shares by the replies and by the server's counters may
// differ: the counters also have requests that did not end in the window.
const maxDisagreement = 0.05

// compareGuesses says where replies and counters disagree on drafts.
func compareGuesses(res *result.Result, t metric.Tokens, server *telemetry.ServerUse) {
	if t.Drafted == 0 || server == nil || server.SpecAcceptance == nil {
		return
	}
	if share := float64(t.DraftsAccepted) / float64(t.Drafted); math.Abs(share-*server.SpecAcceptance) > maxDisagreement {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "server", Text: fmt.Sprintf("%s of drafted tokens were accepted by the replies, and %s by the server's counters: one of them counts something else",
			text.RoughPercent(share), text.RoughPercent(*server.SpecAcceptance))})
	}
}

// eventsAreSteps reports whether the server drafts, and its events carry no more than a
// step brings: by the replies, else by the counters. Several steps share an event where a
// server gathers tokens, or falls behind.
func eventsAreSteps(s *metric.Summary, server *telemetry.ServerUse) bool {
	const slack = 1.1
	length := 0.0
	switch after := float64(s.Tokens.Output) - float64(s.Requests.OK); {
	case s.Tokens.Drafted > 0:
		length = after / (after - float64(s.Tokens.DraftsAccepted))
	case server != nil && server.SpecLength != nil:
		length = *server.SpecLength
	}
	tokens, steps := 0.0, 0.0
	for _, d := range s.Drafts {
		tokens, steps = tokens+d.Tokens*float64(d.Steps), steps+float64(d.Steps)
	}
	return tokens <= slack*length*steps
}
