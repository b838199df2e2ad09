package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"

	"redline/internal/must"
)

// pageElements walks the elements of a page. A page in HTML is not XML, but
// this one closes what it opens.
func pageElements(t *testing.T, page string, visit func(xml.StartElement)) {
	t.Helper()
	page = regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "") // onlyItsOwnScript looks at that
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		must.Do(t, err)
		if start, ok := token.(xml.StartElement); ok {
			visit(start)
		}
	}
}

// TestHTMLNeedsNothingBesideIt: no address to load, no handler, and no script but
// the one whose hash the page names.
func TestHTMLNeedsNothingBesideIt(t *testing.T) {
	t.Parallel()
	for _, s := range append(samples(), sample{"hostile", hostileSample()}, sample{"hostile charts", hostileCharts()}) {
		page := string(written(t, Format{"html", HTML}, s.result))
		pageElements(t, page, func(e xml.StartElement) {
			switch e.Name.Local {
			case "iframe", "object", "embed", "img", "image", "use", "base", "form":
				t.Errorf("%s: the page holds <%s>", s.name, e.Name.Local)
			}
			for _, a := range e.Attr {
				loads := a.Name.Local == "src" || a.Name.Local == "href" && a.Value != "data:,"
				if loads || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("%s: <%s %s=%q>", s.name, e.Name.Local, a.Name.Local, a.Value)
				}
			}
		})
		onlyItsOwnScript(t, s.name, page)
		if style := regexp.MustCompile(`(?i)url\(|@import|expression\(`).FindString(page); style != "" {
			t.Errorf("%s: the style loads something: %s", s.name, style)
		}
	}
}

// onlyItsOwnScript fails where a page would run anything but one script that its
// policy names, or where its data could end their element.
func onlyItsOwnScript(t *testing.T, name, page string) {
	t.Helper()
	policy := html.UnescapeString(regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)[1])
	scripts := regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(scripts) == 0 {
		if strings.Contains(policy, "script-src") {
			t.Errorf("%s: a page without script allows one: %s", name, policy)
		}
		return
	}
	if len(scripts) != 2 || scripts[0][1] != ` type="application/json" id="chart-data"` || scripts[1][1] != "" || strings.Count(page, "<script") != 2 {
		t.Fatalf("%s: %d scripts", name, len(scripts))
	}
	var data map[string]any
	if err := json.Unmarshal([]byte(scripts[0][2]), &data); err != nil || strings.ContainsAny(scripts[0][2], "<>&") {
		t.Errorf("%s: data %v", name, err)
	}
	hash := sha256.Sum256([]byte(scripts[1][2]))
	if !strings.HasSuffix(policy, "; script-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'") || !strings.HasPrefix(policy, "default-src 'none'; ") {
		t.Errorf("%s: the policy %s does not name the script", name, policy)
	}
	for id := range data {
		if strings.Count(page, ` id="`+id+`"`) != 1 {
			t.Errorf("%s: no figure %s", name, id)
		}
	}
	if len(page) > maxBytes {
		t.Errorf("%s: %d bytes", name, len(page))
	}
}

// maxBytes is what a report may weigh.
const maxBytes = 250_000

// TestHTMLOrder: the run's validity and the verdict come before any figure,
// and the reader of a sweep sees the curve before its table.
func TestHTMLOrder(t *testing.T) {
	t.Parallel()
	page, at := string(written(t, Format{"html", HTML}, limitSample())), 0
	for _, want := range []string{`class="validity good"`, "<h1", "LIMIT", `class="tiles"`, "each alone", "<svg", ">requests/s<",
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
