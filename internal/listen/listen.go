// Package listen opens addresses to serve on, and knows by which names a server may
// be asked. It takes an address and a Host header; it knows no page.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"redline/internal/text"
)

// Open opens an address: without a host it is one of this machine alone. A port
// that is taken names who has it, where that can be known.
func Open(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("expected an address such as 127.0.0.1:7700, got %s", text.Quote(address))
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		by := holder(port)
		if by == "" {
			by = "another process"
		}
		return nil, fmt.Errorf("%s is in use by %s: choose another port, such as 127.0.0.1:0 for a free one", address, by)
	case err != nil:
		return nil, fmt.Errorf("%w; choose another address", err)
	}
	return l, nil
}

// Site is an address that is served, as it is asked for.
type Site struct {
	Address string // as a client on this machine is given it
	host    string
	any     bool // it listens on every address of this machine
	local   bool // on this machine alone
}

// At is the site at an address that is listened on.
func At(listen net.Addr) Site {
	host, port, err := net.SplitHostPort(listen.String())
	if err != nil {
		host = listen.String()
	}
	ip := net.ParseIP(host)
	s := Site{Address: listen.String(), host: host, any: ip != nil && ip.IsUnspecified(), local: ip != nil && ip.IsLoopback()}
	if s.any {
		s.Address = net.JoinHostPort("127.0.0.1", port)
	}
	return s
}

// Local reports whether no other machine can ask.
func (s Site) Local() bool { return s.local }

// Knows reports whether a Host header names this server, and no name that
// somebody else has pointed at this machine.
func (s Site) Knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	switch {
	case strings.EqualFold(host, "localhost"), ip != nil && ip.IsLoopback(), host == s.host:
		return true
	case !s.any:
		return false
	case ip != nil:
		return true // an address cannot be pointed elsewhere
	}
	own, err := os.Hostname()
	return err == nil && strings.EqualFold(host, own)
}

// Refuse answers a request that was meant for another name.
func (s Site) Refuse(w http.ResponseWriter) {
	http.Error(w, "this server is at "+s.Address+": open it by that address", http.StatusMisdirectedRequest)
}

// Guard lets no page of another site read what is for this machine alone, by a
// name that points here. What listens for other machines too is asked by whatever
// name they have for this one: whoever reaches it may read it.
func Guard(listen net.Addr, h http.Handler) http.Handler {
	s := At(listen)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.local && !s.Knows(r.Host) {
			s.Refuse(w)
			return
		}
		h.ServeHTTP(w, r)
	})
}
