package arrival

import (
	"iter"
	"math"
	"time"
)

const (
	second  = 1_000_000_000
	horizon = math.MaxInt64/second - 1 // in seconds
)

// curve is how the rate goes from one end of a piece to the other.
type curve uint8

const (
	straight    curve = iota
	exponential       // by equal factors in equal times
	wave              // up along a cosine and back again
)

// piece is a stretch of a profile: the rate goes from one value to another
// within a length of time. A length of 0 is without end, at the first rate.
type piece struct {
	length   time.Duration
	from, to float64
	curve    curve
}

func (p piece) flat() bool { return p.from == p.to || p.length == 0 }

// rate is that of t seconds into the piece.
func (p piece) rate(t float64) float64 {
	if p.flat() {
		return p.from
	}
	switch share := t / p.length.Seconds(); p.curve {
	case exponential:
		return p.from * math.Pow(p.to/p.from, share)
	case wave:
		return p.from + (p.to-p.from)*(1-math.Cos(2*math.Pi*share))/2
	default:
		return p.from + (p.to-p.from)*share
	}
}

// count is the arrivals to expect in the first t seconds: the integral of the
// rate.
func (p piece) count(t float64) float64 {
	if p.flat() {
		return p.from * t
	}
	length := p.length.Seconds()
	switch p.curve {
	case exponential:
		growth := math.Log(p.to/p.from) / length
		return p.from * math.Expm1(growth*t) / growth
	case wave:
		turn := 2 * math.Pi / length
		return (p.from+p.to)/2*t - (p.to-p.from)/2*math.Sin(turn*t)/turn
	default:
		return p.from*t + (p.to-p.from)/length*t*t/2
	}
}

// total is the arrivals to expect in the whole piece.
func (p piece) total() float64 {
	if p.length == 0 {
		return math.Inf(1)
	}
	return p.count(p.length.Seconds())
}

// when is the inverse of count, in seconds, for a count within the piece.
func (p piece) when(n float64) float64 {
	if p.flat() {
		return n / p.from
	}
	length := p.length.Seconds()
	switch p.curve {
	case exponential:
		growth := math.Log(p.to/p.from) / length
		return math.Log1p(n*growth/p.from) / growth
	case wave:
		return p.search(n)
	default:
		if n == 0 {
			return 0
		}
		// This form of the root has no difference of like numbers in it.
		slope := (p.to - p.from) / length
		return 2 * n / (p.from + math.Sqrt(max(p.from*p.from+2*slope*n, 0)))
	}
}

// search finds when a count is reached by Newton's steps, and by halving the
// bracket where a step leaves it.
func (p piece) search(n float64) float64 {
	low, high := 0.0, p.length.Seconds()
	turn := 2 * math.Pi / high
	middle, swing := (p.from+p.to)/2, (p.to-p.from)/2
	t := n / middle // a wave's sine is 0 at its end
	for range 100 {
		sin, cos := math.Sincos(turn * t)
		off := middle*t - swing*sin/turn - n
		if off > 0 {
			high = t
		} else {
			low = t
		}
		next := t - off/(middle-swing*cos)
		if !(next >= low && next <= high) {
			next = (low + high) / 2
		}
		if math.Abs(next-t) <= 1e-15*high || next == t {
			return next
		}
		t = next
	}
	return t
}

// profile is pieces one after another. Unless it repeats, its last piece is
// without end.
type profile struct {
	pieces  []piece
	repeats bool
}

// holdLast is a profile whose last rate goes on.
func holdLast(pieces ...piece) profile {
	last := pieces[len(pieces)-1]
	return profile{pieces: append(pieces, piece{from: last.to, to: last.to})}
}

func constantProfile(rate float64) profile { return profile{pieces: []piece{{from: rate, to: rate}}} }

// span is the time that the pieces take which end.
func (p profile) span() time.Duration {
	var sum time.Duration
	for _, piece := range p.pieces {
		sum += piece.length
	}
	return sum
}

