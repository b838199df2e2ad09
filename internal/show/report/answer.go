package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
	"redline/internal/show/objective"
	"redline/internal/text"
)

// experimentHeadline is the headline of an experiment, which has more to say than
// whether one load was kept.
func experimentHeadline(r *result.Result) (headline, bool) {
	switch {
	case r.Capacity != nil:
		return capacityHeadline(r.Capacity), true
	case !r.HasServed() && len(r.Points) > 0:
		return headline{}, false
	case r.Tuning != nil:
		return tuningHeadline(r.Tuning), true
	case r.Limit != nil:
		return limitHeadline(r), true
	case r.Comparison != nil:
		return comparisonHeadline(r.Comparison), true
	case r.WorkingSet != nil:
		return workingSetHeadline(r), true
	case r.Curve != nil:
		return curveHeadline(r), true
	case r.Repeats != nil:
		return repeatsHeadline(r), true
	case len(r.Toggles) > 0:
		return togglesHeadline(r.Toggles, r.ToggleLoads), true
	case r.Isolation != nil:
		return isolationHeadline(r.Isolation), true
	case len(r.Stages) > 0:
		return stagesHeadline(r), true
	}
	return headline{}, false
}

func limitHeadline(r *result.Result) headline {
	l := r.Limit
	tone, under := unset, underPhrase(l)
	parts := []string{text.Join(" ", limitPhrase(l), under)}
	if l.Held != nil {
		tone, parts = met, []string{limitPhrase(l) + " · " + heldPhrase(*l.Held), under}
		if l.Held.Rate > l.Rate && l.Held.Rate <= l.Interval[1] {
			parts[0] += ", within the interval"
		}
	}
	switch l.Standing {
	case result.LimitAtLeast:
		parts = append(parts, unmissedPhrase(l))
	case result.LimitBelow:
		tone = lost
		parts = append(parts, "missed even there")
	case result.LimitFound, result.LimitWide:
		parts = append(parts, cmp.Or(limitReason(r), edgeOf(r)))
		if l.UnmissedTo != nil {
			parts = append(parts, unmissedPhrase(l))
		}
		if l.Held == nil {
			parts = append(parts, confirmation(l))
		}
	}
	return headline{"LIMIT: ", tone, text.Join("; ", parts...)}
}

// limitReason says what broke the binding objective at the lowest rate that
// missed it, where that was not latency: "rejects 35% of requests (429) at 8
// requests/s".
func limitReason(r *result.Result) string {
	for _, i := range curvePoints(r) {
		point := &r.Points[i]
		missed := slices.DeleteFunc(standingAt(point.Objectives, slo.Missed), func(v slo.Verdict) bool { return v.Objective != r.Limit.Binding })
		if len(missed) > 0 && point.Invalid == "" {
			return reasonAt(point, missed)
		}
	}
	return ""
}

func reasonAt(point *result.Point, missed []slo.Verdict) string {
	why := whyMissed(point, missed)
	if why != "" {
		why += " at " + LoadAsked(point)
	}
	return why
}

// SoFar is what a search believes while it goes on: "limit so far 17.0–24.0
// requests/s".
func SoFar(l *result.Limit) string {
	between := inUnit(loadInterval(l.Interval, l.RateUnit()), l.RateUnit())
	if l.Standing == result.LimitAtLeast || l.Standing == result.LimitBelow {
		between = limitPhrase(l)
	}
	return document.PlainSpaces("limit so far " + between)
}

// unmissedPhrase says that no rate was too high.
func unmissedPhrase(l *result.Limit) string {
	if l.UnmissedTo == nil || *l.UnmissedTo == l.Rate {
		return "nothing was missed up to there"
	}
	return "nothing was missed up to " + trimNumber(figure(*l.UnmissedTo))
}

// heldPhrase is the rate to rely on: "held for 3 min at 17.4".
func heldPhrase(h result.HeldRate) string {
	return "held for " + inMinutes(h.Seconds) + " at " + trimNumber(figure(h.Rate))
}

// inMinutes is a length in minutes from two of them on.
func inMinutes(seconds float64) string {
	return noBreak(text.Length(time.Duration(seconds * float64(time.Second))))
}

