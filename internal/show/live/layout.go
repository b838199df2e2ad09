package live

import (
	"slices"
	"strings"

	"redline/internal/show/document"
)

// section is one block of the screen. Of sections that do not fit, those of the
// highest rank go first; those that can grow get what is left.
type section struct {
	rank      int
	min, want int
	gap       bool // an empty row before it, where there is room
	draw      func(height int) []string
}

func fixedSection(rank int, gap bool, lines ...string) section {
	return section{rank, len(lines), len(lines), gap, func(int) []string { return lines }}
}

// arrange gives each section its rows: those that do not fit go, then come empty
// rows between them, and what can grow takes the rest.
func arrange(sections []section, height int) [][]string {
	sections, left := fitSections(sections, height)
	gaps, heights := make([]int, len(sections)), make([]int, len(sections))
	for i, s := range sections {
		heights[i] = s.min
		if i > 0 && s.gap && left > 0 {
			gaps[i], left = 1, left-1
		}
	}
	for grown := true; grown && left > 0; {
		grown = false
		for i, s := range sections {
			if left > 0 && heights[i] < s.want {
				heights[i], left, grown = heights[i]+1, left-1, true
			}
		}
	}
	if n := len(sections); n > 1 {
		gaps[n-1] += left // the keys stay at the bottom
	}
	blocks := make([][]string, len(sections))
	for i, s := range sections {
		blocks[i] = append(make([]string, gaps[i]), fill(s.draw(heights[i]), heights[i])...)
	}
	return blocks
}

// fitSections are the sections whose least heights fit, and the rows that are left.
func fitSections(sections []section, height int) (fit []section, left int) {
	for _, s := range sections {
		height -= s.min
	}
	for len(sections) > 1 && height < 0 {
		last := 0
		for i, s := range sections {
			if s.rank >= sections[last].rank {
				last = i
			}
		}
		height += sections[last].min
		sections = slices.Delete(sections, last, last+1)
	}
	return sections, max(height, 0)
}

// clip cuts a row that is too wide, without the colors that would be cut open.
func clip(row string, width int) string {
	if document.Visible(row) <= width {
		return row
	}
	var out strings.Builder
	for n, rest := 0, row; rest != ""; {
		if strings.HasPrefix(rest, "\x1b[") {
			end := strings.IndexByte(rest, 'm') + 1
			out.WriteString(rest[:end])
			rest = rest[end:]
			continue
		}
		r := []rune(rest[:min(len(rest), 4)])[0]
		if n++; n <= width {
			out.WriteRune(r)
		}
		rest = rest[len(string(r)):]
	}
	return out.String()
}
