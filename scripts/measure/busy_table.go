//go:build linux

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/stats"
	"redline/internal/text"
)

// writeBusy writes the page of what is in the state, whose runs may be of other
// days and machines.
func (h *busyRuns) writeBusy(dir string) error {
	all, err := readState[busyOutcome](dir)
	if err != nil {
		return err
	}
	page, err := busyPage(all)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return h.write(func(string) (string, error) {
		return fmt.Sprintf("# Busy machines\n\nWritten by `make busy` on %s, of runs with %s", time.Now().UTC().Format(time.DateOnly), page), nil
	})
}

// What is asked of all settings together.
const (
	askedCovered = 0.95
	askedWrong   = 0.05
	fullRuns     = 50 // of each setting
)

// share counts how often something was so.
type share struct{ is, all int }

func (s share) value() float64 { return float64(s.is) / float64(s.all) }

func (s share) String() string {
	if s.all == 0 {
		return "–"
	}
	return percent(s.value())
}

func percent(v float64) string { return text.Percentage(fmt.Sprintf("%.1f", 100*v)) }

// tally is what a table says of some runs, by names: "between its ends ttft p99",
// or without the figure for all of them; "met wrongly, same" by the truth of the
// same requests, "met wrongly, every" by that of all runs of the load.
type tally struct {
	runs   int
	shares map[string]share
	values map[string][]float64
	counts map[string]map[string]int
}

func newTally() *tally {
	return &tally{shares: map[string]share{}, values: map[string][]float64{},
		counts: map[string]map[string]int{"exit": {}, "invalid": {}, "absent": {}, "machine": {}, "version": {}, "load": {}}}
}

func (t *tally) count(name string, is bool) {
	s := t.shares[name]
	s.all++
	if is {
		s.is++
	}
	t.shares[name] = s
}

func (t *tally) value(name string, v float64) { t.values[name] = append(t.values[name], v) }

// add takes in one run.
func (t *tally) add(o busyOutcome, typical map[string][]float64) {
	t.runs++
	for name, of := range map[string]string{"exit": fmt.Sprint(o.Exit), "machine": o.Machine, "version": o.Version, "load": o.Load} {
		t.counts[name][of]++
	}
	if o.Valid == result.Invalid {
		for _, reason := range o.Reasons {
			check, _, _ := strings.Cut(reason, ":")
			t.counts["invalid"][check]++
		}
	}
	if o.Figures == nil {
		return
	}
	t.value("held up", o.Held)
	t.value("lag", o.LagP99)
	for _, figure := range busyFigures {
		for _, at := range percentiles {
			r, given := o.Figures[figure][at.key]
			if !given {
				t.counts["absent"][figure]++
				continue
			}
			for _, name := range []string{figure + " " + at.key, at.key} {
				t.count("between its ends "+name, r.isCovered(figure))
				t.value("width "+name, (r.High-r.Low)/r.Measured)
			}
			t.count("measured alone", reading{r.True, r.Measured, r.Measured, r.Measured}.isCovered(figure))
		}
	}
	for _, v := range o.Verdicts {
		figure := v.Figure
		if figure == "ttft" || figure == "e2e" { // an objective means the form from due
			figure += "_due"
		}
		r, given := o.Figures[figure][v.Percentile]
		if !given {
			continue
		}
		met, missed := v.Standing == slo.Met && o.Valid != result.Invalid, v.Standing == slo.Missed && o.Valid != result.Invalid
		t.count("decided", met || missed)
		for by, truth := range map[string]float64{"same": r.True, "every": stats.Mean(typical[typicalKey(o, figure, v.Percentile)])} {
			if truth > v.Limit {
				t.count("met wrongly, "+by, met)
			} else if truth < v.Limit {
				t.count("missed wrongly, "+by, missed)
			}
		}
	}
}

// slack is what a true value may lie outside the ends: the way over loopback,
// which is in figures that begin with the request, and stamps in whole
// microseconds on both sides.
func slack(figure string, v float64) float64 {
	ms := 0.1
	if strings.HasPrefix(figure, "ttft") || strings.HasPrefix(figure, "e2e") {
		ms = 0.3
	}
	return max(ms, 0.01*v)
}

// isCovered reports whether the truth lies between the ends.
func (r reading) isCovered(figure string) bool {
	s := slack(figure, r.True)
	return r.True >= r.Low-s && r.True <= r.High+s
}

// typicals are the true percentiles of all runs of a load and a setting, with and
// without stamps.
func typicals(all []busyOutcome) map[string][]float64 {
	t := map[string][]float64{}
	for _, o := range all {
		for figure, of := range o.Figures {
			for key, r := range of {
				t[typicalKey(o, figure, key)] = append(t[typicalKey(o, figure, key)], r.True)
			}
		}
	}
	return t
}

func typicalKey(o busyOutcome, figure, key string) string {
	return strings.Join([]string{o.Setting, o.Load, figure, key}, "/")
}

