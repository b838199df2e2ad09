package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"redline/internal/drive/socket"
	"redline/internal/llm"
)

// Proxies are what the environment says of proxies.
type Proxies struct {
	HTTP  string // for servers whose URL begins with http://
	HTTPS string // for those with https://
	No    string // hosts that are asked directly, separated by commas
}

// ProxiesFrom reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or their small
// spellings.
func ProxiesFrom(lookup func(string) (string, bool)) Proxies {
	first := func(name string) string {
		if value, _ := lookup(name); value != "" {
			return value
		}
		value, _ := lookup(strings.ToLower(name))
		return value
	}
	return Proxies{HTTP: first("HTTP_PROXY"), HTTPS: first("HTTPS_PROXY"), No: first("NO_PROXY")}
}

// For gives the proxy on the way to a server, nil where there is none. What is
// on this machine is never asked through one.
func (p Proxies) For(server *url.URL) (*url.URL, error) {
	raw, name := p.HTTP, "HTTP_PROXY"
	if server.Scheme == "https" {
		raw, name = p.HTTPS, "HTTPS_PROXY"
	}
	if raw == "" || server.Scheme == "unix" || p.bypasses(server.Hostname(), portOf(server)) {
		return nil, nil
	}
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, fmt.Errorf("%s: expected a proxy such as http://proxy:3128, got %q", name, safeURL(raw))
	case u.Scheme != "http":
		return nil, fmt.Errorf("%s: a proxy of the kind %s:// is not supported, expected http://host:port; NO_PROXY=%s goes without", name, u.Scheme, server.Hostname())
	}
	return u, nil
}

// bypasses reports whether a server is to be asked directly.
func (p Proxies) bypasses(host, port string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip, err := netip.ParseAddr(host)
	ip = ip.Unmap()
	if host == "localhost" || err == nil && ip.IsLoopback() {
		return true
	}
	for rule := range strings.SplitSeq(p.No, ",") {
		if rule = strings.ToLower(strings.TrimSpace(rule)); rule != "" && excludes(rule, host, port, ip) {
			return true
		}
	}
	return false
}

// excludes reports whether a rule of NO_PROXY is about a server: "*", an
// address, a network, or a domain, which stands for all below it too; each but
// a network with or without a port. ip is the zero value for a name.
func excludes(rule, host, port string, ip netip.Addr) bool {
	if rule == "*" {
		return true
	}
	if network, err := netip.ParsePrefix(rule); err == nil {
		return network.Contains(ip)
	}
	if name, only, err := net.SplitHostPort(rule); err == nil {
		if only != "" && only != port {
			return false
		}
		rule = name
	}
	if one, err := netip.ParseAddr(strings.Trim(rule, "[]")); err == nil {
		return one.Unmap() == ip
	}
	rule = strings.TrimSuffix(strings.TrimPrefix(rule, "*"), ".")
	below := "." + strings.TrimPrefix(rule, ".")
	return host == rule || len(below) > 1 && strings.HasSuffix(host, below)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Secrets are the parts of the proxies' addresses that nobody may see.
func (p Proxies) Secrets() []string {
	var found []string
	for _, raw := range []string{p.HTTP, p.HTTPS} {
		if !strings.Contains(raw, "://") {
			raw = "http://" + raw
		}
		if u, err := url.Parse(raw); err == nil && u.User != nil {
			password, _ := u.User.Password()
			found = append(found, password, basicCredentials(u))
		}
	}
	return found
}

func basicCredentials(proxy *url.URL) string {
	password, _ := proxy.User.Password()
	return base64.StdEncoding.EncodeToString([]byte(proxy.User.Username() + ":" + password))
}

// proxyAuthorization is the header that a proxy with a user wants, or nothing.
func proxyAuthorization(proxy *url.URL) string {
	if proxy.User == nil {
		return ""
	}
	return "Proxy-Authorization: Basic " + basicCredentials(proxy) + "\r\n"
}

// goThrough finds the endpoint's proxy. One for a secure server carries a
// tunnel; any other is sent requests that name the server.
func (ep *endpoint) goThrough(p Proxies) (err error) {
	if ep.proxy, err = p.For(ep.url); ep.proxy == nil {
		return err
	}
	ep.addr = net.JoinHostPort(ep.proxy.Hostname(), portOf(ep.proxy))
	if ep.tls != nil {
		ep.tunnel = fmt.Appendf(nil, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: redline\r\n%s\r\n",
			ep.server, ep.server, proxyAuthorization(ep.proxy))
	}
	return nil
}

// dialName names, for messages, who is dialed.
func (ep *endpoint) dialName() string {
	if ep.proxy != nil {
		return "the proxy " + ep.addr
	}
	return ep.addr
}

// settingName names, for messages, where the dialed host is set.
func (ep *endpoint) settingName() string {
	switch {
	case ep.tunnel != nil:
		return "HTTPS_PROXY"
	case ep.proxy != nil:
		return "HTTP_PROXY"
	}
	return "--url"
}

// Proxy is where the client's first URL is asked through, "" for directly.
func (c *Client) Proxy() string {
	if ep := c.endpoints[0]; ep.proxy != nil {
		return ep.addr
	}
	return ""
}

// openTunnel asks the proxy for a connection to the server. ctx is the
// caller's, limited that of the whole set-up.
func (c *Client) openTunnel(ctx, limited context.Context, ep *endpoint, via *socket.Conn) *llm.Fault {
	stop := context.AfterFunc(limited, func() { _ = via.Close() })
	defer stop()
	_, err := via.Write(ep.tunnel)
	var head *response
	if err == nil {
		head, err = readResponse(via, "")
	}
	var protocol errProtocol
	switch {
	case ctx.Err() != nil:
		return c.cancelFault()
	case limited.Err() != nil:
		return c.fault(llm.Connect, "%s did not open a way to %s within %v", ep.dialName(), ep.server, c.connectTime())
	case errors.As(err, &protocol):
		return c.fault(llm.Connect, "%s: %s", ep.dialName(), c.mask.Line(string(protocol), maxProtocol))
	case err != nil:
		return c.fault(llm.Connect, "%s cut the connection to %s: %s", ep.dialName(), ep.server, innermost(err))
	case head.status == 407:
		return c.fault(llm.Connect, "%s wants a user and password: HTTPS_PROXY=http://user:password@%s", ep.dialName(), ep.addr)
	case head.status >= 300:
		return c.fault(llm.Connect, "%s does not open a way to %s (HTTP %d): NO_PROXY=%s goes without it", ep.dialName(), ep.server, head.status, ep.url.Hostname())
	case len(via.Unread()) > 0:
		return c.fault(llm.Connect, "%s sent bytes of its own into the way to %s", ep.dialName(), ep.server)
	}
	return nil
}
