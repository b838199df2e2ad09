package report

import (
	"io"
	"strings"

	"redline/internal/judge/result"
)

// Capacity writes a capacity plan for a person: how many instances, why, what
// they do and cost, and what was assumed.
func Capacity(w io.Writer, c *result.Capacity, o TerminalOptions) error {
	if c == nil {
		return errNoResult
	}
	p := newPage(&result.Result{}, o)
	h := capacityHeadline(c)
	p.hang(p.paint(h.tone, h.word), h.why)
	p.gap()
	p.capacity(c)
	_, err := io.WriteString(w, strings.TrimRight(p.text.String(), "\n")+"\n")
	return err
}

// CapacityMarkdown writes a capacity plan for a pull request or a wiki.
func CapacityMarkdown(w io.Writer, c *result.Capacity) error {
	if c == nil {
		return errNoResult
	}
	p := newPage(&result.Result{}, TerminalOptions{})
	p.width, p.kept = unbounded, &[]piece{}
	p.capacity(c)
	h := capacityHeadline(c)
	var m markdown
	m.block("**" + escaped(strings.TrimRight(h.word, " :")) + "** " + escaped(h.why))
	m.section(section{parts: *p.kept})
	_, err := io.WriteString(w, strings.TrimRight(m.out.String(), "\n")+"\n")
	return err
}

func capacityHeadline(c *result.Capacity) headline {
	if c.Impossible != "" {
		return headline{"IMPOSSIBLE: ", lost, clean(c.Impossible)}
	}
	text := plural(c.InstancesToRun, "instance") + " (" + devices(c.GPUsToRun, c.Accelerator) + ")"
	if c.Name != "" && len(c.Configurations) > 1 {
		text += " of " + clean(c.Name)
	}
	text += ": " + inUnit(figure(c.Demand.Rate), "requests/s") + underAll(c.Limit.Objectives) +
		", with " + percent(c.Headroom) + " headroom"
	if c.Spare > 0 {
		text += " and " + count(c.Spare) + " spare"
	}
	if n := c.InstancesIfLow; n != nil {
		text += "; " + count(*n) + " if the limit is really " + figure(c.Limit.Interval[0])
	}
	tone := met
	if len(c.Notes) > 0 {
		tone = unset
	}
	return headline{"CAPACITY: ", tone, text}
}

func underAll(objectives []string) string {
	if len(objectives) == 0 {
		return ""
	}
	return " under " + clean(strings.Join(objectives, " and "))
}

// devices names accelerators: "48 H100", "8 accelerators".
func devices(n int, name string) string {
	if name == "" {
		return plural(n, "accelerator")
	}
	return count(n) + hard + clean(name)
}

// capacity writes a plan beneath its headline.
func (p *page) capacity(c *result.Capacity) {
	if c == nil {
		return
	}
	if c.Impossible == "" {
		p.carried(c)
		p.expected(c.Expected)
		p.capacityCost(c.Cost)
		p.rehearsal(c.Rehearsal)
		p.gap()
		p.sensitivity(c.Sensitivity)
	}
	p.gap()
	p.configurations(c)
	p.gap()
	for i, text := range c.Assumptions {
		p.field(once(i, "assumed"), clean(text))
	}
	for i, note := range c.Notes {
		p.field(once(i, "but"), clean(note))
	}
}

// once is a key for the first of several lines.
func once(i int, key string) string {
	if i > 0 {
		return ""
	}
	return key
}

var bases = map[string]string{
	result.LimitMeasured: "its measured limit", result.LimitKept: "the highest rate that met the objectives",
	result.LimitUndecided: "the highest rate that did not miss the objectives", result.LimitGiven: "as given",
}

// carried says how the number of instances comes about, and how busy they are.
func (p *page) carried(c *result.Capacity) {
	limit := inUnit(figure(c.Limit.Rate), "requests/s")
	if i := c.Limit.Interval; i != nil {
		limit += " (" + between(*i) + ")"
	}
	need := c.Demand.Rate * (1 + c.Headroom)
	p.field("because", joined("one instance carries "+limit+", "+bases[c.Limit.Basis],
		figure(need)+hard+"/"+hard+figure(c.Limit.Rate)+hard+"="+hard+figure(need/c.Limit.Rate)))
	steps := []string{count(c.Instances) + " carry the peak alone (" + devices(c.GPUs, c.Accelerator) + ")",
		count(c.InstancesWithHeadroom) + " with headroom (" + devices(c.GPUsWithHeadroom, c.Accelerator) + ")"}
	if c.Spare > 0 {
		steps = append(steps, count(c.InstancesToRun)+" with spare ("+devices(c.GPUsToRun, c.Accelerator)+")")
	}
	p.field("instances", joined(steps...))
	mean := ""
	if c.UtilizationAtMean != nil && c.Demand.Mean != nil {
		mean = percent2(*c.UtilizationAtMean) + " at the mean of " + inUnit(figure(*c.Demand.Mean), "requests/s")
	}
	p.field("busy", joined(percent2(c.UtilizationAtPeak)+" of what they carry at peak", mean))
}

