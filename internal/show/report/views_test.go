package report

import (
	"strconv"
	"strings"
	"testing"
)

// TestViews looks at reports as readers do: bright and dark, at a desk and on a
// phone. Nothing is wider than the screen, nothing complains, every chart has its
// name, and the script has drawn those that it can.
func TestViews(t *testing.T) {
	b := newBrowser(t)
	p := b.fly(t)
	for _, s := range []sample{{"run", metSample()}, {"limit", limitSample()}, {"comparison", comparisonSample()}, {"hostile", hostileCharts()}} {
		b.page = written(t, Format{"html", HTML}, s.result)
		for _, v := range []view{{1180, "light", false}, {1180, "dark", false}, {390, "light", false}, {390, "dark", false}, {360, "light", false}, {794, "light", true}} {
			b.astray = nil
			p.show(v)
			name := s.name + "-" + strconv.Itoa(v.width) + "-" + v.scheme
			if v.print {
				name = s.name + "-paper"
			}
			p.keep(name)
			for _, complaint := range p.complaints {
				t.Errorf("%s: %s", name, complaint)
			}
			for _, request := range b.astray {
				t.Errorf("%s asks for %s", name, request)
			}
			if wide := p.text(`document.documentElement.scrollWidth`); wide != strconv.Itoa(v.width) {
				t.Errorf("%s: the page is %s wide: %s", name, wide, p.text(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest(".scroll")).map(e => e.outerHTML.slice(0, 80)).slice(0, 4).join("\n")`))
			}
			if p.text(`document.querySelectorAll("svg[role=img]").length > 0`) != "true" {
				t.Errorf("%s: no chart", name)
			}
			if bad := p.text(`[...document.querySelectorAll("svg[role=img]")].filter(s => !s.getAttribute("aria-labelledby").split(" ").every(i => document.getElementById(i).textContent)).length`); bad != "0" {
				t.Errorf("%s: %s charts without words", name, bad)
			}
			if hidden := p.text(`[...document.querySelectorAll("thead th")].filter(h => /^p(50|95|99)$/.test(h.textContent) && h.getBoundingClientRect().right > innerWidth).length`); hidden != "0" {
				t.Errorf("%s: %s columns that people look for first are out of sight", name, hidden)
			}
			looked(t, p, name, v)
		}
	}
}

// looked compares what the script has drawn with what it was given.
func looked(t *testing.T, p *pilot, name string, v view) {
	t.Helper()
	given := p.text(`Object.keys(JSON.parse(document.getElementById("chart-data").textContent)).length`)
	shown := p.text(`[...document.querySelectorAll(".live .plot canvas")].filter(c => c.getBoundingClientRect().width > 100).length`)
	pictures := p.text(`[...document.querySelectorAll(".live svg")].filter(c => c.getBoundingClientRect().width > 100).length`)
	if v.print {
		if shown != "0" || pictures == "0" {
			t.Errorf("%s: paper shows %s of the script's charts and %s pictures", name, shown, pictures)
		}
	} else if shown != given || given == "0" || pictures != "0" {
		t.Errorf("%s: the script shows %s of %s charts, and %s pictures beneath them", name, shown, given, pictures)
	}
	if p.text(`document.querySelector("script#hostile") !== null || window.hostile === true`) != "false" {
		t.Errorf("%s: text from outside became an element", name)
	}
}

// TestChartsAnswerThePointer: pointing at a chart reads it off, dragging zooms,
// and a click on a name hides its line.
func TestChartsAnswerThePointer(t *testing.T) {
	b := newBrowser(t)
	p := b.fly(t)
	b.page = written(t, Format{"html", HTML}, metSample())
	p.show(view{1180, "light", false})
	at := func(share float64) (x, y float64) {
		place := strings.Fields(p.text(`(() => { const o = document.querySelector(".u-over"); o.scrollIntoView({block: "center"}); const r = o.getBoundingClientRect(); return r.left + " " + r.top + " " + r.width + " " + r.height; })()`))
		var n [4]float64
		for i := range n {
			n[i], _ = strconv.ParseFloat(place[i], 64)
		}
		return n[0] + share*n[2], n[1] + n[3]/2
	}
	values := func() string {
		return p.text(`[...document.querySelector(".u-legend").querySelectorAll(".u-value")].map(e => e.textContent).join(" ")`)
	}
	before := values()
	x, y := at(0.5)
	p.mouse("mouseMoved", x, y)
	if read := values(); read == before || !strings.ContainsAny(read, "0123456789") {
		t.Errorf("pointing at a chart says %q after %q", read, before)
	}
	axis := func() string {
		x, _ := at(1)
		p.mouse("mouseMoved", x-2, y)
		time, _, _ := strings.Cut(values(), " ")
		return time
	}
	end := axis()
	from, _ := at(0.2)
	to, _ := at(0.6)
	p.mouse("mouseMoved", from, y)
	p.mouse("mousePressed", from, y)
	p.mouse("mouseMoved", to, y)
	p.mouse("mouseReleased", to, y)
	if zoomed := axis(); zoomed == end {
		t.Errorf("after dragging the axis still ends at %s", end)
	}
	p.text(`document.querySelector(".u-legend .u-series:last-child th").click()`)
	if off := p.text(`document.querySelectorAll(".u-legend .u-series.u-off").length`); off != "1" {
		t.Errorf("a click hides %s lines", off)
	}
	if len(p.complaints) > 0 {
		t.Errorf("%v", p.complaints)
	}
}
