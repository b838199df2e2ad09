package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/llm"
	"redline/internal/must"
)

// serveTLS gives a server's URL and a file with its authority's certificate.
func serveTLS(t *testing.T, config *tls.Config) (url, authority string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(hails))
	s.TLS = config
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, writePEM(t, &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func writePEM(t *testing.T, blocks ...*pem.Block) string {
	t.Helper()
	var content []byte
	for _, b := range blocks {
		content = append(content, pem.EncodeToMemory(b)...)
	}
	file := must.File(t, "pem", content)
	return file
}

func TestTLSConnectionsAreKept(t *testing.T) {
	url, authority := serveTLS(t, nil)
	c := newClient(t, Spec{TLS: TLS{CACert: authority}}, url)
	must.Do(t, c.Open(t.Context(), 2))
	for range 5 {
		events, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "kinds", kinds(events), greetingOnKept)
	}
}

func TestTLSHandshakeIsTold(t *testing.T) {
	url, _ := serveTLS(t, nil)
	events, fault := plainly(t, newClient(t, Spec{TLS: TLS{Insecure: true}}, url), requestOf(true), nil)
	equal(t, "fault", fault, (*llm.Fault)(nil))
	equal(t, "kinds", kinds(events), append([]llm.EventKind{llm.Dialed, llm.Secured}, greetingOnKept...))
}

// clientCertificate makes one file with a certificate and its key.
func clientCertificate(t *testing.T) string {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	return writePEM(t, &pem.Block{Type: "CERTIFICATE", Bytes: cert}, &pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

func TestClientCertificate(t *testing.T) {
	url, authority := serveTLS(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	with := newClient(t, Spec{TLS: TLS{CACert: authority, ClientCert: clientCertificate(t)}}, url)
	_, fault := plainly(t, with, requestOf(true), nil)
	equal(t, "fault", fault, (*llm.Fault)(nil))

	without := newClient(t, Spec{TLS: TLS{CACert: authority}}, url)
	if err := without.Open(t.Context(), 1); err != nil {
		t.Fatal(err) // TLS 1.3 refuses only after the handshake
	}
	for range 2 {
		events, fault := plainly(t, without, requestOf(true), nil)
		// Before it is asked the connection may be seen to be closed.
		asked := events[slices.IndexFunc(events, func(ev llm.Event) bool { return ev.Kind == llm.Sent }):]
		equal(t, "asked again", has(asked, llm.Reconnect), false)
		equal(t, "fault", fault, &llm.Fault{Outcome: llm.TLS,
			Message: without.Addr() + " refused the TLS session (tls: certificate required): give --client-cert FILE"})
	}
}

// TestTLSFaults: what is wrong with a server, and the line that says so. ADDR
// stands for its address.
func TestTLSFaults(t *testing.T) {
	url, authority := serveTLS(t, nil)
	// Go's own servers let HTTP/1.1 pass where "h2" is their only word, so
	// this one has another.
	http2, http2Authority := serveTLS(t, &tls.Config{NextProtos: []string{"h2-and-nothing-else"}})
	plain, _ := serveRaw(t, always("", false))
	talks := serve(t, hails)
	for _, tc := range []struct {
		name, url, authority string
		want                 llm.Fault
	}{
		{"unknown authority", url, "", llm.Fault{Outcome: llm.TLS,
			Message: "ADDR has a certificate of an unknown authority: trust it with --ca-cert FILE"}},
		{"another name", strings.Replace(url, "127.0.0.1", "localhost", 1), authority, llm.Fault{Outcome: llm.TLS,
			Message: "ADDR has a certificate for another name (x509: certificate is valid for example.com, *.example.com, not localhost): use that name in --url"}},
		{"HTTP/2 only", http2, http2Authority, llm.Fault{Outcome: llm.TLS,
			Message: "ADDR speaks HTTP/2 only; redline measures over HTTP/1.1: enable HTTP/1.1 on the server or its proxy"}},
		{"plain port that hangs up", "https" + strings.TrimPrefix(plain, "http"), "", llm.Fault{Outcome: llm.TLS,
			Message: "ADDR does not speak TLS: use http:// instead of https://"}},
		{"plain port that answers", "https" + strings.TrimPrefix(talks, "http"), "", llm.Fault{Outcome: llm.TLS,
			Message: "ADDR does not speak TLS: use http:// instead of https://"}},
		{"plain request to it", "http" + strings.TrimPrefix(url, "https"), "", llm.Fault{Outcome: llm.HTTP, Status: 400,
			Message: "Client sent an HTTP request to an HTTPS server. Use https:// in --url."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClient(t, Spec{TLS: TLS{CACert: tc.authority}}, tc.url)
			_, fault := plainly(t, c, requestOf(true), nil)
			tc.want.Message = strings.ReplaceAll(tc.want.Message, "ADDR", c.Addr())
			equal(t, "fault", fault, &tc.want)
		})
	}
}

// TestHTTP2BehindTLS: a server that agrees to any protocol and then speaks
// HTTP/2 is recognised by its first frame.
func TestHTTP2BehindTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	s.TLS = &tls.Config{NextProtos: []string{"h2"}}
	s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateActive {
			_, _ = io.WriteString(c, "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	_, fault := plainly(t, newClient(t, Spec{TLS: TLS{Insecure: true}}, s.URL), requestOf(true), nil)
	equal(t, "fault", fault, &llm.Fault{Outcome: llm.Malformed,
		Message: "the server speaks HTTP/2 only; redline measures over HTTP/1.1: enable HTTP/1.1 on the server or its proxy"})
}

func TestBadCertificateFiles(t *testing.T) {
	empty := writePEM(t)
	for _, tc := range []struct {
		tls  TLS
		want string
	}{
		{TLS{CACert: "/no/such"}, "provider.tls.ca_cert: open /no/such: no such file or directory"},
		{TLS{CACert: empty}, "provider.tls.ca_cert: " + empty + " holds no PEM certificate"},
		{TLS{ClientCert: empty}, "provider.tls.client_cert: " + empty + ": tls: failed to find any PEM data in certificate input"},
	} {
		_, err := New(Spec{URLs: []string{"https://h"}, TLS: tc.tls}, Options{})
		if err == nil || err.Error() != tc.want {
			t.Errorf("New says %v, want %s", err, tc.want)
		}
	}
}
