package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/text"
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
		parts = append(parts, text.Digits(*l.Rate, 4)+"/s")
	}
	if l.Profile != "" {
		parts = append(parts, l.Profile)
	}
	if l.Concurrency != nil {
		parts = append(parts, l.CapName())
	}
	if len(parts) == 0 {
		return l.Mode
	}
	return strings.Join(parts, ", ")
}

// levelPurposes are those of stages whose names only say their load.
var levelPurposes = []string{"level", "probe", "narrow", "look", "sustain"}

// pointName is what tells a point from others at its load: the name of its row,
// nothing where it is a level or stands alone. The levels of a working set are all at
// one load: their sessions tell them apart.
func pointName(r *result.Result, point int) string {
	for _, s := range r.Stages {
		if s.Point != nil && *s.Point == point && slices.Contains(levelPurposes, s.Purpose) && r.WorkingSet == nil {
			return ""
		}
	}
	return r.Points[point].Name
}

// place names a point: its row, or its load.
func place(r *result.Result, point int) string {
	return cmp.Or(pointName(r, point), loadName(r.Points[point].Load))
}

// matchPoints gives, for each of the first run's points, the other's of that name
// and load, nil where it has none. No point is matched twice.
func matchPoints(first, other *result.Result) []*result.Point {
	points, taken := make([]*result.Point, len(first.Points)), make([]bool, len(other.Points))
	for i := range first.Points {
		for j := range other.Points {
			if !taken[j] && pointName(first, i) == pointName(other, j) && sameLoad(first.Points[i].Load, other.Points[j].Load) {
				points[i], taken[j] = &other.Points[j], true
				break
			}
		}
	}
	return points
}

// matches gives, for each of the first run's points, those of all runs that
// have it.
func matches(first *result.Result, runs []*result.Result) [][]*result.Point {
	points := make([][]*result.Point, len(first.Points))
	for _, r := range runs {
		for i, p := range matchPoints(first, r) {
			if p != nil {
				points[i] = append(points[i], p)
			}
		}
	}
	return points
}

// separate gives the runs of repeated ones each for itself: they are a set.
func separate(results []*result.Result) []*result.Result {
	var runs []*result.Result
	for _, r := range results {
		each := repeats(r)
		if len(each) == 0 {
			each = []*result.Result{r}
		}
		runs = append(runs, each...)
	}
	return runs
}

// repeats are the runs of a repeated one, none of any other.
func repeats(r *result.Result) []*result.Result {
	var runs []*result.Result
	for n, s := range r.Stages {
		if r.Repeats == nil || s.Point == nil || *s.Point >= len(r.Points) {
			continue
		}
		one := *r
		one.ID, one.Seed = strings.TrimSpace(r.ID+" "+s.Name), r.Seed+uint64(n)
		if r.Path != "" {
			one.Path = strings.TrimSpace(r.Path + " " + s.Name)
		}
		one.Repeats, one.Stages = nil, nil
		one.Points = []result.Point{r.Points[*s.Point]}
		one.Points[0].Name = ""
		runs = append(runs, &one)
	}
	return runs
}

// name is what a person calls a run.
func name(r *result.Result) string { return cmp.Or(r.Path, r.ID) }

// loadsMissingIn are the names of the first run's points that the others do not all
// have; all of its names where there are no others.
func loadsMissingIn(others []*result.Result, first *result.Result) []string {
	var names []string
	for i, points := range matches(first, others) {
		if len(points) < max(len(others), 1) {
			names = append(names, place(first, i))
		}
	}
	return names
}

func onePoint(runs []*result.Result) bool {
	return !slices.ContainsFunc(runs, func(r *result.Result) bool { return len(r.Points) != 1 })
}

func firstPoints(runs []*result.Result) []*result.Point {
	points := make([]*result.Point, len(runs))
	for i, r := range runs {
		points[i] = &r.Points[0]
	}
	return points
}
