package metric

// digit is how many bits of a key one pass of a radix sort looks at.
const digit = 11

// radixFrom is the length from which a radix sort is faster.
const radixFrom = 512

// radixSorted brings keys into ascending order, several times faster than by
// comparison, and gives the one of the two slices that holds them. A digit in
// which all keys agree costs no pass.
func radixSorted[K uint32 | uint64](keys, spare []K) (sorted, rest []K) {
	var differ K
	for _, k := range keys {
		differ |= k ^ keys[0]
	}
	for shift := 0; differ>>shift != 0; shift += digit {
		if differ>>shift&(1<<digit-1) != 0 {
			byDigit(keys, spare, shift)
			keys, spare = spare, keys
		}
	}
	return keys, spare
}

// byDigit copies keys in the order of one digit, equal ones as they stand.
func byDigit[K uint32 | uint64](from, to []K, shift int) {
	var starts [1 << digit]int
	for _, k := range from {
		starts[k>>shift&(1<<digit-1)]++
	}
	sum := 0
	for i, n := range starts {
		starts[i] = sum
		sum += n
	}
	for _, k := range from {
		d := k >> shift & (1<<digit - 1)
		to[starts[d]] = k
		starts[d]++
	}
}