// limitPhrase is the limit itself: "21.4 requests/s (20.6–22.3)".
func limitPhrase(l *result.Limit) string {
	rate := inUnit(loadNumber(l.Rate, l.RateUnit()), l.RateUnit())
	switch l.Standing {
	case result.LimitAtLeast:
		return "at least " + rate
	case result.LimitBelow:
		return "below " + inUnit(loadNumber(l.Interval[1], l.RateUnit()), l.RateUnit())
	}
	return rate + " (" + loadInterval(l.Interval, l.RateUnit()) + ")"
}

// loadNumber is a load in its unit: agents are whole.
func loadNumber(v float64, unit string) string {
	if unit == result.Agents {
		return count(int(math.Round(v)))
	}
	return figure(v)
}

func loadInterval(interval [2]float64, unit string) string {
	return loadNumber(interval[0], unit) + "–" + loadNumber(interval[1], unit)
}

func intervalText(interval [2]float64) string {
	return figure(interval[0]) + "–" + figure(interval[1])
}

// underPhrase names the objective that decides, and how many did not.
func underPhrase(l *result.Limit) string {
	switch {
	case l.Binding == "" && len(l.ByObjective) == 2:
		return "under both objectives"
	case l.Binding == "" && len(l.ByObjective) > 2:
		return "under all " + count(len(l.ByObjective)) + " objectives"
	case l.Binding == "":
		for text := range l.ByObjective {
			return "under " + clean(text)
		}
		return ""
	case len(l.ByObjective) > 1 && l.UnmissedTo != nil:
		return "under " + clean(l.Binding) + ", the tightest of " + count(len(l.ByObjective))
	case len(l.ByObjective) > 1:
		return "under " + clean(l.Binding) + ", the first of " + count(len(l.ByObjective)) + " to be missed"
	}
	return "under " + clean(l.Binding)
}

// confirmation says which rate a sustained run held.
func confirmation(l *result.Limit) string {
	return cmp.Or(ifKnown(l.Held, heldPhrase), "no "+l.Noun()+" was held in a sustained run")
}

func curveHeadline(r *result.Result) headline {
	points := curvePoints(r)
	if len(points) == 0 {
		return headline{"NOTHING MEASURED: ", lost, "no level came to an end"}
	}
	first, last := &r.Points[points[0]], &r.Points[points[len(points)-1]]
	h := headline{"CURVE: ", met, plural(len(points), "level") + " from " + LoadAsked(first) + " to " + LoadAsked(last)}
	if one, judged := levelsHeadline(r, points); judged {
		h = one
	}
	text := h.why
	if r.Curve.Stopped != "" {
		text += "; " + clean(r.Curve.Stopped)
	}
	if r.Curve.Knee != nil {
		text += "; knee at " + trimNumber(figure(*r.Curve.Knee))
	}
	h.why = text
	return h
}

// levelsHeadline is what levels say of the objectives: the highest that met all
// of them, and between which two the limit lies. What was met beyond a level
// that missed is no level to rely on.
func levelsHeadline(r *result.Result, points []int) (headline, bool) {
	held, missed, judged := -1, -1, false
	points = slices.SortedStableFunc(slices.Values(points), func(a, b int) int {
		return cmp.Compare(loadValue(&r.Points[a]), loadValue(&r.Points[b]))
	})
	for _, i := range points {
		point := &r.Points[i]
		standing := slo.Overall(point.Objectives)
		judged = judged || standing != slo.None
		overload := point.Window.Overload != nil && *point.Window.Overload
		if standing == slo.Missed || overload {
			missed = i
			break
		}
		if standing == slo.Met {
			held = i
		}
	}
	switch {
	case !judged:
		return headline{}, false
	case held < 0 && missed < 0:
		return openLevels(r, points), true
	case held < 0 && missed != points[0]:
		return headline{openWord + ": ", unset, "no level below " + LoadAsked(&r.Points[missed]) + " could be decided; that one missed, so the limit lies below it"}, true
	case held < 0:
		return headline{missedWord + ": ", lost, withReason("no level below "+LoadAsked(&r.Points[missed])+" met every objective; the limit lies below that", &r.Points[missed])}, true
	case missed < 0:
		return headline{"HELD: ", met, LoadAsked(&r.Points[held]) + " met every objective; no level missed one, so the limit lies above"}, true
	}
	return headline{"HELD: ", met, withReason(LoadAsked(&r.Points[held])+" met every objective; the limit lies between "+
		LoadFigure(&r.Points[held])+" and "+LoadAsked(&r.Points[missed]), &r.Points[missed])}, true
}

