package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/llm"
	"redline/internal/must"
)

func TestWhichProxy(t *testing.T) {
	both := Proxies{HTTP: "http://plain:3128", HTTPS: "secure"}
	except := func(no string) Proxies { return Proxies{HTTP: both.HTTP, HTTPS: both.HTTPS, No: no} }
	const plain, secure, direct = "http://plain:3128", "http://secure", ""
	for _, tc := range []struct {
		proxies Proxies
		server  string
		want    string
	}{
		{Proxies{}, "http://engine", direct},
		{both, "http://engine:8000", plain},
		{both, "https://engine", secure},
		{Proxies{HTTP: "http://plain:3128"}, "https://engine", direct},
		{both, "unix:/run/engine.sock", direct},
		{both, "http://localhost:8000", direct},
		{both, "http://LOCALHOST.", direct},
		{both, "http://127.1.2.3", direct},
		{both, "http://[::1]:8000", direct},
		{both, "http://[::ffff:127.0.0.1]", direct},
		{except("*"), "https://engine", direct},
		{except("other, engine"), "https://engine", direct},
		{except("Engine."), "https://ENGINE", direct},
		{except("example.com"), "https://api.example.com", direct},
		{except("example.com"), "https://notexample.com", secure},
		{except(".example.com"), "https://api.example.com", direct},
		{except(".example.com"), "https://example.com", secure},
		{except("*.example.com"), "https://a.b.example.com", direct},
		{except("engine:8000"), "http://engine:8000", direct},
		{except("engine:8000"), "http://engine:8001", plain},
		{except("engine:443"), "https://engine", direct},
		{except("engine:80"), "http://engine", direct},
		{except("10.0.0.7"), "http://10.0.0.7:8000", direct},
		{except("10.0.0.7"), "http://10.0.0.77", plain},
		{except("10.0.0.7:8000"), "http://10.0.0.7", plain},
		{except("10.0.0.0/8"), "http://10.9.9.9", direct},
		{except("10.0.0.0/8"), "http://11.9.9.9", plain},
		{except("10.0.0.0/8"), "http://engine", plain},
		{except("fd00::/8"), "http://[fd00::5]:80", direct},
		{except("[fd00::5]:80"), "http://[fd00::5]", direct},
		{except("[fd00::5]"), "http://[fd00::5]", direct},
		{except(",, .,"), "http://engine", plain},
	} {
		server := must.Get(parseURL(tc.server))(t)
		proxy, err := tc.proxies.For(server)
		got := direct
		if proxy != nil {
			got = proxy.String()
		}
		if err != nil || got != tc.want {
			t.Errorf("%s with NO_PROXY=%s goes by %q (%v), want %q", tc.server, tc.proxies.No, got, err, tc.want)
		}
	}
}

func TestProxiesThatAreWrong(t *testing.T) {
	for raw, want := range map[string]string{
		"socks5://box:1080":          "HTTPS_PROXY: a proxy of the kind socks5:// is not supported, expected http://host:port; NO_PROXY=engine goes without",
		"https://me:secret@box:3128": "HTTPS_PROXY: a proxy of the kind https:// is not supported, expected http://host:port; NO_PROXY=engine goes without",
		"http://me:secret@":          `HTTPS_PROXY: expected a proxy such as http://proxy:3128, got "…@"`,
		"box:port":                   `HTTPS_PROXY: expected a proxy such as http://proxy:3128, got "http://box:port"`,
	} {
		_, err := New(Spec{URLs: []string{"https://engine"}, Proxies: Proxies{HTTPS: raw}}, Options{})
		if err == nil || err.Error() != want {
			t.Errorf("New says %v\n   want  %s", err, want)
		}
	}
}

