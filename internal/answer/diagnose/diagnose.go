// Package diagnose says why a server answers as it does: it takes a finished
// result and gives the regimes that its figures speak for, each with the
// evidence, how sure the rule can be, the measurement that would settle it and
// what to try first. One literal table holds the rules; docs/DIAGNOSIS.md shows
// it. It measures nothing, reads no records, and is silent where the evidence
// is thin. It must not know how a run is made or shown.
package diagnose

import (
	"slices"

	"redline/internal/judge/result"
)

// most is how many findings a result gets at most: whoever is told ten causes
// is told none.
const most = 3

// The words for how sure a rule is.
const (
	certain  = "certain"
	likely   = "likely"
	possible = "possible"
)

// Find gives the findings of a result, most decisive first. The order is that
// of the table; a regime that another one explains is left out.
func Find(res *result.Result) []result.Finding {
	s := sceneOf(res)
	if s == nil {
		return nil
	}
	var found []result.Finding
	var explained []string
	for i := range Rules {
		rule := &Rules[i]
		if !s.concerns(rule) || slices.Contains(explained, rule.Regime) {
			continue
		}
		c := rule.judge(s)
		if c == nil {
			continue
		}
		explained = append(explained, rule.Explains...)
		found = append(found, result.Finding{Regime: rule.Regime, Title: c.title, Confidence: c.confidence,
			Point: s.index, Evidence: c.evidence, Confirm: rule.confirm(s), Settled: rule.Settled, Response: responses(rule, s)})
		if len(found) == most {
			break
		}
	}
	if len(found) > 0 {
		found[0].Advice = advice(s)
	}
	return found
}

// claim is what a rule says of a scene.
type claim struct {
	title      string
	confidence string
	evidence   []result.Evidence
}
