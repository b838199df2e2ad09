package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"redline/internal/text"
)

// Thresholds of what stands before the engine.
const (
	rejectsSeen    = 0.01
	minRejects     = 5
	coldTPOT       = 1.5
	coldTTFT       = 1.2
	coldTTFTAlone  = 2.0
	coldTPOTWeak   = 1.1
	coldTPOTMixed  = 4.0
	coldTTFTWait   = 5.0
	coldWaiting    = 2.0
	farShare       = 0.4
	farMS          = 10.0
	connectShare   = 0.5
	connectMS      = 5.0
	connectExplain = 0.2
)

// rateLimited: some requests never reached the engine.
func rateLimited(s *scene) *claim {
	r := s.point.Requests
	share := rejectShare(s.point)
	if r.Rejected < minRejects || share < rejectsSeen {
		return nil
	}
	told := ""
	for _, e := range r.Errors {
		if strings.Contains(e.Text, "429") {
			told = e.Text
			break
		}
	}
	c := &claim{
		title:      fmt.Sprintf("%s of requests are rejected; the server lets %s through", text.RoughPercent(share), text.Unit(text.Rough(s.point.Rates.Completed), "requests/s")),
		confidence: confidence(told != ""),
	}
	c.evidence = append(c.evidence, s.see("requests.rejected", "%d of %d requests rejected", r.Rejected, r.Due),
		s.see("rates.completed", "%s completed of %s offered", text.Unit(text.Rough(s.point.Rates.Completed), "requests/s"), text.Rough(s.point.Rates.Offered)))
	if told != "" {
		c.evidence = append(c.evidence, s.see("requests.errors", "%s", told))
	}
	if s.rejectsAtAnyRate() {
		c.title, c.confidence = fmt.Sprintf("%s of requests are rejected, as many when few come as when many do", text.RoughPercent(share)), possible
		c.first = []string{"look at the errors: they do not seem to depend on the rate"}
	}
	return c
}

// rejectsAtAnyRate reports whether the same share of the requests is turned away when few
// come as when many do, by which is likelier of what did not end well in the quieter and
// the busier half of the time: that share, or all that is above one rate.
func (s *scene) rejectsAtAnyRate() bool {
	over := s.point.Series
	if over == nil || len(over.NotOK) != len(over.Due) {
		return false
	}
	order := make([]int, len(over.Due))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return over.Due[a] - over.Due[b] })
	var due, bad, bins [2]float64 // of the quieter half and of the busier one
	for n, i := range order {
		half := 2 * n / len(order)
		due[half], bad[half], bins[half] = due[half]+float64(over.Due[i]), bad[half]+float64(over.NotOK[i]), bins[half]+1
	}
	share := (bad[0] + bad[1]) / max(1, due[0]+due[1])
	through := (due[0] + due[1] - bad[0] - bad[1]) / max(1, bins[0]+bins[1])
	same, limited := 0.0, 0.0
	for half := range due {
		likelihood := func(p float64) float64 {
			p = min(max(p, 0.01), 0.99)
			return bad[half]*math.Log(p) + (due[half]-bad[half])*math.Log(1-p)
		}
		same += likelihood(share)
		limited += likelihood(1 - through*bins[half]/max(1, due[half]))
	}
	return same > limited
}

// coldStart: what was slow at first no longer is.
func coldStart(s *scene) *claim {
	o := s.point.Window.Opening
	if o == nil || o.LaterTTFT <= 0 || s.isOverloaded() || s.waiting() >= coldWaiting {
		return nil
	}
	ratio := o.FirstTTFT / o.LaterTTFT
	ttft := s.see("window.opening.first_ttft_p25_ms", "three in four of the first requests wait longer than %s, three in four of the later ones less than %s",
		text.Time(o.FirstTTFT), text.Time(o.LaterTTFT))
	if o.FirstTPOT == nil || o.LaterTPOT == nil || *o.LaterTPOT <= 0 {
		if ratio < coldTTFTAlone {
			return nil
		}
		return &claim{title: fmt.Sprintf("the first requests wait more than %.1f times as long as later ones", ratio), confidence: possible,
			evidence: []evidence{ttft}}
	}
	pace := *o.FirstTPOT / *o.LaterTPOT
	if s.isMixed() && pace < coldTPOTMixed {
		return nil // a few long prompts do as much
	}
	if (pace < coldTPOT || ratio < coldTTFT) && (pace < coldTPOTWeak || ratio < coldTTFTWait) {
		return nil
	}
	return &claim{title: fmt.Sprintf("the server was cold: in the first fifth of the window tokens came %.1f times as slowly as later", pace), confidence: likely,
		evidence: []evidence{ttft, s.see("window.opening.first_tpot_p25_ms", "the tpot of three in four is above %s at first, below %s later",
			text.Time(*o.FirstTPOT), text.Time(*o.LaterTPOT))}}
}

// networkBound: the server's own ttft is short.
func networkBound(s *scene) *claim {
	l := s.point.Latency
	if l.TTFT == nil || s.isOverloaded() || s.waiting() >= someWaiting {
		return nil // with a queue, client and server do not time the same requests
	}
	connect := p50(l.Connect)
	if s.server.TTFT == nil {
		if half := p50(l.TTFT); connect < connectMS || connect < connectShare*half {
			return nil
		}
		return &claim{title: fmt.Sprintf("the network takes much of ttft: connecting alone takes %s", text.Time(connect)), confidence: likely,
			evidence: []evidence{s.see("latency.connect_ms.p50", "connecting takes %s", text.Time(connect)),
				s.see("latency.ttft_ms.p50", "median ttft %s", text.Time(p50(l.TTFT)))}}
	}
	here := l.TTFT.Mean
	if low, _, ok := l.TTFT.Ends("mean"); ok {
		here = low // what this machine added is on no way to the server
	}
	away := here - s.server.TTFT.Mean
	if away < farMS || away < farShare*l.TTFT.Mean {
		return nil
	}
	c := &claim{title: fmt.Sprintf("network and front end take %s of a mean ttft of %s", text.Time(away), text.Time(l.TTFT.Mean)),
		confidence: confidence(connect >= connectExplain*away),
		evidence: []evidence{s.see("latency.ttft_ms.mean", "mean ttft %s at the client", text.Time(l.TTFT.Mean)),
			s.see("server.ttft_ms.mean", "%s by the server's own count", text.Time(s.server.TTFT.Mean))}}
	if s.res.Client.SharesHost && here < l.TTFT.Mean { // and it held redline up; else a proxy on it looks the same
		c.rule, c.confidence = &sharedHere, likely
		c.title = fmt.Sprintf("redline and the server share this machine: %s of a mean ttft of %s pass between them", text.Time(away), text.Time(l.TTFT.Mean))
	} else if connect > 0 {
		c.evidence = append(c.evidence, s.see("latency.connect_ms.p50", "connecting takes %s", text.Time(connect)))
	}
	return c
}
