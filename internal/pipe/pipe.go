// Package pipe is a network whose connections live in memory, for tests in the
// virtual time of testing/synctest. It takes addresses and gives listeners, and
// connections to them. No command imports it.
package pipe

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// Network is a network of its own; its zero value is ready to use.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	ports     int
}

// Open listens at an address, at a port of its choice where that ends with :0.
func (n *Network) Open(_ context.Context, addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if host, port, err := net.SplitHostPort(addr); err != nil {
		return nil, err
	} else if port == "0" {
		n.ports++
		addr = fmt.Sprintf("%s:%d", host, n.ports)
	}
	l := &listener{addr: address(addr), conns: make(chan net.Conn), closed: make(chan struct{})}
	if n.listeners == nil {
		n.listeners = map[string]*listener{}
	}
	n.listeners[addr] = l
	return l, nil
}

// Dial connects to who listens at an address.
func (n *Network) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: address(addr), Err: syscall.ECONNREFUSED}
	if l == nil {
		return nil, refused
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

type listener struct {
	addr   address
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return l.addr }
