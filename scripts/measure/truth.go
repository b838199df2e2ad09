//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/store"
)

// reply is the truth about one answer, as its server noted it: the real-time
// clock when the request had been read, and just before and just after the write
// of each of its tokens, in ns.
type reply struct {
	ID      string  `json:"id"`
	Conn    string  `json:"conn"`       // the client's address, where the server says
	Arrived int64   `json:"arrived_ns"` // 0 where the server does not say
	Before  []int64 `json:"before_ns"`
	After   []int64 `json:"after_ns"`
}

// gaps are the times between tokens, in ms.
func (r reply) gaps() []float64 {
	var gaps []float64
	for i := 1; i < len(r.Before); i++ {
		gaps = append(gaps, float64(r.Before[i]-r.Before[i-1])/1e6)
	}
	return gaps
}

// gapsWithin are the gaps whose later token was written in the window.
func (r reply) gapsWithin(origin int64, w metric.Window) []float64 {
	var within []float64
	for i, gap := range r.gaps() {
		if at := float64(r.Before[i+1]-origin) / 1e9; at >= w.StartS && at < w.EndS {
			within = append(within, gap)
		}
	}
	return within
}

// tpot is the mean time between tokens, in ms; 0 for fewer than two.
func (r reply) tpot() float64 {
	last := len(r.Before) - 1
	if last < 1 {
		return 0
	}
	return float64(r.Before[last]-r.Before[0]) / 1e6 / float64(last)
}

func readTruth(path string) ([]reply, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseTruth(f)
}

func parseTruth(r io.Reader) ([]reply, error) {
	var all []reply
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var one reply
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("truth, line %d: %w", len(all)+1, err)
		}
		if len(one.Before) != len(one.After) {
			return nil, fmt.Errorf("truth, line %d: %d times before a write and %d after", len(all)+1, len(one.Before), len(one.After))
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

// joinTruth gives every ok request of a run together with its reply, and the
// real-time clock at the run's origin.
func joinTruth(dir *store.Dir, truth []reply, each func(r *record.Record, t reply, origin int64)) error {
	header, err := dir.Header()
	if err != nil {
		return err
	}
	byID := map[string]reply{}
	for _, t := range truth {
		byID[t.ID] = t
	}
	for r, err := range dir.Records() {
		if err != nil {
			return err
		}
		if r.Outcome != llm.OK {
			continue
		}
		t, ok := byID[llm.RequestID(header.Run, r.ID)]
		if !ok || len(t.Before) != r.ChunkCount() {
			return fmt.Errorf("request %d: %d events recorded, %d written", r.ID, r.ChunkCount(), len(t.Before))
		}
		each(r, t, header.OriginUnixNS)
	}
	return nil
}

// trueGaps are the times between all tokens that were written in a run's window,
// sorted, in ms.
func trueGaps(f *outcome, truth []reply) ([]float64, error) {
	header, err := f.dir.Header()
	if err != nil {
		return nil, err
	}
	var gaps []float64
	for _, t := range truth {
		gaps = append(gaps, t.gapsWithin(header.OriginUnixNS, f.point.Window)...)
	}
	slices.Sort(gaps)
	return gaps, nil
}

// figures are latencies by name, in ms. What a tool does not say is absent.
type figures map[string]float64

var figureNames = []string{"ttft p50", "ttft p99", "tpot p50", "tpot p99", "itl p50", "itl p99"}

// latencies are the true ones of one run, in ms.
type latencies struct{ ttft, tpot, itl []float64 }

// add takes in a reply to a request that reached the server at one of starts.
func (l *latencies) add(t reply, starts map[string]int64) {
	if start, seen := starts[t.ID]; seen {
		l.ttft = append(l.ttft, float64(t.Before[0]-start)/1e6)
	}
	l.tpot = append(l.tpot, t.tpot())
}

func (l *latencies) figures() (figures, error) {
	f := figures{}
	for name, values := range map[string][]float64{"ttft": l.ttft, "tpot": l.tpot, "itl": l.itl} {
		if len(values) == 0 {
			return nil, errors.New("the server served no whole reply")
		}
		slices.Sort(values)
		f[name+" p50"], f[name+" p99"] = stats.Quantile(values, 0.5), stats.Quantile(values, 0.99)
	}
	return f, nil
}
