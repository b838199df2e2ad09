//go:build linux

package main

import (
	"errors"
	"path/filepath"
	"slices"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/run/store"
	"redline/internal/stats"
	"redline/scripts/truth"
)

// figures are latencies by name, in ms. What a tool does not tell is absent.
type figures map[string]float64

var figureNames = []string{"ttft p50", "ttft p99", "tpot p50", "tpot p99", "itl p50", "itl p99"}

// evidence is what is known of one run from outside the tool.
type evidence struct {
	lines  []truth.Line
	starts map[string]int64 // when a request reached the server, by its id
}

// samples are the true latencies of one run, in ms.
type samples struct{ ttft, tpot, itl []float64 }

func (s *samples) request(l truth.Line, starts map[string]int64) {
	if start, seen := starts[l.ID]; seen {
		s.ttft = append(s.ttft, float64(l.Before[0]-start)/1e6)
	}
	s.tpot = append(s.tpot, l.TPOT())
}

func (s *samples) figures() (figures, error) {
	f := figures{}
	for name, values := range map[string][]float64{"ttft": s.ttft, "tpot": s.tpot, "itl": s.itl} {
		if len(values) == 0 {
			return nil, errors.New("the server served no whole reply")
		}
		slices.Sort(values)
		f[name+" p50"], f[name+" p99"] = stats.Quantile(values, 0.5), stats.Quantile(values, 0.99)
	}
	return f, nil
}

// judgeAll gives the truth over all that was served, for tools that count
// every request.
func judgeAll(_ setting, e evidence) (figures, error) {
	var s samples
	for _, l := range e.lines {
		if len(l.Before) == output {
			s.request(l, e.starts)
			s.itl = append(s.itl, l.Gaps()...)
		}
	}
	return s.figures()
}

// judgeRedline gives the truth over redline's window: it does not count what
// it sends to keep the load up while the last requests end.
func judgeRedline(s setting, e evidence) (figures, error) {
	dir, err := store.Open(filepath.Join(s.out, "run"))
	if err != nil {
		return nil, err
	}
	header, err := dir.Header()
	if err != nil {
		return nil, err
	}
	res, err := dir.Result()
	if err != nil {
		return nil, err
	}
	measured := map[string]bool{}
	for r, err := range dir.Records() {
		if err != nil {
			return nil, err
		}
		measured[llm.RequestID(header.Run, r.ID)] = r.Phase == record.Measure
	}
	window := res.Points[0].Window
	start, end := header.OriginUnixNS+int64(window.StartS*1e9), header.OriginUnixNS+int64(window.EndS*1e9)
	var all samples
	for _, l := range e.lines {
		if measured[l.ID] {
			all.request(l, e.starts)
		}
		for i, gap := range l.Gaps() {
			if at := l.Before[i+1]; at >= start && at < end {
				all.itl = append(all.itl, gap)
			}
		}
	}
	return all.figures()
}

// service is what the server really did.
type service struct {
	requests, tokens int
	first, last      int64 // first and last token, ns of the real-time clock
	tokensPerSecond  float64
}

// margin is left out at both ends of a run where its rate is taken: tools
// start and end in their own ways.
const margin = int64(2500 * time.Millisecond)

func account(lines []truth.Line) (service, error) {
	var s service
	for _, l := range lines {
		if len(l.Before) == 0 {
			continue
		}
		s.requests++
		s.tokens += len(l.Before)
		if s.first == 0 || l.Before[0] < s.first {
			s.first = l.Before[0]
		}
		s.last = max(s.last, l.Before[len(l.Before)-1])
	}
	start, end := s.first+margin, s.last-margin
	if start >= end {
		return s, errors.New("the run was too short to take a rate")
	}
	inside := 0
	for _, l := range lines {
		for _, at := range l.Before {
			if at >= start && at < end {
				inside++
			}
		}
	}
	s.tokensPerSecond = float64(inside) / (float64(end-start) / 1e9)
	return s, nil
}
