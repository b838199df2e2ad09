package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"redline/internal/observe/telemetry"
)

// checkTelemetry checks how the server's own metrics are read.
func (c *Config) checkTelemetry() error {
	const pages, interval = metricsURL, "telemetry.interval"
	for _, text := range c.Telemetry.MetricsURLs {
		if strings.HasPrefix(text, "unix:") {
			return c.errorAt(pages, "expected a URL that begins with http:// or https://, got %s", quote(text))
		}
		if u, err := url.Parse(text); err == nil && u.User != nil {
			return c.errorAt(pages, "holds a user or password, which metrics are not asked with")
		}
		if _, err := c.endpoint(pages, text); err != nil {
			return err
		}
	}
	if source, err := telemetry.ParseAccelerator(c.Telemetry.Accelerator); err == nil && source.URL != "" {
		if u, err := url.Parse(source.URL); err == nil && u.User != nil {
			return c.errorAt(acceleratorKey, "holds a user or password, which metrics are not asked with")
		}
		if _, err := c.endpoint(acceleratorKey, source.URL); err != nil {
			return err
		}
	}
	if c.isSet(interval) && c.Telemetry.Interval == 0 {
		return c.errorAt(interval, "expected a time from %v to %v, got 0s", telemetry.MinScrapeInterval, telemetry.MaxScrapeInterval)
	}
	if err := c.Telemetry.Validate(); err != nil {
		return c.errorIn("telemetry", err)
	}
	if c.Telemetry.Interval == 0 && c.Telemetry.Scrapes() {
		c.Telemetry.Interval = telemetry.DefaultScrapeEvery
	}
	return nil
}

// positive lists the keys of numbers and times whose zero value means that
// nothing was said. Whoever writes a zero means something by it, which none of
// them can do.
var positive = []string{
	"provider.timeouts.total", "provider.timeouts.header", "provider.timeouts.first_token", "provider.timeouts.idle",
	"load_profile.retries.backoff", "load_profile.retries.max_wait", "load_profile.limit",
	"workload.tools.share", "workload.schemas.share", "workload.adapters.share",
	"workload.tools.sets", "workload.schemas.count", "workload.adapters.count",
	"workload.replay.speedup", "workload.replay.for", "server.port", "server.ready_timeout",
	"server.sim.tp", "server.sim.max_num_seqs", "server.sim.max_num_batched_tokens", "server.sim.gpu_memory_utilization",
	"server.sim.max_model_len", "server.sim.tokens_per_chunk", "server.sim.num_gpu_blocks_override",
	"server.sim.compute_share", "server.sim.memory_share",
	"server.sim.net_delay", "server.sim.rate_limit", "server.sim.cold_start", "server.sim.kv_transfer_rate",
}

// zeros refuses a zero where it would pass for silence.
func (c *Config) zeros() error {
	given := func(key string, v func() reflect.Value) error {
		switch {
		case !c.isSet(key):
			return nil
		case v().IsZero():
			return c.errorAt(key, "must be more than 0: leave it out for the default")
		case v().Kind() == reflect.Int && v().Int() < 0:
			return c.errorAt(key, "must be more than 0, got %d", v().Int())
		}
		return nil
	}
	for _, key := range positive {
		if err := given(key, func() reflect.Value { return lookUp(c, key, false) }); err != nil {
			return err
		}
		within, ok := strings.CutPrefix(key, "workload.")
		for i := range c.Workload.Classes {
			if err := given(fmt.Sprintf("workload.classes[%d].workload.%s", i, within), func() reflect.Value {
				return fieldOf(reflect.ValueOf(c.Workload.Classes[i].Workload), within, false)
			}); ok && err != nil {
				return err
			}
		}
	}
	for i, class := range c.Workload.Classes {
		if key := fmt.Sprintf("workload.classes[%d].weight", i); c.isSet(key) && class.Weight == 0 {
			return c.errorAt(key, "must be more than 0: leave the class out, or its weight for 1")
		}
	}
	return nil
}
