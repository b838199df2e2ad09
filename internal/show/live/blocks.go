package live

import (
	"math"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/progress"
	"redline/internal/show/document"
	"redline/internal/text"
)

// eighths fill a cell from below, none to all of it.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

// series is a figure over time: a value for each step, which doubles when there
// are too many, so that a long run takes no more than a short one.
type series struct {
	step   time.Duration
	values []float64
	join   func(a, b float64) float64
}

const (
	firstStep = time.Second
	maxSteps  = 512
)

// set notes a value at a time from the start; steps without one are NaN.
func (s *series) set(at time.Duration, v float64) {
	if s.step == 0 {
		s.step = firstStep
	}
	for int(at/s.step) >= maxSteps {
		s.halve()
	}
	for i := int(at / s.step); len(s.values) <= i; {
		s.values = append(s.values, math.NaN())
	}
	s.values[at/s.step] = combine(s.join, []float64{s.values[at/s.step], v})
}

func (s *series) halve() {
	s.step *= 2
	for i := range len(s.values) / 2 {
		s.values[i] = combine(s.join, s.values[2*i:2*i+2])
	}
	s.values = s.values[:(len(s.values)+1)/2]
}

// combine makes one value of several, NaN where there is none.
func combine(join func(a, b float64) float64, values []float64) float64 {
	all := math.NaN()
	for _, v := range values {
		switch {
		case v != v:
		case all != all:
			all = v
		default:
			all = join(all, v)
		}
	}
	return all
}

func mean(a, b float64) float64 { return (a + b) / 2 }

// condense is the series in width values or fewer.
func (s *series) condense(width int) []float64 {
	n := len(s.values)
	if n <= width {
		return s.values
	}
	list := make([]float64, width)
	for i := range list {
		list[i] = combine(s.join, s.values[i*n/width:(i+1)*n/width])
	}
	return list
}

// bars draws values as columns of a height, from 0 to most, top row first.
func bars(values []float64, limit float64, height int) []string {
	rows := make([]string, height)
	for r := range rows {
		row := make([]rune, len(values))
		for i, v := range values {
			row[i] = ' '
			if v > 0 && limit > 0 {
				full := max(int(math.Round(v/limit*float64(8*height))), 1)
				row[i] = eighths[min(max(full-8*(height-1-r), 0), 8)]
			}
		}
		rows[r] = string(row)
	}
	return rows
}

// spark is a series as one or more rows: its name, its shape and its latest value.
func spark(name string, s *series, now string, width, height int) []string {
	const left = 11
	room := width - left - 10
	if room < 4 {
		return fill([]string{name + " " + now}, height)
	}
	values := s.condense(room)
	most := 0.0
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	rows := bars(values, most, height)
	for i := range rows {
		head, tail := "", ""
		if i == len(rows)-1 {
			head, tail = name, now
		}
		rows[i] = document.PadRight(head, left) + document.PadRight(rows[i], room) + " " + tail
	}
	return rows
}

// gauge is a share as a bar.
func gauge(share float64, width int) string {
	full := min(max(int(math.Round(share*float64(width))), 0), width)
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// histogram draws a distribution in ms with a row of its edges below; what lies
// at limit or above is painted bad.
func histogram(bins *progress.Bins, limit float64, width, height int, paint painter) []string {
	first, last := -1, 0
	for i, n := range bins {
		if n > 0 {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 || width < 8 || height < 2 {
		return fill(nil, height)
	}
	first, last = max(first-1, 0), min(last+1, len(bins)-1)
	each := (last - first + width) / width // bins to a column
	columns := (last - first + each) / each
	wide := max(width/columns, 1)
	var values []float64
	beyond := -1 // the first column that lies at the limit or above
	for c := range columns {
		sum := 0.0
		for i := first + c*each; i < min(first+(c+1)*each, len(bins)); i++ {
			sum += float64(bins[i])
		}
		if limit > 0 && beyond < 0 && progress.BinEdge(first+c*each) >= limit {
			beyond = c * wide
		}
		for range wide {
			values = append(values, sum)
		}
	}
	rows := bars(values, slices.Max(values), height-1)
	for i, row := range rows {
		if cells := []rune(row); beyond >= 0 {
			rows[i] = string(cells[:beyond]) + paint(document.Bad, strings.TrimRight(string(cells[beyond:]), " "))
		}
	}
	return append(rows, edges(first, last+1, columns*wide))
}

// edges writes where a histogram begins and ends, and what is in its middle.
func edges(first, last, width int) string {
	left, middle, right := binText(first), binText((first+last)/2), binText(last)
	if strings.HasSuffix(right, " ms") { // as all of them
		left, middle = strings.TrimSuffix(left, " ms"), strings.TrimSuffix(middle, " ms")
	}
	room := width - len(left) - len(right)
	if room < len(middle)+2 {
		return left + strings.Repeat(" ", max(room, 1)) + right
	}
	before := max(width/2-len(left)-len(middle)/2, 1)
	return left + strings.Repeat(" ", before) + middle + strings.Repeat(" ", max(room-before-len(middle), 1)) + right
}

func binText(i int) string {
	unit, by := text.TimeUnit(progress.BinEdge(i))
	return text.Digits(progress.BinEdge(i)/by, 2) + " " + unit
}

// shorten is a text from outside in width columns, of which there may be none.
func shorten(s string, width int) string { return document.Shorten(s, max(width, 1)) }

// fill brings a block to a height with empty rows, or cuts it.
func fill(lines []string, height int) []string {
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:height]
}

// joinColumns sets two blocks next to each other.
func joinColumns(left, right []string, leftWidth int) []string {
	height := max(len(left), len(right))
	left, right = fill(left, height), fill(right, height)
	rows := make([]string, height)
	for i := range rows {
		rows[i] = strings.TrimRight(document.PadRight(left[i], leftWidth)+right[i], " ")
	}
	return rows
}
