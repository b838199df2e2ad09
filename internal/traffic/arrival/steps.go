package arrival

import (
	"math"
	"sort"
	"time"

	"redline/internal/text"
)

// Steps are the parts of a rate that changes by plan: each step of a profile, and
// equal lengths of time of one that changes all along. What repeats has each part
// once, and all its rounds in it.
type Steps struct {
	Names []string
	// ends are ascending; the last part of a profile that does not repeat goes on.
	ends  []time.Duration
	round time.Duration // 0 where nothing repeats
}

// A day is cut into parts of three hours, a ramp into five. The most steps that
// have figures are the quarters of an hour of a day.
const wavePieces, rampPieces, maxSteps = 8, 5, 96

// Steps gives none for a rate that does not change, nor where there are too many
// to look at.
func (s Spec) Steps() Steps {
	p, err := s.profile()
	if err != nil || p.span() == 0 || len(p.pieces) > maxSteps+1 {
		return Steps{}
	}
	var steps Steps
	if p.repeats {
		steps.round = p.span()
	}
	from := time.Duration(0)
	for i, piece := range p.pieces {
		parts := 1
		switch {
		case piece.length == 0 && i > 0 && p.pieces[i-1].flat():
			continue // the last rate goes on
		case !piece.flat() && piece.curve == wave:
			parts = wavePieces
		case !piece.flat():
			parts = rampPieces
		}
		for n := range parts {
			to := from + piece.length*time.Duration(n+1)/time.Duration(parts)
			at := from + piece.length*time.Duration(n)/time.Duration(parts)
			rate := text.Number(piece.rate((at - from).Seconds()))
			if end := text.Number(piece.rate((to - from).Seconds())); end != rate {
				rate += "–" + end
			}
			when := text.Option(at) + "–" + text.Option(to)
			if piece.length == 0 {
				when = "from " + text.Option(at)
			}
			steps.Names, steps.ends = append(steps.Names, rate+"/s, "+when), append(steps.ends, to)
		}
		from += piece.length
	}
	return steps
}

// At is the part that a time after the start of the load falls into.
func (s Steps) At(t time.Duration) int {
	if s.round > 0 {
		t %= s.round
	}
	i := sort.Search(len(s.ends), func(i int) bool { return t < s.ends[i] })
	return min(i, len(s.ends)-1)
}

// Within is how long each part lasts between two times.
func (s Steps) Within(from, to time.Duration) []time.Duration {
	lengths, begin := make([]time.Duration, len(s.ends)), time.Duration(0)
	for i, end := range s.ends {
		length, round := end-begin, s.round
		if round == 0 {
			round = math.MaxInt64
			if i == len(s.ends)-1 {
				length = round
			}
		}
		until := func(t time.Duration) time.Duration { return t/round*length + min(max(t%round-begin, 0), length) }
		lengths[i] = until(to) - until(from)
		begin = end
	}
	return lengths
}
