package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/text"
)

// setting says what was run against what.
func (p *page) setting(r *result.Result) {
	started := ""
	if !r.Started.IsZero() {
		started = text.Moment(r.Started)
	}
	if isStored(r) { // A and B name the runs
		p.Field("workload", workload(r))
		return
	}
	if p.room&brief > 0 {
		p.Field("run", clean(r.Label))
		p.Field("note", clean(r.Note))
		p.Field("engine", joinDots(engineName(r.Engine), when(!r.Engine.Embedded, clean(r.Engine.URL)), model(r.Model, r.Hardware), flags(r.Engine.Declared)))
	} else {
		p.Field("run", joinDots(clean(r.Label), clean(r.ID), started, "seed"+hard+strconv.FormatUint(r.Seed, 10)))
		p.Field("note", clean(r.Note))
		p.Field("engine", clean(joinDots(engineName(r.Engine), r.Engine.API, r.Engine.URL, flags(r.Engine.Declared))))
		p.Field("model", model(r.Model, r.Hardware))
	}
	p.Field("workload", workload(r))
}

func engineName(e result.Engine) string {
	name := strings.TrimSpace(e.Name + " " + e.Version)
	if name == "" && e.URL != "" {
		name = "unknown engine"
	}
	if e.Embedded {
		name += " (embedded)"
	}
	return clean(name)
}

func model(m result.Model, h result.Hardware) string {
	hardware := h.Accelerator
	if hardware != "" && h.Count > 0 {
		hardware = count(h.Count) + hard + "×" + hard + hardware
	}
	return clean(joinDots(strings.TrimSpace(m.Name+" "+Precision(m)), hardware, h.Interconnect, h.Notes))
}

// Precision is what the weights are computed with and how they are stored.
func Precision(m result.Model) string {
	if m.Quantization == "" || m.Quantization == m.Precision {
		return m.Precision
	}
	return strings.TrimSpace(m.Precision + " " + m.Quantization)
}

// Driver is what lies between the engine and the accelerators.
func Driver(h result.Hardware) string {
	return joinDots(h.Driver, when(h.CUDA != "", "CUDA "+h.CUDA))
}

// flags lists settings by name.
func flags(all map[string]string) string {
	return strings.Join(each(slices.Sorted(maps.Keys(all)), func(name string) string { return clean(name) + " " + clean(all[name]) }), ", ")
}

// workload names what was sent and the lengths that came of it.
func workload(r *result.Result) string {
	name := clean(r.Workload.Name)
	if tokenizer := clean(r.Workload.Tokenizer); tokenizer != "" && name != "" && tokenizer != name { // an import knows neither
		name += " (" + tokenizer + hard + "tokens"
		if n := r.Workload.TemplateTokens; n != nil && *n > 0 {
			name += ", +" + count(*n) + hard + "tokens of chat template by the server's count"
		}
		name += ")"
	}
	if len(r.Points) == 0 {
		return name
	}
	of := r.Workload.Point
	if at := SustainedPoint(r); at >= 0 {
		of = at // what is sent at the limit
	}
	if of < 0 || of >= len(r.Points) {
		of = 0
	}
	if r.Curve != nil && of == 0 {
		for i := range r.Points { // the level that shows the lengths best
			if r.Points[i].Requests.OK > r.Points[of].Requests.OK {
				of = i
			}
		}
	}
	tokens := r.Points[of].Tokens
	prompt, output := lengthPhrase("prompt", tokens.PromptLengths), lengthPhrase("output", tokens.OutputLengths)
	if sources := slices.Sorted(maps.Keys(tokens.Counted)); output != "" && len(sources) > 0 {
		output += " by " + clean(strings.Join(sources, " and "))
	}
	return joinDots(name, prompt, output)
}

func lengthPhrase(what string, d *metric.Dist) string {
	median, ok := percentile(d, "p50")
	if !ok {
		return ""
	}
	text := what + " p50" + hard + trimNumber(figure(median))
	if p99, ok := percentile(d, "p99"); ok && p99 != median {
		text += " p99" + hard + trimNumber(figure(p99))
	}
	return text
}

const (
	closedLoop = "a closed loop throttles itself: a slow server is asked less often, which flatters it"
	probe      = "exploratory: a window under 60 s is good for a first look, not for a claim"
	probeLimit = 60.0
)

