package trace

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"redline/internal/text"
)

// Sessions says how requests belong together.
type Sessions struct {
	Count int `yaml:"count"`
	// Requests is the share of requests that have a session.
	Requests float64 `yaml:"requests"`
	Turns    Curve   `yaml:"turns"`
	// Gap is the time in seconds between the beginnings of two turns.
	Gap *Curve `yaml:"gap_s,omitempty"`
	// First are the lengths of first turns, and Later what each other turn adds to
	// the prompt and reply before it, with its output. Both are empty where prompts
	// do not grow from turn to turn: such requests have no history in common.
	First []Bin `yaml:"first,omitempty"`
	Later []Bin `yaml:"later,omitempty"`
	// Arrivals are those of first turns, nil where the log has no times.
	Arrivals *Bursty `yaml:"arrivals,omitempty"`
}

// Bounds on what is a conversation.
const (
	// growingShare is the share of later turns with a longer prompt than the turn
	// before from which sessions are conversations. Of prompts that have nothing to
	// do with each other half are.
	growingShare = 0.67
	// maxPause is the longest time between two turns of one session: nobody's cache
	// is expected to hold what comes back later, and no run waits for it.
	maxPause = 30 * time.Minute
)

// Converses says that requests come as turns of sessions, each with the history of
// those before it.
func (f *FittedWorkload) Converses() bool { return f.Sessions != nil && len(f.Sessions.Later) > 0 }

// Turns draws how many turns a session has.
func (f *FittedWorkload) Turns(r *rand.Rand) int {
	if !f.Converses() {
		return 1
	}
	// Rounding at random keeps the mean, and with it the rate of requests.
	return max(1, int(f.Sessions.Turns.Quantile(r.Float64())+r.Float64()))
}

// Later draws a turn behind others: what it adds to their prompts and replies, its
// output, and how long after the turn before it begins.
func (f *FittedWorkload) Later(r *rand.Rand) (message, output int, gap time.Duration) {
	if !f.Converses() {
		message, output = f.Lengths(r)
		return message, output, 0
	}
	message, output = f.draw(f.Sessions.Later, r)
	if place := r.Float64(); f.Sessions.Gap != nil {
		gap = time.Duration(f.Sessions.Gap.Quantile(place) * float64(time.Second))
	}
	return message, output, gap
}

// conversations is what the rows of a tally are as turns.
type conversations struct {
	// follows has, for each row, the row before it in its session plus one, 0 for a
	// first turn.
	follows []int32
	// later counts the rows whose session has one before them, and grown those of
	// them with a longer prompt.
	later, grown int
}

// link finds the row before each one in its session.
func (t *tally) link() conversations {
	var order []int32
	for i, session := range t.sessions {
		if session != 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		if c := cmp.Compare(t.sessions[a], t.sessions[b]); c != 0 || len(t.times) == 0 {
			return c
		}
		return cmp.Compare(t.times[a], t.times[b])
	})
	c := conversations{follows: make([]int32, len(t.prompts))}
	for k := 1; k < len(order); k++ {
		before, row := order[k-1], order[k]
		if t.sessions[before] != t.sessions[row] {
			continue
		}
		c.follows[row] = before + 1
		if c.later++; t.prompts[row] > t.prompts[before] {
			c.grown++
		}
	}
	return c
}

// cut makes first turns of those that do not continue the turn before, or come too
// long after it.
func (c *conversations) cut(t *tally) {
	for row, before := range c.follows {
		if before > 0 && (t.prompts[row] <= t.prompts[before-1] || t.gap(row, before-1) > maxPause) {
			c.follows[row] = 0
			c.later--
		}
	}
}

// gap is the time from one row to another.
func (t *tally) gap(row int, before int32) time.Duration {
	if len(t.times) == 0 {
		return 0
	}
	return time.Duration(t.times[row] - t.times[before])
}

// turns counts those of each session.
func (c conversations) turns() []float64 {
	// A row may stand before the one that it follows, where logs were added up.
	next := make([]int32, len(c.follows))
	for row, before := range c.follows {
		if before > 0 {
			next[before-1] = int32(row) + 1
		}
	}
	var turns []float64
	for row, before := range c.follows {
		if before > 0 {
			continue
		}
		n := 1.0
		for at := next[row]; at > 0; at = next[at-1] {
			n++
		}
		turns = append(turns, n)
	}
	return turns
}

