package ui

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/result"
)

// probe is what the tests add to the script: how wide the page is, beside the
// room that it has.
const probe = `
addEventListener("load", () => {
  const page = document.documentElement;
  page.dataset.wide = page.scrollWidth + " of " + page.clientWidth;
});
`

// phone shows a page as wide as a phone: no window of the browser is as narrow.
const phone = `<!doctype html><body style="margin:0"><iframe style="border:0;width:390px;height:1400px" src="%s"></iframe><script>
addEventListener("load", () => { document.documentElement.dataset.wide = document.querySelector("iframe").contentDocument.documentElement.dataset.wide; });
</script>`

// unframed lets the test show a page in a frame, which no other page may.
type unframed struct{ http.ResponseWriter }

func (u unframed) WriteHeader(status int) {
	u.Header().Del("X-Frame-Options")
	u.Header().Set("Content-Security-Policy", strings.Replace(pagePolicy, "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
	u.ResponseWriter.WriteHeader(status)
}

// chromium is the browser, or none.
func chromium(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium found; scripts/browser/install.sh installs one")
	return ""
}

var wide = regexp.MustCompile(`data-wide="(\d+) of (\d+)"`)

// TestPagesInABrowser opens pages as a reader would: in light, in dark and on a
// phone. REDLINE_SHOTS names a directory that keeps the pictures.
func TestPagesInABrowser(t *testing.T) {
	path := chromium(t)
	root := t.TempDir()
	for i := range 12 {
		keep(t, root, fmt.Sprintf("20260%d14-091203-nightly", 1+i%9)+strings.Repeat("-2", i/9), func(r *result.Result) {
			r.Started = r.Started.AddDate(0, 0, 7*i)
			r.Points[0].Throughput.Output += float64(i%3) - 100*float64(i/10)
		})
	}
	keep(t, root, "hostile", func(r *result.Result) { r.Model.Name, r.Label = hostile, strings.Repeat("long-", 40) })
	write(t, root, "damaged", map[string]string{"records.jsonl": "", "result.json": "{ not json"})
	pages := New(Options{Root: root}, &listenAddr{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if target, framed := strings.CutPrefix(r.URL.RequestURI(), "/phone"); framed {
			fmt.Fprintf(w, phone, html.EscapeString(target))
			return
		}
		if strings.Contains(r.Referer(), "/phone") {
			w = unframed{w}
		}
		pages.ServeHTTP(w, r)
		if r.URL.Path == "/static/ui.js" {
			fmt.Fprint(w, probe)
		}
	}))
	defer server.Close()
	a, b := keyOf("20260114-091203-nightly"), keyOf("20260214-091203-nightly")
	shown := map[string]string{"list": "/", "run": "/run/" + a, "compare": "/compare?a=" + a + "&b=" + b, "drift": "/drift?label=nightly", "frontier": "/frontier?run=" + a + "&run=" + b,
		"capacity": "/capacity/" + a + "?rate=100&price=3", "start": "/start?rate=5&check=1", "hostile": "/run/" + keyOf("hostile"), "broken": "/run/" + keyOf("damaged")}
	for _, look := range []struct{ name, scheme, size string }{{"light", "1", "1180,1000"}, {"dark", "0", "1180,1000"}, {"phone", "1", "500,1400"}} {
		for name, target := range shown {
			if look.name != "phone" && name != "list" && name != "run" && name != "drift" {
				continue
			}
			// The token is in the address, as a first visit has it.
			address := server.URL + map[bool]string{true: "/phone"}[look.name == "phone"] + target + map[bool]string{true: "&", false: "?"}[strings.Contains(target, "?")] + "token=" + pages.token
			flags := []string{"--dump-dom"}
			if dir := os.Getenv("REDLINE_SHOTS"); dir != "" {
				flags = append(flags, "--screenshot="+filepath.Join(dir, name+"-"+look.name+".png"))
			}
			dom := open(t, path, look.scheme, look.size, address, flags)
			m := wide.FindStringSubmatch(dom)
			if m == nil {
				t.Errorf("%s, %s: the script did not run:\n%.2000s", name, look.name, dom)
			} else if m[1] != m[2] || look.name == "phone" && m[1] != "390" {
				t.Errorf("%s, %s: the page is %s wide", name, look.name, m[0])
			}
			t.Logf("%s, %s: %v", name, look.name, m)
		}
	}
}

// listenAddr stands for the address of the test's own server: any on loopback.
type listenAddr struct{}

func (*listenAddr) Network() string { return "tcp" }
func (*listenAddr) String() string  { return "127.0.0.1:7700" }

// open shows an address and gives the page as the browser has it. Whatever the
// console says is an error, and nothing but loopback can be reached.
func open(t *testing.T, path, scheme, size, address string, flags []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, path, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--enable-logging=stderr",
		"--user-data-dir=" + t.TempDir(), "--proxy-server=http://127.0.0.1:9", "--blink-settings=preferredColorScheme=" + scheme, "--window-size=" + size}, append(flags, address)...)...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("%s: the console says %s", address, line)
		}
	}
	return out.String()
}
