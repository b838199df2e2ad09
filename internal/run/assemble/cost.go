package assemble

import (
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
)

// charge adds to a point what it cost, and judges the objectives about that.
// The plan's prices were checked when it was read.
func charge(point *result.Point, c *config.Config, devices int) {
	if !c.Cost.Given() {
		return
	}
	prices, err := c.Cost.For(devices)
	if err != nil {
		return
	}
	point.Cost = prices.Of(&point.Summary)
	point.GroupCosts = prices.Groups(&point.Summary)
	price.Judge(c.Objectives, point)
}
