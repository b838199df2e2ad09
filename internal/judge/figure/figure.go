// Package figure is the one table of what redline measures: how each figure is
// called, what it means, in which unit, which way is better, and where a result
// has it. Whoever parses, judges, compares, plots, exports or explains a figure
// asks this table. It takes a name and gives a row, and reads the row's figure
// off a point. It knows no objective, no test and no page.
package figure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"redline/internal/text"
)

// Figure is one row of the table.
type Figure struct {
	// Name is what users write, Key what results, CSV columns and METRICS.md
	// call it, where that is another. Both and the Aliases are read everywhere.
	Name, Key string
	Aliases   []string
	// Title is what pages and axes call it, where that is not Key.
	Title string
	Unit  Unit
	// More says that more of it is better.
	More bool
	Of   Of
	// Phase is the part of a request's life that it is about.
	Phase Phase
	// Due is the Key of its form from due, which objectives, comparisons and
	// axes mean where there is one.
	Due string
	// Stat is the statistic of a figure of the window in an objective: the
	// "rate" of "error:rate". Of a distribution it is the percentile that is
	// meant where none is given, p99 where empty.
	Stat string
	// At is its place in a point of a result, by JSON keys; several, joined by
	// "+", are added. Over is what it is divided by.
	At, Over string
	// Interval is how far one run alone leaves it open.
	Interval Interval
	// Compared are the statistics that comparisons judge unasked, Watched those
	// that drift is looked for in. Each one more costs all others some power.
	Compared, Watched []string
	// Paired says that an optimization is judged by it, request by request.
	Paired bool
	// Zero says that 0 is a value of it, as of a share, and not a lack of one.
	Zero bool
	// Formula and Note define it.
	Formula, Note string
	// Not says what it cannot be used for, and why.
	Not map[Use]string
}

// Unit is what a figure is counted in, as results write it.
type Unit string

// The units that mean more than their name.
const (
	Milliseconds Unit = "ms"
	Fraction     Unit = "fraction"
	TokenRate    Unit = "tokens/s"
	Memory       Unit = "MB"
	JobRate      Unit = "jobs/h"
)

// Money reports whether the figure is a price: a currency for something.
func (u Unit) Money() bool { return strings.HasPrefix(string(u), "$/") }

// Of is what has a figure.
type Of string

// A request has one, a gap between tokens, and a job, which is many requests; or
// the window as a whole.
const (
	Request Of = "request"
	Gap     Of = "gap"
	Job     Of = "job"
	Window  Of = "window"
)

// Phase is a part of a request's life.
type Phase uint8

// Until the first token, from it on, or both.
const (
	First Phase = 1 << iota
	Stream
	Whole = First | Stream
)

// Interval is how one run's figure is bounded.
type Interval int

// By nothing; as a share of requests counted one by one; as a share of requests
// of which several may be one event; by the lengths of replies.
const (
	unbounded Interval = iota
	ByCount
	ByCrowds
	ByReplies
)

// Parts is how many parts of a window are compared to see how far an equal run
// may lie from it: failures come in episodes, which four parts show; all else may
// wander slowly, and only its halves are long enough.
func (f *Figure) Parts() int {
	if f.Interval == ByCount {
		return 4
	}
	return 2
}

// Use is what a figure can be good for.
type Use string

// The uses; every figure is explained.
const (
	Promise  Use = "objective"  // --slo, and a plan's objectives
	Compare  Use = "comparison" // compare, tune, expectations
	Plot     Use = "axis"
	Export   Use = "CSV"
	Tabulate Use = "row" // of the table of latencies
)

// Definition is what the figure means, in a sentence.
func (f *Figure) Definition() string {
	if f.Note == "" {
		return f.Formula
	}
	return f.Formula + "; " + f.Note
}

// Defines reports whether what a result has at the figure's place is the figure
// itself, and not a part of it.
func (f *Figure) Defines() bool {
	return f.At != "" && f.Over == "" && f.Name != "quality" && !strings.Contains(f.At, "+")
}

// Can reports whether the figure is good for a use.
func (f *Figure) Can(u Use) bool { return f.Not[u] == "" }

// Spread reports whether it is a distribution, which has percentiles.
func (f *Figure) Spread() bool { return f.Of != Window }

// Jobs reports whether it is about jobs, single ones or those of the window.
func (f *Figure) Jobs() bool { return strings.HasPrefix(f.At, "jobs.") }

// Fire reports whether it is about what a server gives back after a load, or how it
// recovers from something that happens in it.
func (f *Figure) Fire() bool {
	return strings.HasPrefix(f.At, "fire.") || strings.HasPrefix(f.At, "leak.")
}

// JudgedForm is the form that objectives, comparisons and axes mean: from due where
// there is one.
func (f *Figure) JudgedForm() *Figure {
	if from, ok := Find(f.Due); ok {
		return from
	}
	return f
}

// Streamed reports whether only a reply that comes piece by piece has it.
func (f *Figure) Streamed() bool { return f.Spread() && (f.Phase == First || f.Phase == Stream) }

// Share reports whether it is a fraction, which may be 0: two of them are
// compared by difference, not by ratio.
func (f *Figure) Share() bool { return f.Unit == Fraction }

