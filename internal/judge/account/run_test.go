package account

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/expect"
	"redline/internal/stats"
)

// runOf makes a run of values in any order.
func runOf(list []float32) run {
	var r run
	for _, v := range slices.Sorted(slices.Values(list)) {
		r = r.add(entry{math.Float32bits(v), 1})
	}
	return r
}

// countsOf reads a run and complains where its values do not ascend.
func countsOf(t interface{ Fatalf(string, ...any) }, r run) map[float32]int {
	counts := map[float32]int{}
	last := float32(-1)
	for v, n := range r.all {
		if v <= last {
			t.Fatalf("%v comes after %v", v, last)
		}
		counts[v], last = n, v
	}
	return counts
}

func TestARunCountsWhatItWasMadeOf(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(1))
	tests := []struct {
		name string
		list []float32
		want map[float32]int
	}{
		{"nothing", nil, map[float32]int{}},
		{"one value of zero", []float32{0}, map[float32]int{0: 1}},
		{"the ends of what a float can hold", []float32{inf, 0, math.MaxFloat32, math.SmallestNonzeroFloat32},
			map[float32]int{0: 1, math.SmallestNonzeroFloat32: 1, math.MaxFloat32: 1, inf: 1}},
		{"some more often than once", []float32{20, 30, 20, 20.001}, map[float32]int{20: 2, 20.001: 1, 30: 1}},
		{"one more often than a byte can say", slices.Repeat([]float32{7}, 100_000), map[float32]int{7: 100_000}},
	}
	for _, tt := range tests {
		expect.NoDiff(t, cmp.Diff(tt.want, countsOf(t, runOf(tt.list))), "%s: want −, got +", tt.name)
	}
}

func TestMergedRunsCountTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := map[float32]int{}
		var merged run
		for _, list := range rapid.SliceOfN(rapid.SliceOf(rapid.Uint32Range(0, 300)), 0, 9).Draw(t, "µs") {
			var ms []float32
			for _, us := range list {
				ms = append(ms, float32(us)/1000)
				whole[float32(us)/1000]++
			}
			merged = mergedInto(nil, merged, runOf(ms))
		}
		if got := countsOf(t, merged); !maps.Equal(whole, got) {
			t.Fatalf("counted %v, want %v", got, whole)
		}
	})
}

func TestRadixSorted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := stats.Rand(rapid.Uint64().Draw(t, "seed"), "radix", 0)
		mask := rapid.Uint64().Draw(t, "bits that differ")
		keys := make([]uint64, rapid.IntRange(0, 2000).Draw(t, "n"))
		for i := range keys {
			keys[i] = r.Uint64() & mask
		}
		want := slices.Sorted(slices.Values(keys))
		if got, _ := radixSorted(keys, make([]uint64, len(keys))); !slices.Equal(want, got) {
			t.Fatalf("%d keys are not in order", len(want))
		}
	})
}
