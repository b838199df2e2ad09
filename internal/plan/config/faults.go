package config

import (
	"fmt"
	"net/url"
	"slices"

	"redline/internal/drive/client"
	"redline/internal/llm"
	"redline/internal/traffic/cancel"
	"redline/internal/traffic/workload"
	"redline/internal/yaml"
)

// proxies finds the way to the endpoints. It is the environment's alone: a plan
// is carried from one network to another.
func (c *Config) proxies(lookup func(string) (string, bool)) error {
	c.Provider.Proxies = client.ProxiesFrom(lookup)
	for _, text := range c.Provider.URLs {
		u, err := url.Parse(text)
		if err != nil {
			continue // what is wrong with the URL is said elsewhere
		}
		if _, err := c.Provider.Proxies.For(u); err != nil {
			return fault("", "%v", err)
		}
	}
	return nil
}

// noKernelStamps is the environment variable by which a measurement of redline
// itself does without the kernel's stamps.
const noKernelStamps = "REDLINE_NO_KERNEL_STAMPS"

func (c *Config) stamps(lookup func(string) (string, bool)) (err error) {
	if value, ok := lookup(noKernelStamps); ok {
		if c.Provider.NoKernelStamps, err = yaml.ParseBool(truth(value)); err != nil {
			return fault("", "%s: %v", noKernelStamps, err)
		}
	}
	return nil
}

// Adds is what the load profile adds to every request.
func (l *LoadProfile) Adds() llm.Additions {
	return llm.Additions{Cancel: l.Cancel, CancelAfter: l.CancelAfter}
}

// cancels checks which requests are closed before their end, and when.
func (c *Config) cancels() error {
	streams := c.Streaming() && !c.Pools()
	if err := cancel.Check(c.Load.Adds(), streams); err != nil {
		return c.errorIn("load_profile", err)
	}
	for i, class := range c.Workload.Classes {
		if err := cancel.Check(class.Additions, streams); err != nil {
			return c.errorIn(fmt.Sprintf("workload.classes[%d]", i), err)
		}
	}
	for i, tenant := range c.Workload.Tenants {
		if err := cancel.Check(tenant.Additions, streams); err != nil {
			return c.errorIn(fmt.Sprintf("workload.tenants[%d]", i), err)
		}
	}
	return nil
}

// WatchesLeaks reports whether the server's gauges are compared before and after the
// load: a share of 0 asks for that alone.
func (c *Config) WatchesLeaks() bool { return c.Load.Cancel != nil || c.Cancels() }

// Cancels reports whether redline is to close requests before their end.
func (c *Config) Cancels() bool {
	closes := func(a llm.Additions) bool { return a.CancelAfter != "" || a.Cancel != nil && *a.Cancel > 0 }
	return closes(c.Load.Adds()) || slices.ContainsFunc(c.Workload.Classes, func(k workload.Class) bool { return closes(k.Additions) }) ||
		slices.ContainsFunc(c.Workload.Tenants, func(t workload.Tenant) bool { return closes(t.Additions) })
}

// faults checks what is done about requests that fail.
func (c *Config) faults() error {
	const rate = "load_profile.max_error_rate"
	b := &c.Load.Bounds
	if err := b.Retries.Validate(); err != nil {
		return c.errorIn("load_profile", err)
	}
	b.Retries = b.Retries.Complete()
	if c.isSet(rate) && !(b.MaxErrorRate > 0 && b.MaxErrorRate < 1) {
		return c.errorAt(rate, "expected a share above 0 and below 1, such as 0.5, got %g", b.MaxErrorRate)
	}
	return nil
}
