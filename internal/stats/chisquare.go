package stats

import "math"

// ChiSquareQuantile is the p-quantile of the chi-square distribution by Wilson
// and Hilferty's cube, within 1 % from 3 degrees of freedom on.
func ChiSquareQuantile(p, degrees float64) float64 {
	c := 2 / (9 * degrees)
	return degrees * math.Pow(1-c+NormalQuantile(p)*math.Sqrt(c), 3)
}
