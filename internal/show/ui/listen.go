package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen opens an address: without a host it is one of this machine alone. A port
// that is taken names who has it, where that can be known.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("want an address such as 127.0.0.1:7700, got %q", address)
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
		return nil, fmt.Errorf("%s is in use by %s: choose another port, such as --listen 127.0.0.1:0 for a free one", address, by)
	case err != nil:
		return nil, fmt.Errorf("%w; choose another address", err)
	}
	return l, nil
}
