package account

import (
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/stats"
)

// placeOfCheck is the place of a check in llm.Checks, from 1; 0 is none.
func placeOfCheck(c llm.Check) uint8 { return uint8(slices.Index(llm.Checks, c) + 1) }

// checkPlaces are where a request has what the shares of right replies count.
var checkPlaces = map[string]func(*request) (asked bool, place uint8){
	"calls_ok":  func(q *request) (bool, uint8) { return q.tools, q.called },
	"schema_ok": func(q *request) (bool, uint8) { return q.schema, q.formed },
}

// counts reports whether a request is one of those that a share is of.
func (q *request) counts(metric string) bool {
	of := checkPlaces[metric]
	if of == nil {
		return true
	}
	_, place := of(q)
	return place > 0
}

// keepsCheck reports whether a reply is what was asked for.
func (q *request) keepsCheck(metric string) bool {
	_, place := checkPlaces[metric](q)
	return place == placeOfCheck(llm.CheckOK)
}

// checks counts what replies came to, nil where no request asked for it.
func (v view) checks(name string) *metric.Checks {
	var c metric.Checks
	for q := range v.requestsOf(everything) {
		asked, place := checkPlaces[name](q)
		if q.outcome != llm.OK || !asked {
			continue
		}
		check := ""
		if place > 0 {
			check = string(llm.Checks[place-1])
		}
		c.Add(check, string(llm.CheckOK))
	}
	if c.Requests == 0 {
		return nil
	}
	if c.Checked > 0 {
		c.OKFraction = new(round(float64(c.OK) / float64(c.Checked)))
	}
	c.TTFT = v.difference(ttft, func(q *request) bool { asked, _ := checkPlaces[name](q); return asked })
	return &c
}

// minStretches is in how many stretches of the window both parts of the requests
// must be for their difference to have an interval.
const minStretches = 5

// difference compares a latency of the ok requests that one holds of with the
// others', stretch by stretch of the window.
func (v view) difference(f figure, holds func(*request) bool) *metric.Difference {
	var sums, sizes [2]stretchSums
	for q := range v.requestsOf(everything) {
		if ns := q.figures[f]; q.outcome == llm.OK && ns > 0 {
			side := 1
			if holds(q) {
				side = 0
			}
			sums[side].add(q.place, math.Log(ns))
			sizes[side].add(q.place, 1)
		}
	}
	var differences []float64
	for i := range sums[0].stretches {
		if with, without := sizes[0].stretches[i], sizes[1].stretches[i]; with > 0 && without > 0 {
			differences = append(differences, sums[0].stretches[i]/with-sums[1].stretches[i]/without)
		}
	}
	n := len(differences)
	if n < minStretches {
		return nil
	}
	mean := stats.Mean(differences)
	margin := stats.StudentQuantile(0.975, float64(n-1)) * math.Sqrt(stats.Variance(differences)/float64(n))
	share := func(log float64) float64 { return round(math.Exp(log) - 1) }
	return &metric.Difference{Share: share(mean), Low: share(mean - margin), High: share(mean + margin),
		With: int(sizes[0].total()), Without: int(sizes[1].total())}
}

// formOf names what went with a request.
func formOf(r *record.Record) string {
	switch {
	case r.Tools > 0 && r.Schema > 0:
		return "tools and schema"
	case r.Tools > 0:
		return "tools"
	case r.Schema > 0:
		return "schema"
	}
	return "plain"
}
