package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Precision names how numbers are stored.
type Precision string

// The precisions that weights and caches come in.
const (
	BF16  Precision = "bf16"
	FP16  Precision = "fp16"
	FP32  Precision = "fp32"
	FP8   Precision = "fp8"
	INT8  Precision = "int8"
	INT4  Precision = "int4"
	FP4   Precision = "fp4"
	MXFP4 Precision = "mxfp4"
)

// storage is what a precision costs. The four-bit forms carry a scale for
// every group of weights, hence the odd quarter of a bit.
type storage struct {
	name        Precision
	bits        float64
	expertsOnly bool // the rest of the model stays at 16 bits
	aliases     []string
}

var storages = []storage{
	{name: BF16, bits: 16, aliases: []string{"bfloat16", "half"}},
	{name: FP16, bits: 16, aliases: []string{"float16"}},
	{name: FP32, bits: 32, aliases: []string{"float32", "float"}},
	{name: FP8, bits: 8, aliases: []string{"float8", "fp8e4m3", "fp8e5m2"}},
	{name: INT8, bits: 8, aliases: []string{"w8a8"}},
	{name: INT4, bits: 4.25, aliases: []string{"awq", "gptq", "w4a16"}},
	{name: FP4, bits: 4.5, aliases: []string{"nvfp4"}},
	{name: MXFP4, bits: 4.25, expertsOnly: true},
}

// ParsePrecision reads a precision by any of the names that engines use.
func ParsePrecision(name string) (Precision, error) {
	f := fold(name)
	var known []string
	for _, s := range storages {
		if string(s.name) == f || slices.Contains(s.aliases, f) {
			return s.name, nil
		}
		known = append(known, string(s.name))
	}
	return "", fmt.Errorf("unknown precision %q: expected one of %s", name, strings.Join(known, ", "))
}

// inNames are the parts of a published name that tell how the weights are
// packed.
var inNames = []struct {
	part string
	is   Precision
}{{"mxfp4", MXFP4}, {"nvfp4", FP4}, {"fp8", FP8}, {"w8a8", INT8}, {"int8", INT8}, {"awq", INT4}, {"gptq", INT4}, {"w4a16", INT4}, {"int4", INT4}, {"bf16", BF16}}

// NamedPrecision is how the weights are stored by the name of the model, where
// that tells.
func NamedPrecision(name string) (Precision, bool) {
	f := fold(name)
	for _, n := range inNames {
		if strings.Contains(f, n.part) {
			return n.is, true
		}
	}
	return "", false
}

// Bytes is the storage of one number.
func (p Precision) Bytes() float64 { return p.storage().bits / 8 }

// storage of an unknown precision is that of 16 bits.
func (p Precision) storage() storage {
	for _, s := range storages {
		if s.name == p {
			return s
		}
	}
	return storages[0]
}

// dense is the storage of one weight outside the experts.
func (p Precision) dense() float64 {
	if s := p.storage(); !s.expertsOnly {
		return s.bits / 8
	}
	return BF16.Bytes()
}
