package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"redline/internal/llm"
)

// maxFault bounds the message of a fault: a sentence around what a server said.
const maxFault = 2 * maxWords

// fault makes what a record keeps of a failure. Certificates, status lines and
// proxies speak too: whatever stands in the message, no secret does, and nothing
// that a terminal would obey.
func (c *Client) fault(o llm.Outcome, format string, args ...any) *llm.Fault {
	return &llm.Fault{Outcome: o, At: c.clock.Now(), Message: c.mask.Line(fmt.Sprintf(format, args...), maxFault)}
}

func (c *Client) cancelFault() *llm.Fault { return c.fault(llm.Cancelled, "cancelled") }

// dialFault names what kept a connection from being opened. ctx is the
// caller's: its end is no fault of the server.
func (c *Client) dialFault(ctx context.Context, ep *endpoint, err error) *llm.Fault {
	var dns *net.DNSError
	switch {
	case ctx.Err() != nil:
		return c.cancelFault()
	case errors.As(err, &dns):
		return c.fault(llm.DNS, "cannot resolve %s (%s): check the host in %s", dns.Name, dns.Err, ep.settingName())
	case errors.Is(err, syscall.ECONNREFUSED):
		role := "server"
		if ep.proxy != nil {
			role = "proxy"
		}
		return c.fault(llm.Connect, "%s refused the connection: is the %s running there?", ep.dialName(), role)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		c.shortage.files.Add(1)
		return c.fault(llm.Connect, "this machine has no file descriptor left for a connection: raise ulimit -n or lower the load")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		c.shortage.ports.Add(1)
		return c.fault(llm.Connect, "this machine has no source port left for a connection to %s: widen net.ipv4.ip_local_port_range or lower the load", ep.dialName())
	case isLate(err):
		return c.fault(llm.Connect, "%s did not answer within %v: is it reachable from here?", ep.dialName(), c.connectTime())
	}
	return c.fault(llm.Connect, "cannot connect to %s: %s", ep.dialName(), innermost(err))
}

// tlsFault names what kept a TLS session from being set up.
func (c *Client) tlsFault(ctx context.Context, ep *endpoint, err error) *llm.Fault {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var header tls.RecordHeaderError
	switch {
	case ctx.Err() != nil:
		return c.cancelFault()
	case errors.As(err, &authority):
		return c.fault(llm.TLS, "%s has a certificate of an unknown authority: trust it with --ca-cert FILE", ep.server)
	case errors.As(err, &name):
		return c.fault(llm.TLS, "%s has a certificate for another name (%v): use that name in --url", ep.server, name)
	case errors.As(err, &invalid):
		return c.fault(llm.TLS, "%s has an invalid certificate: %v", ep.server, invalid)
	case errors.As(err, &header), isEOF(err):
		return c.fault(llm.TLS, "%s does not speak TLS: use http:// instead of https://", ep.server)
	case strings.Contains(err.Error(), "no application protocol"):
		return c.fault(llm.TLS, "%s speaks HTTP/2 only; redline measures over HTTP/1.1: enable HTTP/1.1 on the server or its proxy", ep.server)
	case isLate(err):
		return c.fault(llm.TLS, "%s did not finish the TLS handshake within %v", ep.server, c.connectTime())
	case isAlert(err):
		return c.alertFault(ep, err)
	}
	return c.fault(llm.TLS, "TLS with %s failed: %s", ep.server, innermost(err))
}

// alertFault is what a server says against the session. A server that wants a
// certificate and got none says so only after the handshake.
func (c *Client) alertFault(ep *endpoint, err error) *llm.Fault {
	cure := ""
	if strings.Contains(err.Error(), "certificate") {
		cure = ": give --client-cert FILE"
	}
	return c.fault(llm.TLS, "%s refused the TLS session (%s)%s", ep.server, innermost(err), cure)
}

// connFault names what an error on an open connection means.
func (x *exchange) connFault(err error) *llm.Fault {
	var protocol errProtocol
	switch {
	case x.ctx.Err() != nil:
		return x.c.cancelFault()
	case isLate(err):
		return x.c.fault(llm.Timeout, "%s", x.limit)
	case errors.As(err, &protocol):
		return x.c.fault(llm.Malformed, "%s", x.mask().Line(string(protocol), maxProtocol))
	case isAlert(err):
		return x.c.alertFault(x.ep, err)
	}
	reason := innermost(err)
	if isEOF(err) {
		reason = "the server closed it"
	}
	switch {
	case x.output:
		return x.c.fault(llm.Reset, "the connection was cut in mid stream: %s", reason)
	case x.conn.GotBytes:
		return x.c.fault(llm.Reset, "the connection was cut before any output: %s", reason)
	}
	return x.c.fault(llm.Reset, "the connection was cut before any reply: %s", reason)
}

// maxProtocol bounds what is said of bytes that are not HTTP/1.1.
const maxProtocol = 160

// isCut tells a connection that died from a reply that is late or wrong.
func isCut(err error) bool {
	var protocol errProtocol
	return !isLate(err) && !errors.As(err, &protocol) && !isAlert(err)
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func isLate(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

// isAlert reports whether the error is the peer's own word on a TLS session.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// innermost gives the cause at the bottom of an error, which says what
// happened without the addresses that the message already has.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
