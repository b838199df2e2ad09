package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"redline/internal/judge/slo"
	"redline/internal/traffic/token"
	"redline/internal/traffic/workload"
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
			return c.errorIn(histogram, err)
		}
		c.Workload = c.Workload.WithContext(*cd)
	}
	if err := c.sharedPrefix(); err != nil {
		return err
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
		return c.errorIn("workload", err)
	}
	c.Workload = full
	if err := c.classObjectives(); err != nil {
		return err
	}
	if err := c.scopes(); err != nil {
		return err
	}
	if err := c.Generation.Validate(); err != nil {
		return c.errorIn("generation", err)
	}
	c.Tokenizer = cmp.Or(c.Tokenizer, token.EmbeddedNames()[0])
	return nil
}

func (c *Config) sharedPrefix() error {
	const groups = "workload.prefix.groups"
	p := c.Workload.Prefix
	if p == nil {
		return nil
	}
	if p.Tokens == 0 && c.isSet(groups) && !c.places[groups].plan {
		return c.errorAt(groups, "is how many different prefixes there are: give their length with --prefix")
	}
	if p.Groups == 0 && !c.isSet(groups) {
		p.Groups = 1
	}
	return nil
}

// classObjectives adds the objectives of the workload's classes to the others.
func (c *Config) classObjectives() error {
	for i, class := range c.Workload.Classes {
		for _, text := range class.SLO {
			list, err := slo.Expand(text)
			if err != nil {
				return c.errorAt(fmt.Sprintf("workload.classes[%d].slo", i), "%v", err)
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

// scopes refuses an objective of a class or tenant that the workload does not
// have: nothing would ever be judged by it.
func (c *Config) scopes() error {
	classes, classesKnown := c.Workload.ClassNames()
	tenants, tenantsKnown := c.Workload.TenantNames()
	for _, o := range c.Objectives {
		for _, scope := range []struct {
			what, name string
			names      []string
			known      bool
		}{{"class", o.Scope.Class, classes, classesKnown}, {"tenant", o.Scope.Tenant, tenants, tenantsKnown}} {
			switch {
			case scope.name == "" || !scope.known || slices.Contains(scope.names, scope.name):
			case len(scope.names) == 0:
				return c.errorAt("sla_thresholds", "%s is about the %s %s, but the workload names none", quote(o.Text), scope.what, quote(scope.name))
			default:
				const limit = 10
				return c.errorAt("sla_thresholds", "%s is about the %s %s, which the workload does not have: known are %s",
					quote(o.Text), scope.what, quote(scope.name), strings.Join(scope.names[:min(limit, len(scope.names))], ", "))
			}
		}
	}
	return nil
}
