package report

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// pageElements walks the elements of a page. A page in HTML is not XML, but
// this one closes what it opens.
func pageElements(t *testing.T, page string, visit func(xml.StartElement)) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			visit(start)
		}
	}
}

// TestHTMLNeedsNothingBesideIt: no script, no address to load, no handler.
func TestHTMLNeedsNothingBesideIt(t *testing.T) {
	t.Parallel()
	for _, s := range append(samples(), sample{"hostile", hostileSample()}) {
		page := string(written(t, Format{"html", HTML}, s.result))
		pageElements(t, page, func(e xml.StartElement) {
			switch e.Name.Local {
			case "script", "iframe", "object", "embed", "img", "image", "use", "base", "form":
				t.Errorf("%s: the page holds <%s>", s.name, e.Name.Local)
			}
			for _, a := range e.Attr {
				loads := a.Name.Local == "src" || a.Name.Local == "href" && a.Value != "data:,"
				if loads || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("%s: <%s %s=%q>", s.name, e.Name.Local, a.Name.Local, a.Value)
				}
			}
		})
		if style := regexp.MustCompile(`(?i)url\(|@import|expression\(`).FindString(page); style != "" {
			t.Errorf("%s: the style loads something: %s", s.name, style)
		}
	}
}

// TestHTMLOrder: the run's validity and the verdict come before any figure,
// and the reader of a sweep sees the curve before its table.
func TestHTMLOrder(t *testing.T) {
	t.Parallel()
	page, at := string(written(t, Format{"html", HTML}, limitSample())), 0
	for _, want := range []string{`class="validity good"`, "<h1", "LIMIT", `class="tiles"`, "limit by objective", "<svg", "levels, requests/s",
		">objectives<", ">latency, ms<", "Checklist", "Set-up", "Can it be trusted?", "Plan", "What the figures mean"} {
		next := strings.Index(page[at:], want)
		if next < 0 {
			t.Fatalf("no %s after byte %d", want, at)
		}
		at += next
	}
}

// TestHTMLIsAccessible: a language, one heading of the first rank, charts with
// alternatives, and every table with headings for its columns and rows.
func TestHTMLIsAccessible(t *testing.T) {
	t.Parallel()
	count, ids := map[string]int{}, map[string]int{}
	var labeled []string
	pageElements(t, string(written(t, Format{"html", HTML}, limitSample())), func(e xml.StartElement) {
		count[e.Name.Local]++
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "id":
				ids[a.Value]++
			case "aria-labelledby":
				labeled = append(labeled, strings.Fields(a.Value)...)
			case "lang", "scope", "role":
				count[a.Name.Local+"="+a.Value]++
			}
		}
	})
	if count["h1"] != 1 || count["lang=en"] != 1 || count["main"] != 1 {
		t.Errorf("%d headings of the first rank, %d languages, %d mains", count["h1"], count["lang=en"], count["main"])
	}
	if count["svg"] != 7 || count["role=img"] != count["svg"] || count["desc"] != count["svg"] {
		t.Errorf("%d charts, %d named as pictures, %d described; want 7 of each", count["svg"], count["role=img"], count["desc"])
	}
	if count["scope=row"] != count["tr"]-count["thead"] {
		t.Errorf("%d rows of %d have a heading", count["scope=row"], count["tr"]-count["thead"])
	}
	for _, id := range labeled {
		if ids[id] != 1 {
			t.Errorf("%d elements have the id %s", ids[id], id)
		}
	}
}

// An invalid run has no number that anyone should take along.
func TestHTMLOfAnInvalidRunMarksItsTiles(t *testing.T) {
	t.Parallel()
	page := string(written(t, Format{"html", HTML}, invalidSample()))
	tiles, marks := strings.Count(page, `<span class="number">`), strings.Count(page, `<span class="remark">unproven</span>`)
	if tiles == 0 || tiles != marks || !strings.Contains(page, `class="validity bad"`) {
		t.Errorf("%d tiles, %d of them marked as those of an invalid run", tiles, marks)
	}
}
