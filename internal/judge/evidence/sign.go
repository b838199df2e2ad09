package evidence

// Sign is what in a window hints at something rarer than it can speak of.
type Sign string

const (
	NoSign Sign = ""
	// Wanders: values drift so slowly that the window holds few independent stretches.
	Wanders Sign = "wanders"
	// Talks: conversations differ, and last for much of the window.
	Talks Sign = "conversations"
	// Replica: one replica is slower than the others.
	Replica Sign = "replica"
	// Episode: a single cluster stands apart from all others.
	Episode Sign = "episode"
)

const (
	// fewStretches is how many independent stretches of all values a window must hold.
	fewStretches = 30
	// longTalk is the share of the window that a conversation lasts where it holds few.
	longTalk = 0.2
	// slower is by how much the mean rank of a replica's values lies above the middle
	// where it is slower: its typical value then exceeds seven of ten.
	slower = 0.2
	// minInEpisode is how many violations make an episode.
	minInEpisode = 3
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
	case s.slowReplica():
		return Replica
	case s.oneEpisode():
		return Episode
	}
	return NoSign
}

// slowReplica reports whether one of several replicas is slower than the others.
func (s *Sample) slowReplica() bool {
	if s.kinds[ByReplica] == 0 {
		return false
	}
	ranks, weights := make([]float64, s.kinds[ByReplica]), make([]float64, s.kinds[ByReplica])
	s.ranks(func(o *Observation, rank float64) {
		ranks[o.Kinds[ByReplica]] += float64(o.Weight) * rank
		weights[o.Kinds[ByReplica]] += float64(o.Weight)
	})
	for kind, weight := range weights {
		if kind > 0 && weight >= minMissed && ranks[kind]/weight >= slower {
			return true
		}
	}
	return false
}

// wanders reports whether the values drift so slowly that the window holds few
// independent stretches of them.
func (s *Sample) wanders() bool {
	return !s.parts && s.total/s.body().ratio < fewStretches && s.body().ratio >= chanceClustering
}

// oneEpisode reports whether a single cluster of values is not of the kind of the
// others, or of a rate all that failed.
func (s *Sample) oneEpisode() bool {
	if s.binary {
		kept := float64(s.sorted[0].value)
		failed := s.Beyond(kept)
		return failed >= minInEpisode && failed < s.total && len(s.maxima(kept)) == 1
	}
	list, _ := s.tails()
	for _, t := range list {
		if t.sole {
			return true
		}
	}
	return false
}
