package compare

import (
	"maps"
	"math"
	"slices"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/stats"
)

// Means are the means of the latencies that comparisons judge: they stand beside
// the percentiles, and are not judged.
var Means = meansCompared()

func meansCompared() (names []string) {
	for _, f := range figure.All {
		if len(f.Compared) > 0 && f.Spread() {
			names = append(names, f.Name+":mean")
		}
	}
	return names
}

// shapes lays means and tails of two sides beside each other, each the geometric
// mean over the side's runs or rounds.
func shapes(a, b []Values) []result.Shape {
	var list []result.Shape
	for _, f := range figure.All {
		if len(f.Compared) == 0 || !f.Spread() {
			continue
		}
		s := result.Shape{Name: f.Name, Unit: string(f.Unit),
			MeanA: geometric(a, f.Name+":mean", ""), MeanB: geometric(b, f.Name+":mean", ""),
			TailA: geometric(a, f.Name+":p99", f.Name+":p50"), TailB: geometric(b, f.Name+":p99", f.Name+":p50")}
		if s.MeanA != nil || s.MeanB != nil {
			list = append(list, s)
		}
	}
	return list
}

// geometric is the mean of a figure, or of its ratio to another, over those that
// have it; nil where none has.
func geometric(list []Values, name, over string) *float64 {
	var logs []float64
	for _, v := range list {
		value, under := v[name], 1.0
		if over != "" {
			under = v[over]
		}
		if value > 0 && under > 0 {
			logs = append(logs, math.Log(value/under))
		}
	}
	return stats.Finite(math.Exp(stats.Mean(logs)))
}

// flagPairs are the settings of two servers that differ, by name; none where one
// of them does not tell its own.
func flagPairs(a, b map[string]string) []result.FlagPair {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	var list []result.FlagPair
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a[name] != b[name] {
			list = append(list, result.FlagPair{Name: name, A: a[name], B: b[name]})
		}
	}
	return list
}
