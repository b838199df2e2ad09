package doctor

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/expect"
	"redline/internal/judge/validity"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/store"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// look examines one endpoint and gives its findings by check.
func look(t *testing.T, limit time.Duration, spec client.Spec) (*validity.Endpoint, map[string]validity.Finding) {
	t.Helper()
	p := must.Get(newProbe(spec))(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	e := p.examine(ctx, clock.New())
	found := map[string]validity.Finding{}
	for _, f := range e.Findings(time.Now()) {
		found[f.Check] = f
	}
	return e, found
}

// enough is more than any of these servers needs.
const enough = 20 * time.Second

// timed names the checks that a busy machine can make fire on a sound server.
var timed = map[string]bool{"reach": true, "streaming": true, "response_cache": true}

func TestTheSimulatedEngineIsAble(t *testing.T) {
	t.Parallel()
	engine := must.Get(simserver.Start(context.WithoutCancel(t.Context()), sim.Spec{}, simserver.ServeOptions{Version: "1.2.3"}))(t)
	t.Cleanup(func() { engine.Close() })
	for _, api := range []string{"openai-chat", "openai-completions", "anthropic-messages"} {
		e, found := look(t, enough, client.Spec{URLs: []string{engine.URL()}, API: api})
		reply := func() *validity.Reply {
			return &validity.Reply{Outcome: llm.OK, Events: 16, Usage: true, Output: 16, Answered: true}
		}
		want := &validity.Endpoint{API: api, Local: true, KeepsLength: api != "anthropic-messages", Models: []string{sim.DefaultModel}, Model: sim.DefaultModel, OwnedBy: "redline",
			Version: "1.2.3", Metrics: "vllm", Cold: reply(), Fresh: reply(), Again: reply()}
		expect.NoDiff(t, cmp.Diff(want, e, cmpopts.IgnoreUnexported(validity.Endpoint{}, validity.Reply{}), cmpopts.IgnoreFields(validity.Endpoint{}, "URL", "Skew", "Handshake"),
			cmpopts.IgnoreFields(validity.Reply{}, "TTFT", "E2E", "Arrivals", "Prompt", "Cached", "Text")), "%s (-want +got)", api)
		if e.Handshake.N != handshakes || e.Skew == nil || e.Fresh.TTFT <= 0 || e.Fresh.E2E < e.Fresh.TTFT || e.Again.Cached == 0 || e.Fresh.Cached != 0 {
			t.Errorf("%s: %+v, fresh %+v, again %+v", api, e, e.Fresh, e.Again)
		}
		for name, f := range found {
			if (f.Mark == validity.Bad || f.Mark == validity.Warn) && name != "place" && !timed[name] {
				t.Errorf("%s: %+v", api, f)
			}
		}
	}
}

// chat answers as an OpenAI server would, but for what reply does.
func chat(reply http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"data":[{"id":"m","owned_by":"someone"}]}`)
	})
	mux.HandleFunc("/v1/chat/completions", reply)
	return mux
}

// streamWords writes a stream of n words, the usage if any, and the end.
func streamWords(n int, usage string, flush bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range n {
			io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n")
			if flush {
				http.NewResponseController(w).Flush()
			}
		}
		if usage != "" {
			fmt.Fprintf(w, `data: {"choices":[],"usage":%s}`+"\n\n", usage)
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// Each server has one weakness, and the check that is made for it says so.
func TestWeakServers(t *testing.T) {
	t.Parallel()
	locked := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"bad key"}}`, http.StatusUnauthorized)
	}
	buffered := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(60 * time.Millisecond)
		streamWords(16, "", false)(w, r)
	}
	whole := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"message":{"content":"x"}}]}`)
	}
	for _, c := range []struct {
		name   string
		server http.Handler
		check  string
		mark   validity.Mark
		says   string
	}{
		{"no usage", chat(streamWords(16, "", true)), "usage", validity.Warn, "none"},
		{"no streaming", chat(whole), "reply", validity.Bad, "application/json"},
		{"a buffer on the way", chat(buffered), "streaming", validity.Bad, "16 events at 1 time"},
		{"the model ends early", chat(streamWords(2, `{"prompt_tokens":9,"completion_tokens":2}`, true)), "ignore_eos", validity.Warn, "asked 16 tokens, got 2"},
		{"several tokens an event", chat(streamWords(4, `{"prompt_tokens":9,"completion_tokens":16}`, true)), "tokens_per_event", validity.Warn, "4"},
		{"no key", chat(locked), "reply", validity.Bad, "401 from the server"},
		{"no list of models", http.NotFoundHandler(), "models", validity.Bad, "HTTP 404"},
		{"a page of another program", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }), "models", validity.Bad, "not JSON"},
		{"plain HTTP to a server that wants TLS", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Client sent an HTTP request to an HTTPS server.", http.StatusBadRequest)
		}), "models", validity.Bad, "use https:// in --url"},
		{"no metrics", chat(streamWords(16, "", true)), "metrics", validity.Unread, "HTTP 404"},
	} {
		_, found := look(t, enough, client.Spec{URLs: []string{serve(t, c.server)}})
		if f := found[c.check]; f.Mark != c.mark || !strings.Contains(f.Figure+f.Cure, c.says) {
			t.Errorf("%s: %s %q, want %s with %q", c.name, f.Mark, f.Figure, c.mark, c.says)
		}
		if found["reach"].Mark == validity.Bad {
			t.Errorf("%s: %+v", c.name, found["reach"])
		}
	}
}

func TestADeadServer(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	l.Close()
	_, found := look(t, enough, client.Spec{URLs: []string{"http://" + l.Addr().String()}})
	if f := found["reach"]; len(found) != 1 || f.Mark != validity.Bad || !strings.Contains(f.Figure, "refused the connection") {
		t.Errorf("%+v", found)
	}
}

func TestASlowServerDoesNotHangUs(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	url := serve(t, chat(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	}))
	t.Cleanup(func() { close(released) })
	_, found := look(t, 5*time.Second, client.Spec{URLs: []string{url}})
	if f := found["reply"]; f.Mark != validity.Bad || !strings.HasPrefix(f.Figure, "no whole reply") {
		t.Errorf("%+v", f)
	}
}

// notes is what servers write down for the test to read.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

func TestTrust(t *testing.T) {
	t.Parallel()
	var keys notes
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("Authorization"); key != "" {
			keys.add(key)
		}
		chat(streamWords(16, "", true)).ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it says that it is not trusted
	s.StartTLS()
	t.Cleanup(s.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	must.Write(t, authority, block)
	spec := client.Spec{URLs: []string{s.URL}, APIKey: "sk-secret"}

	e, found := look(t, enough, spec)
	if f := found["tls"]; f.Mark != validity.Bad || !strings.Contains(f.Figure, "unknown authority") || e.Session != nil {
		t.Errorf("unknown authority: %+v, %+v", f, e.Session)
	}
	if found["models"].Mark != "" || len(keys.all()) != 0 {
		t.Errorf("a server that is not trusted was sent %d keys and says %+v", len(keys.all()), found["models"])
	}

	trusting := spec
	trusting.TLS.CACert = authority
	if e, found := look(t, enough, trusting); found["tls"].Figure != "TLS 1.3" || found["certificate"].Mark != validity.OK || found["reply"].Mark != validity.OK {
		t.Errorf("trusted: %+v, %+v", found, e)
	}
	insecure := spec
	insecure.TLS.Insecure = true
	if _, found := look(t, enough, insecure); found["certificate"].Mark != validity.Warn || found["reply"].Mark != validity.OK {
		t.Errorf("insecure: %+v", found)
	}
	named := trusting
	named.URLs = []string{strings.Replace(s.URL, "127.0.0.1", "localhost", 1)}
	if _, found := look(t, enough, named); !strings.Contains(found["tls"].Figure, "for another name") {
		t.Errorf("another name: %+v", found["tls"])
	}
	plain := spec
	plain.URLs = []string{strings.Replace(serve(t, http.NotFoundHandler()), "http:", "https:", 1)}
	if _, found := look(t, enough, plain); found["tls"].Mark != validity.Bad || !strings.Contains(found["tls"].Cure, "http://") {
		t.Errorf("no TLS there: %+v", found["tls"])
	}
}

func TestAUnixSocket(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skipf("no unix sockets here: %v", err)
	}
	s := httptest.NewUnstartedServer(chat(streamWords(16, "", true)))
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	e, found := look(t, enough, client.Spec{URLs: []string{"unix:" + socket}})
	if found["reach"].Mark == validity.Bad || found["reply"].Mark != validity.OK || !e.Local || e.Skew == nil {
		t.Errorf("%+v", found)
	}
}

func TestAProxyIsPassedThrough(t *testing.T) {
	t.Parallel()
	var seen notes
	proxy := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.URL.Host)
		chat(streamWords(16, "", true)).ServeHTTP(w, r)
	}))
	e, found := look(t, enough, client.Spec{URLs: []string{"http://engine.invalid:8000"}, Proxies: client.Proxies{HTTP: proxy}})
	if found["reach"].Mark == validity.Bad || found["reply"].Mark != validity.OK || "http://"+e.Proxy != proxy {
		t.Errorf("%+v", found)
	}
	if hosts := seen.all(); len(hosts) == 0 || hosts[0] != "engine.invalid:8000" {
		t.Errorf("the proxy was asked for %v", hosts)
	}
}

func TestBadSpecsAreSaidAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec client.Spec
		want string
	}{
		{client.Spec{URLs: []string{"ftp://x"}}, "http://"},
		{client.Spec{URLs: []string{"https://x"}, TLS: client.TLS{CACert: "/none.pem"}}, "none.pem"},
		{client.Spec{URLs: []string{"https://x"}, TLS: client.TLS{ClientCert: "/none.pem"}}, "none.pem"},
		{client.Spec{URLs: []string{"http://x"}, API: "opnai"}, "opnai"},
	} {
		if _, err := Run(t.Context(), Options{Target: c.spec}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want one that says %q", c.spec.URLs, err, c.want)
		}
	}
}

func TestSkewIsBoundedByTheExchange(t *testing.T) {
	t.Parallel()
	// Asked at 0.2 s and answered at 0.5 s of our second 10; the server wrote
	// second 12, of which up to one second had passed.
	second := time.Unix(1_800_000_000, 0)
	got := skewOf(second.Add(12*time.Second), second.Add(10*time.Second+200*time.Millisecond), second.Add(10*time.Second+500*time.Millisecond))
	if want := (validity.Skew{Min: 15e8, Max: 28e8}); *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
}

func TestRunLooksAtEveryAddress(t *testing.T) {
	t.Parallel()
	first, second := serve(t, chat(streamWords(16, "", true))), serve(t, http.NotFoundHandler())
	var said []string
	r := must.Get(Run(t.Context(), Options{Target: client.Spec{URLs: []string{first, second}}, Pace: briefly,
		Say: func(line string) { said = append(said, line) }}))(t)
	if len(r.Endpoints) != 2 || r.Ready || !strings.Contains(r.Verdict, "models") || len(said) != 2 {
		t.Errorf("%d endpoints, ready %v, %q, said %q", len(r.Endpoints), r.Ready, r.Verdict, said)
	}
	if !strings.HasPrefix(r.Endpoints[0].URL, first) || !strings.HasPrefix(r.Endpoints[1].URL, second) {
		t.Errorf("%s, %s", r.Endpoints[0].URL, r.Endpoints[1].URL)
	}
}

func TestRequestIDsAreUUIDs(t *testing.T) {
	t.Parallel()
	id := llm.RequestID(store.NewID(), 1)
	groups := strings.Split(id, "-")
	if len(id) != 36 || len(groups) != 5 || groups[2][0] != '4' || !strings.Contains("89ab", groups[3][:1]) {
		t.Errorf("%s is no UUID of version 4", id)
	}
}
