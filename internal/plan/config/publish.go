package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"redline/internal/text"
)

// resolvePublishing settles where figures are shown while a run goes on.
func (c *Config) resolvePublishing() error {
	m := &c.Metrics
	for _, place := range []struct {
		key  string
		to   *string
		read func(string) (string, error)
	}{{"metrics.listen", &m.Listen, listener(9464)}, {"metrics.otlp", &m.OTLP, receiver}} {
		if *place.to == "" {
			continue
		}
		read, err := place.read(*place.to)
		if err != nil {
			return c.errorAt(place.key, "%v", err)
		}
		*place.to = read
	}
	return nil
}

// receiver is the address that metrics are sent to at a collector.
func receiver(given string) (string, error) {
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("expected the URL of an OTLP receiver such as http://localhost:4318, got %s", text.Quote(given))
	}
	if u.User != nil || u.RawQuery != "" {
		return "", errors.New("expected a URL without a password or a query, which would be kept with the run")
	}
	if path := strings.TrimRight(u.Path, "/"); !strings.HasSuffix(path, "/v1/metrics") {
		u.Path = path + "/v1/metrics"
	}
	return u.String(), nil
}

// listener reads where something is served: on this machine alone, unless a host
// is given. The port is an example.
func listener(port int) func(given string) (string, error) {
	return func(given string) (string, error) {
		address := given
		if !strings.Contains(given, ":") {
			address = ":" + given
		}
		host, digits, err := net.SplitHostPort(address)
		if _, outside := strconv.ParseUint(digits, 10, 16); err != nil || outside != nil {
			return "", fmt.Errorf("expected an address such as :%d (this machine alone) or 0.0.0.0:%d, got %s", port, port, text.Quote(given))
		}
		return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), digits), nil
	}
}
