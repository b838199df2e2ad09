package fire

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
)

// Hits keeps what the prefix cache had of each prompt, by the replies.
type Hits struct{ list []found }

type found struct {
	due   int64
	share float64
}

// Add takes in one request, whenever it was due.
func (h *Hits) Add(r *record.Record) {
	if r.Outcome == llm.OK && r.PromptTokens > 0 {
		h.list = append(h.list, found{r.Due, float64(r.CachedTokens) / float64(r.PromptTokens)})
	}
}

const (
	// back is the part of the lost hits that may be missing where a cache is warm.
	back = 0.1
	// minUsual is how many requests say what is usual, and minHits the share of their
	// prompts below which there is nothing to come back.
	minUsual = 20
	minHits  = 0.05
)

// Warming is when the hits were back that requests of the usual stretch had, after the
// cache was lost at some time: nil where there are too few to tell, or none.
func (h *Hits) Warming(at, until int64, usual [2]int64) *result.Warming {
	slices.SortFunc(h.list, func(a, b found) int { return cmp.Compare(a.due, b.due) })
	reference, after := h.within(usual[0], usual[1]), h.within(at, until)
	if len(reference) < minUsual || len(after) == 0 {
		return nil
	}
	mean := 0.0
	for _, r := range reference {
		mean += r.share / float64(len(reference))
	}
	if mean < minHits {
		return nil
	}
	missing := func(r found) float64 { return 1 - min(1, r.share/mean) }
	usually := 0.0
	for _, r := range reference {
		usually += missing(r) / float64(len(reference))
	}
	limit := usually + back*(1-usually)
	k, low, high := crossing(after, missing, limit)
	seconds := func(k int) float64 { return float64(after[k].due-at) / 1e9 }
	w := &result.Warming{Usual: mean, Requests: k, RequestInterval: [2]int{low, max(high, k)}}
	if k > 0 {
		w.Seconds = seconds(k - 1)
	}
	if low > 0 {
		w.Interval[0] = seconds(low - 1)
	}
	if w.Interval[1] = float64(until-at) / 1e9; high < len(after) {
		w.Interval[1], w.Ended = seconds(max(high, k)), true
	}
	return w
}

// within are the requests due in a stretch.
func (h *Hits) within(from, to int64) []found {
	place := func(at int64) int {
		i, _ := slices.BinarySearchFunc(h.list, at, func(r found, at int64) int { return cmp.Compare(r.due, at) })
		return i
	}
	if to <= from {
		return nil
	}
	return h.list[place(from):place(to)]
}

// crossing is the number of requests after which a share that only falls is at most
// limit: the best estimate is where the sum of what lies above it is largest, which is
// where the best falling curve crosses it. Were it below from j on, no stretch after j
// could have clearly more, and were it above until k, none before k clearly less: that
// bounds the number, at 95%. high is the number of all where no stretch shows an end.
func crossing(list []found, missing func(found) float64, limit float64) (k, low, high int) {
	sums, most := make([]float64, len(list)+1), 0.0
	for i, r := range list {
		sums[i+1] = sums[i] + missing(r) - limit
		if sums[i+1] > most {
			most, k = sums[i+1], i+1
		}
	}
	// Chernoff's bound holds for anything between 0 and 1, and whatever was seen
	// before; each length of a stretch is a question of its own.
	clear := math.Log(2 * (1 + math.Log2(float64(len(list)))) / 0.05)
	high = len(list)
	for n := 1; n <= len(list); n *= 2 {
		for from := 0; from+n <= len(list); from++ {
			mean := limit + (sums[from+n]-sums[from])/float64(n)
			if float64(n)*divergence(mean, limit) < clear {
				continue
			}
			if mean > limit {
				low = max(low, from+1)
			} else {
				high = min(high, from+n)
			}
		}
	}
	return k, min(low, k), high
}

// divergence is that of Kullback and Leibler between two chances.
func divergence(p, q float64) float64 {
	term := func(a, b float64) float64 {
		if a <= 0 {
			return 0
		}
		return a * math.Log(a/b)
	}
	return term(p, q) + term(1-p, 1-q)
}