// gather gives the tallies of all settings together as "", of each setting with
// and without stamps by rowKey, and of the first command.
func gather(all []busyOutcome) (tallies map[string]*tally, unavailable map[string]string, shared bool) {
	tallies, unavailable = map[string]*tally{}, map[string]string{}
	typical := typicals(all)
	for _, o := range all {
		keys := []string{"", rowKey(o.Setting, o.NoStamps)}
		switch {
		case o.Setting == firstName:
			keys = []string{firstName}
		case o.Unavailable != "":
			unavailable[o.Setting] = o.Unavailable
			continue
		case !slices.ContainsFunc(disturbances, func(d disturbance) bool { return d.name == o.Setting }):
			continue // a baseline
		}
		shared = shared || o.SharedCores
		for _, key := range keys {
			if tallies[key] == nil {
				tallies[key] = newTally()
			}
			tallies[key].add(o, typical)
		}
	}
	return tallies, unavailable, shared
}

func rowKey(setting string, noStamps bool) string { return setting + "/" + stamps(noStamps) }

// list names what was counted, in order, each by a format of the name and the
// number.
func list(counts map[string]int, separator, format string) string {
	return strings.Join(text.Each(slices.Sorted(maps.Keys(counts)), func(name string) string { return fmt.Sprintf(format, name, counts[name]) }), separator)
}

// busyPage is the page behind its title and date.
func busyPage(all []busyOutcome) (string, error) {
	tallies, unavailable, shared := gather(all)
	whole, first := tallies[""], tallies[firstName]
	if whole == nil {
		return "", errors.New("no run of a setting is in the state: run without -table and -first")
	}
	var b strings.Builder
	names := func(of string) string { return strings.Join(slices.Sorted(maps.Keys(whole.counts[of])), "; ") }
	fmt.Fprintf(&b, "%s on %s.\n%s; of each load: %s.\n", names("version"), names("machine"), text.Plural(whole.runs, "run"),
		strings.Join(text.Each(busyLoads, func(l busyLoad) string { return fmt.Sprintf("%s %d", l.name, whole.counts["load"][l.name]) }), "; "))
	if slices.ContainsFunc(disturbances, func(d disturbance) bool {
		with, without := tallies[rowKey(d.name, false)], tallies[rowKey(d.name, true)]
		return d.name != firstName && unavailable[d.name] == "" && (with == nil || without == nil || min(with.runs, without.runs) < fullRuns)
	}) {
		fmt.Fprintf(&b, "**Not complete**: %d of each setting are asked for, and what is said below rests on the runs that there are.\n", fullRuns)
	}
	if shared {
		b.WriteString("The machine has fewer than three cores: the server shared redline's, so that its writes were late too.\n")
	}
	b.WriteString(about + "\n| load | `redline sim --truth FILE` | `redline run --warmup 2s --duration 15s --seed N` |\n|---|---|---|\n")
	for _, l := range busyLoads {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", l.name, cmp.Or(strings.ReplaceAll("`"+shellWords(l.server)+"`", "``", ""), "–"), shellWords(l.client))
	}
	b.WriteString("\n| setting | beside redline |\n|---|---|\n")
	for _, d := range disturbances {
		if d.name != firstName {
			fmt.Fprintf(&b, "| %s | %s |\n", d.name, d.about)
		}
	}
	askedTable(&b, whole, first)
	b.WriteString("\n## Figures, over all settings\n\n| figure | p50 between its ends | p90 | p99 | width of p50 | width of p90 | width of p99 |\n|---|---|---|---|---|---|---|\n")
	for _, figure := range busyFigures {
		fmt.Fprintf(&b, "| `%s` | %s |\n", figure, whole.ends(figure+" ", "p50", "p90", "p99"))
	}
	b.WriteString("\n## Settings\n\n| setting | stamps | runs | lag p99, ms | held up, s | measured alone | p50 between ends | p90 | p99 | width of p50 | width of p90 | width of p99 | met wrongly | missed wrongly | decided | exit code: runs |\n" +
		strings.Repeat("|---", 16) + "|\n")
	notes := ""
	for _, d := range disturbances {
		for _, noStamps := range []bool{false, true} {
			if t := tallies[rowKey(d.name, noStamps)]; t != nil {
				fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %s | %s, %s | %s, %s | %s | %s |\n", d.name, stamps(noStamps), t.runs,
					text.Number(stats.Median(t.values["lag"])), text.Number(stats.Median(t.values["held up"])), t.shares["measured alone"], t.ends("", "p50", "p90", "p99"),
					t.shares["met wrongly, same"], t.shares["met wrongly, every"], t.shares["missed wrongly, same"], t.shares["missed wrongly, every"],
					t.shares["decided"], list(t.counts["exit"], ", ", "%s: %d"))
			}
		}
		if why := unavailable[d.name]; why != "" && tallies[rowKey(d.name, false)] == nil {
			notes += fmt.Sprintf("\n%s is not available on this machine: %s.\n", d.name, why)
		}
	}
	b.WriteString(notes)
	remarks(&b, whole)
	if first != nil {
		fmt.Fprintf(&b, "\n## The first command\n\n`redline run`, the README's first command, with its server in its own process, on two cores beside two busy loops, %s. Exit codes: %s.\n",
			text.Plural(first.runs, "time"), list(first.counts["exit"], ", ", "%s: %d"))
		remarks(&b, first)
	}
	return b.String(), nil
}

