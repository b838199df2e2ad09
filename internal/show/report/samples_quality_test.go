package report

import (
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// qualitySample is a server that answers well alone and worse under load.
func qualitySample() *result.Result {
	r := baseSample()
	r.ID, r.Label = "20260115-090000-golden", "golden"
	share := func(n int, value, lo, hi float64) *result.QualityShare {
		return &result.QualityShare{N: n, Share: value, Interval: [2]float64{lo, hi}}
	}
	q := &result.Quality{Set: "questions.jsonl", Hash: "0123456789ab", Items: 200,
		Phases: []result.QualityPhase{
			{Phase: result.Alone, Asked: 400, N: 400, Covered: 200, Score: ptr(0.96), Interval: &[2]float64{0.936, 0.975},
				Slices:     map[string]*result.QualityShare{"math": share(80, 0.9, 0.815, 0.948), "structured": share(40, 1, 0.912, 1)},
				Structured: share(40, 1, 0.912, 1), Determinism: share(200, 0.985, 0.957, 0.995), LengthDrift: ptr(0.03), UsageDrift: ptr(0.001)},
			{Phase: result.UnderLoad, Asked: 124, N: 121, Unanswered: 1, NotJudged: 2, Covered: 118, Score: ptr(0.843), Interval: &[2]float64{0.768, 0.897},
				Slices:     map[string]*result.QualityShare{"math": share(30, 0.7, 0.521, 0.833), "structured": share(12, 0.917, 0.646, 0.985)},
				Structured: share(12, 0.917, 0.646, 0.985), SameAsAlone: share(121, 0.86, 0.787, 0.911), LengthDrift: ptr(0.14)},
			{Phase: result.After, Asked: 200, N: 200, Covered: 200, Score: ptr(0.96), Interval: &[2]float64{0.923, 0.98},
				SameAsAlone: share(200, 0.985, 0.957, 0.995)},
		},
		Gates: []slo.Verdict{
			{Objective: "quality overall, alone", Standing: slo.Met, Value: ptr(0.96), Unit: "fraction", Limit: 0.95, N: 400, Violations: 16},
			{Objective: "quality overall, under load", Standing: slo.Missed, Value: ptr(0.843), Unit: "fraction", Limit: 0.95, N: 121, Violations: 19,
				Note: "118 of 200 questions were asked"},
			{Objective: "quality structured, under load", Standing: slo.Undecided, Value: ptr(0.917), Unit: "fraction", Limit: 1, N: 12, Violations: 1,
				Note: "12 of 20 questions were asked: too few to tell"},
			{Objective: "quality length drift, under load", Standing: slo.Missed, Value: ptr(0.14), Unit: "fraction", Limit: 0.1, Note: "answers are +14.0% long"},
		},
		Outcomes: []result.QualityOutcome{{Item: "a", Alone: ptr(1.0), UnderLoad: ptr(0.0)}},
		Notes:    []string{"2 answers are not in the scores: the judge model did not judge: HTTP 500"},
	}
	r.Points[0].Quality, r.Points[0].Objectives = q, q.Gates
	r.Verdict.SLO = "missed"
	r.Verdict.Reasons = []string{"missed quality overall, under load"}
	r.Warnings = append(r.Warnings, result.Warning{Figure: "quality", Text: q.Notes[0]})
	return r
}
