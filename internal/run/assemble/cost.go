package assemble

import (
	"cmp"

	"redline/internal/judge/metric"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
)

// charge adds to a point what it cost, and judges the objectives about that. What
// cannot be priced is said with the cure: a run is no worse for it.
func charge(point *result.Point, c *config.Config, devices int, watts *float64) {
	if !c.Cost.Given() {
		return
	}
	prices, err := c.Cost.WithMeasuredPower(devices, watts)
	if err != nil {
		point.Notes = append(point.Notes, metric.Note{Figure: "cost", Text: "no cost is known: cost." + err.Error()})
		return
	}
	point.Cost = prices.Of(&point.Summary)
	point.GroupCosts = prices.Groups(&point.Summary, func(tenant string) string {
		return cmp.Or(c.Workload.ModelOf(tenant), c.Provider.Model)
	})
	if watts == nil && c.Cost.Watts > 0 {
		price.Energy(point, new(c.Cost.Watts*point.Window.Seconds()))
	}
	price.Judge(c.Objectives, point)
}
