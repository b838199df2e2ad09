package bus

import (
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"redline/internal/lock"
	"redline/internal/text"
)

type embeddedServer struct {
	*server.Server
	url     string
	dir     string
	scratch *lock.Lock // in it
}

// embed starts a server. On anything but loopback it speaks TLS alone.
func embed(o Options, k keys) (*embeddedServer, error) {
	host, port, err := listenAddress(o.Listen)
	if err != nil {
		return nil, err
	}
	e := &embeddedServer{}
	if e.dir, e.scratch, err = scratch(); err != nil {
		return nil, fmt.Errorf("there is no place for records: %w; name another by TMPDIR", err)
	}
	log := &serverLog{dir: e.dir, reported: map[string]bool{}, gate: gate{token: k.proof(), say: o.say, reported: map[string]bool{}}}
	options := &server.Options{
		ServerName: "redline", Host: host, Port: port, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: e.dir, DisableJetStreamBanner: true,
		MaxPayload: maxPayload, MaxPending: 32 * maxPayload,
		AuthTimeout: 10, PingInterval: 2 * time.Second, MaxPingsOut: 3,
		CustomClientAuthentication: &log.gate,
	}
	// Workers know one address, which may be that of a proxy: no others.
	options.Cluster.NoAdvertise = true
	scheme := "nats"
	if !loopback(host) {
		certificate, err := k.certificate()
		if err != nil {
			e.stop()
			return nil, err
		}
		scheme = "tls"
		options.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}
		options.TLSTimeout = 10
	}
	if e.Server, err = server.NewServer(options); err != nil {
		e.stop()
		return nil, fmt.Errorf("the embedded NATS server cannot start: %s", text.Line(err.Error()))
	}
	e.SetLogger(log, false, false)
	e.Start()
	if err := e.ready(log, net.JoinHostPort(host, strconv.Itoa(max(port, 0)))); err != nil {
		e.stop()
		return nil, err
	}
	at := e.Addr().(*net.TCPAddr)
	e.url = scheme + "://" + net.JoinHostPort(reachable(host), strconv.Itoa(at.Port))
	return e, nil
}

// ready waits until the server takes connections, or says why it does not.
func (e *embeddedServer) ready(log *serverLog, address string) error {
	if log.fatal() == "" && e.ReadyForConnections(20*time.Second) {
		return nil
	}
	switch why := log.fatal(); {
	case strings.Contains(why, syscall.EADDRINUSE.Error()), strings.Contains(why, "Only one usage of each socket address"): // Windows
		return fmt.Errorf("%s is in use: another program listens there; give another port, or none for any that is free", address)
	case why != "":
		return fmt.Errorf("the embedded NATS server at %s cannot start: %s", address, why)
	}
	return fmt.Errorf("the embedded NATS server at %s was not ready within 20 s: is the machine overloaded?", address)
}

func (e *embeddedServer) stop() {
	if e.Server != nil {
		e.Shutdown()
		e.WaitForShutdown()
	}
	os.RemoveAll(e.dir)
	_ = e.scratch.Release() // its file is gone
}

// scratch makes a directory for the time of this process, and removes those of
// processes that were killed.
func scratch() (dir string, held *lock.Lock, err error) {
	const name = "lock"
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "redline-nats-*"))
	for _, old := range left {
		if !lock.Private(old) {
			continue // another user's, who could have put anything there
		}
		if l, err := lock.Take(filepath.Join(old, name), "redline"); err == nil {
			os.RemoveAll(old)
			_ = l.Release() // its file is gone
		}
	}
	if dir, err = os.MkdirTemp("", "redline-nats-"); err != nil {
		return "", nil, err
	}
	if held, err = lock.Take(filepath.Join(dir, name), "redline"); err != nil {
		os.RemoveAll(dir)
	}
	return dir, held, err
}

func listenAddress(listen string) (host string, port int, err error) {
	if listen == "" {
		return "127.0.0.1", server.RANDOM_PORT, nil
	}
	if !strings.Contains(listen, ":") {
		listen += ":0"
	}
	host, digits, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(digits)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%s is not an address to listen on: expected host:port, such as 0.0.0.0:4222", text.Quote(listen))
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reachable is a host that workers can dial.
func reachable(host string) string {
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return host
	}
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// gate lets connections in by the join token, and names those that lack it: each
// machine once, and not without end.
type gate struct {
	token    string
	say      func(string, ...any)
	mu       sync.Mutex
	reported map[string]bool
}

func (g *gate) Check(c server.ClientAuthentication) bool {
	if subtle.ConstantTimeCompare([]byte(c.GetOpts().Token), []byte(g.token)) == 1 {
		return true
	}
	g.refuse(c.RemoteAddress().String(), errToken)
	return false
}

func (g *gate) refuse(address, why string) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	g.mu.Lock()
	known := g.reported[host+why] || len(g.reported) >= 100
	if !known {
		g.reported[host+why] = true
	}
	g.mu.Unlock()
	if !known {
		g.say("refused a worker at %s: %s", text.Line(host), why)
	}
}

// serverLog keeps why a server did not start, and says what goes wrong in it.
type serverLog struct {
	gate     gate
	mu       sync.Mutex
	why      string
	dir      string
	reported map[string]bool
}

func (l *serverLog) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

func (l *serverLog) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == "" {
		l.why = text.Line(fmt.Sprintf(format, args...))
	}
}

func (l *serverLog) Errorf(format string, args ...any) {
	line := text.Line(fmt.Sprintf(format, args...))
	if address, reason, ok := strings.Cut(line, "TLS handshake error: "); ok {
		if strings.Contains(reason, "bad certificate") {
			reason = errToken + ", so that it does not know this server's key"
		}
		address, _, _ = strings.Cut(address, " ")
		l.gate.refuse(address, reason)
		return
	}
	if strings.Contains(line, "authentication error") || strings.Contains(line, "Authorization Violation") {
		return // the gate has said so
	}
	if strings.Contains(line, "resource limits exceeded") || strings.Contains(line, syscall.ENOSPC.Error()) {
		line = fmt.Sprintf("no room is left for records in %s: free some, or name another place by TMPDIR, and run again", l.dir)
	}
	l.mu.Lock()
	say := len(l.reported) < 10 && !l.reported[line]
	if say {
		l.reported[line] = true
	}
	l.mu.Unlock()
	if say {
		l.gate.say("the embedded NATS server: %s", line)
	}
}

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Warnf(string, ...any)   {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}
