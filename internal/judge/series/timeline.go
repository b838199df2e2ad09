package series

import (
	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

const (
	maxBins = 240
	// minBinLength is the first length of a bin, in ns: several steps of an engine,
	// so that tokens per second do not show its beat.
	minBinLength = int64(250e6)
	second       = 1e9
	maxRows      = 40
)

// timeline is a run in bins of one length, which doubles whenever there are too
// many of them: when the last request ends is unknown beforehand.
type timeline struct {
	begin, width int64
	bins         []moment
}

type moment struct {
	due, notOK int
	tokens     int
	busyNS     int64 // sum of the times in flight
	// prompt and cached are the prompt tokens of so many requests by usage.
	counted, prompt, cached int
	took                    [itl]histogram
	gaps                    histogram // in coarse bins, which are rows
}

func (m *moment) join(other *moment) {
	m.due, m.notOK, m.tokens, m.busyNS = m.due+other.due, m.notOK+other.notOK, m.tokens+other.tokens, m.busyNS+other.busyNS
	m.counted, m.prompt, m.cached = m.counted+other.counted, m.prompt+other.prompt, m.cached+other.cached
	for i := range m.took {
		m.took[i].join(&other.took[i])
	}
	m.gaps.join(&other.gaps)
}

// reach makes bins up to a moment.
func (t *timeline) reach(at int64) {
	for (at-t.begin)/t.width >= maxBins {
		t.bins, t.width = mergeBins(t.bins, 2), 2*t.width
	}
	for int64(len(t.bins)) <= (at-t.begin)/t.width {
		t.bins = append(t.bins, moment{})
	}
}

// mergeBins puts so many bins together each, in their place.
func mergeBins(bins []moment, many int) []moment {
	for i := range bins {
		if i%many != 0 {
			bins[i/many].join(&bins[i])
		} else if i > 0 {
			bins[i/many] = bins[i]
		}
	}
	return bins[:(len(bins)+many-1)/many]
}

// at is the bin of a moment, the first or the last where it lies outside.
func (t *timeline) at(at int64) *moment {
	return &t.bins[min(max((at-t.begin)/t.width, 0), int64(len(t.bins)-1))]
}

// due counts a request where it was due.
func (t *timeline) due(r *record.Record) *moment {
	m := t.at(r.Due)
	m.due++
	switch {
	case r.Outcome == llm.OK && r.PromptTokens > 0:
		m.counted, m.prompt, m.cached = m.counted+1, m.prompt+r.PromptTokens, m.cached+r.CachedTokens
	case r.Outcome != llm.OK && r.Outcome.Count().Judged != llm.Outside:
		m.notOK++
	}
	return m
}

// inFlight adds the time of a request to the bins that it was in flight in.
func (t *timeline) inFlight(from, to int64) {
	if from == 0 {
		return
	}
	for from = max(from, t.begin); from < to; {
		next := min(to, from+t.width-(from-t.begin)%t.width)
		t.at(from).busyNS += next - from
		from = next
	}
}

func (t *timeline) seconds() float64 { return float64(t.width) / second }

// flow is what moved, bin by bin.
func (t *timeline) flow() *result.Series {
	out := &result.Series{StartS: text.Round(float64(t.begin)/second, 6), BinS: t.seconds()}
	failed := 0
	for i := range t.bins {
		m := &t.bins[i]
		out.InFlight = append(out.InFlight, round(float64(m.busyNS)/float64(t.width)))
		out.Output = append(out.Output, round(float64(m.tokens)/t.seconds()))
		out.Due, out.NotOK = append(out.Due, m.due), append(out.NotOK, m.notOK)
		failed += m.notOK
	}
	if failed == 0 {
		out.NotOK = nil
	}
	return out
}

// gauge is the mean of what was seen in each bin.
func (t *timeline) gauge(each func(see func(at int64, v float64))) *result.Track {
	sums, seen := make([]float64, len(t.bins)), make([]int, len(t.bins))
	each(func(at int64, v float64) {
		if i := (at - t.begin) / t.width; at >= t.begin && i < int64(len(t.bins)) {
			sums[i] += v
			seen[i]++
		}
	})
	out := &result.Track{}
	for i, n := range seen {
		if n > 0 {
			out.At, out.Values = append(out.At, i), append(out.Values, round(sums[i]/float64(n)))
		}
	}
	if len(out.At) < 2 {
		return nil
	}
	return out
}

// cacheHits is the share of prompt tokens that came from the cache, nil where
// none did.
func (t *timeline) cacheHits() *result.Track {
	out, cached := &result.Track{}, 0
	for i := range t.bins {
		if m := &t.bins[i]; m.prompt > 0 {
			out.At, out.Values = append(out.At, i), append(out.Values, round(float64(m.cached)/float64(m.prompt)))
			cached += m.cached
		}
	}
	if len(out.At) < 2 || cached == 0 {
		return nil
	}
	return out
}

func (t *timeline) server(scrapes []telemetry.Scrape, of func(*telemetry.Reading) *float64) *result.Track {
	return t.gauge(func(see func(int64, float64)) {
		for _, s := range scrapes {
			if s.Reading == nil {
				continue
			}
			if v := of(s.Reading); v != nil {
				see(s.At, *v)
			}
		}
	})
}

// watts is the power of all devices together, where each of them tells its own.
func (t *timeline) watts(readings []telemetry.AcceleratorReading) *result.Track {
	return t.gauge(func(see func(int64, float64)) {
		for _, r := range readings {
			sum, told := 0.0, len(r.Devices) > 0
			for _, d := range r.Devices {
				if told = told && d.Watts != nil; told {
					sum += *d.Watts
				}
			}
			if told {
				see(r.At, sum)
			}
		}
	})
}
