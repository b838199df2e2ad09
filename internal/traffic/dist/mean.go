package dist

import (
	"math"

	"redline/internal/stats"
)

// Mean is the expected length.
func (d Tokens) Mean() float64 {
	switch d.kind() {
	case fixed:
		return float64(d.Fixed)
	case uniform:
		return float64(d.Min+d.Max) / 2
	case lognormal:
		return d.logNormalMean()
	case normal:
		return d.normalMean()
	case gamma:
		return d.gammaMean()
	case zipf:
		lo, hi := d.clip()
		return powerSum(lo, hi, 1-d.Zipf) / powerSum(lo, hi, -d.Zipf)
	case choice:
		return d.choiceMean()
	}
	return 0
}

// logNormalMean adds what the lower clip, the middle and the upper clip
// contribute; truncation to whole tokens takes half a token from the middle.
func (d Tokens) logNormalMean() float64 {
	lo, hi := d.clip()
	z := func(x int) float64 { return (math.Log(float64(x)) - math.Log(d.Median)) / d.Sigma }
	below, above := stats.NormalCDF(z(lo)), 1-stats.NormalCDF(z(hi))
	middle := d.Median * math.Exp(d.Sigma*d.Sigma/2) * (stats.NormalCDF(z(hi)-d.Sigma) - stats.NormalCDF(z(lo)-d.Sigma))
	return float64(lo)*below + middle - 0.5*(1-below-above) + float64(hi)*above
}

// normalMean is the same for a normal, which is rounded and not truncated.
func (d Tokens) normalMean() float64 {
	lo, hi := d.clip()
	a, b := (float64(lo)-d.Average)/d.SD, (float64(hi)-d.Average)/d.SD
	density := func(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
	below, above := stats.NormalCDF(a), 1-stats.NormalCDF(b)
	middle := d.Average*(1-below-above) - d.SD*(density(b)-density(a))
	return float64(lo)*below + middle + float64(hi)*above
}

// gammaMean is the same for a gamma: x times its density is the density of a
// gamma with a shape one higher, times the mean.
func (d Tokens) gammaMean() float64 {
	lo, hi := d.clip()
	scale := d.Average / d.Shape
	a, b := float64(lo)/scale, float64(hi)/scale
	below, above := stats.RegIncGamma(d.Shape, a), 1-stats.RegIncGamma(d.Shape, b)
	middle := d.Average * (stats.RegIncGamma(d.Shape+1, b) - stats.RegIncGamma(d.Shape+1, a))
	return float64(lo)*below + middle + float64(hi)*above
}

// powerSum adds k^e over the whole numbers lo to hi: the first terms one by
// one, the rest by the Euler–Maclaurin formula.
func powerSum(lo, hi int, e float64) float64 {
	const exact = 1000
	sum, k := 0.0, lo
	for ; k <= hi && k < lo+exact; k++ {
		sum += math.Pow(float64(k), e)
	}
	if k > hi {
		return sum
	}
	a, b := float64(k), float64(hi)
	integral := math.Log(b / a)
	if e != -1 {
		integral = (math.Pow(b, e+1) - math.Pow(a, e+1)) / (e + 1)
	}
	ends := (math.Pow(a, e) + math.Pow(b, e)) / 2
	slopes := e * (math.Pow(b, e-1) - math.Pow(a, e-1)) / 12
	return sum + integral + ends + slopes
}