// fitSessions describes sessions that are conversations: how many turns they have,
// and how these follow each other. Requests without a session are sessions of one
// turn.
func (f *FittedWorkload) fitSessions(t *tally, files []*File) error {
	c := t.link()
	if c.later == 0 {
		return nil
	}
	if float64(c.grown) < growingShare*float64(c.later) {
		f.Source.Notes = append(f.Source.Notes, fmt.Sprintf("the prompts of a session do not grow from turn to turn (%s of %s do), so each of its requests is sent by itself",
			text.Count(c.grown), text.Count(c.later)))
		return nil
	}
	if c.cut(t); c.later == 0 {
		f.Source.Notes = append(f.Source.Notes, fmt.Sprintf("turns of a session come more than %s behind each other, so each is sent by itself; is the unit of the timestamps right?", text.Length(maxPause)))
		return nil
	}
	f.Sessions = &Sessions{}
	s := f.Sessions
	var gaps []float64
	var times []int64
	var first, later, named, whole = lengthPairs{}, lengthPairs{}, 0, 0
	for row, before := range c.follows {
		if row < len(t.sessions) && t.sessions[row] != 0 {
			named++
		}
		if before == 0 {
			first.add(t.prompts[row], t.outputs[row])
			if len(t.times) > 0 {
				times = append(times, t.times[row])
			}
			continue
		}
		added := t.prompts[row] - t.prompts[before-1] - t.outputs[before-1]
		if added >= 1 {
			whole++
		}
		later.add(max(1, added), t.outputs[row])
		gaps = append(gaps, t.gap(row, before-1).Seconds())
	}
	turns := c.turns()
	s.Count, s.Requests, s.Turns = len(turns), round(float64(named)/float64(len(t.prompts)), 6), NewCurve(turns)
	s.First, s.Later = pair(first.prompts, first.outputs), pair(later.prompts, later.outputs)
	if n := len(gaps) - whole; n > len(gaps)/10 {
		f.Source.Notes = append(f.Source.Notes, fmt.Sprintf("prompts grow by less than the reply before them in %s of %s later turns, as where reasoning is dropped: replies are sent back whole",
			text.Count(n), text.Count(len(gaps))))
	}
	if err := t.shareFirst(c, files); err != nil || len(times) == 0 {
		return err
	}
	s.Gap = new(NewCurve(gaps))
	arrivals, err := fitArrivals(timeline(times), slices.Max(t.times)-slices.Min(t.times))
	s.Arrivals = arrivals
	return err
}

// lengthPairs are lengths of requests.
type lengthPairs struct{ prompts, outputs []int32 }

func (p *lengthPairs) add(prompt, output int32) {
	p.prompts, p.outputs = append(p.prompts, prompt), append(p.outputs, output)
}

// shareFirst estimates again how prompts begin alike, by first turns alone: what
// later ones repeat is their history.
func (t *tally) shareFirst(c conversations, files []*File) error {
	if !t.sharing.known {
		return nil
	}
	t.sharing = newSharing(t.salt)
	at := 0
	for _, file := range files {
		for row, err := range file.rows() {
			if err != nil {
				return err
			}
			if c.follows[at] == 0 {
				t.sharing.add(row)
			}
			at++
		}
	}
	return nil
}

// MeanTurns is how many turns a session has on average.
func (f *FittedWorkload) MeanTurns() float64 {
	return float64(f.Source.Requests) / float64(f.Sessions.Count)
}

func (s *Sessions) validate() error {
	if s == nil {
		return nil
	}
	if !(s.Requests >= 0 && s.Requests <= 1) {
		return Invalidf("sessions.requests", "must be 0 to 1, got %v", s.Requests)
	}
	if err := s.Turns.Validate("sessions.turns", 1e9); err != nil {
		return err
	}
	if s.Gap != nil {
		if err := s.Gap.Validate("sessions.gap_s", 1e12); err != nil {
			return err
		}
	}
	if (len(s.First) == 0) != (len(s.Later) == 0) {
		return Invalidf("sessions", "expected both first and later, or neither")
	}
	return cmp.Or(validateBins("sessions.first", s.First), validateBins("sessions.later", s.Later), s.Arrivals.validate("sessions.arrivals"))
}
