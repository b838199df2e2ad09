package metric

// Dist is one distribution: n, mean, percentiles and max, with the percentiles
// that are firm and their intervals. It is written as one flat object with
// keys such as "p50" and "p999" (p + digits without the dot).
type Dist struct {
	N    int
	Mean float64
	Max  float64
	// P maps keys such as "p99" to values.
	P map[string]float64
	// Firm lists the keys whose values can be relied on.
	Firm []string
	// CI maps keys to 95 % intervals from whole batches in time.
	CI map[string][2]float64
}
