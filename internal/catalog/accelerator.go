package catalog

import (
	"errors"
	"fmt"
)

// GiB is the unit in which accelerator memory is sold.
const GiB = 1 << 30

// Accelerator is one device. Zero fields are unknown, or absent for a rate.
type Accelerator struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// Dense peak rates in operations per second.
	BF16 float64 `json:"bf16_flops"`
	FP8  float64 `json:"fp8_flops,omitempty"`
	FP4  float64 `json:"fp4_flops,omitempty"`
	// Reached is the share of each peak that large matrix products are
	// measured to reach, where it is known to differ from the usual.
	Reached       map[Precision]float64 `json:"reached,omitempty"`
	ReachedSource string                `json:"reached_source,omitempty"`
	// ClockDrop is the share of its clock that it would lose to its power limit if
	// products ran at their peak all the time.
	ClockDrop float64 `json:"clock_drop,omitempty"`
	Memory    int64   `json:"memory_bytes"`
	Read      float64 `json:"read_bytes_per_s"`           // memory bandwidth
	Link      float64 `json:"link_bytes_per_s,omitempty"` // to its peers, one way
	Watts     float64 `json:"watts,omitempty"`

	// Prices in dollars per hour: the range on demand, and for three years.
	PriceLow        float64 `json:"price_low,omitempty"`
	PriceHigh       float64 `json:"price_high,omitempty"`
	PriceReserved   float64 `json:"price_reserved,omitempty"`
	PriceDated      string  `json:"price_dated,omitempty"`
	PriceSource     string  `json:"price_source,omitempty"`
	PriceConfidence string  `json:"price_confidence,omitempty"`

	Dated      string `json:"dated,omitempty"`
	Source     string `json:"source,omitempty"`
	Confidence string `json:"confidence,omitempty"`
}

// names are all that it is found by, its own first.
func (a Accelerator) names() []string { return append([]string{a.Name}, a.Aliases...) }

// check finds what nothing can be computed without.
func (a Accelerator) check() error {
	switch {
	case a.BF16 <= 0:
		return errors.New("has no bf16_tflops")
	case a.Memory <= 0:
		return errors.New("has no memory_gib")
	case a.Read <= 0:
		return errors.New("has no bandwidth_gbs")
	case a.PriceHigh < a.PriceLow:
		return fmt.Errorf("price: high %g is below low %g", a.PriceHigh, a.PriceLow)
	}
	return nil
}

// Rate is the peak for weights of precision p, and the precision in which the
// device then computes: weights that it has no unit for are widened to 16 bits
// on the way in.
func (a Accelerator) Rate(p Precision) (flops float64, in Precision) {
	switch {
	case p == FP32:
		return a.BF16 / 2, FP32
	case (p == FP8 || p == INT8) && a.FP8 > 0:
		return a.FP8, FP8
	case p == FP4 && a.FP4 > 0:
		return a.FP4, FP4
	}
	return a.BF16, BF16
}
