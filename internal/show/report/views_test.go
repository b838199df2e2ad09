package report

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"redline/internal/browser"
	"redline/internal/effort"
	"redline/internal/must"
)

// looks are those of phones, of paper and of a desk, and in make long of a
// tablet's half and of the rest in light and dark.
var looks = append([]browser.Look{{Name: "phone-dark", Width: 390, Height: 844, Dark: true}, {Name: "small", Width: 360, Height: 740},
	{Name: "printed", Width: 794, Height: 1123, Paper: true}, browser.Looks[0]}, effort.Of(nil, append(browser.Looks[1:], browser.Look{Name: "half", Width: 500, Height: 900}))...)

// TestViews looks at reports as readers do: bright and dark, at a desk and on a
// phone. Nothing is wider than the screen or hard to read, nothing complains, every
// chart has its name, and the script has drawn those that it can.
func TestViews(t *testing.T) {
	p := browser.For(t).Tab(t)
	for _, s := range []sample{{"run", metSample()}, {"limit", limitSample()}, {"comparison", comparisonSample()}, {"hostile", hostileCharts()}} {
		address := reported(t, s.result)
		for _, look := range looks {
			name := s.name + ", " + look.Name
			p.Look(t, address, "report-"+s.name, look)
			for _, fault := range append(browser.Faults(p), p.TakeMessages()...) {
				t.Errorf("%s: %s", name, fault)
			}
			if p.Text(t, `document.querySelectorAll("svg[role=img]").length > 0`) != "true" {
				t.Errorf("%s: no chart", name)
			}
			if bad := p.Text(t, `[...document.querySelectorAll("svg[role=img]")].filter(s => !s.getAttribute("aria-labelledby").split(" ").every(i => document.getElementById(i).textContent)).length`); bad != "0" {
				t.Errorf("%s: %s charts without words", name, bad)
			}
			if heads := p.Text(t, `[...document.querySelectorAll("thead")].map(h => h.textContent).filter(h => h.startsWith("latency, ms")).join()`); heads != "" && !strings.Contains(heads, "p50p90p95p99max") {
				t.Errorf("%s: the columns of latencies are %s", name, heads)
			}
			// A table that is wider than its window keeps the names of its rows in sight.
			if lost := p.Text(t, `[...document.querySelectorAll(".scroll")].filter(s => s.scrollWidth > s.clientWidth && getComputedStyle(s.querySelector("tbody th")).position !== "sticky").length`); lost != "0" && !look.Paper {
				t.Errorf("%s, %s: %s tables scroll without the names of their rows", name, look.Name, lost)
			}
			looked(t, p, name, look.Paper)
		}
	}
}

// A window that is made narrow leaves no page that has to be moved sideways.
func TestAReportFollowsItsWindow(t *testing.T) {
	p := browser.For(t).Tab(t).Look(t, reported(t, metSample()), "resized", browser.Looks[0])
	for _, width := range []int64{500, 1180, 390} {
		must.Do(t, p.Resize(browser.Look{Width: width, Height: 900}))
		drawn := p.Text(t, `new Promise(done => setTimeout(() => done(document.documentElement.scrollWidth + " " + Math.max(...[...document.querySelectorAll(".plot canvas")].map(c => c.getBoundingClientRect().right))), 300))`)
		wide, right, _ := strings.Cut(drawn, " ")
		if edge, err := strconv.ParseFloat(right, 64); err != nil || wide != strconv.FormatInt(width, 10) || edge > float64(width) || edge < float64(width)/2 {
			t.Errorf("in a window of %d the page is %s wide, and its charts end at %s", width, wide, right)
		}
	}
}

// looked compares what the script has drawn with what it was given.
func looked(t *testing.T, p *browser.Page, name string, paper bool) {
	t.Helper()
	if !paper {
		p.Text(t, `new Promise((done) => { for (const d of document.querySelectorAll("details")) d.open = true; setTimeout(done, 300); })`)
	}
	given := p.Text(t, `Object.keys(JSON.parse(document.getElementById("chart-data").textContent)).length`)
	shown := p.Text(t, `[...document.querySelectorAll(".live .plot canvas")].filter(c => c.getBoundingClientRect().width > 100).length`)
	pictures := p.Text(t, `[...document.querySelectorAll(".live svg")].filter(c => c.getBoundingClientRect().width > 100).length`)
	if paper {
		if shown != "0" || pictures == "0" {
			t.Errorf("%s: paper shows %s of the script's charts and %s pictures", name, shown, pictures)
		}
	} else if shown != given || given == "0" || pictures != "0" {
		t.Errorf("%s: the script shows %s of %s charts, and %s pictures beneath them", name, shown, given, pictures)
	}
	if p.Text(t, `document.querySelector("script#hostile") !== null || window.hostile === true`) != "false" {
		t.Errorf("%s: text from outside became an element", name)
	}
}