// openLevels is what levels say of which none is decided: the objectives that they
// met, those that are open, and how long the highest takes to decide these, since
// the others follow from it.
func openLevels(r *result.Result, ascending []int) headline {
	var open []slo.Verdict
	for _, i := range ascending {
		open = append(open, standingAt(r.Points[i].Objectives, slo.Undecided)...)
	}
	highest := &r.Points[ascending[len(ascending)-1]]
	enough, option := 0.0, "--duration"
	for _, v := range standingAt(highest.Objectives, slo.Undecided) {
		came := float64(max(v.N, 1)) / highest.Window.Seconds()
		rate := cmp.Or(highest.Load.Rate, &came) // that asked, as the warning before the run has it
		enough = max(enough, float64(v.Needed) / *rate)
	}
	if enough > highest.Window.Seconds() {
		option += " " + text.Option(time.Duration(math.Ceil(enough/10))*10*time.Second)
	}
	var known, unknown []string
	if m := r.Curve.MaxQPS; m != nil {
		for _, name := range slices.Sorted(maps.Keys(m.ByObjective)) {
			if one := m.ByObjective[name]; one.Rate > 0 {
				known = append(known, clean(name)+" is met up to "+trimNumber(figure(one.Rate)))
			} else {
				unknown = append(unknown, clean(name))
			}
		}
	}
	why := "no level of " + count(len(ascending)) + " could be decided, and none missed an objective"
	if len(known) > 0 && len(unknown) > 0 {
		why = strings.Join(known, ", ") + "; " + strings.Join(unknown, ", ") + " could be decided at no level of " + count(len(ascending)) + ", and none missed it"
	}
	return headline{openingWord(open) + ": ", unset, why + ": give each level more time (" + option + ")"}
}

// withReason adds why a level missed its objectives, where it was not latency.
func withReason(text string, point *result.Point) string {
	return strings.TrimSuffix(text+"; "+reasonAt(point, point.Objectives), "; ")
}

func stagesHeadline(r *result.Result) headline {
	agree, differ, measured := 0, 0, 0
	for _, s := range r.Stages {
		if s.Point != nil {
			measured++
		}
		switch {
		case s.Agrees == nil:
		case *s.Agrees:
			agree++
		default:
			differ++
		}
	}
	switch r.Kind() {
	case result.OfLimit:
		return headline{"NO LIMIT YET: ", unset, "no level of the search has ended"}
	case result.OfComparison:
		return headline{"NO COMPARISON YET: ", unset, "no round has ended on both sides"}
	}
	text := plural(measured, "stage")
	if agree+differ > 0 {
		text += "; " + count(agree) + " as expected, " + count(differ) + " not"
	}
	tone := met
	if differ > 0 {
		tone = unset
	}
	return headline{"MEASURED: ", tone, text}
}

