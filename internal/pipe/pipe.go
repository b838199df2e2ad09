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
	listeners map[string]*Listener
	ports     int
}

// Open listens at an address, at a port of its choice where that ends with :0.
func (n *Network) Open(_ context.Context, addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if port == "0" {
		n.ports++
		addr = fmt.Sprintf("%s:%d", host, 10000+n.ports)
	}
	if n.listeners == nil {
		n.listeners = map[string]*Listener{}
	}
	n.listeners[addr] = Listen(addr)
	return n.listeners[addr], nil
}

// Dial connects to whoever listens at an address.
func (n *Network) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	if l == nil {
		return nil, refusedError(address(addr))
	}
	return l.Dial(ctx, network, addr)
}

func refusedError(a address) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: a, Err: syscall.ECONNREFUSED}
}

// Listener takes connections at one address.
type Listener struct {
	addr   address
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// Listen gives a listener that no network knows of: only its own Dial finds it.
func Listen(addr string) *Listener {
	return &Listener{addr: address(addr), conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to it, whatever address is asked for.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, refusedError(l.addr)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept, Close and Addr make it a net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *Listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *Listener) Addr() net.Addr { return l.addr }
