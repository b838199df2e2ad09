package document

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"redline/internal/show/chart"
)

// Picture is a chart as a file of its own.
type Picture struct {
	Name string // of the file, without directory
	SVG  []byte
}

// DrawPictures are the charts of a document as files, for slides: bright, on white, with
// their own style.
func DrawPictures(d *Document) []Picture {
	var list []Picture
	taken := map[string]int{}
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			charts := chartsOf(b)
			for i := range charts {
				name := fileName(&charts[i])
				if taken[name]++; taken[name] > 1 {
					name = fmt.Sprintf("%s-%d", name, taken[name])
				}
				list = append(list, Picture{name + ".svg", standalone(&charts[i])})
			}
		}
	}
	return list
}

// fileName is the chart's name, or its title, in letters that every system takes.
func fileName(c *chart.Chart) string {
	name := c.Name
	if name == "" {
		name = c.Title
	}
	name = strings.Trim(unsafe.ReplaceAllString(strings.ToLower(name), "-"), "-")
	return name[:min(len(name), 60)]
}

var unsafe = regexp.MustCompile(`[^a-z0-9]+`)

// slideSize is that of a chart in a file.
var slideSize = chart.Size{Width: 960, Height: 480}

// standalone puts the style of charts into the picture itself.
func standalone(c *chart.Chart) []byte {
	head, rest, _ := strings.Cut(c.SVG("chart", slideSize), ">\n")
	head = strings.Replace(head, "<svg ", `<svg xmlns="http://www.w3.org/2000/svg" `, 1)
	return []byte(head + ">\n<style>" + html.EscapeString(slideStyle) + "</style>\n" + `<rect width="100%" height="100%" fill="#ffffff"/>` + "\n" + rest)
}

var (
	slideStyle = brightStyle() + ".chart { font-family: system-ui, sans-serif; }\n"
	variable   = regexp.MustCompile(`(--[a-z]+): (#[0-9a-f]+);`)
)

// brightStyle is the page's style of charts with the bright colors in the place of
// their names, which programs that show slides do not know.
func brightStyle() string {
	colors, _, _ := strings.Cut(pageCSS, "@media")
	_, rules, _ := strings.Cut(pageCSS, "/* charts:")
	_, rules, _ = strings.Cut(rules, "*/")
	rules, _, _ = strings.Cut(rules, "/* end of charts */")
	for _, color := range variable.FindAllStringSubmatch(colors, -1) {
		rules = strings.ReplaceAll(rules, "var("+color[1]+")", color[2])
	}
	return rules
}
