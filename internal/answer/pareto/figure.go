package pareto

import (
	"strings"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
)

// Figure is what an axis shows.
type Figure struct {
	// Name is what a user calls it: "interactivity:p50".
	Name string `json:"name"`
	// Title says what it is, in its unit: "tokens/s/user (p50)".
	Title string `json:"title"`
	Unit  string `json:"unit"`
	// More says that more of it is better.
	More bool `json:"more_is_better"`

	of figure.Statistic
}

// perAccelerator is the name of the figure that takes the number of
// accelerators to know.
const perAccelerator = "tokens-per-accelerator"

// wholeQuality is the name of the share of right answers of the whole set.
const wholeQuality = "quality"

func (f Figure) read(r *result.Result, p *result.Point) (float64, bool) {
	v, ok := f.of.Read(p, r)
	return v, ok && f.of.Shows(v)
}

// Find gives the figure of a name such as "interactivity:p99", "ttft" or
// "cost".
func Find(name string) (Figure, error) {
	s, err := figure.Parse(name, figure.Plot)
	if err != nil {
		return Figure{}, err
	}
	return Figure{Name: s.String(), Title: titleOf(s), Unit: string(s.Unit), More: s.More, of: s}, nil
}

// titleOf says what an axis shows, in its form from due where there is one.
func titleOf(s figure.Statistic) string {
	title := s.JudgedForm().Title
	switch {
	case s.Unit.Money(), s.Share(), !s.Spread() && strings.Contains(title, "/"):
		return title
	case strings.Contains(title, string(s.Unit)):
		return title + " (" + s.Stat + ")"
	case s.Spread():
		title += " " + s.Stat
	}
	return title + " in " + string(s.Unit)
}

// Pair is what is weighed against what.
type Pair struct{ X, Y Figure }

// Pairs are those that are shown where nothing else is asked for.
func Pairs() []Pair {
	var pairs []Pair
	for _, names := range [][2]string{{"interactivity", perAccelerator}, {"interactivity", "cost"}, {"throughput", "quality"}, {"cost", "quality"}} {
		x, errX := Find(names[0])
		y, errY := Find(names[1])
		if errX == nil && errY == nil {
			pairs = append(pairs, Pair{x, y})
		}
	}
	return pairs
}
