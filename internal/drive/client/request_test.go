package client

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"redline/internal/drive/wire"
	"redline/internal/llm"
	"redline/internal/must"
)

// TestRequest: what a spec makes of a request, as a server sees it.
func TestRequest(t *testing.T) {
	temperature := 0.5
	for _, tc := range []struct {
		name    string
		spec    Spec
		path    string
		headers map[string]string // those that must be there, "" for those that must not
		body    map[string]any    // the keys that must be there, nil for those that must not
	}{
		{"defaults", Spec{}, "/v1/chat/completions", map[string]string{
			"User-Agent": "redline", "Content-Type": "application/json", "Accept-Encoding": "identity",
			"X-Request-Id": "run-1", "Authorization": "",
		}, map[string]any{"model": "m", "max_tokens": 8.0, "stream": true, "temperature": 0.5}},
		{"OpenAI's key", Spec{APIKey: "sk-1"}, "/v1/chat/completions",
			map[string]string{"Authorization": "Bearer sk-1"}, nil},
		{"Anthropic's key", Spec{API: "anthropic-messages", APIKey: "sk-1"}, "/v1/messages",
			map[string]string{"X-Api-Key": "sk-1", "Anthropic-Version": "2023-06-01", "Authorization": ""}, nil},
		{"the user's headers", Spec{APIKey: "sk-1", Headers: map[string]string{
			"authorization": "Basic x", "user-agent": "me", "X-Team": "a b", "Host": "model.example", "x-request-id": "mine",
		}}, "/v1/chat/completions", map[string]string{
			"Authorization": "Basic x", "User-Agent": "me", "X-Team": "a b", "Host": "model.example", "X-Request-Id": "mine",
		}, nil},
		{"extra body", Spec{ExtraBody: map[string]any{"temperature": 0.9, "min_p": 0.1, "nested": map[string]any{"a": []any{1, "x"}}}},
			"/v1/chat/completions", nil,
			map[string]any{"model": "m", "temperature": 0.9, "min_p": 0.1, "nested": map[string]any{"a": []any{1.0, "x"}}}},
		{"query", Spec{URLs: []string{"/openai/v1/completions?api-version=2 b&k=%20"}}, "/openai/v1/completions?api-version=2%20b&k=%20",
			nil, map[string]any{"prompt": "Say hello.", "messages": nil}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan *http.Request, 1)
			bodies := make(chan []byte, 1)
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				content, _ := io.ReadAll(r.Body)
				asked <- r
				bodies <- content
				w.WriteHeader(http.StatusTeapot)
			})
			for i := range tc.spec.URLs {
				tc.spec.URLs[i] = url + tc.spec.URLs[i]
			}
			if tc.spec.URLs == nil {
				tc.spec.URLs = []string{url}
			}
			request := requestOf(true)
			request.Sampling.Temperature = &temperature
			_, fault := plainly(t, newClient(t, tc.spec), request, nil)
			equal(t, "status", fault.Status, http.StatusTeapot)
			r := <-asked
			equal(t, "path", r.RequestURI, tc.path)
			r.Header.Set("Host", r.Host)
			for name, want := range tc.headers {
				if got := strings.Join(r.Header.Values(name), "|"); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			var body map[string]any
			must.Do(t, json.Unmarshal(<-bodies, &body))
			for key, want := range tc.body {
				equal(t, key, body[key], want)
			}
		})
	}
}

