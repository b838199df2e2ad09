package telemetry

import "slices"

// narrow is how wide a bucket may be, as a share of the value in it, for a
// quantile to be read from it.
const narrow = 0.2

// Timing is what a histogram of the server gathered over a stretch of time, in
// milliseconds. A quantile is nil unless the bucket that it lies in is narrower
// than a fifth of its value.
type Timing struct {
	// N is how many values there were.
	N float64 `json:"n"`
	// Mean is the sum of the values over their number.
	Mean float64  `json:"mean"`
	P50  *float64 `json:"p50,omitempty"`
	P90  *float64 `json:"p90,omitempty"`
	P95  *float64 `json:"p95,omitempty"`
	P99  *float64 `json:"p99,omitempty"`
}

// timing gives a histogram's growth in the window, nil where nothing was added
// to it.
func (w *window) timing(of func(*Reading) *Histogram) *Timing {
	n := w.rise(func(r *Reading) *float64 { return of(r).count() })
	sum := w.rise(func(r *Reading) *float64 {
		if h := of(r); h != nil {
			return &h.SumS
		}
		return nil
	})
	if n == nil || sum == nil || *n <= 0 {
		return nil
	}
	t := &Timing{N: *n, Mean: *sum / *n * 1e3}
	edges, counts := w.buckets(of)
	for _, q := range []struct {
		share float64
		into  **float64
	}{{0.5, &t.P50}, {0.9, &t.P90}, {0.95, &t.P95}, {0.99, &t.P99}} {
		if v, ok := quantile(edges, counts, q.share**n); ok {
			*q.into = new(v * 1e3)
		}
	}
	return t
}

// buckets gives by how much each bucket grew in the window, all values up to
// its edge counted. Pages whose edges are not those of the latest are passed
// over.
func (w *window) buckets(of func(*Reading) *Histogram) (edges, counts []float64) {
	for _, p := range slices.Backward(w.pages) {
		if h := of(p.Reading); h != nil {
			edges = h.LE
			break
		}
	}
	for i := range edges {
		grown := w.rise(func(r *Reading) *float64 {
			if h := of(r); h != nil && len(h.N) == len(edges) && slices.Equal(h.LE, edges) {
				return &h.N[i]
			}
			return nil
		})
		if grown == nil {
			return nil, nil
		}
		counts = append(counts, *grown)
	}
	return edges, counts
}

// quantile finds the value of a rank by straight lines inside the buckets. It
// reports false where the bucket is too wide, open at its end, or not there.
func quantile(edges, counts []float64, rank float64) (float64, bool) {
	i := slices.IndexFunc(counts, func(n float64) bool { return n >= rank })
	if i < 0 {
		return 0, false
	}
	var low, below float64
	if i > 0 {
		low, below = edges[i-1], counts[i-1]
	}
	width := edges[i] - low
	if counts[i] <= below {
		return 0, false
	}
	v := low + width*(rank-below)/(counts[i]-below)
	return v, width < narrow*v
}
