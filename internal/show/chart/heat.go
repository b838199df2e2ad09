package chart

import (
	"fmt"
	"html"
	"math"
	"strings"

	"redline/internal/text"
)

// Heat is a map of counts over the plot.
type Heat struct {
	// X is where the first column begins, Width how wide each is.
	X, Width float64
	// Edges divide Y into rows, one more than there are rows.
	Edges []float64
	// Counts has a row each, from the lowest on; one may be empty.
	Counts [][]int
	// Texts say the rows in words.
	Texts []string
	// Name is what is counted.
	Name string
}

// shades is how many strengths a map has; each is for counts of a few times the
// one before.
const shades = 5

func (h *Heat) columns() int {
	most := 0
	for _, row := range h.Counts {
		most = max(most, len(row))
	}
	return most
}

func (h *Heat) maxCount() int {
	most := 1
	for _, row := range h.Counts {
		for _, n := range row {
			most = max(most, n)
		}
	}
	return most
}

// minCount is the smallest count of a shade: about even steps of ratios up to the
// most, at round numbers.
func (h *Heat) minCount(shade int) int {
	return int(niceStep(math.Pow(float64(h.maxCount()), float64(shade)/shades)))
}

// heat draws each row as strokes as thick as it is high, neighbors of one shade
// as one stroke.
func (d *drawing) heat(h *Heat) {
	if h == nil {
		return
	}
	var least [shades]int
	for i := range least {
		least[i] = h.minCount(i)
	}
	shadeOf := func(n int) int {
		shade := -1
		for shade+1 < shades && n >= least[shade+1] {
			shade++
		}
		return shade
	}
	for i, row := range h.Counts {
		if len(row) == 0 {
			continue
		}
		low, high := d.py(h.Edges[i]), d.py(h.Edges[i+1])
		var paths [shades]strings.Builder
		for from := 0; from < len(row); {
			to := from + 1
			for to < len(row) && shadeOf(row[to]) == shadeOf(row[from]) {
				to++
			}
			if shade := shadeOf(row[from]); shade >= 0 {
				x := d.px(h.X + h.Width*float64(from))
				fmt.Fprintf(&paths[shade], "M%.1f %.1fh%.1f", x, (low+high)/2, d.px(h.X+h.Width*float64(to))-x)
			}
			from = to
		}
		d.add(`<g class="heat" stroke-width="%.1f"><title>%s</title>`, max(low-high, 1), html.EscapeString(h.Texts[i]))
		for shade := range paths {
			if paths[shade].Len() > 0 {
				d.add(`<path class="shade%d" d="%s"/>`, shade, paths[shade].String())
			}
		}
		d.add(`</g>`)
	}
}

// legend names the shades by their smallest counts.
func (h *Heat) legend() []entry {
	var list []entry
	for shade := range shades {
		if shade > 0 && h.minCount(shade) == h.minCount(shade-1) {
			continue
		}
		name := text.Count(h.minCount(shade))
		if len(list) == 0 {
			name = h.Name + ": " + name
		}
		list = append(list, entry{class: fmt.Sprintf("heat shade%d", shade), shape: swatchShape, name: name})
	}
	if len(list) > 0 {
		list[len(list)-1].name += " or more"
	}
	return list
}
