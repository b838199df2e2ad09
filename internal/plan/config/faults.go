package config

import (
	"net/url"

	"redline/internal/drive/client"
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

// faults checks what is done about requests that fail.
func (c *Config) faults() error {
	const rate = "load_profile.max_error_rate"
	b := &c.Load.Bounds
	if err := b.Retries.Validate(); err != nil {
		return c.errorIn("load_profile", err)
	}
	b.Retries = b.Retries.Complete()
	if c.isSet(rate) && !(b.MaxErrorRate > 0 && b.MaxErrorRate < 1) {
		return c.errorAt(rate, "want a share above 0 and below 1, such as 0.5, got %g", b.MaxErrorRate)
	}
	return nil
}
