package slo

// PerRequest reports whether a single request can keep or break the promise.
// A mean is a promise about all of them together, and so are throughput,
// shares, memory and money.
func (o Objective) PerRequest() bool {
	m, ok := lookup(o.Metric)
	return ok && m.own != nil && o.Stat != "mean"
}

// Judge holds one request's own figure against the limit. A request that is
// not ok is above any bound. An ok request for which the figure is undefined,
// and an objective that no single request can keep, are not judged.
func (o Objective) Judge(r Request) (ok, judged bool) {
	if !o.PerRequest() {
		return false, false
	}
	if !r.OK {
		return false, true
	}
	m, _ := lookup(o.Metric)
	value := m.own(r)
	if !(value >= 0) {
		return false, false
	}
	return value <= o.Limit, true
}

// Overall is where all objectives together stand: Missed if one is, else
// Undecided if one is, else Met. Without objectives it is None. An objective
// that was not judged never counts as met: it leaves the whole Undecided.
func Overall(verdicts []Verdict) Standing {
	seen := map[Standing]bool{}
	for _, v := range verdicts {
		seen[v.Standing] = true
	}
	switch {
	case len(verdicts) == 0:
		return None
	case seen[Missed]:
		return Missed
	case seen[Undecided], seen[NotJudged]:
		return Undecided
	}
	return Met
}
