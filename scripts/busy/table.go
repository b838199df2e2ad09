//go:build linux

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"redline/internal/stats"
	"redline/internal/text"
)

// writePage writes the page of what is in the state.
func writePage(dir, page string) error {
	all, err := readState(dir)
	if err != nil {
		return err
	}
	written, err := document(all)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return os.WriteFile(page, []byte(written), 0o644)
}

// What is asked of all settings together.
const (
	askedCovered = 0.95
	askedWrong   = 0.05
	fullRuns     = 50 // of each setting
)

// pages is what a page is made of.
type pages struct {
	whole, first *tally
	rows         map[string]*tally // by setting and stamps
	unavailable  map[string]string // why, by setting
	machines     map[string]bool
	versions     map[string]bool
	shared       bool
	loads        map[string]int // runs of each
}

func rowKey(setting, stamps string) string { return setting + "/" + stamps }

func gather(all []outcome) pages {
	p := pages{newTally(), newTally(), map[string]*tally{}, map[string]string{}, map[string]bool{}, map[string]bool{}, false, map[string]int{}}
	typical := newTypicals(all)
	for _, o := range all {
		switch o.Setting {
		case baselineSetting:
			continue
		case firstSetting:
			p.first.add(o, typical)
			continue
		}
		if o.Unavailable != "" {
			p.unavailable[o.Setting] = o.Unavailable
			continue
		}
		if o.Setting != stealSetting {
			p.machines[o.Machine], p.versions[o.Version] = true, true
			p.shared = p.shared || o.SharedCores
			p.loads[o.Load]++
			p.whole.add(o, typical)
		}
		key := rowKey(o.Setting, stamps(o.NoStamps))
		if p.rows[key] == nil {
			p.rows[key] = newTally()
		}
		p.rows[key].add(o, typical)
	}
	return p
}

// document is the whole page.
func document(all []outcome) (string, error) {
	p := gather(all)
	if p.whole.runs == 0 {
		return "", errors.New("no run of a setting is in the state: run without -table, -first and -steal")
	}
	var b strings.Builder
	p.introduce(&b)
	b.WriteString("\n## What was asked for\n\n")
	asked(&b, p.whole, p.first)
	b.WriteString("\n## Figures, over all settings\n\n")
	figureTable(&b, p.whole)
	b.WriteString("\n## Settings\n\n")
	p.settingTable(&b, false)
	remarks(&b, p.whole)
	if p.first.runs > 0 {
		fmt.Fprintf(&b, "\n## The first command\n\n`redline run`, the README's first command, with its server in its own process, on two cores beside two busy loops, %s. Exit codes: %s.\n",
			text.Plural(p.first.runs, "time"), exits(p.first.exits))
		remarks(&b, p.first)
	}
	if p.rows[rowKey(stealSetting, stamps(false))] != nil {
		b.WriteString(aboutSteal)
		p.settingTable(&b, true)
	}
	return b.String(), nil
}

func (p pages) introduce(b *strings.Builder) {
	list := func(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), "; ") }
	fmt.Fprintf(b, "# Busy machines\n\nWritten by `make busy` with %s on %s.\n", list(p.versions), list(p.machines))
	p.extent(b)
	if p.shared {
		b.WriteString("The machine has fewer than three cores: the server shared redline's, so that its writes were late too.\n")
	}
	b.WriteString(about)
	b.WriteString("\n| load | `redline sim --truth FILE` | `redline run --warmup 2s --duration 15s --seed N` |\n|---|---|---|\n")
	for _, l := range loads {
		fmt.Fprintf(b, "| %s | %s | `%s` |\n", l.name, cmp.Or(quoted(l.server), "–"), shellWords(l.client))
	}
	b.WriteString("\n| setting | beside redline |\n|---|---|\n")
	for _, s := range settings {
		if !s.apart() {
			fmt.Fprintf(b, "| %s | %s |\n", s.name, s.about)
		}
	}
}

// extent says how many runs there are, and whether some are missing.
func (p pages) extent(b *strings.Builder) {
	var each []string
	for _, l := range loads {
		each = append(each, fmt.Sprintf("%s %d", l.name, p.loads[l.name]))
	}
	fmt.Fprintf(b, "%s; of each load: %s.\n", text.Plural(p.whole.runs, "run"), strings.Join(each, "; "))
	for _, s := range settings {
		for _, source := range []string{stamps(false), stamps(true)} {
			if t := p.rows[rowKey(s.name, source)]; !s.apart() && p.unavailable[s.name] == "" && (t == nil || t.runs < fullRuns) {
				fmt.Fprintf(b, "**Not complete**: %d of each setting are asked for, and what is said below rests on the runs that there are.\n", fullRuns)
				return
			}
		}
	}
}

func quoted(flags []string) string {
	if len(flags) == 0 {
		return ""
	}
	return "`" + strings.Join(flags, " ") + "`"
}