// load writes what was offered, what came of it in requests, and the window.
func (p *page) load(r *result.Result, point *result.Point) {
	flatters := when(!point.Load.Agents && point.Jobs == nil, mark(closedLoop)) // agents and users who talk do wait
	mode := cmp.Or(map[string]string{"open": "open loop", "closed": "closed loop" + flatters, "capped": "open loop, capped"}[point.Load.Mode],
		clean(point.Load.Mode))
	asked := LoadAsked(point)
	if rate, rest, capped := strings.Cut(asked, ","); point.Load.Rate != nil {
		asked = rate + " asked"
		if capped {
			asked += "," + rest
		}
	}
	p.Field("load", joinDots(mode, asked, clean(r.Workload.Arrival), p.rates(point)+p.markOn("rates.offered")))
	p.Field("window", p.window(point))
	if limit, used := result.BudgetReached(r.Interrupted); used && !r.CutShort() {
		p.Field("ended", "by "+limit+", with every request answered")
	}
}

// LoadAsked is the load that was asked for: "20 requests/s".
func LoadAsked(point *result.Point) string {
	l := point.Load
	if l.Rate == nil && l.Concurrency == nil {
		return ""
	}
	if l.Rate == nil && l.Agents {
		return noBreak(l.CapName())
	}
	if l.Rate == nil && converses(point) {
		return plural(*l.Concurrency, "user") // who think between turns
	}
	if l.Rate == nil && l.PaceS > 0 {
		return count(*l.Concurrency) + hard + "in flight, each at most every " + seconds(l.PaceS)
	}
	if l.Rate == nil {
		return count(*l.Concurrency) + hard + "in flight"
	}
	unit, text := "requests/s", exact(*l.Rate)
	if converses(point) || ofAgents(point) {
		unit = jobWord(point) + "s/s"
	}
	if l.Profile != "" {
		text = trimNumber(figure(*l.Rate)) // a mean, which nobody wrote
	}
	text = inUnit(text, unit)
	if l.Profile != "" {
		text += " on average"
	}
	if l.Concurrency != nil {
		text += ", at most " + count(*l.Concurrency) + hard + "in flight"
	}
	return text
}

// converses reports whether requests belong to sessions of several.
func converses(point *result.Point) bool { return point.Requests.Sessions > 0 || len(point.Turns) > 0 }

// loadPhrase is the load within a sentence: "at 20 requests/s".
func loadPhrase(point *result.Point) string {
	asked := LoadAsked(point)
	switch {
	case asked == "":
		return "at this load"
	case point.Load.Rate == nil:
		return "with " + asked
	}
	return "at " + asked
}

// rates follows the requests from schedule to completion.
func (p *page) rates(point *result.Point) string {
	p.shows("offered_rate", "sent_rate", "completed_rate")
	r := point.Rates
	offered, sent, completed := figure(r.Offered), figure(r.Sent), figure(r.Completed)
	due := offered + hard + "due, " + sent + hard + "sent"
	if offered == sent {
		due = offered + hard + "due and sent"
	}
	if point.Jobs != nil {
		due = strings.Replace(due, hard+"due", hard+"turns due", 1)
	}
	const keptUp = 0.9
	switch {
	case r.Ended > 0 && r.Ended < keptUp*r.Completed:
		p.shows("ended_rate")
		return due + " per second, " + figure(r.Ended) + hard + "completed within the window, " + completed + hard + "with those that ended after it"
	case offered == sent && sent == completed:
		return strings.Replace(due, "due and sent", "due, sent and completed per second", 1)
	}
	return due + ", " + completed + hard + "completed per second"
}

func (p *page) window(point *result.Point) string {
	w := point.Window
	length := w.Seconds()
	text := seconds(length)
	if length < probeLimit {
		text += mark(probe)
	}
	switch {
	case w.WarmupS == nil:
	case *w.WarmupS > 0:
		text += " after " + seconds(*w.WarmupS) + " of warm-up"
		if w.WarmupRequests != nil {
			text += " (" + plural(*w.WarmupRequests, requestWord(point)) + ")"
		}
	default:
		text += " without warm-up"
	}
	state, unknown := "", p.notes.on("window.steady") != ""
	switch {
	case w.Overload != nil && *w.Overload:
		state = paint(bad, "overload")
	case w.Steady != nil && *w.Steady:
		state = "steady"
	case w.Steady != nil:
		state = paint(weak, "not steady")
	case w.Varies:
		state = "the rate changes by plan"
	case unknown:
		state = "too short to tell if it is steady"
	}
	return joinDots(text, state)
}