// TestRequestsOfTheirOwn: a request's own headers and key win over the user's,
// and those over what the client would send.
func TestRequestsOfTheirOwn(t *testing.T) {
	type headers = [][2]string
	for _, tc := range []struct {
		name    string
		spec    Spec
		key     string
		headers headers
		want    map[string]string
	}{
		{"a key", Spec{APIKey: "sk-1"}, "sk-tenant", nil, map[string]string{"Authorization": "Bearer sk-tenant", "X-Request-Id": "run-1"}},
		{"a key where there is none", Spec{}, "sk-tenant", nil, map[string]string{"Authorization": "Bearer sk-tenant"}},
		{"a key over the user's header", Spec{Headers: map[string]string{"authorization": "Basic x"}}, "sk-tenant", nil,
			map[string]string{"Authorization": "Bearer sk-tenant"}},
		{"Anthropic's", Spec{API: "anthropic-messages", APIKey: "sk-1"}, "sk-tenant", nil,
			map[string]string{"X-Api-Key": "sk-tenant", "Anthropic-Version": "2023-06-01", "Authorization": ""}},
		{"a session", Spec{APIKey: "sk-1", Headers: map[string]string{"X-Session": "all", "X-Team": "a"}}, "",
			headers{{"x-session", "s-7"}, {"user-agent", "me"}},
			map[string]string{"X-Session": "s-7", "X-Team": "a", "User-Agent": "me", "Authorization": "Bearer sk-1"}},
		{"a header over its key", Spec{}, "sk-tenant", headers{{"Authorization", "Basic y"}}, map[string]string{"Authorization": "Basic y"}},
		{"its own id", Spec{}, "", headers{{"x-request-id", "mine"}}, map[string]string{"X-Request-Id": "mine"}},
		{"a value that would end the line", Spec{}, "", headers{{"X-Session", "a\r\nX-Evil: b"}},
			map[string]string{"X-Session": "a  X-Evil: b", "X-Evil": ""}},
		{"a length", Spec{}, "", headers{{"content-length", "1"}, {"Transfer-Encoding", "chunked"}}, map[string]string{"Transfer-Encoding": ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan http.Header, 1)
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Header
				http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusTeapot)
			})
			request := requestOf(true)
			request.Key, request.Headers = tc.key, tc.headers
			_, fault := plainly(t, newClient(t, tc.spec, url), request, nil)
			equal(t, "status", fault.Status, http.StatusTeapot)
			if strings.Contains(fault.Message, "sk-tenant") {
				t.Errorf("the message tells the key: %s", fault.Message)
			}
			got := <-asked
			for name, want := range tc.want {
				equal(t, name, strings.Join(got.Values(name), "|"), want)
			}
		})
	}
}

// TestPagesAreNotShown: a body that no dialect can read is told in one short
// line.
func TestPagesAreNotShown(t *testing.T) {
	for body, want := range map[string]string{
		"<!DOCTYPE html>\n<html><head><title>\n 502 Bad\nGateway</title></head>" + strings.Repeat("<p>", 500): `an HTML page titled "502 Bad Gateway"`,
		"<html><body>no title</body></html>":                    "an HTML page",
		"<!-- made by x -->\n<HTML><H1 id=a>Oops</H1>":          `an HTML page titled "Oops"`,
		"first line\nsecond line":                               "first line",
		strings.Repeat("x", 300):                                strings.Repeat("x", 200) + "…",
		"<html><title>" + strings.Repeat("t", 300):              "an HTML page",
		"<html><title>" + strings.Repeat("t", 300) + "</title>": `an HTML page titled "` + strings.Repeat("t", 200) + `…"`,
		`{"error":"its own words"}`:                             "its own words",
		"<xml>no page</xml>":                                    "<xml>no page</xml>",
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, body)
		})
		_, fault := plainly(t, newClient(t, Spec{}, url), requestOf(true), nil)
		equal(t, "outcome", fault.Outcome, llm.HTTP)
		equal(t, "message", fault.Message, want)
	}
}

// TestTrace: one exchange is written down, whole and readable, and no secret of
// the spec is in it, not even where the server repeats it.
func TestTrace(t *testing.T) {
	const echo = `data: {"choices":[{"delta":{"content":"got sk-key-123 tok-456789 body-secret query-secret"}}]}` + "\n\n"
	url, _ := serveRaw(t, always(chunkedHead+inChunks(echo, done), true))
	c := newClient(t, Spec{
		APIKey:    "sk-key-123",
		Headers:   map[string]string{"X-Auth": "Token tok-456789"},
		ExtraBody: map[string]any{"upstream": map[string]any{"api_key": "body-secret"}},
	}, url+"?key=query-secret")
	var b strings.Builder
	c.TraceNext(&b)
	for range 2 { // only the first is traced
		if _, fault := plainly(t, c, requestOf(true), nil); fault != nil {
			t.Fatal(fault)
		}
	}
	const body = `{"model":"m","messages":[{"role":"user","content":"Say hello."}],"max_tokens":8,"stream":true,` +
		`"stream_options":{"include_usage":true},"ignore_eos":true,"upstream":{"api_key":"body-secret"}}`
	got := regexp.MustCompile(` +[0-9.]+ ms`).ReplaceAllString(b.String(), " T")
	equal(t, "trace", got, strings.Join([]string{
		"> POST /v1/chat/completions?*** HTTP/1.1",
		"> Host: " + c.Addr(),
		"> User-Agent: redline",
		"> Content-Type: application/json",
		"> Accept: text/event-stream, application/json",
		"> Accept-Encoding: identity",
		"> Authorization: ***",
		"> X-Auth: ***",
		"> X-Request-Id: run-1",
		"> Content-Length: " + strconv.Itoa(len(body)),
		">",
		"> " + strings.ReplaceAll(body, "body-secret", "***"),
		"< T HTTP 200  text/event-stream",
		`< T data: {"choices":[{"delta":{"content":"got *** *** *** ***"}}]}`,
		"< T data: [DONE]",
		"",
	}, "\n"))
}