// ends says how often the truth lay between the ends at each percentile, and how
// wide they were: median and p90.
func (t *tally) ends(figure string, keys ...string) string {
	var shares, widths []string
	for _, key := range keys {
		shares = append(shares, t.shares["between its ends "+figure+key].String())
		sorted := slices.Sorted(slices.Values(t.values["width "+figure+key]))
		widths = append(widths, percent(stats.Quantile(sorted, 0.5))+", "+percent(stats.Quantile(sorted, 0.9)))
	}
	return strings.Join(append(shares, widths...), " | ")
}

// askedTable says what was asked for and whether it is so.
func askedTable(b *strings.Builder, whole, first *tally) {
	b.WriteString("\n## What was asked for\n\n| asked over all settings | found | |\n|---|---|---|\n")
	row := func(what, found string, ok bool) {
		fmt.Fprintf(b, "| %s | %s | %s |\n", what, found, map[bool]string{true: "yes", false: "**no**"}[ok])
	}
	worst, where := share{1, 1}, ""
	for _, figure := range busyFigures {
		for _, at := range percentiles {
			if s := whole.shares["between its ends "+figure+" "+at.key]; where == "" || s.value() < worst.value() {
				worst, where = s, figure+" "+at.key
			}
		}
	}
	row("the true value of each figure lies between its ends in "+text.RoughPercent(askedCovered)+" of the runs", fmt.Sprintf("%s at the worst (%s)", worst, where), worst.value() >= askedCovered)
	for _, wrongly := range []string{"met wrongly", "missed wrongly"} {
		same, every := whole.shares[wrongly+", same"], whole.shares[wrongly+", every"]
		row(wrongly+" in at most "+text.RoughPercent(askedWrong), fmt.Sprintf("%s by the same requests, %s by all runs of a load", same, every), max(same.value(), every.value()) <= askedWrong)
	}
	if first != nil {
		row("the README's first command exits 0 every time", fmt.Sprintf("%d of %d", first.counts["exit"]["0"], first.runs), first.counts["exit"]["0"] == first.runs)
	}
}

// remarks says which checks made runs invalid, and what was not given.
func remarks(b *strings.Builder, t *tally) {
	for _, of := range [][2]string{{"invalid", "Checks that made runs invalid, with the number of runs"}, {"absent", "Figures that runs did not give, with the number of percentiles"}} {
		if names := list(t.counts[of[0]], ", ", "%s (%d)"); names != "" {
			fmt.Fprintf(b, "\n%s: %s.\n", of[1], names)
		}
	}
}

// about says what the tables show and what counts as the truth.
const about = `
redline runs on two cores that are disturbed, and ` + "`redline sim --truth`" + ` on a core of its own. Nothing has a higher priority
than anything else: redline is kept from raising its own, and the busy loops have the same. Each setting is run with the kernel's
receive stamps and without them (` + "`REDLINE_NO_KERNEL_STAMPS=1`" + `, as on systems that have none). Runs take turns at the loads below.

**Truth.** The server's log says when it had read each request and when it wrote each output event
([ARCHITECTURE.md](../design/ARCHITECTURE.md), Truth). Figures are computed from these times for the same requests, with the same
percentiles, over the same window:

| figure | truth |
|---|---|
| ` + "`ttft`" + ` | first write − sent, where sent is when the server had read the request, or redline's stamp after its write if that is earlier: the request had left by both. The stamp before the write, from which redline counts, plays no part: a process that is stopped between that stamp and the write has sent later than it says |
| ` + "`ttft_due`, `e2e_due`" + ` | as ` + "`ttft`, `e2e`" + `: what they would have been without this client's lateness. No load here waits for a slot, and over loopback a connection takes no time that matters |
| ` + "`tpot`, `decode`" + ` | last write − first write, for ` + "`tpot`" + ` over the tokens after the first |
| ` + "`itl`, `stall`" + ` | gaps between writes; the longest of each reply |
| ` + "`e2e`" + ` | last write − sent |

A true value may lie 1% outside the ends, or 0.1 ms if that is more (0.3 ms for figures that begin with the request): the way
over loopback and the two system calls are in one account and not in the other. *Measured alone* is how often the measured
value itself is that near to the truth. *Width* is (upper end − lower end) / measured, median and p90 over runs and figures.

**Verdicts.** Every run is judged afterwards by 36 objectives: p50, p90 and p99 of ` + "`ttft`, `tpot`, `itl`, `stall`, `e2e` and `decode`" + `,
each with two limits at random factors from 0.5 to 2 around the truth of its load, which an undisturbed run of a minute gives.
*Met wrongly* is the share met of the limits that the true value exceeds, *missed wrongly* the share missed of the others. Two
truths are counted, the first by the same requests, the second by the mean over all runs of that load and setting: a verdict is about
the server, not about one run. *Decided* is the share that is met or missed; of an invalid run nothing is.
`