// Statistic is a figure at one of its statistics: "ttft:p99", "throughput".
type Statistic struct {
	*Figure
	// Stat is "p99", "mean", "max", or what the figure's row says; P is the
	// percentile as a fraction, 0 where it is none.
	Stat string
	P    float64
}

// String is the name of a figure in comparisons and axes. Of a figure of the
// window "min" and "max" only say which bound an objective sets.
func (s Statistic) String() string {
	if s.Stat == "" || !s.Spread() && (s.Stat == "min" || s.Stat == "max") {
		return s.Name
	}
	return s.Name + ":" + s.Stat
}

// Find gives the row of a name, an alias or a key; of several rows with one
// name the first.
func Find(name string) (*Figure, bool) {
	rows := index[name]
	if len(rows) == 0 {
		return nil, false
	}
	return rows[0], true
}

// index gives the rows of a name, which may be several, or the one that has it
// for an alias or a key.
var index = indexByName(All)

func indexByName(rows []*Figure) map[string][]*Figure {
	index := map[string][]*Figure{}
	for _, f := range rows {
		index[f.Name] = append(index[f.Name], f)
	}
	for _, f := range rows {
		for _, other := range append(f.Aliases, f.Key) {
			if index[other] == nil {
				index[other] = []*Figure{f}
			}
		}
	}
	return index
}

// Parse reads a figure for a use: "ttft:p99", "tbt:p95", "throughput",
// "cost:accepted". Without a statistic the usual one is meant.
func Parse(written string, use Use) (Statistic, error) {
	name, stat, chosen := strings.Cut(written, ":")
	rows := index[name]
	if len(rows) == 0 {
		return Statistic{}, fmt.Errorf("unknown figure %q; %s", name, text.Cure(name, Names(use)))
	}
	if why := rows[0].Not[use]; why != "" {
		return Statistic{}, fmt.Errorf("%s is no %s: %s", name, use, why)
	}
	if !chosen {
		stat = rows[0].usual()
	}
	return statistic(rows, stat, use)
}

// statistic finds the one of a figure's rows that a statistic means.
func statistic(rows []*Figure, stat string, use Use) (Statistic, error) {
	f := rows[0]
	if !f.Spread() {
		var spelled []string
		for _, row := range rows {
			s := Statistic{Figure: row, Stat: row.Stat}
			if stat == row.Stat {
				return s, nil
			}
			if spelled = append(spelled, s.String()); use == Promise {
				spelled[len(spelled)-1] = row.Name + ":" + row.Stat
			}
		}
		return Statistic{}, fmt.Errorf("%s has no %q; write %s", f.Name, stat, strings.Join(spelled, " or "))
	}
	if stat == "mean" || stat == "max" {
		return Statistic{Figure: f, Stat: stat}, nil
	}
	key, p, err := Percentile(stat)
	return Statistic{Figure: f, Stat: key, P: p}, err
}

// usual is the statistic that is meant where none is given.
func (f *Figure) usual() string {
	if f.Stat == "" && f.Spread() {
		return "p99"
	}
	return f.Stat
}

// Names lists the figures that are good for a use, each once.
func Names(use Use) []string {
	var names []string
	for _, f := range All {
		if f.Can(use) && !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Select lists the names of the figures that satisfy a condition and can have
// an objective.
func Select(of func(*Figure) bool) []string {
	var names []string
	for _, f := range All {
		if f.Can(Promise) && of(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Percentile reads p50, p99, p99.9 or p999. The key is p and the digits without
// the dot: two digits before it, any after it. A key is read as itself.
func Percentile(text string) (key string, p float64, err error) {
	whole, decimals, dotted := strings.Cut(strings.TrimPrefix(text, "p"), ".")
	bad := fmt.Errorf("unknown statistic %q; expected a percentile such as p50, p99 or p99.9, or mean or max", text)
	if !strings.HasPrefix(text, "p") || !digits(whole) || dotted && !digits(decimals) {
		return "", 0, bad
	}
	if !dotted && len(whole) > 2 {
		// Only of high percentiles is the dot left out: p101 is a slip.
		high := whole[0] == '9'
		whole, decimals = whole[:2], whole[2:]
		if !high || strings.HasSuffix(decimals, "0") {
			return "", 0, fmt.Errorf("percentile %q: expected one below 100, such as p99 or p999 (which is p99.9)", text)
		}
	}
	decimals = strings.TrimRight(decimals, "0")
	switch {
	case len(whole) > 2:
		return "", 0, fmt.Errorf("percentile %q: expected one below 100, such as p99.9", text)
	case whole[0] == '0' || len(whole) == 1 && decimals != "":
		return "", 0, fmt.Errorf("percentile %q: expected a whole one from p1 to p9, or one from p10 up", text)
	case decimals != "" && whole[0] != '9':
		// Its key could not be read again.
		return "", 0, fmt.Errorf("percentile %q: expected a whole one below p90; decimals are possible from there on, as in p99.9", text)
	case len(decimals) > 3:
		return "", 0, fmt.Errorf("percentile %q: at most three decimals are possible, such as p99.999", text)
	}
	key = "p" + whole + decimals
	if len(whole) == 1 {
		whole = "0" + whole
	}
	// The digits are read as one decimal fraction, so p999 is the float64
	// nearest to 0.999 and not a quotient beside it.
	p, err = strconv.ParseFloat("0."+whole+decimals, 64)
	return key, p, err
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
