package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"redline/internal/text"
)

// publishing settles where figures are shown while a run goes on.
func (c *Config) publishing() error {
	m := &c.Metrics
	for _, place := range []struct {
		key  string
		to   *string
		read func(string) (string, error)
	}{{"metrics.listen", &m.Listen, listener}, {"metrics.otlp", &m.OTLP, receiver}} {
		if *place.to == "" {
			continue
		}
		read, err := place.read(*place.to)
		if err != nil {
			return c.wrong(place.key, "%v", err)
		}
		*place.to = read
	}
	return nil
}

// receiver is the address that metrics are sent to at a collector.
func receiver(given string) (string, error) {
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("want the URL of an OTLP receiver such as http://localhost:4318, got %s", text.Quote(given))
	}
	if u.User != nil || u.RawQuery != "" {
		return "", errors.New("want a URL without a password or a query, which would be kept with the run")
	}
	if path := strings.TrimRight(u.Path, "/"); !strings.HasSuffix(path, "/v1/metrics") {
		u.Path = path + "/v1/metrics"
	}
	return u.String(), nil
}

// listener is where a page is served: on this machine alone, unless a host is given.
func listener(given string) (string, error) {
	if !strings.Contains(given, ":") {
		given = ":" + given
	}
	host, port, err := net.SplitHostPort(given)
	if err != nil || port == "" || strings.Trim(port, "0123456789") != "" {
		return "", fmt.Errorf("want an address such as :9464 (this machine alone) or 0.0.0.0:9464, got %s", text.Quote(given))
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}
