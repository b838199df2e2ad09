// Package series bins a run for charts: it takes the records of a log, one after
// another, and what telemetry saw meanwhile, and gives the run over time and the
// distributions of its latencies in some thirty kilobytes, however long it was. It
// keeps counts, not records, and judges nothing.
package series

import (
	"cmp"
	"math"

	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
)

// percents are where a distribution is read off: dense where people look.
var percents = percentages()

func percentages() []float64 {
	list := []float64{0, 1, 2.5, 5}
	for p := 10.0; p < 90; p += 5 {
		list = append(list, p)
	}
	for p := 90.0; p < 99; p++ {
		list = append(list, p)
	}
	for tenths := 990.0; tenths < 1000; tenths++ {
		list = append(list, tenths/10)
	}
	return append(list, 99.95, 99.99, 99.995, 99.999, 100)
}

// latencies are the figures that have a distribution.
const (
	ttft = iota
	tpot
	e2e
	itl
	latencies
)

// Series is a run in the making. A nil one takes everything and keeps nothing.
type Series struct {
	start, end int64 // of the window
	time       timeline
	whole      [latencies]histogram // of the window
	prompts    map[int]*ofLength    // by coarse bins of prompt length
	gaps       account.Gaps
}

// New begins a series whose load begins at begin, in ns from the origin, and
// whose window is [start, end).
func New(begin, start, end int64) *Series {
	return &Series{start: start, end: end, time: timeline{begin: min(begin, start), width: minBinLength}, prompts: map[int]*ofLength{}}
}

// Add takes in a record, whatever its phase.
func (s *Series) Add(r *record.Record) {
	if s == nil {
		return
	}
	s.time.reach(max(r.Due, r.End, r.Last))
	measured := r.Due >= s.start && r.Due < s.end
	var took [itl]float64
	took[ttft], took[tpot], took[e2e] = account.Latencies(r)
	at := s.time.due(r)
	for i, ms := range took {
		if math.IsNaN(ms) {
			continue
		}
		at.took[i].add(float32(ms))
		if measured {
			s.whole[i].add(float32(ms))
		}
	}
	if prompt := cmp.Or(r.PromptTokens, r.AskedPrompt); measured && prompt > 0 && took[ttft] >= 0 {
		s.prompt(prompt, float32(took[ttft]))
	}
	s.time.inFlight(r.Sent, r.End)
	s.output(r)
}

// ofLength is the requests with prompts of about one length.
type ofLength struct {
	ttft   histogram
	tokens int // of their prompts together
}

func (s *Series) prompt(tokens int, ms float32) {
	at := bin(float32(tokens), coarse)
	if s.prompts[at] == nil {
		s.prompts[at] = &ofLength{}
	}
	s.prompts[at].tokens += tokens
	s.prompts[at].ttft.add(ms)
}

// output takes in when tokens came, also those of replies that failed later.
func (s *Series) output(r *record.Record) {
	arrived, itls := s.gaps.Of(r)
	before := int64(0)
	for at, tokens := range arrived {
		m := s.time.at(at)
		if m.tokens += tokens; before != 0 && !r.Thinned() {
			m.gaps.count(bin(float32(at-before)/1e6, coarse), 1)
		}
		before = at
	}
	if r.Outcome != llm.OK || !r.Streamed {
		return
	}
	for at, ms := range itls {
		if at >= s.start && at < s.end {
			s.whole[itl].add(ms)
		}
	}
}

// Over gives the run over time, with what was seen of the server; nil where
// there is nothing.
func (s *Series) Over(scrapes []telemetry.Scrape, boards []telemetry.AcceleratorReading) *result.Series {
	if s == nil || len(s.time.bins) == 0 {
		return nil
	}
	for len(s.time.bins) > 1 && s.time.bins[0].due == 0 && s.time.bins[0].busyNS == 0 {
		s.time.bins, s.time.begin = s.time.bins[1:], s.time.begin+s.time.width
	}
	out := s.time.flow()
	s.time.latencies(out)
	out.Running = s.time.server(scrapes, func(r *telemetry.Reading) *float64 { return r.Running })
	out.Waiting = s.time.server(scrapes, func(r *telemetry.Reading) *float64 { return r.Waiting })
	out.KVUsage = s.time.server(scrapes, func(r *telemetry.Reading) *float64 { return r.KVUsage })
	out.Watts = s.time.watts(boards)
	out.CacheHits = s.time.cacheHits()
	out.Gaps, out.Prompts = s.time.gaps(), s.byPrompt()
	return out
}

// CacheHits is the share of prompt tokens that came from the cache, of requests due
// within [from, to), to the length of a bin; nil where usage says it of too few, or
// of none in the whole run.
func (s *Series) CacheHits(from, to int64) *float64 {
	if s == nil || s.time.cacheHits() == nil {
		return nil
	}
	var sum moment
	for i := range s.time.bins {
		if at := s.time.begin + int64(i)*s.time.width + s.time.width/2; at >= from && at < to {
			sum.join(&s.time.bins[i])
		}
	}
	if sum.counted < minOfLength {
		return nil
	}
	return new(round(float64(sum.cached) / float64(sum.prompt)))
}

// Distributions are those of the window, nil where nothing was answered in it.
func (s *Series) Distributions() *result.Distributions {
	if s == nil || s.whole[e2e].n == 0 {
		return nil
	}
	curve := func(h *histogram) []float64 {
		if h.n == 0 {
			return nil
		}
		list := make([]float64, len(percents))
		for i, p := range percents {
			list[i] = h.quantile(p / 100)
		}
		return list
	}
	w := &s.whole
	return &result.Distributions{Percent: percents, TTFT: curve(&w[ttft]), TPOT: curve(&w[tpot]), E2E: curve(&w[e2e]), ITL: curve(&w[itl])}
}

// byPrompt is nil where all prompts are of about one length.
func (s *Series) byPrompt() *result.ByPrompt {
	out := &result.ByPrompt{}
	low, high := math.MaxInt, 0
	for at := range s.prompts {
		low, high = min(low, at), max(high, at)
	}
	for at := max(low, high-maxLengths+1); at <= high; at++ {
		of := s.prompts[at]
		if of == nil || of.ttft.n < minOfLength {
			continue
		}
		h := &of.ttft
		out.Tokens, out.N = append(out.Tokens, round(float64(of.tokens)/float64(h.n))), append(out.N, h.n)
		out.P50, out.P95 = append(out.P50, h.quantile(0.5)), append(out.P95, h.quantile(0.95))
	}
	if len(out.N) < 2 {
		return nil
	}
	return out
}

const (
	maxLengths  = 40
	minOfLength = 10 // requests, below which a p95 or a share says nothing
)