func TestTraceOfARefusal(t *testing.T) {
	url, _ := serveRaw(t, always(refusal("401 Unauthorized", "", "no sk-key-123 "+strings.Repeat("x", 1000)), false))
	c := newClient(t, Spec{APIKey: "sk-key-123"}, url)
	var b strings.Builder
	c.TraceNext(&b)
	_, fault := plainly(t, c, requestOf(true), nil)
	equal(t, "status", fault.Status, 401)
	if !strings.Contains(b.String(), "< no *** xxx") || !strings.Contains(b.String(), "… (1014 bytes in all)") || strings.Contains(b.String(), "sk-key") {
		t.Errorf("trace:\n%s", b.String())
	}
}

func TestSpecsThatAreWrong(t *testing.T) {
	for _, tc := range []struct {
		spec Spec
		want string
	}{
		{Spec{}, "no server to ask: give --url"},
		{Spec{URLs: []string{"nowhere"}}, `url "nowhere": expected one that begins with http://, https:// or unix:/`},
		{Spec{URLs: []string{"ftp://u:pw@h?k=pw"}}, `url "…@h": holds a user or password; use --api-key-env or --header instead`},
		{Spec{URLs: []string{"http://u:pw@h:port"}}, `url "…@h:port": invalid port ":port" after host`},
		{Spec{URLs: []string{"http:///v1"}}, `url "http:///v1": no host`},
		{Spec{URLs: []string{"unix:relative.sock"}}, `url "unix:relative.sock": expected an absolute socket path such as unix:/run/engine.sock`},
		{Spec{URLs: []string{"http://h"}, API: "grpc"}, `unknown api "grpc"; known: openai-chat, openai-completions, openai-responses, anthropic-messages, ` +
			`tgi-generate, ollama-chat, ollama-generate, sglang-generate, llamacpp-completion, embeddings, rerank, template`},
		{Spec{URLs: []string{"http://h/v2/chat?k=secret"}}, `url "http://h/v2/chat": the path is neither a base such as /v1 nor that of a known API: ` +
			`give the base, or say with --api what is spoken there`},
		{Spec{URLs: []string{"http://h"}, API: "template"}, "template: api is template, so say how to ask and where the text stands: template.body, template.text"},
		{Spec{URLs: []string{"http://h"}, API: "rerank", Template: &wire.Template{}}, `template: belongs to api template, but api is "rerank"`},
		{Spec{URLs: []string{"http://h"}, API: "template", Template: &wire.Template{Body: "{}"}},
			"template.text: expected the JSON path of the reply's text, such as choices[0].delta.content"},
		{Spec{URLs: []string{"http://h"}, Timeouts: Timeouts{Idle: -time.Second}}, "timeouts.idle: expected a positive duration such as 2m, got -1s"},
		{Spec{URLs: []string{"http://h"}, APIKey: "sk-1\n"}, "api_key: holds a line break or another control character; does the variable end with a newline?"},
		{Spec{URLs: []string{"http://h"}, Headers: map[string]string{"X": "a\r\nY: b"}}, "headers.X: its value holds a line break or another control character"},
		{Spec{URLs: []string{"http://h"}, Headers: map[string]string{"A B": ""}}, "headers.A B: expected the name of an HTTP header such as X-Team"},
		{Spec{URLs: []string{"http://h"}, Headers: map[string]string{"Content-length": "1"}}, "headers.Content-length: cannot be set: it frames the request"},
	} {
		_, err := New(tc.spec, Options{})
		if err == nil || err.Error() != tc.want {
			t.Errorf("New says %v\n   want  %s", err, tc.want)
		}
	}
}

