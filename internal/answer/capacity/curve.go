package capacity

import (
	"cmp"
	"slices"

	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/text"
)

type level struct {
	rate   float64 // requests per second
	closed bool
	point  *result.Point
}

// curve is every load that was measured, ascending. Turns is how many requests
// a session has: rates asked for are those of sessions then. Of agents a rate is a
// number of them.
type curve struct {
	levels []level
	turns  float64
	agents bool
}

// load names a load of the curve.
func (m curve) load(rate float64) string {
	if m.agents {
		return text.Unit(text.Digits(rate, 4), result.Agents)
	}
	return text.Rate(rate)
}

// requests is how many requests a second a load of one instance is.
func (m curve) requests(rate float64) float64 {
	if !m.agents || len(m.levels) == 0 {
		return rate
	}
	a, b, share, beyond := m.around(rate)
	sent, _ := interpolate(a, b, share, func(p *result.Point) (float64, bool) { return p.Rates.Completed, true })
	if beyond == "below" {
		sent *= rate / a.rate
	}
	return sent
}

// watts is the power of an instance at a load, nil where nothing measured it.
func (m curve) watts(rate float64) *float64 {
	if len(m.levels) == 0 {
		return nil
	}
	a, b, share, _ := m.around(rate)
	watts, known := interpolate(a, b, share, func(p *result.Point) (float64, bool) {
		if p.Accelerator == nil || p.Accelerator.Watts == nil {
			return 0, false
		}
		return p.Accelerator.Watts.Mean, true
	})
	if !known {
		return nil
	}
	return &watts
}

func (c Configuration) curve(agents bool) curve {
	m := curve{turns: 1, agents: agents}
	if c.Result == nil {
		return m
	}
	due, sessions := 0.0, 0.0
	for _, p := range loadPoints(c.Result) {
		if p.Requests.OK == 0 {
			continue
		}
		switch {
		case agents && p.Load.Agents:
			m.levels = append(m.levels, level{rate: p.Load.Amount(), closed: true, point: p})
			continue
		case agents:
			continue
		case p.Requests.Sessions > 0:
			due += float64(p.Requests.Due)
			if p.Load.Rate != nil { // so that a single level carries the requests that it offered
				sessions += *p.Load.Rate * p.Window.Seconds()
			} else {
				sessions += float64(p.Requests.Sessions)
			}
		}
		l := level{rate: p.Rates.Completed, closed: true, point: p}
		if p.Load.Rate != nil && *p.Load.Rate > 0 {
			l.rate, l.closed = *p.Load.Rate, false
		}
		if l.rate > 0 {
			m.levels = append(m.levels, l)
		}
	}
	if sessions > 0 {
		m.turns = due / sessions
		for i := range m.levels {
			if !m.levels[i].closed {
				m.levels[i].rate *= m.turns
			}
		}
	}
	// Keep of each rate the one that lasted longest.
	length := func(l level) float64 { return l.point.Window.Seconds() }
	slices.SortStableFunc(m.levels, func(a, b level) int {
		return cmp.Or(cmp.Compare(a.rate, b.rate), cmp.Compare(length(b), length(a)))
	})
	m.levels = slices.CompactFunc(m.levels, func(a, b level) bool { return a.rate == b.rate })
	return m
}

// loadPoints are the points of a result that are levels of its load: those of its
// curve where it has one. The others of a protocol are of other requests.
func loadPoints(res *result.Result) []*result.Point {
	var list []*result.Point
	for i := range res.Points {
		if res.Curve == nil || slices.Contains(res.Curve.Points, i) {
			list = append(list, &res.Points[i])
		}
	}
	return list
}

func (m curve) with(keep func(level) bool) curve {
	out := curve{turns: m.turns, agents: m.agents}
	for _, l := range m.levels {
		if keep(l) {
			out.levels = append(out.levels, l)
		}
	}
	return out
}

// around gives the levels on both sides of a rate, and how far it lies from the
// first to the second; beyond says on which side of all levels it lies.
func (m curve) around(rate float64) (a, b level, share float64, beyond string) {
	first, last := m.levels[0], m.levels[len(m.levels)-1]
	switch {
	case rate < first.rate:
		return first, first, 0, "below"
	case rate > last.rate:
		return last, last, 0, "above"
	}
	i := slices.IndexFunc(m.levels, func(l level) bool { return l.rate >= rate })
	if i == 0 {
		return first, first, 0, ""
	}
	a, b = m.levels[i-1], m.levels[i]
	return a, b, (rate - a.rate) / (b.rate - a.rate), ""
}

// interpolate reads a figure off the straight line between two levels; not known
// where one of them lacks it.
func interpolate(a, b level, share float64, of func(*result.Point) (float64, bool)) (float64, bool) {
	x, knownA := of(a.point)
	y, knownB := of(b.point)
	return x + share*(y-x), knownA && knownB
}

// at is the latency to expect at a rate, nil where nothing was measured.
func (m curve) at(rate float64) *result.ExpectedLatency {
	if len(m.levels) == 0 {
		return nil
	}
	a, b, share, beyond := m.around(rate)
	e := &result.ExpectedLatency{Rate: rate, Beyond: beyond}
	for _, f := range figure.All {
		if !f.Spread() || f.Watched == nil {
			continue
		}
		form := f // another benchmark may not say when a request was due
		if f.JudgedForm().Own(a.point, b.point) != nil {
			form = f.JudgedForm()
		}
		for _, stat := range f.Compared {
			ms, known := interpolate(a, b, share, func(p *result.Point) (float64, bool) { return figure.Statistic{Figure: f, Stat: stat}.Read(p) })
			if known {
				e.Figures = append(e.Figures, result.ExpectedFigure{Name: form.Key + "_ms", Stat: stat, MS: ms})
			}
		}
	}
	if len(e.Figures) == 0 {
		return nil
	}
	return e
}

// meanAnswer is how long an answer takes at a rate, in seconds.
func (m curve) meanAnswer(rate float64) (seconds float64, known bool) {
	if len(m.levels) == 0 {
		return 0, false
	}
	a, b, share, _ := m.around(rate)
	ms, known := interpolate(a, b, share, func(p *result.Point) (float64, bool) { return mean(p.Latency.E2E) })
	return ms / 1000, known
}

func mean(d *metric.Dist) (float64, bool) {
	if d == nil || d.N == 0 {
		return 0, false
	}
	return d.Mean, true
}

// lengths are the mean tokens of a request.
type lengths struct{ prompt, cached, output float64 }

// lengths are those of all requests answered, at any load; zeros where nothing
// was measured.
func (m curve) lengths() lengths {
	var prompt, cached, output, ok float64
	for _, one := range m.levels {
		t := one.point.Tokens
		prompt, cached, output = prompt+float64(t.Prompt-t.Cached), cached+float64(t.Cached), output+float64(t.Output)
		ok += float64(one.point.Requests.OK)
	}
	if ok == 0 {
		return lengths{}
	}
	return lengths{prompt / ok, cached / ok, output / ok}
}

// prefillShare estimates the share of an instance's time at its limit that goes
// into reading prompts: requests per second times what one takes alone, which
// is the mean ttft of the lowest load.
func (m curve) prefillShare(limit float64) (float64, bool) {
	if len(m.levels) == 0 {
		return 0, false
	}
	alone, known := mean(m.levels[0].point.Latency.TTFT)
	return min(1, m.requests(limit)*alone/1000), known
}
