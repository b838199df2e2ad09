package report

import (
	"bytes"
	"context"
	"image/color"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium whose every request goes to a proxy of the
// test's own, which knows one page and remembers what else was asked for.
type browser struct {
	path  string
	proxy *httptest.Server

	mu     sync.Mutex
	page   []byte
	astray []string
}

const pageAddress = "http://report.test/"

func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	b := &browser{}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			b.path = path
			break
		}
	}
	if b.path == "" {
		t.Skip("no Chromium found; scripts/browser/install.sh installs one")
	}
	b.proxy = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.proxy.Close)
	return b
}

func (b *browser) serve(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Method == http.MethodGet && r.URL.String() == pageAddress {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(b.page)
		return
	}
	if !ownErrand(r.Host) {
		b.astray = append(b.astray, r.Method+" "+r.URL.String()+" "+r.Host)
	}
	http.NotFound(w, r)
}

// ownErrand reports whether a browser asks such a host on its own account, for
// its updates and the like.
func ownErrand(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	for _, known := range []string{"google.com", "googleapis.com", "gstatic.com", "gvt1.com"} {
		if host == known || strings.HasSuffix(host, "."+known) {
			return true
		}
	}
	return false
}

// seen is what came of showing a page.
type seen struct {
	dom     string
	astray  []string // requests for anything but the page
	console []string
}

// open shows a page in a scheme: "light" or "dark".
func (b *browser) open(t *testing.T, page []byte, scheme string, flags ...string) seen {
	t.Helper()
	b.mu.Lock()
	b.page, b.astray = page, nil
	b.mu.Unlock()
	preferred := map[string]string{"dark": "0", "light": "1"}[scheme]
	flags = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--enable-logging=stderr", "--user-data-dir=" + t.TempDir(), "--proxy-server=" + b.proxy.URL,
		"--blink-settings=preferredColorScheme=" + preferred, "--window-size=1180,1400"}, append(flags, pageAddress)...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, b.path, flags...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", b.path, err, errs.String())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	found := seen{dom: out.String(), astray: b.astray}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			found.console = append(found.console, line)
		}
	}
	return found
}

// quiet fails where a page asked for anything beside itself, or complained.
func (s seen) quiet(t *testing.T) {
	t.Helper()
	for _, request := range s.astray {
		t.Errorf("the page asks for %s", request)
	}
	for _, line := range s.console {
		t.Errorf("the console says %s", line)
	}
}

// TestTheBrowserIsWatched: a page that asks for more than itself and complains
// is noticed.
func TestTheBrowserIsWatched(t *testing.T) {
	b := newBrowser(t)
	found := b.open(t, []byte(`<!doctype html><script>console.error("ouch")</script><img src="/missing.png">`), "light", "--dump-dom")
	if !strings.Contains(strings.Join(found.astray, "\n"), "missing.png") {
		t.Errorf("the request for a picture went unseen: %q", found.astray)
	}
	if !strings.Contains(strings.Join(found.console, "\n"), "ouch") {
		t.Errorf("the console went unheard: %q", found.console)
	}
}

// TestHTMLInABrowser opens a report of each kind as a reader would: in light
// and dark, and on paper.
func TestHTMLInABrowser(t *testing.T) {
	b := newBrowser(t)
	format := Format{"html", HTML}
	limit := written(t, format, limitSample())
	bright := map[string]bool{"light": true, "dark": false}
	for scheme, want := range bright {
		file := filepath.Join(t.TempDir(), scheme+".png")
		b.open(t, limit, scheme, "--screenshot="+file).quiet(t)
		if got := brightness(t, file); (got > 128) != want {
			t.Errorf("%s: the paper has brightness %d of 255", scheme, got)
		}
	}
	file := filepath.Join(t.TempDir(), "report.pdf")
	b.open(t, limit, "dark", "--no-pdf-header-footer", "--print-to-pdf="+file).quiet(t)
	pdf, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1))
	if !bytes.HasPrefix(pdf, []byte("%PDF")) || pages < 2 || pages > 12 {
		t.Errorf("%d bytes of PDF with %d pages", len(pdf), pages)
	}
	for _, s := range []sample{{"hostile", hostileSample()}} {
		found := b.open(t, written(t, format, s.result), "light", "--dump-dom")
		found.quiet(t)
		if !strings.Contains(found.dom, "<h1") || !strings.Contains(found.dom, "</footer>") {
			t.Errorf("%s: the browser reads\n%.2000s", s.name, found.dom)
		}
	}
}

// brightness is that of the picture's corner, where nothing but paper is.
func brightness(t *testing.T, file string) uint8 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size.X != 1180 {
		t.Errorf("the picture is %v", size)
	}
	return color.GrayModel.Convert(picture.At(3, 3)).(color.Gray).Y
}
