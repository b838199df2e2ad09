package ui

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/result"
	"redline/internal/run/measure"
)

// hostile is what a server, a model or a label may say.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'></td>` + "\x1b[31m{{.}}"

func TestWhatIsForeignIsEscaped(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "hostile", func(r *result.Result) {
		r.Model.Name, r.Label, r.Engine.Name, r.Note = hostile, hostile, hostile, hostile
		r.Verdict.Valid, r.Verdict.Reasons = result.Invalid, []string{hostile}
		r.Warnings = []result.Warning{{Figure: "server", Text: hostile}}
	})
	keep(t, root, "other", func(r *result.Result) { r.Label = hostile })
	write(t, root, "<img src=x onerror=alert(3)>", map[string]string{"records.jsonl": "", "result.json": hostile})
	v := visit(t, Options{Root: root})
	key, other := Key("hostile"), Key("other")
	for _, target := range []string{"/", "/run/" + key, "/run/" + Key("<img src=x onerror=alert(3)>"), "/compare?a=" + key + "&b=" + other, "/frontier?run=" + other,
		"/drift", "/drift?run=" + key, "/capacity/" + key, "/?label=%3Cscript%3Ealert(1)%3C/script%3E", "/run/%3Cscript%3Ealert(1)",
		"/start?check=1&url=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/%3Cscript%3E"} {
		w := v.ask(http.MethodGet, target, "")
		page := w.Body.String()
		for _, bad := range []string{"<script>alert", "<img", "onerror=alert(2)>\"", "\x1b"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q", target, bad)
			}
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", target, policy)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", target, w.Header())
		}
	}
	says(t, v.page("/"), "&lt;script&gt;alert(1)")
}

// Whatever changes something is refused unless it comes from a page of this
// server, in a browser that has the token.
func TestWhoMayChangeThings(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "one")
	for name, c := range map[string]struct {
		edit func(*visitor)
		says string
	}{
		"no token":                 {func(v *visitor) { v.cookie = false }, "has the token"},
		"another token":            {func(v *visitor) { v.forged = strings.Repeat("A", len(v.token)) }, "has the token"},
		"another site":             {func(v *visitor) { v.origin = "http://evil.example" }, "another site"},
		"another port":             {func(v *visitor) { v.origin = "http://127.0.0.1:8000" }, "another site"},
		"no origin":                {func(v *visitor) { v.origin = "" }, "another site"},
		"an origin that is hidden": {func(v *visitor) { v.origin = "null" }, "another site"},
		"read-only":                {func(v *visitor) { v.ReadOnly = true }, "--read-only changes nothing"},
	} {
		v := visit(t, Options{Root: root, Program: "/bin/false"})
		c.edit(v)
		for _, target := range []string{"/run/" + Key("one") + "/pin", "/run/" + Key("one") + "/unpin", "/run/" + Key("one") + "/stop", "/start"} {
			if w := v.ask(http.MethodPost, target, "rate=1"); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), c.says) {
				t.Errorf("%s: %s gives %d %s", name, target, w.Code, plain(w.Body.String()))
			}
		}
	}
	if _, err := os.Stat(filepath.Join(root, "one", "pin.json")); err == nil {
		t.Error("a run was pinned")
	}
	v := visit(t, Options{Root: root, ReadOnly: true})
	if strings.Contains(v.page("/run/"+Key("one")), "/pin") || strings.Contains(v.URL(), "token") {
		t.Error("a read-only page offers to pin, or has a token")
	}
	// A state is never changed by a GET.
	if w := visit(t, Options{Root: root}).ask(http.MethodGet, "/run/"+Key("one")+"/pin", ""); w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET pin gives %d", w.Code)
	}
}

// A name that somebody points at this machine is not this server's.
func TestRebindingIsRefused(t *testing.T) {
	t.Parallel()
	v := visit(t, Options{Root: t.TempDir()})
	for host, want := range map[string]int{
		"127.0.0.1:7700": 200, "localhost:7700": 200, "LOCALHOST": 200, "[::1]:7700": 200, "127.0.0.1:1234": 200,
		"evil.example:7700": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "192.168.1.7:7700": 421, "": 421, "0.0.0.0:7700": 421,
	} {
		v.host = host
		if w := v.ask(http.MethodGet, "/", ""); w.Code != want {
			t.Errorf("Host %q gives %d, want %d", host, w.Code, want)
		}
	}
}

