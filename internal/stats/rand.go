package stats

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// Rand opens the random stream of one seed, purpose and index: the same three
// give the same numbers in every version of the program, and streams that
// differ in any of them are independent. A workload thus draws request 1000
// without drawing the 999 before it.
func Rand(seed uint64, name string, index uint64) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	state := splitmix(splitmix(splitmix(seed)+h.Sum64()) + index)
	// Both words of the generator's state must be scrambled: states that
	// differ in their high word alone give correlated streams.
	return rand.New(rand.NewPCG(splitmix(state), splitmix(state+1)))
}

// splitmix is one output of Steele, Lea and Flood's SplitMix64 from state x.
func splitmix(x uint64) uint64 { return Scramble(x + 0x9e3779b97f4a7c15) }

// Scramble is the finish of SplitMix64: a bijection of 64 bits in which every
// input bit moves every output bit.
func Scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Exponential draws from the exponential distribution of mean 1.
func Exponential(r *rand.Rand) float64 {
	return -math.Log(unit(r))
}

// unit draws from (0, 1): never 0, so that its logarithm is finite.
func unit(r *rand.Rand) float64 {
	return (float64(r.Uint64()>>12) + 0.5) / (1 << 52)
}

// LogNormal draws exp(mu + sigma·Z): its median is exp(mu).
func LogNormal(r *rand.Rand, mu, sigma float64) float64 {
	return math.Exp(mu + sigma*r.NormFloat64())
}

// Gamma draws from the gamma distribution of the given shape and scale 1, so
// its mean and its variance are the shape. A shape that is not positive gives
// NaN.
func Gamma(r *rand.Rand, shape float64) float64 {
	if !(shape > 0) {
		return math.NaN()
	}
	if shape >= 1 {
		return marsagliaTsang(r, shape)
	}
	// A gamma of shape a is one of shape a+1 times U^(1/a). The product is
	// taken in logarithms because the power alone underflows at small shapes.
	boost := math.Log(unit(r)) / shape
	return math.Exp(boost + math.Log(marsagliaTsang(r, shape+1)))
}

// marsagliaTsang is the rejection method of Marsaglia and Tsang (2000), for a
// shape of at least 1: a cubed normal, accepted more than 95 times in 100.
func marsagliaTsang(r *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(unit(r)) < x*x/2+d*(1-v+math.Log(v)) {
			return d * v
		}
	}
}

// Choose draws an index with a probability in proportion to its weight.
// Weights that are not positive are never drawn; it is -1 where none is.
func Choose(r *rand.Rand, weights []float64) int {
	total := 0.0
	for _, w := range weights {
		if w > 0 {
			total += w
		}
	}
	left, last := r.Float64()*total, -1
	for i, w := range weights {
		if !(w > 0) {
			continue
		}
		last = i
		if left -= w; left < 0 {
			break
		}
	}
	return last
}