const legendValues = `[...document.querySelector(".u-legend").querySelectorAll(".u-value")].map(e => e.textContent).join(" ")`

// TestChartsAnswerThePointer: pointing at a chart reads it off, dragging zooms,
// and a click on a name hides its line.
func TestChartsAnswerThePointer(t *testing.T) {
	p := browser.For(t).Tab(t).Look(t, reported(t, metSample()), "pointer", browser.Looks[0])
	at := func(share float64) (x, y float64) {
		place := strings.Fields(p.Text(t, `(() => { const o = document.querySelector(".u-over"); o.scrollIntoView({block: "center"}); const r = o.getBoundingClientRect(); return r.left + " " + r.top + " " + r.width + " " + r.height; })()`))
		var n [4]float64
		for i := range n {
			n[i], _ = strconv.ParseFloat(place[i], 64)
		}
		return n[0] + share*n[2], n[1] + n[3]/2
	}
	do := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	before := p.Text(t, legendValues)
	x, y := at(0.5)
	do(p.Move(x, y))
	if read := p.Text(t, legendValues); read == before || !strings.ContainsAny(read, "0123456789") {
		t.Errorf("pointing at a chart says %q after %q", read, before)
	}
	axis := func() string {
		x, _ := at(1)
		do(p.Move(x-2, y))
		time, _, _ := strings.Cut(p.Text(t, legendValues), " ")
		return time
	}
	end := axis()
	from, _ := at(0.2)
	to, _ := at(0.6)
	do(p.Drag(from, y, to, y))
	if zoomed := axis(); zoomed == end {
		t.Errorf("after dragging the axis still ends at %s", end)
	}
	p.Text(t, `document.querySelector(".u-legend .u-series:last-child th").click()`)
	if off := p.Text(t, `document.querySelectorAll(".u-legend .u-series.u-off").length`); off != "1" {
		t.Errorf("a click hides %s lines", off)
	}
	if said := p.TakeMessages(); len(said) > 0 {
		t.Errorf("%v", said)
	}
}

// TestChartsAnswerTheKeyboard: arrows read a chart off, plus zooms, Escape undoes
// that, and Enter on a name hides its line; the focus is seen all the way.
func TestChartsAnswerTheKeyboard(t *testing.T) {
	p := browser.For(t).Tab(t).Look(t, reported(t, metSample()), "keys", browser.Looks[0])
	press := func(keys string) string {
		t.Helper()
		must.Do(t, p.Press(keys))
		if seen := p.Text(t, `getComputedStyle(document.activeElement).outlineStyle`); seen != "solid" {
			t.Errorf("after %q the focus has an outline %s", keys, seen)
		}
		return p.Text(t, legendValues)
	}
	for range 50 {
		if press(kb.Tab); p.Text(t, `document.activeElement.className`) == "u-over" {
			break
		}
	}
	first, second := press(kb.ArrowRight), press(kb.ArrowRight)
	if first == second || !strings.ContainsAny(first, "0123456789") {
		t.Errorf("arrows read off %q, then %q", first, second)
	}
	if back := press(kb.ArrowLeft); back != first {
		t.Errorf("and back %q", back)
	}
	ticks := `(() => { const o = document.querySelector(".u-over").getBoundingClientRect(); const c = document.querySelector(".plot canvas").getContext("2d"); return c.getImageData(0, 0, c.canvas.width, c.canvas.height).data.reduce((sum, v, i) => (sum * 31 + v) % 1e9, 7); })()`
	before := p.Text(t, ticks)
	press("+")
	if zoomed := p.Text(t, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(`+ticks+`))))`); zoomed == before {
		t.Error("plus does not zoom")
	}
	press(kb.Escape)
	if undone := p.Text(t, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(`+ticks+`))))`); undone != before {
		t.Error("Escape does not undo it")
	}
	press(kb.Tab)
	pressed := `document.activeElement.getAttribute("aria-pressed") + " " + document.querySelectorAll(".u-legend .u-series.u-off").length`
	if now := p.Text(t, pressed); now != "true 0" {
		t.Fatalf("behind the chart the keyboard is at %s", now)
	}
	press(kb.Enter)
	if now := p.Text(t, `new Promise(done => setTimeout(() => done(`+pressed+`), 50))`); now != "false 1" {
		t.Errorf("Enter on a name leaves %s", now)
	}
}
