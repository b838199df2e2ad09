package assemble

import (
	"slices"

	"redline/internal/answer/compare"
	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/figure"
	"redline/internal/judge/fire"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// judgeFire judges the objectives about what the server gave back and how it
// recovered, whose figures stand in the point.
func judgeFire(objectives []slo.Objective, p *result.Point) {
	for i, o := range objectives {
		if !o.AboutFire() || i >= len(p.Objectives) {
			continue
		}
		v := &p.Objectives[i]
		about, err := figure.Parse(o.Metric+":"+o.Stat, figure.Promise)
		if err != nil {
			continue
		}
		value, known := about.Read(p)
		switch {
		case o.Scope != (slo.Scope{}):
			v.Note = "not measured: it is of all requests together: leave out " + o.Scope.String()
		case !known && o.Metric == "recovery" && p.Fire != nil:
			s := p.Fire.UnrecoveredS()
			v.Note, v.Standing, v.Bound = "the objectives did not hold again until the end of the window", slo.Missed, new(1e3*s)
			if *v.Bound <= v.Limit {
				v.Note, v.Standing = "the window ends "+text.Seconds(s)+" after an event, before the objectives hold again: run longer", slo.Undecided
			}
		case !known && o.Metric == "leak" && p.Leak != nil && p.Leak.Note != "":
			v.Note = "not measured: " + p.Leak.Note
		case !known && o.Metric == "leak" && p.Leak != nil && p.Leak.Closed+p.Leak.Cut == 0:
			v.Note = "not measured: no request was closed before its end: a larger --cancel closes some"
		case known:
			v.Value, v.Note, v.Standing = &value, "", o.JudgeExact(value, v.Limit)
			if o.Metric != "recovery" || p.Fire.RecoveryInterval == nil {
				break
			}
			ends := p.Fire.RecoveryInterval
			if v.Standing = o.JudgeInterval(ends[0], ends[1], v.Limit); v.Standing == slo.Undecided {
				v.Note = "between " + text.Seconds(ends[0]/1e3) + " and " + text.Seconds(ends[1]/1e3)
			}
		}
		if o.Metric == "leak" || p.Fire == nil || v.Standing == slo.Missed {
			continue
		}
		if e := p.Fire.UndoneEvent(); e != nil { // nothing is shown by what did not happen
			v.Value, v.Standing, v.Note = nil, slo.NotJudged, "not measured: "+text.Cut(e.Action, 40)+" at "+text.Seconds(e.AtS)+" did not happen as asked for: "+e.Failed
		}
	}
}

// leakCure says why no gauge could be read at all where the plan does; "" where it does not.
func (in Run) leakCure() string {
	isRead := slices.ContainsFunc(in.Scrapes, func(s telemetry.Scrape) bool { return s.Reading != nil })
	switch {
	case isRead:
		return ""
	case !in.Plan.Telemetry.Scrapes():
		return "the server's gauges are not read: leave out --no-telemetry"
	case len(in.Plan.Telemetry.MetricsURLs) > 0:
		return "the page of --metrics-url could not be read: check its address, and that the server is up there"
	}
	return ""
}

// newEvents is nil where nothing was made to happen.
func (in Run) newEvents() *fire.Window {
	if len(in.Happened) == 0 || in.judgedOnly || len(in.pooled) > 1 {
		return nil
	}
	machine := in.machine()
	if machine == nil {
		machine = func(*record.Record) (m account.Machine) { return m }
	}
	return &fire.Window{Start: in.Start, End: in.End, Good: func(r *record.Record) [3]bool { return account.Good(r, in.Plan.Objectives, machine(r)) },
		Late: func(r *record.Record) int64 { return account.LateFrom(r, in.Plan.Objectives) }}
}

// addWarming says of each event how long the prefix cache took to be as warm as in the
// second half of the stretch before the first.
func (in Run) addWarming(f *result.Fire, found *fire.Hits) {
	at := func(seconds float64) int64 { return in.Start + int64(seconds*1e9) }
	for i, e := range f.Events {
		usual := [2]int64{at(f.Events[0].BeforeS / 2), at(f.Events[0].BeforeS)}
		if w := found.Warming(at(e.AtS), at(e.UntilS), usual); w != nil && w.RequestInterval[0] > 0 {
			f.Events[i].Warming = w
		}
	}
}

// minCompared is how long a stretch before and after an event must last to be
// compared, in seconds.
const minCompared = 10

// compareAround compares what came after the recovery of each event with what was
// before the first, as two stored runs are.
func (in Run) compareAround(on *result.Result, p *result.Point) error {
	var before *result.Result
	for i := range p.Fire.Events {
		e := &p.Fire.Events[i]
		if i == 0 && e.BeforeS >= minCompared {
			var err error
			if before, err = in.stretch(on, "before", 0, e.BeforeS); err != nil {
				return err
			}
		}
		if e.RecoveryS == nil || e.Continues != nil {
			continue
		}
		from := e.AtS + max(e.Interval[1], e.TookS)
		if before == nil || e.UntilS-from < minCompared {
			e.Note = "too short before or after it to compare the two: 10 s of each are needed"
			continue
		}
		after, err := in.stretch(on, "after", from, e.UntilS)
		if err != nil {
			return err
		}
		c, err := compare.Runs([]*result.Result{before}, []*result.Result{after}, compare.Options{Anyway: true, Seed: in.Plan.Seed})
		if err != nil {
			e.Note = "after and before cannot be compared: " + err.Error()
			continue
		}
		e.After, e.Same = c.Metrics, c.Standing
	}
	return nil
}

// diagnoseSteady gives what is missed, and why, in the longest stretch that no event hit: the
// figures of the whole window are of two servers, with and without what the events did.
func (in Run) diagnoseSteady(f *result.Fire) (found []result.Finding) {
	from, to := 0.0, f.Events[0].BeforeS
	for _, e := range f.Events {
		if begin := e.AtS + e.TookS; e.RecoveryS != nil && e.UntilS-max(begin, e.AtS+e.Interval[1]) > to-from {
			from, to = max(begin, e.AtS+e.Interval[1]), e.UntilS
		}
	}
	if to-from < minCompared || f.MissedElsewhere == 0 {
		return nil
	}
	begin := in.begin()
	in.Start, in.End, in.Happened = in.Start+int64(from*1e9), in.Start+int64(to*1e9), nil
	in.Warmup = new(float64(in.Start-begin) / 1e9)
	if in.Server != nil {
		in.Server = new(telemetry.ServerOver(in.Scrapes, in.Start, in.End))
	}
	steady, err := Assemble(in)
	if err != nil || steady.Verdict.SLO != slo.Missed {
		return nil
	}
	for _, f := range steady.Diagnosis {
		f.Title = "from " + text.Seconds(from) + " to " + text.Seconds(to) + ", without an event: " + f.Title
		for i := range f.Evidence {
			f.Evidence[i].Field = ""
		}
		found = append(found, f)
	}
	return found
}

// stretch is a part of the window, in seconds from its start, as a run of its own.
func (in Run) stretch(on *result.Result, name string, from, to float64) (*result.Result, error) {
	c := in.Plan
	s, err := account.Summarize(in.Records, account.Options{Start: in.Start + int64(from*1e9), End: in.Start + int64(to*1e9), Varies: c.Recorded() || c.Load.Varies(), Seed: c.Seed, Machine: in.machine()})
	if err != nil {
		return nil, err
	}
	run := *on
	run.ID, run.Label = name, name
	run.Verdict = result.Verdict{Valid: result.Valid}
	run.Points = []result.Point{{Load: in.Load, Summary: s}}
	return &run, nil
}
