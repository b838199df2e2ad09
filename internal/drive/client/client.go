package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"redline/internal/clock"
	"redline/internal/drive/socket"
	"redline/internal/drive/wire"
	"redline/internal/llm"
	"redline/internal/text"
)

// Client asks one API at one or several addresses. It is a target for load.
type Client struct {
	clock     *clock.Clock
	dialect   *wire.Dialect
	endpoints []*endpoint
	turn      atomic.Uint64 // round robin over endpoints
	quirks    atomic.Pointer[wire.Quirks]
	timeouts  Timeouts
	shortage  shortage
	events    byteBudget // of streams
	replies   byteBudget // that are not streamed
	lookup    Lookup
	sockets   *socket.Set
	trace     atomic.Pointer[trace]
	control   *http.Client
	key       string
	headers   [][2]string
	ownID     bool // the user's headers say what X-Request-Id is
	// traceparent says that requests have a header of that name.
	traceparent bool
	// replicaHeader is the header that names the engine, in the user's words.
	replicaHeader string
	spread        string
	spreading     sync.Mutex // for what endpoints have in flight
	mask          *text.Mask
}

// endpoint is one address: where to dial, what to say first, and the
// connections that wait there.
type endpoint struct {
	url     *url.URL // as given, without user info
	network string
	addr    string // what is dialed: the server's address, or the proxy's
	server  string // the server's host and port
	host    string
	path    string   // where replies are streamed
	whole   string   // where they are not
	proxy   *url.URL // nil for a direct connection
	tunnel  []byte   // what opens a way through the proxy, where one is needed
	head    []byte   // request line and fixed headers of a streamed request
	plain   []byte   // those of one that is not streamed
	tls     *tls.Config
	dial    Dial
	pool    socket.Pool
	// inFlight is counted where requests go to whoever has fewest.
	inFlight int
	// peers are the addresses of one URL, this one first; only the first of
	// them knows the others.
	peers []*endpoint
}

// requestID is the header that joins records with a server's own log.
const requestID = "X-Request-Id"

// Dial opens a connection; nil in Options means the network's own.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// Options are what a client needs beside its spec.
type Options struct {
	Clock *clock.Clock
	Dial  Dial
	// Lookup finds the addresses of a host; nil means the system's resolver
	// or, with a Dial of its own, that names are left to that.
	Lookup Lookup
	// NoReader leaves every connection to Go's runtime, as TLS is, rather than
	// to a reader of the client's own.
	NoReader bool
}

// ownReaders says whether connections get a reader; tests try both.
var ownReaders = true

// New makes a client. It opens no connection.
func New(s Spec, o Options) (*Client, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	dialect, err := s.Dialect()
	if err != nil {
		return nil, err
	}
	config, err := s.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("provider.%w", err)
	}
	c := &Client{events: byteBudget{large: largeEvent, max: maxEvents}, replies: byteBudget{large: largeReply, max: maxReplies}, clock: o.Clock, dialect: dialect, timeouts: s.Timeouts, lookup: o.lookup(),
		key: s.APIKey, mask: maskOf(s)}
	c.timeouts.Total = cmp.Or(c.timeouts.Total, DefaultTimeout)
	for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
		c.headers = append(c.headers, [2]string{k, s.Headers[k]})
	}
	_, c.ownID = c.userHeader(requestID)
	c.traceparent, c.replicaHeader, c.spread = s.Traceparent, s.ReplicaHeader, s.Spread
	extra, err := wire.NewExtra(s.ExtraBody)
	if err != nil {
		return nil, fmt.Errorf("provider.extra_body: %w", err)
	}
	for _, raw := range s.URLs {
		ep, err := c.newEndpoint(raw, s.Proxies, config, o.Dial)
		if err != nil {
			return nil, err
		}
		c.endpoints = append(c.endpoints, ep)
	}
	if len(c.endpoints) == 0 {
		return nil, errors.New("no server to ask: give --url")
	}
	quirks := officialQuirks(c.endpoints[0].url.Hostname())
	quirks.Extra = extra
	c.quirks.Store(&quirks)
	c.control = controlClient(c.endpoints[0])
	c.sockets = socket.NewSet(o.Clock, !s.NoKernelStamps, ownReaders && !o.NoReader)
	return c, nil
}

// Compose gives the body of a request as it is sent first, before a server has
// refused any field.
func (s Spec) Compose(r *llm.Request) ([]byte, error) {
	dialect, err := s.Dialect()
	if err != nil {
		return nil, err
	}
	extra, err := wire.NewExtra(s.ExtraBody)
	if err != nil {
		return nil, fmt.Errorf("provider.extra_body: %w", err)
	}
	quirks := wire.Quirks{}
	if len(s.URLs) > 0 {
		if u, err := url.Parse(s.URLs[0]); err == nil {
			quirks = officialQuirks(u.Hostname())
		}
	}
	quirks.Extra = extra
	return dialect.Encode(nil, r, quirks), nil
}

// officialQuirks is what is known of the makers' own servers, which refuse
// fields that open engines take.
func officialQuirks(host string) wire.Quirks {
	switch {
	case host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com"):
		return wire.Quirks{MaxCompletionTokens: true, NoIgnoreEOS: true}
	case host == "api.anthropic.com":
		return wire.Quirks{NoIgnoreEOS: true, NoGreedy: true}
	}
	return wire.Quirks{}
}