// round is the arrivals to expect in one round of a profile that repeats.
func (p profile) round() float64 {
	sum := 0.0
	for _, piece := range p.pieces {
		sum += piece.total()
	}
	return sum
}

func (p profile) peak() float64 {
	most := 0.0
	for _, piece := range p.pieces {
		most = max(most, piece.from, piece.to)
	}
	return most
}

// at finds the piece that a time falls into, how far into it in seconds, and
// the arrivals to expect before it.
func (p profile) at(t time.Duration) (in piece, seconds, before float64) {
	t = max(t, 0)
	if p.repeats {
		rounds := t / p.span()
		before = float64(rounds) * p.round()
		t -= rounds * p.span()
	}
	for _, piece := range p.pieces {
		if piece.length == 0 || t < piece.length {
			return piece, t.Seconds(), before
		}
		t -= piece.length
		before += piece.total()
	}
	return piece{}, 0, before
}

func (p profile) count(t time.Duration) float64 {
	in, seconds, before := p.at(t)
	return before + in.count(seconds)
}

// warp gives the moments at which the profile has expected as many arrivals as
// each of the ascending counts says. A count comes as a whole number and the
// rest, so that neither loses the other's digits.
func (p profile) warp(counts iter.Seq2[float64, float64]) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		at := cursor{profile: p, perRound: p.round()}
		for _, piece := range p.pieces {
			at.totals = append(at.totals, piece.total())
		}
		for whole, rest := range counts {
			if !at.reach(whole + rest) {
				return
			}
			ns, ok := at.moment(whole-at.before, rest)
			if !ok || !yield(ns) {
				return
			}
		}
	}
}

// cursor is a place in a profile that only moves on.
type cursor struct {
	profile
	next   int     // the piece it stands at
	start  int64   // when that begins, ns
	before float64 // the arrivals expected until then
	// totals are the arrivals expected in each piece, and perRound in all of them.
	totals   []float64
	perRound float64
}

// reach moves on to the piece in which a count lies. It gives up where offsets
// would overflow.
func (c *cursor) reach(count float64) bool {
	for {
		if c.next == 0 && c.repeats && !c.skip(count) {
			return false
		}
		piece := c.pieces[c.next]
		total := c.totals[c.next]
		if count-c.before < total {
			return true
		}
		if c.start > math.MaxInt64-int64(piece.length) {
			return false
		}
		c.start += int64(piece.length)
		c.before += total
		if c.next++; c.next == len(c.pieces) {
			if !c.repeats {
				return false
			}
			c.next = 0
		}
	}
}

// skip leaves whole rounds behind at once: at a low rate there may be millions
// between two arrivals.
func (c *cursor) skip(count float64) bool {
	round := c.perRound
	// One round less than there seem to be: the pieces decide about the last.
	rounds := math.Floor((count-c.before)/round) - 1
	if rounds < 1 {
		return true
	}
	if rounds*float64(c.span())+float64(c.start) >= horizon*second {
		return false
	}
	c.start += int64(rounds) * int64(c.span())
	c.before += rounds * round
	return true
}

// moment is when a count within the cursor's piece is reached.
func (c *cursor) moment(whole, rest float64) (ns int64, ok bool) {
	piece := c.pieces[c.next]
	var seconds, part float64
	if piece.flat() {
		// The fused remainder is exact, so the nanoseconds within a second
		// keep all their digits however many seconds have passed.
		seconds = math.Floor(whole / piece.from)
		part = (math.FMA(-seconds, piece.from, whole) + rest) / piece.from
	} else {
		part = piece.when(max(whole+rest, 0))
	}
	carried, part := math.Modf(part)
	seconds += carried
	if seconds >= float64(horizon-c.start/second) {
		return 0, false
	}
	return c.start + int64(seconds)*second + int64(math.Round(part*second)), true
}