func TestProxiesOfTheEnvironment(t *testing.T) {
	env := map[string]string{"HTTP_PROXY": "a", "http_proxy": "b", "https_proxy": "c", "HTTPS_PROXY": "", "no_proxy": "d"}
	got := ProxiesFrom(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	equal(t, "proxies", got, Proxies{HTTP: "a", HTTPS: "c", No: "d"})
}

// FuzzProxies: whatever NO_PROXY says, this machine is asked directly, and so
// is a host that it names.
func FuzzProxies(f *testing.F) {
	f.Add("http://plain:3128", "*.example.com,10.0.0.0/8,[::1]:80", "engine")
	f.Add("me:pw@box", ",.,:80,[", "10.0.0.1")
	f.Add("box", "", "engine:")
	f.Fuzz(func(t *testing.T, proxy, no, host string) {
		server := &url.URL{Scheme: "http", Host: "localhost"}
		if through, err := (Proxies{HTTP: proxy, No: no}).For(server); through != nil || err != nil {
			t.Errorf("localhost goes by %v (%v)", through, err)
		}
		named, err := url.Parse("http://" + host)
		if err != nil || named.Hostname() == "" || named.Port() != "" || strings.ContainsAny(host, ",/*[ \t\r\n\v\f\u0085\u00a0") {
			return
		}
		named.Host = host
		if through, err := (Proxies{HTTP: proxy, No: no + "," + host}).For(named); through != nil || err != nil {
			t.Errorf("%q with NO_PROXY=%s goes by %v (%v)", host, host, through, err)
		}
	})
}

// wayside is a proxy that leads every request to one server and remembers what
// it was asked.
type wayside struct {
	server string // host and port
	mu     sync.Mutex
	asked  []string
}

func (w *wayside) note(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, r.Header.Get("Proxy-Authorization"))))
}

func (w *wayside) serve(c net.Conn) {
	in := bufio.NewReader(c)
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	replies := bufio.NewReader(server)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		w.note(r)
		if r.Method == http.MethodConnect {
			_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
			go func() { _, _ = io.Copy(c, server); c.Close() }()
			_, _ = io.Copy(server, in)
			return
		}
		if r.Write(server) != nil {
			return
		}
		resp, err := http.ReadResponse(replies, r)
		if err != nil || resp.Write(c) != nil {
			return
		}
	}
}

// listen runs a proxy and gives its address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// TestThroughAProxy: streams and control calls go through the proxy, in a
// tunnel to a secure server and by the server's full name to any other, on
// connections that are kept.
func TestThroughAProxy(t *testing.T) {
	secure, authority := serveTLS(t, nil)
	plain := serve(t, hails)
	const credentials = "Basic bWU6c2VjcmV0LXdvcmQ=" // me:secret-word
	for _, tc := range []struct {
		name, scheme, server string
		kinds                [][]llm.EventKind
		asked                []string
	}{
		{"http", "http", plain, [][]llm.EventKind{greetingOnNew, greetingOnKept}, []string{
			"POST http://example.com/v1/chat/completions " + credentials,
			"POST http://example.com/v1/chat/completions " + credentials,
			"GET http://example.com/version " + credentials}},
		{"https", "https", secure, [][]llm.EventKind{append([]llm.EventKind{llm.Dialed, llm.Secured}, greetingOnKept...), greetingOnKept},
			[]string{"CONNECT example.com:443 " + credentials, "CONNECT example.com:443 " + credentials}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			way := &wayside{server: tc.server[strings.LastIndex(tc.server, "/")+1:]}
			proxy := "http://me:secret-word@" + listen(t, way.serve)
			c := newClient(t, Spec{TLS: TLS{CACert: authority}, Proxies: Proxies{HTTP: proxy, HTTPS: proxy}}, tc.scheme+"://example.com")
			if c.Resolve(t.Context()); !strings.HasSuffix(proxy, c.Proxy()) || c.Local() {
				t.Errorf("proxy %q, local %t", c.Proxy(), c.Local())
			}
			for _, want := range tc.kinds {
				events, fault := plainly(t, c, requestOf(true), nil)
				equal(t, "fault", fault, (*llm.Fault)(nil))
				equal(t, "kinds", kinds(events), want)
				equal(t, "text", textOf(events), "Hello!")
			}
			if _, err := c.Get(t.Context(), "/version"); err != nil {
				t.Error(err)
			}
			way.mu.Lock()
			defer way.mu.Unlock()
			equal(t, "what the proxy was asked", way.asked, tc.asked)
		})
	}
}

