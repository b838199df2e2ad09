package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"redline/internal/browser"
	"redline/internal/effort"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/store"
)

// site serves runs of every kind; addresses are of its views, by name.
func site(t *testing.T) (address func(target string) string, views map[string]string) {
	t.Helper()
	root := t.TempDir()
	for i := range 12 {
		keep(t, root, fmt.Sprintf("20260%d14-091203-nightly", 1+i%9)+strings.Repeat("-2", i/9), func(r *result.Result) {
			r.Started = r.Started.AddDate(0, 0, 7*i)
			r.Points[0].Throughput.Output += float64(i%3) - 100*float64(i/10)
		})
	}
	for i := range 12 {
		keep(t, root, fmt.Sprintf("weekly-%02d", i), func(r *result.Result) {
			r.Label, r.Started = "weekly", r.Started.AddDate(0, 0, 7*i)
			r.Points[0].Throughput.Output += float64(i % 3)
		})
	}
	keep(t, root, "hostile", func(r *result.Result) { r.Model.Name, r.Label = hostile, strings.Repeat("long-", 40) })
	write(t, root, "damaged", map[string]string{"records.jsonl": "", "result.json": "{ not json"})
	write(t, root, "now", map[string]string{"records.jsonl": fmt.Sprintf(`{"schema":"redline/record/2","run":"x","origin_unix_ns":%d,"origin_mono_ns":1}`, time.Now().UnixNano()) + "\n"})
	hold := store.Hold{Command: "redline run"}
	must.Do(t, hold.Take(filepath.Join(root, "now")))
	t.Cleanup(hold.Release)
	all := samples(t)
	for _, name := range []string{"met", "limit", "comparison", "priced"} {
		write(t, root, name, map[string]string{"records.jsonl": "", "result.json": string(all[name]), "plan.yaml": ""})
	}
	pages := New(Options{Root: root}, &listenAddr{})
	server := httptest.NewServer(pages)
	t.Cleanup(func() {
		server.CloseClientConnections() // a page that shows a run under way asks without end
		server.Close()
	})
	a, b := Key("20260114-091203-nightly"), Key("20260214-091203-nightly")
	views = map[string]string{"list": "/", "run": "/run/" + Key("met"), "limit": "/run/" + Key("limit"), "side-by-side": "/run/" + Key("comparison"), "compare": "/compare?a=" + a + "&b=" + b, "drift": "/drift?label=nightly", "drifts": "/drift", "steady": "/drift?label=weekly",
		"frontier": "/frontier?run=" + a + "&run=" + b, "capacity": "/capacity/" + a + "?rate=100&price=3", "start": "/start?kind=sweep&rates=1,2,4&check=1",
		"hostile": "/run/" + Key("hostile"), "broken": "/run/" + Key("damaged"), "none": "/?model=none", "live": "/run/" + Key("now")}
	return func(target string) string {
		mark := map[bool]string{true: "&", false: "?"}[strings.Contains(target, "?")]
		return server.URL + target + mark + "token=" + pages.token // as a first visit has it
	}, views
}

// samples are results as the report's own tests have them, by name.
func samples(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	lines := must.Read(t, "../report/testdata/samples.jsonl")
	all := map[string]json.RawMessage{}
	for line := range bytes.Lines(lines) {
		var sample struct {
			Name   string
			Result json.RawMessage
		}
		must.Do(t, json.Unmarshal(line, &sample))
		all[sample.Name] = sample.Result
	}
	return all
}

// listenAddr stands for the address of the test's own server: any on loopback.
type listenAddr struct{}

func (*listenAddr) Network() string { return "tcp" }
func (*listenAddr) String() string  { return "127.0.0.1:7700" }

// TestPagesInABrowser opens every view as a reader would: in dark and on a phone,
// and in make long in light at a desk too. No page is wider than its window, complains, or has text that is
// hard to read. REDLINE_SHOTS names a directory that keeps the pictures.
func TestPagesInABrowser(t *testing.T) {
	b := browser.For(t)
	p := b.Tab(t)
	address, views := site(t)
	for name, target := range views {
		if effort.Of(name == "limit" || name == "side-by-side", false) {
			continue // the report's own tests look at them
		}
		for _, said := range inspectPage(t, p, name, address(target)) {
			t.Errorf("%s: the browser says %s", name, said)
		}
	}
	for _, said := range inspectPage(t, b.Tab(t), "unknown", address("/nowhere")) {
		if !strings.Contains(said, "404") {
			t.Errorf("of a page that is not there the browser says %s", said)
		}
	}
}

// inspectPage looks at a page in every way and gives what the browser says to it.
func inspectPage(t *testing.T, p *browser.Page, name, address string) (said []string) {
	t.Helper()
	for _, look := range effort.Of(browser.Looks[1:], browser.Looks) {
		p.Look(t, address, name, look)
		for _, fault := range browser.Faults(p) {
			t.Errorf("%s, %s: %s", name, look.Name, fault)
		}
		said = append(said, p.TakeMessages()...)
	}
	return said
}

// What is done with chosen runs is in sight, however long the list is.
func TestTheButtonsOfTheListAreInSight(t *testing.T) {
	p := browser.For(t).Tab(t)
	address, _ := site(t)
	for _, look := range browser.Looks {
		p.Look(t, address("/"), "buttons", look)
		if said := p.Text(t, `document.querySelector(".chosen").getBoundingClientRect().bottom <= innerHeight + 1 ? "in sight" : "below the window"`); said != "in sight" {
			t.Errorf("%s: the buttons are %s", look.Name, said)
		}
	}
}

// The list is used by keyboard alone: a box is chosen and two runs are compared.
func TestTheListIsUsedByKeyboard(t *testing.T) {
	tab := browser.For(t).Tab(t)
	address, _ := site(t)
	p, chosen := tab.Look(t, address("/"), "keyboard", browser.Looks[0]), 0
	for range 200 {
		must.Do(t, p.Press(kb.Tab))
		at := p.Text(t, `[document.activeElement.type, document.activeElement.textContent.trim(), getComputedStyle(document.activeElement).outlineStyle].join("|")`)
		if strings.HasSuffix(at, "|none") {
			t.Errorf("the focus is not seen at %s", at)
		}
		switch {
		case strings.HasPrefix(at, "checkbox") && chosen < 2:
			chosen++
			must.Do(t, p.Press(" "))
		case strings.Contains(at, "Compare chosen"):
			must.Do(t, p.Press(kb.Enter))
			where := ""
			for range 100 {
				time.Sleep(50 * time.Millisecond)
				if where = p.Text(t, `location.pathname + location.search`); strings.HasPrefix(where, "/compare?a=") {
					return
				}
			}
			t.Fatalf("with %d runs chosen the keyboard leads to %s", chosen, where)
		}
	}
	t.Error("no key leads to the comparison")
}