// learn adds what one refusal taught to what is known of the server. Requests
// that are refused at the same time may each teach something else.
func (c *Client) learn(q wire.Quirks) {
	for {
		known := c.quirks.Load()
		merged := q
		merged.NoStreamOptions = q.NoStreamOptions || known.NoStreamOptions
		merged.MaxCompletionTokens = q.MaxCompletionTokens || known.MaxCompletionTokens
		merged.NoIgnoreEOS = q.NoIgnoreEOS || known.NoIgnoreEOS
		merged.NoGreedy = q.NoGreedy || known.NoGreedy
		merged.Texts = q.Texts || known.Texts
		merged.NoSchema = q.NoSchema || known.NoSchema
		if c.quirks.CompareAndSwap(known, &merged) {
			return
		}
	}
}

// userHeader gives the user's value of a header.
func (c *Client) userHeader(name string) (string, bool) {
	for _, h := range c.headers {
		if strings.EqualFold(h[0], name) {
			return h[1], true
		}
	}
	return "", false
}

func (c *Client) newEndpoint(raw string, proxies Proxies, config *tls.Config, dial Dial) (*endpoint, error) {
	u, err := parseURL(raw)
	if err != nil {
		return nil, err
	}
	ep := &endpoint{url: u, network: "tcp", addr: u.Host, host: u.Host, dial: dial}
	ep.peers = []*endpoint{ep}
	switch u.Scheme {
	case "unix":
		ep.network, ep.addr, ep.host = "unix", u.Path, "localhost"
		ep.path, ep.whole = c.dialect.Resolve("", true), c.dialect.Resolve("", false)
	case "https":
		ep.tls = config.Clone()
		ep.tls.ServerName = u.Hostname()
		fallthrough
	case "http":
		ep.path, ep.whole = c.dialect.Resolve(u.EscapedPath(), true), c.dialect.Resolve(u.EscapedPath(), false)
		if u.RawQuery != "" {
			query := "?" + strings.ReplaceAll(u.RawQuery, " ", "%20")
			ep.path, ep.whole = ep.path+query, ep.whole+query
		}
		if u.Port() == "" {
			ep.addr = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		}
	}
	if ep.dial == nil {
		ep.dial = socket.Dialer().DialContext
	}
	ep.server = ep.addr
	if err := ep.goThrough(proxies); err != nil {
		return nil, err
	}
	ep.head, ep.plain = c.appendHead(nil, ep, ep.path, nil), c.appendHead(nil, ep, ep.whole, nil)
	return ep, nil
}

// target is where a redirect points, without the query, which may hold keys.
func (ep *endpoint) target(location string) string {
	u, err := ep.url.Parse(location)
	if err != nil {
		return "an unreadable address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Drop closes the connections that wait; others are opened when they are needed.
func (c *Client) Drop() {
	for _, ep := range c.endpoints {
		for _, peer := range ep.peers {
			peer.pool.Drop()
		}
	}
}

// Close closes the connections that wait. It may be called twice.
func (c *Client) Close() {
	for _, ep := range c.endpoints {
		for _, peer := range ep.peers {
			peer.pool.Close()
		}
	}
	c.control.CloseIdleConnections()
	c.sockets.Close()
}

// Retransmits is how many TCP segments this machine had to send again, on
// connections that are closed or wait; 0 where the system does not say.
func (c *Client) Retransmits() int64 {
	n := c.sockets.Counts.Retransmits.Load()
	for _, ep := range c.endpoints {
		for _, peer := range ep.peers {
			n += peer.pool.Retransmits()
		}
	}
	return n
}

// SendsSchemas reports whether requests carry the schema that their reply is
// to keep: the API has a word for it, and the server has not refused it.
func (c *Client) SendsSchemas() bool { return c.dialect.Schemas && !c.quirks.Load().NoSchema }

// Dialect is the API that the client speaks.
func (c *Client) Dialect() *wire.Dialect { return c.dialect }

// Timestamps says how many reads were stamped by the kernel and how many had to
// be stamped by the clock after them.
func (c *Client) Timestamps() (kernel, user int64) {
	return c.sockets.Counts.Kernel.Load(), c.sockets.Counts.User.Load()
}

// UnsolicitedReads is how often a connection brought bytes that no request had asked
// for: an answer on it may have been another's.
func (c *Client) UnsolicitedReads() int64 {
	n := c.sockets.Counts.Unsolicited.Load()
	for _, ep := range c.endpoints {
		for _, peer := range ep.peers {
			n += peer.pool.Unsolicited()
		}
	}
	return n
}

// Check reads the certificates; its error begins with the key that is meant.
func (t TLS) Check() error {
	_, err := t.Config()
	return err
}

// Config is what the certificates make of a TLS session.
func (t TLS) Config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.Insecure, NextProtos: []string{"http/1.1"}}
	if t.CACert != "" {
		pem, err := os.ReadFile(t.CACert)
		if err != nil {
			return nil, fmt.Errorf("tls.ca_cert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca_cert: %s holds no PEM certificate", t.CACert)
		}
	}
	if t.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(t.ClientCert, t.ClientCert)
		if err != nil {
			return nil, fmt.Errorf("tls.client_cert: %s: %w", t.ClientCert, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