// TestProxyFaults: what a proxy answers to a wish for a tunnel, and the line
// that says so. ADDR stands for its address.
func TestProxyFaults(t *testing.T) {
	for _, tc := range []struct{ name, reply, want string }{
		{"wants a password", refusal("407 Proxy Authentication Required", "", ""),
			"the proxy ADDR wants a user and password: HTTPS_PROXY=http://user:password@ADDR"},
		{"cannot reach the server", refusal("502 Bad Gateway", "", "no route"),
			"the proxy ADDR does not open a way to engine.test:443 (HTTP 502): NO_PROXY=engine.test goes without it"},
		{"is none", "SSH-2.0-OpenSSH_9.9\r\n",
			`the proxy ADDR: not an HTTP/1.1 response: "SSH-2.0-OpenSSH_9.9\r\n"`},
		{"closes", "", "the proxy ADDR cut the connection to engine.test:443: EOF"},
		{"talks on", "HTTP/1.1 200 OK\r\n\r\nwelcome", "the proxy ADDR sent bytes of its own into the way to engine.test:443"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url, _ := serveRaw(t, always(tc.reply, false))
			addr := strings.TrimPrefix(url, "http://")
			c := newClient(t, Spec{Proxies: Proxies{HTTPS: url}}, "https://engine.test")
			events, fault := plainly(t, c, requestOf(true), nil)
			equal(t, "events", events, []llm.Event(nil))
			equal(t, "fault", fault, &llm.Fault{Outcome: llm.Connect, Message: strings.ReplaceAll(tc.want, "ADDR", addr)})
		})
	}
	t.Run("is not there", func(t *testing.T) {
		c := newClient(t, Spec{Proxies: Proxies{HTTP: "127.0.0.1:1"}}, "http://engine.test")
		_, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, &llm.Fault{Outcome: llm.Connect,
			Message: "the proxy 127.0.0.1:1 refused the connection: is the proxy running there?"})
	})
}

// TestSilentProxy: a proxy that never answers costs the time of a connection,
// and no more than a moment once the user gives up.
func TestSilentProxy(t *testing.T) {
	for _, patience := range []time.Duration{time.Hour, 3 * s} {
		synctest.Test(t, func(t *testing.T) {
			c := must.Get(New(Spec{URLs: []string{"https://engine.test"}, Proxies: Proxies{HTTPS: "proxy:3128"}},
				Options{Clock: clock.Virtual(), Dial: pipeTo(plays(nil))}))(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			want := &llm.Fault{Outcome: llm.Connect, At: int64(30 * s), Message: "the proxy proxy:3128 did not open a way to engine.test:443 within 30s"}
			if patience < connectLimit {
				want = &llm.Fault{Outcome: llm.Cancelled, At: int64(patience), Message: "cancelled"}
			}
			_, fault := collect(t, ctx, c, requestOf(true), nil)
			equal(t, "fault", fault, want)
			c.Close()
		})
	}
}

// TestProxySecretsAreHidden: neither a trace nor the words of a server show the
// proxy's password.
func TestProxySecretsAreHidden(t *testing.T) {
	url, _ := serveRaw(t, always(refusal("500 Oops", "", "me:secret-word bWU6c2VjcmV0LXdvcmQ="), false))
	c := newClient(t, Spec{Proxies: Proxies{HTTP: "http://me:secret-word@" + strings.TrimPrefix(url, "http://")}}, "http://engine.test")
	var trace strings.Builder
	c.TraceNext(&trace)
	_, fault := plainly(t, c, requestOf(true), nil)
	equal(t, "fault", fault, &llm.Fault{Outcome: llm.HTTP, Status: 500, Message: "me:*** ***"})
	if text := trace.String(); !strings.Contains(text, "> Proxy-Authorization: ***") || strings.Contains(text, "secret-word") || strings.Contains(text, "bWU6") {
		t.Errorf("trace:\n%s", text)
	}
}
