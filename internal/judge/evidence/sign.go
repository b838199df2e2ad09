package evidence

// Sign is what in a window hints at something rarer than it can speak of.
type Sign string

// The signs.
const (
	NoSign Sign = ""
	// Wanders: values drift so slowly that the window holds few independent stretches.
	Wanders Sign = "wanders"
	// Talks: conversations differ, and last for much of the window.
	Talks Sign = "conversations"
	// Episode: a single cluster stands apart from all others.
	Episode Sign = "episode"
)

const (
	// fewStretches is how many independent stretches of all values a window must hold.
	fewStretches = 30
	// longTalk is the share of the window that a conversation lasts where it holds few.
	longTalk = 0.2
	// fewestInEpisode is how many violations make an episode.
	fewestInEpisode = 3
)

// Sign is the first sign in a window that is judged by a percentile.
func (s *Sample) Sign(p float64) Sign {
	if s.total == 0 {
		return NoSign
	}
	c := s.clusteringOf(1 - p)
	switch {
	case s.wanders():
		return Wanders
	case c.differ && s.span > longTalk:
		return Talks
	case s.oneEpisode():
		return Episode
	}
	return NoSign
}

// wanders reports whether the values drift so slowly that the window holds few
// independent stretches of them.
func (s *Sample) wanders() bool {
	return !s.parts && s.total/s.body().ratio < fewStretches && s.body().ratio >= slightly
}

// oneEpisode reports whether a single cluster of values is not of the kind of the
// others, or of a rate all that failed.
func (s *Sample) oneEpisode() bool {
	if s.binary {
		kept := float64(s.sorted[0].value)
		failed := s.beyond(kept)
		return failed >= fewestInEpisode && failed < s.total && len(s.maxima(kept)) == 1
	}
	list, _ := s.tails()
	for _, t := range list {
		if t.sole {
			return true
		}
	}
	return false
}
