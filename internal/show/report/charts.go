package report

import (
	"redline/internal/judge/result"
	"redline/internal/show/document"
	"redline/internal/show/picture"
)

// overTime draws each load that is shown in full from its first request to its
// last.
func (p *page) overTime(r *result.Result) {
	for _, i := range detailed(r) {
		p.Add(document.Pictures(picture.OverTime(&r.Points[i])))
	}
}

// distributions draws how its latencies are distributed.
func (p *page) distributions(r *result.Result) {
	for _, i := range detailed(r) {
		p.Add(document.Pictures(picture.Distributions(&r.Points[i])))
	}
}
