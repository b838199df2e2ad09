package diagnose

import (
	"fmt"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// EventRegime is the name of the finding that an event took the service away.
const EventRegime = "event"

var byEvent = rule{Regime: EventRegime,
	Settled:  "the same load without the event has no such misses",
	Response: []string{"clients that retry (--max-retries), and a drain before a planned stop"},
	confirm: func(s *scene) string {
		args := append(s.work(), s.load()...)
		for _, v := range s.point.Objectives {
			if o, err := slo.Parse(v.Objective); err == nil && !o.AboutFire() {
				args = append(args, "--slo", v.Objective)
			}
		}
		return s.command("run", args...)
	}}

// tookService is the claim that events took the service away, with the point: nil where none
// did, and where every objective is met.
func tookService(res *result.Result) (*scene, *claim) {
	if res == nil || res.Verdict.Valid == result.Invalid || res.Comparison != nil || len(res.Toggles) > 0 {
		return nil, nil
	}
	for i := range res.Points {
		s := &scene{res: res, index: i, point: &res.Points[i]}
		if s.objectives(); s.point.Fire == nil || !s.asksWhy() {
			continue
		}
		if c := s.eventClaim(s.point.Fire); c != nil {
			return s, c
		}
	}
	return nil, nil
}

// asksWhy reports whether an objective is missed, or may be.
func (s *scene) asksWhy() bool {
	for _, v := range s.point.Objectives {
		if v.Standing == slo.Missed || v.Standing == slo.Undecided {
			return true
		}
	}
	return false
}

func (s *scene) eventClaim(f *result.Fire) *claim {
	c := &claim{rule: &byEvent, first: []string{"another replica that takes over"}}
	if server := s.point.Server; len(s.point.Replicas) > 1 || server != nil && server.Replicas > 1 {
		c.first = []string{"a gateway that notices sooner that a replica is gone, and sends its requests to the others"}
	}
	hit, names := 0, []string(nil)
	for i, e := range f.Events {
		if e.Missed == 0 || e.AsBefore {
			continue
		}
		hit += e.Missed
		back := "recovered at once"
		switch {
		case e.RecoveryS == nil:
			back = "not recovered in " + text.Seconds(e.UntilS-e.AtS)
		case *e.RecoveryS > 0:
			back = "recovered after " + text.Seconds(*e.RecoveryS)
		}
		for _, next := range f.Events[i+1:] {
			if next.Continues != nil && *next.Continues == e.AtS {
				back += ", " + next.Action + " at " + text.Seconds(next.AtS) + " meanwhile"
			}
		}
		names = append(names, fmt.Sprintf("%s at %s (%s)", e.Action, text.Seconds(e.AtS), back))
		c.evidence = append(c.evidence, s.see(fmt.Sprintf("fire.events[%d].missed", i), "%d of the %d requests in flight or due from %s on missed", e.Missed, e.Due, text.Seconds(e.AtS)))
	}
	if hit == 0 {
		return nil
	}
	c.share = new(float64(hit) / float64(f.Missed))
	c.confidence = confidence(20*f.MissedElsewhere <= f.Missed)
	c.evidence = append(c.evidence, s.see("fire.missed_elsewhere", "%d missed that no event hit", f.MissedElsewhere))
	c.title = fmt.Sprintf("%s: %d of the %d requests that failed or missed a limit were in flight then, or due before the recovery", text.List(names), hit, f.Missed)
	return c
}