// asked says what was asked for and whether it is so.
func asked(b *strings.Builder, whole, first *tally) {
	b.WriteString("| asked over all settings | found | |\n|---|---|---|\n")
	row := func(what, found string, ok bool) {
		fmt.Fprintf(b, "| %s | %s | %s |\n", what, found, map[bool]string{true: "yes", false: "**no**"}[ok])
	}
	worst, where := share{1, 1}, ""
	for _, name := range figureNames {
		for _, at := range percentiles {
			if s := whole.ends[name][at.key].covered; where == "" || s.value() < worst.value() {
				worst, where = s, name+" "+at.key
			}
		}
	}
	row("the true value of each figure lies between its ends in "+text.RoughPercent(askedCovered)+" of the runs", fmt.Sprintf("%s at the worst (%s)", worst, where), worst.value() >= askedCovered)
	for _, w := range []struct {
		what       string
		same, most share
	}{
		{"met wrongly in at most " + text.RoughPercent(askedWrong), whole.same.met, whole.every.met},
		{"missed wrongly in at most " + text.RoughPercent(askedWrong), whole.same.missed, whole.every.missed},
	} {
		row(w.what, fmt.Sprintf("%s by the same requests, %s by all runs of a load", w.same, w.most), max(w.same.value(), w.most.value()) <= askedWrong)
	}
	if first.runs > 0 {
		row("the README's first command exits 0 every time", fmt.Sprintf("%d of %d", first.exits[0], first.runs), first.exits[0] == first.runs)
	}
}

func figureTable(b *strings.Builder, t *tally) {
	b.WriteString("| figure | p50 between its ends | p90 | p99 | width of p50 | width of p90 | width of p99 |\n|---|---|---|---|---|---|---|\n")
	for _, name := range figureNames {
		of := t.ends[name]
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", name, of["p50"].covered, of["p90"].covered, of["p99"].covered,
			of["p50"].spread(), of["p90"].spread(), of["p99"].spread())
	}
}

// settingTable has a row for each setting, with stamps and without: of steal,
// or of the others.
func (p pages) settingTable(b *strings.Builder, steal bool) {
	b.WriteString("| setting | stamps | runs | lag p99, ms | " + map[bool]string{true: "stolen", false: "held up, s"}[steal] +
		" | p50 between ends | p90 | p99 | measured alone | width of p50 | width of p99 | met wrongly | missed wrongly | decided | exit code: runs |\n" +
		strings.Repeat("|---", 15) + "|\n")
	var notes []string
	for _, s := range settings {
		if s.name == firstSetting || (s.name == stealSetting) != steal {
			continue
		}
		found := false
		for _, source := range []string{stamps(false), stamps(true)} {
			if t := p.rows[rowKey(s.name, source)]; t != nil {
				found = true
				t.row(b, s.name, source, steal)
			}
		}
		if why := p.unavailable[s.name]; why != "" && !found {
			notes = append(notes, fmt.Sprintf("\n%s is not available on this machine: %s.\n", s.name, why))
		}
	}
	b.WriteString(strings.Join(notes, ""))
}

func (t *tally) row(b *strings.Builder, name, source string, steal bool) {
	taken := text.Number(median(t.held))
	if steal {
		taken = percent(median(t.steal))
	}
	p50, p90, p99 := t.at("p50"), t.at("p90"), t.at("p99")
	fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %s, %s | %s, %s | %s | %s |\n", name, source, t.runs, text.Number(median(t.lag)), taken,
		p50.covered, p90.covered, p99.covered, t.alone, p50.spread(), p99.spread(),
		t.same.met, t.every.met, t.same.missed, t.every.missed, t.decided, exits(t.exits))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return math.NaN()
	}
	return stats.Quantile(sorted, 0.5)
}

// exits lists exit codes with how often each came.
func exits(counts map[int]int) string {
	var list []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d: %d", code, counts[code]))
	}
	return strings.Join(list, ", ")
}

// remarks says which checks made runs invalid, and what was not given.
func remarks(b *strings.Builder, t *tally) {
	for _, of := range []struct {
		what   string
		counts map[string]int
	}{
		{"Checks that made runs invalid, with the number of runs", t.invalid},
		{"Figures that runs did not give, with the number of percentiles", t.absent},
	} {
		var list []string
		for _, name := range slices.Sorted(maps.Keys(of.counts)) {
			list = append(list, fmt.Sprintf("%s (%d)", name, of.counts[name]))
		}
		if len(list) > 0 {
			fmt.Fprintf(b, "\n%s: %s.\n", of.what, strings.Join(list, ", "))
		}
	}
}

// shellWords writes arguments as a shell takes them.
func shellWords(args []string) string {
	var words []string
	for _, a := range args {
		if strings.ContainsAny(a, " ()<>|&;*?") {
			a = "'" + a + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