// expected says what a request will see, by name.
func (p *page) expected(e *result.ExpectedLatency) {
	if e == nil {
		return
	}
	var parts []string
	last := ""
	for _, f := range e.Figures {
		name := strings.TrimSuffix(f.Name, "_ms")
		text := f.Stat + hard + milliseconds(f.MS)
		if name == last {
			parts[len(parts)-1] += ", " + text
			continue
		}
		parts, last = append(parts, strings.ReplaceAll(name, "_", " ")+" "+text), name
	}
	at := "at " + inUnit(figure(e.Rate), "requests/s") + " an instance"
	switch e.Beyond {
	case "below":
		at += ", below what was measured: as at the lowest rate"
	case "above":
		at += ", beyond what was measured: worse than at the highest rate, which is"
	}
	p.field("latency", at+": "+joined(parts...))
}

func (p *page) capacityCost(c *result.CapacityCost) {
	if c == nil {
		return
	}
	in := func(v float64) string { return amount(v, c.Currency) }
	p.field("cost", joined(in(c.PerHour)+" an hour", in(c.PerMonth)+" a month"))
	if c.ReservedPerHour != nil {
		change := "less"
		saved := 1 - *c.ReservedPerHour/c.PerHour
		if saved < 0 {
			saved, change = -saved, "more"
		}
		p.field("reserved", joined(in(*c.ReservedPerHour)+" an hour", in(*c.ReservedPerMonth)+" a month", percent2(saved)+" "+change+" than on demand"))
	}
	tokens := []string{in(c.PerRequest) + " a request"}
	for _, one := range []struct {
		v    *float64
		what string
	}{{c.Per1kTokens, " per 1k tokens"}, {c.Per1mTokens, " per 1M tokens"}, {c.Per1mOutput, " per 1M output tokens"}} {
		if one.v != nil {
			tokens = append(tokens, in(*one.v)+one.what)
		}
	}
	p.field("each", joined(tokens...)+", at "+inUnit(figure(c.AtRate), "requests/s"))
}

// currency is that of a result's prices, "" where nothing is said.
func currency(r *result.Result) string {
	for i := range r.Points {
		if c := r.Points[i].Cost; c != nil && c.Currency != "" {
			return c.Currency
		}
	}
	return ""
}

func (p *page) sensitivity(list []result.Sensitivity) {
	if len(list) == 0 {
		return
	}
	t := table{columns: []column{{head: cell{text: "if", tone: bold}}, {head: cell{text: "instances"}, align: alignRight},
		{head: cell{text: "accelerators"}, align: alignRight}, {head: cell{text: "a month"}, align: alignRight, optional: 1}}}
	for _, s := range list {
		t.rows = append(t.rows, []cell{{text: indent + clean(s.Name)}, {text: count(s.InstancesToRun)}, {text: count(s.GPUsToRun)}, {text: monthly(s.PerMonth)}})
	}
	p.write(t.withoutEmpty())
}

func monthly(v *float64) string {
	if v == nil {
		return ""
	}
	return figure(*v)
}

// configurations lays the plans of several runs side by side, the best first.
func (p *page) configurations(c *result.Capacity) {
	if len(c.Configurations) < 2 {
		return
	}
	p.field("chosen", clean(c.Chosen))
	t := table{columns: []column{{head: cell{text: "configurations", tone: bold}}, {head: cell{text: "limit"}, align: alignPoint},
		{head: cell{text: "instances"}, align: alignRight}, {head: cell{text: "accelerators"}, align: alignRight},
		{head: cell{text: "a month"}, align: alignRight, optional: 1}, {align: alignProse}}}
	for _, one := range c.Configurations {
		row := []cell{{text: indent + shortened(one.Name, 40)}, {text: figure(one.Limit.Rate)}, {text: count(one.InstancesToRun)},
			{text: devices(one.GPUsToRun, one.Accelerator)}, {}, {text: clean(one.Impossible)}}
		if one.Cost != nil {
			row[4].text = monthly(&one.Cost.PerMonth)
		}
		if one.Impossible != "" {
			row[1].text, row[2].text, row[3].text = absent, absent, absent
		}
		t.rows = append(t.rows, row)
	}
	p.write(t.withoutEmpty())
}
