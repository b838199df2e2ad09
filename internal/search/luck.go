package search

import "math"

// shifts tells, for an allowed share, how far the curve of a run without luck
// lies above the limit: where the slope is steep, a draw of more work costs more
// than one of less saves, so that the expected share reaches what is allowed at
// a lower rate. In units of the luck it depends on slope times luck alone, at
// whose logarithms it is tabled.
type shifts []float64

const (
	shiftFrom, shiftTo = -3.0, 3.5 // ln of slope times luck
	shiftPoints        = 53
	shiftNodes         = 41 // over ± 4 standard deviations
)

func newShifts(q float64) shifts {
	table := make(shifts, shiftPoints)
	for i := range table {
		steep := math.Exp(shiftFrom + (shiftTo-shiftFrom)*float64(i)/(shiftPoints-1))
		lo, hi := 0.0, 5.0
		for range 20 {
			if mid := (lo + hi) / 2; expectedShare(q, steep, mid) > q {
				lo = mid
			} else {
				hi = mid
			}
		}
		table[i] = (lo + hi) / 2
	}
	return table
}

// expectedShare is the mean over a standard normal luck of a logistic curve of
// that slope whose allowed share lies at centre.
func expectedShare(q, slope, centre float64) float64 {
	sum, total := 0.0, 0.0
	for i := range shiftNodes {
		z := -4 + 8*float64(i)/(shiftNodes-1)
		w := math.Exp(-z * z / 2)
		sum += w * logistic(logit(q)+slope*(z-centre))
		total += w
	}
	return sum / total
}

// of gives the shift for a slope and a luck.
func (t shifts) of(slope, luck float64) float64 {
	at := (math.Log(slope*luck) - shiftFrom) / (shiftTo - shiftFrom) * (shiftPoints - 1)
	at = min(max(at, 0), shiftPoints-1.001)
	i := int(at)
	return luck * (t[i] + (at-float64(i))*(t[i+1]-t[i]))
}
