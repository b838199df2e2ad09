package stats

import "math"

// minForLikeness is how many values a series needs for the correlation of its neighbors to be known.
const minForLikeness = 5

// maxLikeness is the correlation beyond which it says no more.
const maxLikeness = 0.9

// Widening is how many times wider the error of a mean is than that of as many independent
// values, by how much neighbors of the series are alike; NaN where too little is known.
func Widening(series []float64) float64 {
	alike := min(max(likeness(series), 0), maxLikeness)
	return (1 + alike) / (1 - alike)
}

// likeness is the correlation of neighbors in a short series, without the bias
// of a level that is not known. A series of which too little is known says
// nothing.
func likeness(series []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range series {
		if Finite(v) != nil {
			sum, n = sum+v, n+1
		}
	}
	if n < minForLikeness {
		return math.NaN()
	}
	mean, products, squares := sum/n, 0.0, 0.0
	for i, v := range series {
		if Finite(v) == nil {
			continue
		}
		squares += (v - mean) * (v - mean)
		if i > 0 && Finite(series[i-1]) != nil {
			products += (v - mean) * (series[i-1] - mean)
		}
	}
	if squares == 0 {
		return 0
	}
	return products/squares + 1/n
}
