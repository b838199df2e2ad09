package report

import (
	"bytes"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"redline/internal/browser"
	"redline/internal/judge/result"
	"redline/internal/must"
)

// served is the address of a page.
func served(t *testing.T, page []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// reported is the address of the report of a result.
func reported(t *testing.T, r *result.Result) string {
	t.Helper()
	return served(t, written(t, Format{"html", HTML}, r))
}

// TestTheBrowserIsWatched: a page that asks for more than itself, complains,
// scrolls sideways or is hard to read is noticed.
func TestTheBrowserIsWatched(t *testing.T) {
	p := browser.For(t).Tab(t).Look(t, served(t, []byte(`<!doctype html><script>console.error("ouch")</script><img src="/missing.png"><img src="http://elsewhere.test/x.png">
<table style="width:3000px"><tr><td style="color:#999">grey</td></tr></table><svg class="chart"><polyline style="stroke:#ccc" points="0,0 9,9"/></svg><input>`)), "watched", browser.Looks[0])
	said := strings.Join(append(browser.Faults(p), p.TakeMessages()...), "\n")
	for _, want := range []string{"ouch", "404", "ERR_PROXY", "the page is 30", "text has a contrast of 2.8", "a line has a contrast of 1.6", "no headers", "no words", "a field has no name", "no heading"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q went unseen in\n%s", want, said)
		}
	}
}

// TestHTMLInABrowser opens a report as a reader would: in light and dark, and on
// paper.
func TestHTMLInABrowser(t *testing.T) {
	p := browser.For(t).Tab(t)
	address := reported(t, metSample())
	for _, look := range browser.Looks[:2] {
		picture := must.Get(p.Look(t, address, "paper", look).Window())(t)
		if got := brightness(t, picture); (got > 128) == look.Dark {
			t.Errorf("%s: the paper has brightness %d of 255", look.Name, got)
		}
	}
	// What is folded away makes no height, is drawn once it is opened, and is on paper in any case.
	const folded = `(() => { const list = [...document.querySelectorAll("details")], drawn = list.map((d) => d.querySelectorAll(".plot").length).reduce((a, b) => a + b, 0); return [list.length > 5, list.some((d) => d.open), drawn > 0, list.every((d) => d.lastElementChild.checkVisibility())].join(" "); })()`
	if got := p.Text(t, folded); got != "true false false false" {
		t.Errorf("there are folded sections, one is open, charts in them are drawn, all are seen: %s", got)
	}
	if got := p.Look(t, address, "printed", browser.Look{Name: "paper", Width: 1180, Height: 1000, Paper: true}).Text(t, folded); got != "true false false true" {
		t.Errorf("on paper: %s", got)
	}
	if height, err := browser.Ask[float64](p.Look(t, address, "high", browser.Looks[0]), `document.documentElement.scrollHeight`); err != nil || height > 5000 {
		t.Errorf("the report is %v pixels high: %v", height, err)
	}
	p.Text(t, `(document.querySelectorAll("details").forEach((d) => { d.open = true; }), new Promise((done) => setTimeout(done, 300)))`)
	if got := p.Text(t, folded); got != "true true true true" {
		t.Errorf("opened: %s", got)
	}
	pdf := must.Get(p.Look(t, address, "pdf", browser.Looks[1]).PDF())(t)
	pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1))
	if !bytes.HasPrefix(pdf, []byte("%PDF")) || pages < 2 || pages > 12 {
		t.Errorf("%d bytes of PDF with %d pages", len(pdf), pages)
	}
}

// brightness is that of the picture's corner, where nothing but paper is.
func brightness(t *testing.T, shot []byte) uint8 {
	t.Helper()
	picture := must.Get(png.Decode(bytes.NewReader(shot)))(t)
	return color.GrayModel.Convert(picture.At(3, 3)).(color.Gray).Y
}
