package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
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
	d.tls, err = spec.TLS.Config()
	return d, err
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
		return // the requests that follow say more
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	e.ServerHeader = resp.Header.Get("Server")
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		e.Skew = skewOf(date, before, after)
	}
	if t := resp.TLS; t != nil && len(t.PeerCertificates) > 0 {
		leaf := t.PeerCertificates[0]
		e.Session = &validity.Session{Version: tls.VersionName(t.Version), Subject: leaf.Subject.String(), Issuer: leaf.Issuer.String(), Expires: leaf.NotAfter}
	}
}

// skewOf bounds the difference of the clocks: the server wrote down a second
// that was not over, at some time between asking and the answer.
func skewOf(date, before, after time.Time) *validity.Skew {
	return &validity.Skew{Min: int64(date.Sub(after)), Max: int64(date.Add(time.Second).Sub(before))}
}
