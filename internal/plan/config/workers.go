package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"redline/internal/text"
)

// Workers says who sends the load, where this process is not to.
type Workers struct {
	// Count is how many send it together; 0: this process does.
	Count int `yaml:"count,omitempty"`
	// NATS is a server that conductor and workers meet at; Listen is where this
	// process serves one itself, for workers on other machines. Without either it
	// starts its workers on this machine.
	NATS   string `yaml:"nats,omitempty"`
	Listen string `yaml:"listen,omitempty"`
	// Wait is how long all of them have to come.
	Wait time.Duration `yaml:"wait,omitempty"`
}

const (
	workersWait = time.Minute
	maxWorkers  = 10_000
)

// workers settles who sends the load.
func (c *Config) workers() (err error) {
	w := &c.Workers
	switch {
	case w.Count < 0 || w.Count > maxWorkers || w.Count == 0 && c.isSet("workers.count"):
		return c.errorAt("workers.count", "must be 1 to %d, got %d; leave it out to send from this process", maxWorkers, w.Count)
	case w.Wait < 0 || w.Wait == 0 && c.isSet("workers.wait"):
		return c.errorAt("workers.wait", "expected a time above 0, got %v", w.Wait)
	case w.NATS != "" && w.Listen != "":
		nats := c.places["workers.nats"]
		if nats.plan {
			nats.text = "workers.nats"
		}
		return c.errorAt("workers.listen", "is for a NATS server of our own, but %s names another: leave out one of the two", nats.text)
	}
	if w.NATS != "" {
		if err := NATSAddress(w.NATS); err != nil {
			return c.errorAt("workers.nats", "%v", err)
		}
	}
	if w.Listen != "" {
		if w.Listen, err = listener(4222)(w.Listen); err != nil {
			return c.errorAt("workers.listen", "%v", err)
		}
	}
	if w.Count > 0 && w.Wait == 0 {
		w.Wait = workersWait
	}
	return nil
}

// NATSAddress reports what is wrong with the address of a NATS server, or with
// those of several servers of a cluster.
func NATSAddress(given string) error {
	for one := range strings.SplitSeq(given, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" {
			return fmt.Errorf("expected the URL of a NATS server such as nats://localhost:4222 or tls://nats:4222, got %s", text.Quote(one))
		}
		if u.User != nil {
			return fmt.Errorf("expected a URL without a password, which would be kept with the run: give it as REDLINE_NATS_AUTH")
		}
	}
	return nil
}
