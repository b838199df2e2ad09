package chart

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"redline/internal/must"
)

// TestLabelsOfNeighborsLieApart: points that lie close together have labels that
// can be read.
func TestLabelsOfNeighborsLieApart(t *testing.T) {
	t.Parallel()
	line := Line{}
	for i := range 3 {
		line.Points = append(line.Points, Point{X: 100 + float64(i)/10, Y: 50, Label: fmt.Sprintf("2%d.9", i)})
	}
	svg := (&Chart{Lines: []Line{line, {Points: []Point{{X: 10, Y: 10}}}}}).SVG("x", Size{600, 300})
	found := regexp.MustCompile(`<text class="label" x="([0-9.]+)" y="([0-9.]+)">`).FindAllStringSubmatch(svg, -1)
	if len(found) != 3 {
		t.Fatalf("%d labels of 3 in %s", len(found), svg)
	}
	at := func(i, coordinate int) float64 {
		v := must.Get(strconv.ParseFloat(found[i][coordinate], 64))(t)
		return v
	}
	for i := range found {
		for j := range i {
			if math.Abs(at(i, 1)-at(j, 1)) < 4*letter && math.Abs(at(i, 2)-at(j, 2)) < 12 {
				t.Errorf("labels %d and %d lie over each other: %v", j, i, found)
			}
		}
	}
}
