package ui

import (
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// timeline is what came out of a run over time, by when replies ended, in
// stretches of one length.
type timeline struct {
	// start is when the first reply's request was due: the stages of
	// an experiment have one origin, and a later one begins long after it.
	start  int64
	length int64 // of a stretch, in nanoseconds
	list   []stretch
}

type stretch struct {
	replies, tokens int
	first           int // replies that had a first token
	ttft            int64
}

// mostStretches is how many are kept: two become one where there would be more.
const mostStretches = 120

func (h *timeline) add(r *record.Record) {
	if r.End <= 0 || r.Outcome != llm.OK {
		return
	}
	if h.length == 0 {
		h.start, h.length = r.Due, int64(time.Second)
	}
	at := max(0, r.End-h.start)
	for at/h.length >= mostStretches {
		h.halve()
	}
	for int64(len(h.list)) <= at/h.length {
		h.list = append(h.list, stretch{})
	}
	s := &h.list[at/h.length]
	s.replies++
	s.tokens += r.OutputTokens
	if r.First > 0 {
		s.first++
		s.ttft += r.First - r.Due
	}
}

func (h *timeline) halve() {
	half := h.list[:0]
	for i := 0; i < len(h.list); i += 2 {
		s := h.list[i]
		if i+1 < len(h.list) {
			next := h.list[i+1]
			s.replies, s.tokens, s.first, s.ttft = s.replies+next.replies, s.tokens+next.tokens, s.first+next.first, s.ttft+next.ttft
		}
		half = append(half, s)
	}
	h.list, h.length = half, 2*h.length
}

// lines are drawn from the stretches that are over.
func (h *timeline) lines() map[string]string {
	if len(h.list) < 3 {
		return nil
	}
	over := h.list[:len(h.list)-1]
	draw := func(value func(stretch) float64) string {
		values := make([]float64, len(over))
		for i, s := range over {
			values[i] = value(s)
		}
		return drawnLine(values, 0)
	}
	return map[string]string{
		"requests": draw(func(s stretch) float64 { return float64(s.replies) }),
		"tokens":   draw(func(s stretch) float64 { return float64(s.tokens) }),
		"ttft":     draw(func(s stretch) float64 { return float64(s.ttft) / float64(max(1, s.first)) }),
	}
}