// TestAddresses: what the client says of where it sends to.
// TestAddressesWithoutAScheme: what can only be a host and a port is asked by
// http; what may be anything else, or wants a secret line, is left to its owner.
func TestAddressesWithoutAScheme(t *testing.T) {
	for raw, want := range map[string]string{
		"localhost:8000": "http://localhost:8000", "localhost:8000/v1": "http://localhost:8000/v1", "localhost": "http://localhost",
		"127.0.0.1:8000": "http://127.0.0.1:8000", "10.0.0.7": "http://10.0.0.7", "[::1]:8000/v1?a=b": "http://[::1]:8000/v1?a=b",
		"gpu-box_1.lan:9": "http://gpu-box_1.lan:9",
		"api.openai.com":  "api.openai.com", "api.openai.com:443": "api.openai.com:443", "h:8443/v1": "h:8443/v1",
		"http://h:1": "http://h:1", "https://h": "https://h", "unix:/run/e.sock": "unix:/run/e.sock", "ftp://h:1": "ftp://h:1",
		"http:localhost:8000": "http:localhost:8000", "h:port": "h:port", "user:1@h:2": "user:1@h:2", "": "", "runs/a": "runs/a",
	} {
		if got := Address(raw); got != want {
			t.Errorf("Address(%q) = %q, want %q", raw, got, want)
		}
	}
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`) })
	if models, err := newClient(t, Spec{}, strings.TrimPrefix(url, "http://")).Models(t.Context()); err != nil || len(models) != 1 {
		t.Errorf("%v, %v", models, err)
	}
}

func TestAddresses(t *testing.T) {
	for _, tc := range []struct {
		url, dialect, shown, addr string
		local                     bool
	}{
		{"http://localhost:8000", "openai-chat", "http://localhost:8000/v1/chat/completions", "localhost:8000", true},
		{"http://127.0.0.9/v1/", "openai-chat", "http://127.0.0.9/v1/chat/completions", "127.0.0.9:80", true},
		{"https://[::1]/v1/messages?key=x", "anthropic-messages", "https://[::1]/v1/messages", "[::1]:443", true},
		{"https://h.example:1/a%20b/v1/completions#f", "openai-completions", "https://h.example:1/a%20b/v1/completions", "h.example:1", false},
		{"unix:///run/e.sock", "openai-chat", "unix:/run/e.sock", "/run/e.sock", true},
	} {
		c := newClient(t, Spec{}, tc.url)
		type view struct {
			dialect, shown, addr string
			local                bool
		}
		if got, want := (view{c.Dialect().Name, c.URL(), c.Addr(), c.Local()}), (view{tc.dialect, tc.shown, tc.addr, tc.local}); got != want {
			t.Errorf("%s is %+v, want %+v", tc.url, got, want)
		}
	}
}

func TestModels(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/a b/v1/models":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case r.Header.Get("Authorization") != "Bearer sk-1" || r.Host != "me" || r.URL.RawQuery != "v=1":
			http.Error(w, r.Host+r.URL.RawQuery, http.StatusForbidden)
		default:
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m1","owned_by":"vllm"},{"id":"m2"}]}`)
		}
	})
	c := newClient(t, Spec{APIKey: "sk-1", Headers: map[string]string{"host": "me"}}, url+"/a%20b/v1/chat/completions?v=1")
	got := must.Get(c.Models(t.Context()))(t)
	equal(t, "models", got, []ServedModel{{ID: "m1", OwnedBy: "vllm"}, {ID: "m2"}})
	if _, err := c.Get(t.Context(), "/version"); err == nil || err.Error() != "/version: HTTP 302" {
		t.Errorf("Get says %v", err)
	}
	if _, err := newClient(t, Spec{}, serve(t, hails)).Models(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "the model list is not JSON: ") {
		t.Errorf("Models says %v", err)
	}
	if _, err := newClient(t, Spec{}, "http://127.0.0.1:1").Models(t.Context()); err == nil {
		t.Error("Models says nothing of a dead server")
	}
}