// limit writes what is known about the limit beside its headline.
func (p *page) limit(r *result.Result) {
	l := r.Limit
	if l == nil || p.plansCapacity(r) {
		return
	}
	reason := limitReason(r)
	if p.room >= explained { // a first look has it in the headline
		p.Field("limit", limitFacts(l, reason != ""))
	}
	if reason != "" {
		p.Field("reason", reason)
	} else if edge := edgeOf(r); edge == result.EdgeCliff {
		p.Field("edge", "a cliff: with 5% more load latency is far beyond the objective; stay well below it")
	} else if edge == result.EdgeSlope && p.room >= explained {
		p.Field("edge", "a slope: latency passes the objective gradually")
	}
	name := "goodput"
	if l.Knee != nil {
		name = "knee"
	}
	p.Field(name, joinDots(ifKnown(l.Knee, func(v float64) string {
		return "from " + inUnit(trimNumber(figure(v)), l.RateUnit()) + " on latency grows faster than load"
	}), ifKnown(l.BestGoodput, func(g result.BestGoodput) string {
		return "highest goodput " + figure(g.Requests) + " at " + trimNumber(figure(g.Rate))
	})))
	if c := l.MinCost; c != nil {
		p.Field("cheapest", amount(c.PerRequest, currency(r))+" a good request at "+inUnit(trimNumber(figure(c.Rate)), l.RateUnit()))
	}
	if l.LoadS > 0 && p.room >= explained {
		p.Field("search", seconds(l.LoadS)+" by the clock, "+plural(l.Requests, "request"))
	}
	p.byObjective(l)
	for _, text := range l.Unmet {
		p.Finding(1, bad, "missed", clean(text))
	}
	for _, note := range l.Notes {
		p.Note(clean(note))
	}
}

// edgeOf is the edge at the limit. Latency that passes it gradually is not said
// where no level's figure did: requests that never ended missed it there.
func edgeOf(r *result.Result) string {
	known, binding := false, r.Limit.Binding
	for _, i := range curvePoints(r) {
		for _, v := range r.Points[i].Objectives {
			if v.Objective != binding {
				continue
			}
			known = true
			if v.Value != nil && objective.Excess(v) > 0 {
				return clean(r.Limit.Edge)
			}
		}
	}
	return when(!known || r.Limit.Edge != result.EdgeSlope, clean(r.Limit.Edge))
}

var boundWords = map[result.LimitStanding]string{
	result.LimitFound: "", result.LimitWide: "wide", result.LimitAtLeast: "never missed",
	result.LimitBelow: "missed at the lowest load", result.LimitNeeds: "reached from this load on",
}

// byObjective writes the limit by each objective alone, the tightest first.
func (p *page) byObjective(l *result.Limit) {
	if len(l.ByObjective) < 2 {
		return
	}
	texts := slices.Sorted(maps.Keys(l.ByObjective))
	known := func(text string) float64 {
		if l.ByObjective[text].Standing == result.LimitAtLeast {
			return math.Inf(1)
		}
		return l.ByObjective[text].Rate
	}
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(known(a), known(b)) })
	p.Field("each alone", joinDots(each(texts, func(text string) string {
		b := l.ByObjective[text]
		rate, between := loadNumber(b.Rate, l.RateUnit()), loadInterval(b.Interval, l.RateUnit())
		if b.Standing == result.LimitAtLeast {
			rate, between = "at least "+rate, ""
		}
		return clean(text) + " " + rate + inBrackets(between, boundWords[b.Standing])
	})...))
}

var itemStates = map[string]string{
	result.ItemYes: paint(good, "yes"), result.ItemNo: paint(bad, "no"), result.ItemUnknown: paint(weak, "unknown"),
}

// checklist answers what a sound benchmark is asked, each with the field that
// the answer was read from.
func (p *page) checklist(r *result.Result) {
	t := document.NewTable(left("checklist"), left(""), left("read from").Optional(1), prose(""))
	for _, item := range r.Checklist {
		state := cmp.Or(itemStates[item.State], itemStates[result.ItemUnknown])
		t.Add(state, label(item.Name), p.title(item.Field, 40), clean(item.Text))
	}
	p.Add(t)
}

// limitFacts is the limit with all that says how far it can be relied on, and
// the objective that binds where no other reason is named.
func limitFacts(l *result.Limit, named bool) string {
	known := inUnit(trimNumber(figure(l.Rate)), l.RateUnit())
	between := trimNumber(figure(l.Interval[0])) + "–" + trimNumber(figure(l.Interval[1]))
	binding := ""
	if l.Binding != "" && !named {
		binding = "bound by " + clean(l.Binding)
	}
	switch l.Standing {
	case result.LimitFound, result.LimitWide:
		return joinDots(known+" ("+between+")", binding, confirmation(l))
	case result.LimitAtLeast:
		return joinDots("at least "+known, unmissedPhrase(l), confirmation(l))
	}
	return "none: the objectives are missed at every load that was offered"
}
