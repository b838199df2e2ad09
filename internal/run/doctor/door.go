package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"redline/internal/drive/client"
	"redline/internal/judge/validity"
)

// knockLimit bounds one connection, and one page, of which the server need not
// think.
const knockLimit = 3 * time.Second

// door is how a server looks from outside: what can be learned without a
// request that it would answer only to a friend.
type door struct {
	network, addr string
	url           *url.URL // where the page in front is
	proxy         *url.URL // on the way to it, nil for none
	tls           *tls.Config
}

func newDoor(spec client.Spec) (*door, error) {
	raw := spec.URLs[0]
	if socket, ok := strings.CutPrefix(raw, "unix:"); ok {
		return &door{network: "unix", addr: strings.TrimPrefix(socket, "//"), url: &url.URL{Scheme: "http", Host: "localhost", Path: "/"}}, nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("--url: not an address")
	}
	d := &door{network: "tcp", addr: dialAddress(u), url: &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}}
	if d.proxy, err = spec.Proxies.For(u); err != nil {
		return nil, err
	}
	if d.proxy != nil {
		d.addr = dialAddress(d.proxy)
	}
	// The certificate is looked at here whatever it is worth, and judged
	// after; nothing secret is sent through this door.
	if d.tls, err = spec.TLS.Config(); err != nil {
		return nil, err
	}
	d.tls.InsecureSkipVerify, d.tls.ServerName = true, u.Hostname()
	return d, nil
}

// dialAddress is the address behind a URL; a scheme is also the name of its port.
func dialAddress(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), u.Scheme)
}

// handshakes times how long connections take to open. The first one may have
// to look the name up, so it only finds the address.
func (d *door) handshakes(ctx context.Context, n int) (validity.Spread, error) {
	dialer := net.Dialer{Timeout: knockLimit}
	first, err := dialer.DialContext(ctx, d.network, d.addr)
	if err != nil {
		return validity.Spread{}, err
	}
	addr := first.RemoteAddr().String()
	first.Close()
	if d.network == "unix" {
		addr = d.addr
	}
	var took []float64
	for range n {
		start := time.Now()
		conn, err := dialer.DialContext(ctx, d.network, addr)
		if err != nil {
			return validity.Spread{}, err
		}
		took = append(took, float64(time.Since(start)))
		conn.Close()
	}
	return spreadOf(took), nil
}

// unreachable words why no connection could be opened.
func unreachable(err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "the name " + dns.Name + " cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused the connection"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %v", knockLimit)
	}
	return client.Innermost(err)
}

// greet asks for the page in front, without any key, and keeps what its head
// and its TLS session tell. Whatever the server answers will do.
func (d *door) greet(ctx context.Context, e *validity.Endpoint) {
	transport := &http.Transport{TLSClientConfig: d.tls, DisableKeepAlives: true,
		Proxy: func(*http.Request) (*url.URL, error) { return d.proxy, nil },
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, d.network, d.addr)
		}}
	ctx, cancel := context.WithTimeout(ctx, knockLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url.String(), nil)
	if err != nil {
		return
	}
	before := time.Now()
	resp, err := transport.RoundTrip(req)
	after := time.Now()
	if err != nil {
		// Without TLS a page that does not come is no finding: the requests
		// that follow say more.
		if d.url.Scheme == "https" {
			e.SessionFault = client.Innermost(err)
		}
		return
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	e.ServerHeader = resp.Header.Get("Server")
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		e.Skew = skewOf(date, before, after)
	}
	if resp.TLS != nil {
		e.Session = d.session(resp.TLS, after)
	}
}

// skewOf bounds the difference of the clocks: the server wrote down a second
// that was not over, at some time between asking and the answer.
func skewOf(date, before, after time.Time) *validity.Skew {
	return &validity.Skew{Least: int64(date.Sub(after)), Most: int64(date.Add(time.Second).Sub(before))}
}

// session keeps what a TLS session tells, and whether it would be trusted.
func (d *door) session(state *tls.ConnectionState, now time.Time) *validity.Session {
	s := &validity.Session{Version: tls.VersionName(state.Version)}
	if len(state.PeerCertificates) == 0 {
		return s
	}
	leaf := state.PeerCertificates[0]
	s.Subject, s.Issuer, s.Expires = leaf.Subject.String(), leaf.Issuer.String(), leaf.NotAfter
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: d.tls.ServerName, Roots: d.tls.RootCAs, Intermediates: between, CurrentTime: now})
	if err != nil {
		s.Distrust = distrust(err)
	}
	return s
}

func distrust(err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &authority):
		return "unknown authority"
	case errors.As(err, &name):
		return "for another name"
	}
	return strings.TrimPrefix(err.Error(), "x509: ")
}
