package config

import (
	"fmt"
	"slices"

	"redline/internal/slo"
	"redline/internal/token"
	"redline/internal/workload"
)

// work settles what is asked of the model. A histogram of prompt lengths takes
// the place of the workload's own, unless the workload was named where it
// overrides the plan.
func (c *Config) work() error {
	const histogram = "load_profile.context_distribution"
	if at := c.places["workload"]; at.text != "" && !at.plan {
		c.Load.ContextDistribution = nil
	}
	if cd := c.Load.ContextDistribution; cd != nil {
		if err := cd.Validate(); err != nil {
			return c.wrongIn(histogram, err)
		}
		c.Workload = c.Workload.WithContext(*cd)
	}
	if err := c.hotSpot(); err != nil {
		return err
	}
	full, err := c.Workload.Complete()
	// What the terse form says in full is kept as that form would be read, so
	// that the plan of a run is equal to the plan it leaves behind.
	if text, terse := full.Terse(); err == nil && terse {
		full, err = workload.Parse(text)
	}
	if err != nil {
		return c.wrongIn("workload", err)
	}
	c.Workload = full
	if err := c.classObjectives(); err != nil {
		return err
	}
	if err := c.Generation.Validate(); err != nil {
		return c.wrongIn("generation", err)
	}
	if c.Tokenizer == "" {
		c.Tokenizer = token.EmbeddedNames()[0]
	}
	return nil
}

// classObjectives adds what the workload's classes promise to the objectives.
func (c *Config) classObjectives() error {
	for i, class := range c.Workload.Classes {
		for _, text := range class.SLO {
			list, err := slo.Expand(text)
			if err != nil {
				return c.wrong(fmt.Sprintf("workload.classes[%d].slo", i), "%v", err)
			}
			for _, o := range list {
				scope := o.Scope
				scope.Class = class.Name
				o = o.Within(scope)
				if !slices.ContainsFunc(c.Objectives, func(known slo.Objective) bool { return known.Text == o.Text }) {
					c.Objectives = append(c.Objectives, o)
				}
			}
		}
	}
	return nil
}
