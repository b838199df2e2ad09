package metric

import "redline/internal/drive/record"

// Times are the figures of one request that a pairing with another needs, in
// nanoseconds and NaN where it has none: ttft and e2e as the user lives them,
// from when it was due, tpot, and its longest stall.
func Times(r *record.Record) (ofTTFT, ofTPOT, ofStall, ofE2E float64) {
	f := measured(r)
	longest, _ := largestGap(grouped(r, nil))
	return f[ttftDue], f[tpot], longest, f[e2eDue]
}