// A page of another site can link to this one, but not have it loaded within itself:
// a picture or a script of that site would make this server compute.
func TestAnotherSiteLoadsNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "one")
	v := visit(t, Options{Root: root})
	for mode, want := range map[string]int{"navigate": http.StatusOK, "no-cors": http.StatusForbidden, "cors": http.StatusForbidden} {
		r := httptest.NewRequest(http.MethodGet, "/capacity/"+Key("one"), nil)
		r.Host = v.host
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", mode)
		w := httptest.NewRecorder()
		for w.Code = http.StatusAccepted; w.Code == http.StatusAccepted; {
			w = httptest.NewRecorder()
			v.ServeHTTP(w, r)
		}
		if w.Code != want {
			t.Errorf("%s from another site gives %d, want %d", mode, w.Code, want)
		}
	}
}

func TestNoPathLeadsOutOfTheRuns(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	root := filepath.Join(outside, "runs")
	keep(t, outside, "secret")
	keep(t, root, "one")
	v := visit(t, Options{Root: root})
	for _, target := range []string{"/run/..%2Fsecret", "/run/../secret", "/run/..%2f..%2fetc%2fpasswd", "/run/" + Key("../secret"), "/run/secret-id", "/run/%2e%2e",
		"/static/..%2fui.go", "/static/../pages.html", "/static/pages.html", "/static/", "/capacity/..%2Fsecret", "/run/..%5csecret/events", "//evil.example/?token=x"} {
		w := v.ask(http.MethodGet, target, "")
		if location := w.Header().Get("Location"); w.Code == http.StatusOK || strings.Contains(w.Body.String(), "secret-id") && !strings.Contains(target, "secret-id") || strings.HasPrefix(location, "//") {
			t.Errorf("%s gives %d %s\n%s", target, w.Code, location, plain(w.Body.String()))
		}
	}
	if w := v.ask(http.MethodGet, "/compare?a=../secret&b="+Key("one"), ""); w.Code != http.StatusBadRequest {
		t.Errorf("a path in place of a key gives %d", w.Code)
	}
}

// The token of the address becomes a cookie that no script and no other site
// can use.
func TestTheTokenBecomesACookie(t *testing.T) {
	t.Parallel()
	v := visit(t, Options{Root: t.TempDir()})
	v.cookie = false
	w := v.ask(http.MethodGet, strings.TrimPrefix(v.URL(), "http://127.0.0.1:7700"), "")
	cookie := w.Header().Get("Set-Cookie")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" || len(v.token) < 20 {
		t.Errorf("a first visit gives %d to %s", w.Code, w.Header().Get("Location"))
	}
	for _, want := range []string{"redline-ui-7700=" + v.token, "HttpOnly", "SameSite=Strict"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie is %q, want %s", cookie, want)
		}
	}
	if w := v.ask(http.MethodGet, "/?token=wrong", ""); w.Header().Get("Set-Cookie") != "" {
		t.Error("a wrong token becomes a cookie")
	}
	if page := v.page("/"); strings.Contains(page, v.token) {
		t.Error("a page has the token")
	}
}

// Beyond this machine everything needs the token.
func TestBeyondLoopbackEverythingNeedsTheToken(t *testing.T) {
	t.Parallel()
	for listen, host := range map[string]string{"192.168.1.5": "192.168.1.5:7700", "0.0.0.0": "10.0.0.3:7700", "::": "[fe80::1]:7700"} {
		v := visit(t, Options{Root: t.TempDir(), ReadOnly: true})
		v.Server = New(v.Options, &net.TCPAddr{IP: net.ParseIP(listen), Port: 7700})
		v.host = host
		if page := v.page("/"); !strings.Contains(v.URL(), "token=") || page == "" {
			t.Errorf("%s: the address is %s", listen, v.URL())
		}
		v.cookie = false
		for _, target := range []string{"/", "/static/ui.js", "/start", "/drift"} {
			if w := v.ask(http.MethodGet, target, ""); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "it has the token") {
				t.Errorf("%s: %s without the token gives %d", listen, target, w.Code)
			}
		}
		if v.host = "evil.example:7700"; v.ask(http.MethodGet, "/", "").Code != http.StatusMisdirectedRequest {
			t.Errorf("%s: a foreign name is answered", listen)
		}
	}
}

// A run that has to end with the pages is not killed while its own requests may
// still end: it would keep nothing.
func TestARunHasTimeToKeepItsResult(t *testing.T) {
	t.Parallel()
	if endGrace < measure.Grace+10*time.Second {
		t.Errorf("a run is killed after %v, and its requests alone may take %v", endGrace, measure.Grace)
	}
}
