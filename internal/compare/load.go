package compare

import (
	"fmt"
	"math"
	"strings"

	"redline/internal/result"
)

// sameRate is how far two asked rates may differ and still be one load: they
// are written with a few digits only.
const sameRate = 0.01

func sameLoad(a, b result.Load) bool {
	if a.Mode != b.Mode || a.Profile != b.Profile || !equal(a.Concurrency, b.Concurrency) {
		return false
	}
	if a.Rate == nil || b.Rate == nil {
		return a.Rate == b.Rate
	}
	return math.Abs(*a.Rate-*b.Rate) <= sameRate*math.Abs(*a.Rate)
}

func equal(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func loadName(l result.Load) string {
	var parts []string
	if l.Rate != nil {
		parts = append(parts, fmt.Sprintf("%.4g/s", *l.Rate))
	}
	if l.Profile != "" {
		parts = append(parts, l.Profile)
	}
	if l.Concurrency != nil {
		parts = append(parts, fmt.Sprintf("%d in flight", *l.Concurrency))
	}
	if len(parts) == 0 {
		return l.Mode
	}
	return strings.Join(parts, ", ")
}

// pointAt is the run's point at that load, nil where it has none.
func pointAt(r *result.Result, l result.Load) *result.Point {
	for i := range r.Points {
		if sameLoad(l, r.Points[i].Load) {
			return &r.Points[i]
		}
	}
	return nil
}

// pointsAt are the points of all runs at that load, nil where one has none.
func pointsAt(runs []*result.Result, l result.Load) []*result.Point {
	points := make([]*result.Point, len(runs))
	for i, r := range runs {
		if points[i] = pointAt(r, l); points[i] == nil {
			return nil
		}
	}
	return points
}

// loads are those that the first run has.
func loads(r *result.Result) []result.Load {
	list := make([]result.Load, len(r.Points))
	for i, p := range r.Points {
		list[i] = p.Load
	}
	return list
}

func loadNames(r *result.Result) string {
	var names []string
	for _, l := range loads(r) {
		names = append(names, loadName(l))
	}
	return strings.Join(names, " and ")
}

func onePoint(runs []*result.Result) bool {
	for _, r := range runs {
		if len(r.Points) != 1 {
			return false
		}
	}
	return true
}

func firstPoints(runs []*result.Result) []*result.Point {
	points := make([]*result.Point, len(runs))
	for i, r := range runs {
		points[i] = &r.Points[0]
	}
	return points
}
