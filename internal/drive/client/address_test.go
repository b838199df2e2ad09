package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"redline/internal/clock"
	"redline/internal/llm"
	"redline/internal/must"
)

// names is a name server.
type names map[string][]string

func (n names) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	var found []netip.Addr
	for _, text := range n[host] {
		found = append(found, netip.MustParseAddr(text))
	}
	if found == nil {
		return nil, errors.New("no such host")
	}
	return found, nil
}

// serveAt runs a server on each of these addresses and gives their one port.
func serveAt(t *testing.T, addrs ...string) (port string) {
	t.Helper()
	port = "0"
	for _, addr := range addrs {
		l, err := net.Listen("tcp", net.JoinHostPort(addr, port))
		if err != nil {
			t.Skipf("this machine has no address %s: %v", addr, err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		server := &http.Server{Handler: http.HandlerFunc(hails)}
		done := make(chan struct{})
		go func() { _ = server.Serve(l); close(done) }()
		t.Cleanup(func() { server.Close(); <-done })
	}
	return port
}

// visitHosts gives the addresses that n requests went to, by host alone.
func visitHosts(t *testing.T, c *Client, n int) (list []string) {
	t.Helper()
	for range n {
		events, fault := collect(t, t.Context(), c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		for _, ev := range events {
			if ev.Kind == llm.Ready {
				host, _, _ := net.SplitHostPort(ev.Addr)
				list = append(list, host)
			}
		}
	}
	return list
}

// TestAddressesInTurn: what a name server says of the hosts of some URLs, and
// where requests go. 127.0.0.1 and 127.0.0.2 are there; 127.0.0.3 is not.
func TestAddressesInTurn(t *testing.T) {
	port := serveAt(t, "127.0.0.1", "127.0.0.2")
	at := func(hosts ...string) (list []string) {
		for _, h := range hosts {
			list = append(list, net.JoinHostPort(h, port))
		}
		return list
	}
	for _, tc := range []struct {
		name    string
		names   names
		hosts   []string
		dialed  []string
		dead    []string
		visited []string
	}{
		{"one address", names{"a": {"127.0.0.2"}}, []string{"a"}, at("127.0.0.2"), nil, []string{"127.0.0.2", "127.0.0.2"}},
		{"two addresses", names{"a": {"127.0.0.1", "127.0.0.2"}}, []string{"a"}, at("127.0.0.1", "127.0.0.2"), nil,
			[]string{"127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"}},
		{"one of them is dead", names{"a": {"127.0.0.3", "127.0.0.2", "127.0.0.1"}}, []string{"a"}, at("127.0.0.2", "127.0.0.1"),
			at("127.0.0.3"), []string{"127.0.0.2", "127.0.0.1", "127.0.0.2"}},
		{"the other family is dead", names{"a": {"::1", "127.0.0.1"}}, []string{"a"}, at("127.0.0.1"), nil, []string{"127.0.0.1", "127.0.0.1"}},
		{"the same server in the other family", names{"a": {"127.0.0.1", "::ffff:127.0.0.2", "::1"}}, []string{"a"},
			at("127.0.0.1", "127.0.0.2"), nil, []string{"127.0.0.1", "127.0.0.2", "127.0.0.1"}},
		{"URLs share alike whatever their addresses", names{"a": {"127.0.0.1", "127.0.0.2"}}, []string{"a", "127.0.0.1"},
			at("127.0.0.1", "127.0.0.2", "127.0.0.1"), nil, []string{"127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec := Spec{}
			for _, host := range tc.hosts {
				spec.URLs = append(spec.URLs, "http://"+net.JoinHostPort(host, port))
			}
			c := must.Get(New(spec, Options{Clock: clock.New(), Lookup: tc.names.lookup}))(t)
			t.Cleanup(c.Close)
			equal(t, "left out", c.Resolve(t.Context()), tc.dead)
			equal(t, "dialed", c.Addresses(), tc.dialed)
			must.Do(t, c.Open(t.Context(), len(tc.visited)))
			equal(t, "visited", visitHosts(t, c, len(tc.visited)), tc.visited)
		})
	}
}

// TestUnresolved: a host without a live address keeps its name, and the first
// request says what is wrong.
func TestUnresolved(t *testing.T) {
	book := names{"dead": {"127.0.0.1", "127.0.0.1"}}
	for _, url := range []string{"http://dead:1", "http://unknown.invalid:1", "http://127.0.0.1:1", "unix:/nowhere"} {
		c := must.Get(New(Spec{URLs: []string{url}}, Options{Clock: clock.New(), Lookup: book.lookup}))(t)
		before := c.Addresses()
		equal(t, "left out", c.Resolve(t.Context()), []string(nil))
		equal(t, "dialed", c.Addresses(), before)
		c.Close()
	}
}

// TestAddressesOfASecureServer: the certificate is checked against the name in
// the URL, not against the address.
func TestAddressesOfASecureServer(t *testing.T) {
	secure, authority := serveTLS(t, nil)
	_, port, _ := net.SplitHostPort(secure[len("https://"):])
	book := names{"example.com": {"127.0.0.1"}}
	c := must.Get(New(Spec{URLs: []string{"https://example.com:" + port}, TLS: TLS{CACert: authority}}, Options{Clock: clock.New(), Lookup: book.lookup}))(t)
	t.Cleanup(c.Close)
	c.Resolve(t.Context())
	equal(t, "visited", visitHosts(t, c, 1), []string{"127.0.0.1"})
	equal(t, "URL", c.URL(), "https://example.com:"+port+"/v1/chat/completions")
}
