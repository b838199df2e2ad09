package chart

import (
	"fmt"
	"html"
)

// Part is one of several that make a whole.
type Part struct {
	Name  string
	Value float64
	// Text is its value in words, Role its color.
	Text, Role string
}

const barHeight = 44

// bar draws the parts as one bar, with their names and values below it.
func (c *Chart) bar(id string, size Size) string {
	d := &drawing{right: max(size.Width, 200)}
	list := make([]entry, 0, len(c.Parts))
	sum := 0.0
	for _, p := range c.Parts {
		sum += p.Value
		list = append(list, entry{class: "part " + p.Role, shape: swatchShape, name: p.Name + " " + p.Text})
	}
	list = placeEntries(list, d.right)
	rows := 0
	if len(list) > 0 {
		rows = list[len(list)-1].row
	}
	d.open(c, id, d.right, barHeight+36+rows*legendRow)
	x := 0.0
	for _, p := range c.Parts {
		width := float64(d.right) * p.Value / sum
		text := html.EscapeString(p.Name + " " + p.Text)
		d.add(`<rect class="part %s" x="%.1f" y="0" width="%.1f" height="%d"><title>%s</title></rect>`, p.Role, x, width, barHeight, text)
		if share := fmt.Sprintf("%.0f%%", 100*p.Value/sum); width > letter*float64(len(share))+10 {
			d.add(`<text class="share" x="%.1f" y="%d" text-anchor="middle">%s</text>`, x+width/2, barHeight/2+4, share)
		}
		x += width
	}
	d.bottom = barHeight - 34 // the legend stands below the axis of other charts
	d.names(list)
	d.add(`</svg>`)
	return d.out.String()
}
