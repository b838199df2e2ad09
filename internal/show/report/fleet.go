package report

import (
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/text"
)

// fleet says how the replicas behind a gateway shared the requests, and which of them
// is slow.
func (p *page) fleet(point *result.Point) {
	f := point.Fleet
	if f == nil {
		if s := point.Server; s != nil && s.Replicas > 1 {
			p.Field("replicas", count(s.Replicas)+" by the metrics; no reply names the one that served it (--replica-header names the gateway's header)")
		}
		return
	}
	replicas, shares := max(1, countReplicas(point.Replicas)), "evenly used"
	switch {
	case f.Busiest == "": // one has a name
		shares = ""
	case 2*len(f.Once) > replicas:
		shares = "most appear once: does the header name requests? (--replica-header names another)"
	case f.Uneven && eventNames(point.Fire) != "":
		shares = label(f.Busiest) + " has " + percent2(f.Share) + " of the requests, with " + eventNames(point.Fire)
	case f.Uneven:
		shares = p.paintWord(weak, "unevenly used") + ": " + label(f.Busiest) + " has " + percent2(f.Share) + " of the requests"
		fallthrough
	default:
		shares += " (" + chanceOf(f.Chance) + ")"
	}
	p.Field("replicas", joinDots(count(replicas), shares, when(f.Unnamed > 0, plural(f.Unnamed, "request")+" without a name")))
	p.Field("failing", strings.Join(each(f.Failing, func(r metric.FailingReplica) string {
		return label(r.Name) + " " + p.paintWord(bad, "fails more often") + " than the others: " + percent2(r.Rate) + " of its " + plural(r.Requests, "request") + ", " + percent2(r.Others) + " of theirs (" + chanceOf(r.Chance) + ")" + lostToEvents(point.Fire, r)
	}), "; "))
	p.Field("slow", strings.Join(p.slowReplicas(f.Slow), "; "))
	if t := f.Turns; t != nil {
		p.Field("sessions", percent2(t.Stayed)+" of "+plural(t.Turns, "later turn")+" went to the replica of the turn before, "+percent2(t.ByChance)+" would by chance")
	}
	p.Field("seen once", joinNames(f.Once))
	if p.room >= explained {
		p.Field("too few to test", joinNames(f.Untested))
	}
}

// eventNames are those that happened, "" for none: what they take from a replica, the
// others get.
func eventNames(f *result.Fire) string {
	if f == nil {
		return ""
	}
	var names []string
	for _, e := range f.Events {
		if !e.Undone {
			names = append(names, clean(e.Action)+" at "+text.Seconds(e.AtS))
		}
	}
	return text.List(names)
}

// lostToEvents says how many of a replica's errors are what events did to it.
func lostToEvents(f *result.Fire, r metric.FailingReplica) string {
	if f == nil {
		return ""
	}
	lost, names := 0, []string(nil)
	for _, e := range f.Events {
		if n := e.LostOn[r.Name]; n > 0 && !e.AsBefore {
			lost, names = lost+n, append(names, clean(e.Action)+" at "+text.Seconds(e.AtS))
		}
	}
	return when(lost > 0, "; "+count(lost)+" of its "+plural(r.Errors, "error")+" by "+text.List(names))
}

// slowReplicas words what is slow, once for each replica.
func (p *page) slowReplicas(list []metric.SlowReplica) (lines []string) {
	for i, s := range list {
		var figures []string
		for k, o := range list {
			if o.Name != s.Name {
				continue
			}
			if k < i {
				figures = nil
				break
			}
			figures = append(figures, o.Figure+hard+"×"+hard+figure(o.Factor)+" ("+figure(o.Low)+"–"+figure(o.High)+")")
		}
		if len(figures) > 0 {
			lines = append(lines, label(s.Name)+" is "+p.paintWord(bad, "slower")+" than the others: "+strings.Join(figures, ", ")+", with "+percent2(s.Share)+" of the requests")
		}
	}
	return lines
}

// countReplicas leaves out what has no name.
func countReplicas(list []metric.Group) (n int) {
	for _, g := range list {
		if g.Name != metric.Unnamed {
			n++
		}
	}
	return n
}

// chanceOf words the chance of a finding where nothing is behind it.
func chanceOf(p float64) string {
	if p < 0.001 {
		return "p" + hard + "<" + hard + "0.001"
	}
	return "p" + hard + "=" + hard + figure(p)
}

// joinNames lists the first of some names.
func joinNames(names []string) string {
	const shown = 5
	if more := len(names) - shown; more > 1 {
		return strings.Join(each(names[:shown], label), ", ") + " and " + count(more) + " others"
	}
	return strings.Join(each(names, label), ", ")
}
