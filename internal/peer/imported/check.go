package imported

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"redline/internal/drive/table"
	"redline/internal/peer"
	"redline/internal/text"
)

// Bounds of what a benchmark can have measured. What lies beyond them is a broken
// file, whose figures would otherwise be computed with.
const (
	maxNumber  = 9e18 // a time in nanoseconds fits
	maxSeconds = 1e8
	maxTokens  = 1_000_000_000
	backwards  = -1e-3 // times that are floats since 1970 end at a microsecond
)

// parseError says in one line why a file is not JSON, and where.
func parseError(content []byte, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(content[:min(max(0, int(syntax.Offset)-1), len(content))], []byte("\n"))
		return fmt.Errorf("line %d: not JSON: %s", line, syntax)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: it ends early, as if it had been cut off")
	}
	return errors.New("not the JSON of a result: " + text.Reason(err))
}

// findExtreme finds a number that no benchmark measures, and names its place.
func findExtreme(v any, place string) string {
	switch v := v.(type) {
	case float64:
		if math.Abs(v) > maxNumber {
			return fmt.Sprintf("%s: %g is beyond any figure of a benchmark", strings.TrimPrefix(place, "."), v)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if found := findExtreme(v[key], place+"."+key); found != "" {
				return found
			}
		}
	case []any:
		for i, item := range v {
			switch item.(type) { // a place is only written where there is something below it
			case float64, map[string]any, []any:
				if n, is := item.(float64); is && math.Abs(n) <= maxNumber {
					continue
				}
				if found := findExtreme(item, fmt.Sprintf("%s[%d]", place, i)); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

// check refuses a run whose figures cannot be, or that lacks what every file of
// its kind has.
func check(r *table.Run) error {
	if !(r.Duration >= 0 && r.Duration <= maxSeconds) {
		return fmt.Errorf("%s: it lasts %g s, which cannot be", r.Source, r.Duration)
	}
	if f := r.Figures; f != nil {
		if f.OK < 0 || f.Failed < 0 || f.In < 0 || f.Out < 0 {
			return fmt.Errorf("%s: it counts less than no requests or tokens", r.Source)
		}
		if f.OK+f.Failed == 0 || f.OK > 0 && f.TTFT == nil && f.TPOT == nil && f.ITL == nil && f.E2E == nil {
			return missingFieldError(r, "neither a count of requests with a latency of them nor single requests")
		}
		for _, s := range []*table.Spread{f.TTFT, f.TPOT, f.ITL, f.E2E} {
			if what := spreadFault(s); what != "" {
				return fmt.Errorf("%s: %s, which cannot be", r.Source, what)
			}
		}
		return nil
	}
	if len(r.Requests) == 0 {
		return missingFieldError(r, "no single requests")
	}
	answered, timed := 0, 0
	for i := range r.Requests {
		if what := requestFault(&r.Requests[i]); what != "" {
			return fmt.Errorf("%s: request %d: %s", r.Source, i, what)
		}
		if r.Requests[i].OK {
			answered++
		}
		if r.Requests[i].OK && r.Requests[i].Latency > 0 {
			timed++
		}
	}
	if answered > 0 && timed == 0 {
		return missingFieldError(r, "no times of its requests")
	}
	return nil
}

// spreadFault says what of a spread cannot be: figures below 0, and percentiles below
// smaller ones.
func spreadFault(s *table.Spread) string {
	if s == nil {
		return ""
	}
	percent := func(name string) float64 { n, _ := strconv.ParseFloat(name[1:], 64); return n }
	names := slices.SortedFunc(maps.Keys(s.P), func(a, b string) int { return cmp.Compare(percent(a), percent(b)) })
	last := 0.0
	for _, name := range names {
		if v := s.P[name]; v < last*(1-1e-9) {
			return fmt.Sprintf("a latency has %s of %g ms below %g ms", name, v, last)
		}
		last = s.P[name]
	}
	if s.Mean < 0 || s.Max < 0 || s.Max > 0 && s.Max < last*(1-1e-9) {
		return fmt.Sprintf("a latency has a mean of %g ms and a maximum of %g ms", s.Mean, s.Max)
	}
	return ""
}

// missingFieldError is a file that was recognized and does not have what was expected.
func missingFieldError(r *table.Run, has string) error {
	written, known := "", ""
	if r.Version != "" {
		written = " " + r.Version
	}
	for _, p := range peer.All {
		if p.Name == r.Source {
			known = "; known is the form of version " + p.Version
		}
	}
	return fmt.Errorf("recognized by its keys as a file of %s%s, but it has %s where redline looks for them%s", r.Source, written, has, known)
}

// requestFault says what of a request cannot be.
func requestFault(q *table.Request) string {
	for _, t := range []struct {
		name  string
		value float64
	}{{"its start", q.Start}, {"the time it was due", q.Due}, {"its wait", q.Queue}, {"its time to first token", q.TTFT}, {"its latency", q.Latency}, {"its end", q.Whole}} {
		if !(t.value >= backwards && t.value <= maxSeconds) {
			return fmt.Sprintf("%s is %g s, which cannot be", t.name, t.value)
		}
	}
	for _, gap := range q.Gaps {
		if !(gap >= backwards && gap <= maxSeconds) {
			return fmt.Sprintf("a gap between its tokens is %g s, which cannot be", gap)
		}
	}
	for _, n := range []int{q.In, q.Out} {
		if n < 0 || n > maxTokens {
			return fmt.Sprintf("it has %d tokens, which cannot be", n)
		}
	}
	return ""
}

// Missing lists what the file does not say, for people.
func Missing(r *table.Run) (list []string) {
	add := func(lacks bool, what string) {
		if lacks {
			list = append(list, what)
		}
	}
	add(r.Model == "", "the model")
	if f := r.Figures; f != nil {
		add(true, "single requests")
		add(f.TTFT == nil, "ttft")
		add(f.TPOT == nil, "tpot")
		add(f.E2E == nil, "e2e")
		return list
	}
	add(!r.DueKnown, "when each was due")
	add(!r.HasGaps(), "times of single tokens")
	return list
}
