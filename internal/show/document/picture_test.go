package document

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"redline/internal/show/chart"
)

// TestDrawn: every chart is a file that stands alone, with a name of its own that
// every system takes, and with colors that need no page.
func TestDrawn(t *testing.T) {
	t.Parallel()
	line := []chart.Line{{Name: "p99 <b>", Role: "ttft", Points: []chart.Point{{X: 1, Y: 2, Text: "one & two"}, {X: 2, Y: 3}}}}
	var b Builder
	b.Section("one")
	b.Add(Charts{{Title: "../Über: das / Ganze", Lines: line}, {Name: "same", Title: "a", Lines: line}})
	b.Section("two")
	b.Add(Pictures{{Name: "same", Title: "</style><script>", Lines: line}, {Name: "parts", Title: "b", Parts: []chart.Part{{Name: "x", Value: 1, Role: "tpot"}}}})
	var names []string
	for _, p := range DrawPictures(&b.Document) {
		names = append(names, p.Name)
		svg := string(p.SVG)
		if strings.Contains(svg, "var(") || strings.Contains(svg, "<script") || !strings.HasPrefix(svg, `<svg xmlns="http://www.w3.org/2000/svg"`) {
			t.Errorf("%s:\n%.400s", p.Name, svg)
		}
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
		}
	}
	if got := strings.Join(names, " "); got != "ber-das-ganze.svg same.svg same-2.svg parts.svg" {
		t.Error(got)
	}
	if DrawPictures(&Document{}) != nil {
		t.Error("nothing is drawn")
	}
}
