package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/stats"
	"redline/internal/text"
)

// Sample is one run of a series as drift sees it.
type Sample struct {
	ID string
	At time.Time
	// Values are its figures, as Watched gives them, and Requests how many were
	// due; 0 where that is not known.
	Values   Values
	Ends     Ends
	Requests int
	// Settings are what it was measured with.
	Settings map[string]string
	// Pinned marks a run whose level is accepted: what came before it is
	// history.
	Pinned bool
}

const (
	// driftRuns is how many runs of a series are looked at one after another, over
	// which alpha is the chance of a false alarm, all metrics together.
	driftRuns = 20
	// driftTolerance is the relative change that does not matter. Shares are held
	// to a tenth of it as an absolute difference.
	driftTolerance = 0.03
)

// watchedCriteria are the metrics that drift is looked for in. They are fewer than
// those of a comparison, because each one more costs all others some power.
func watchedCriteria() []criterion {
	var list []criterion
	for _, f := range figure.All {
		for _, stat := range f.Watched {
			list = append(list, criterionOf(f, stat))
		}
	}
	return list
}

// WatchedValues gives the figures of a result that drift is looked for in: those of
// its one load, of its repeats together, or of the run at its limit, and the
// limit itself where it was found. A comparison has none.
func WatchedValues(res *result.Result) Values {
	whole := *res
	if l := whole.Limit; l != nil && l.Standing != result.LimitFound {
		whole.Limit = nil
	}
	values := Values{}
	for _, f := range watchedCriteria() {
		if v, ok := f.of(steadyPoint(res), &whole); ok {
			values[f.name] = v
		}
	}
	return values
}

// WatchedEnds gives the ends of the figures that Watched gives.
func WatchedEnds(res *result.Result) Ends {
	p := steadyPoint(res)
	if p == nil {
		return nil
	}
	return endsOf(watchedCriteria(), p)
}

// nearestValue is the figure of a run on its scale, as near to the level before it as
// its ends allow: what the machine that measured it may have done is no drift.
func (f criterion) nearestValue(s Sample, before []float64) float64 {
	v := f.toScale(s.Values[f.name])
	ends, known := s.Ends[f.name]
	if down, up := f.slack(v, ends, known); len(before) > 0 {
		return min(max(stats.Median(before), v-down), v+up)
	}
	return v
}

// RequestsOf is how many requests the figures of a result are of.
func RequestsOf(res *result.Result) int {
	if p := steadyPoint(res); p != nil {
		return p.Requests.Due
	}
	return 0
}

// steadyPoint is the one point that stands for a result.
func steadyPoint(res *result.Result) *result.Point {
	index := -1
	switch {
	case res.Comparison != nil:
	case res.Repeats != nil && res.Repeats.Point != nil:
		index = *res.Repeats.Point
	case res.Sustained != nil:
		index = *res.Sustained
	case len(res.Points) == 1:
		index = 0
	}
	if index < 0 || index >= len(res.Points) {
		return nil
	}
	return &res.Points[index]
}

// Drift looks for changes in a series of runs of one plan, oldest first. It
// goes through the series as it grew, so that its answer is the same however
// often it was asked on the way; a called change begins a new level, and so
// does a pinned run.
func Drift(series []Sample) *result.Drift {
	d := &result.Drift{Runs: len(series), Changes: []result.MetricShift{}, Settings: settingsOver(series)}
	from := 0
	for i, s := range series {
		d.Values = append(d.Values, result.RunValues{ID: s.ID, At: s.At, Values: s.Values})
		if s.Pinned {
			d.Baseline, from = s.ID, i
		}
	}
	metrics := present(series)
	d.Changes = append(d.Changes, walk(series, metrics, from)...)
	slices.SortStableFunc(d.Changes, func(a, b result.MetricShift) int { return a.At.Compare(b.At) })
	for i := range d.Changes {
		d.Changes[i].Causes = causes(d.Settings, d.Changes[i].Since)
	}
	if needs := stats.MinWatched - len(series); needs > 0 {
		d.Needs = needs
		d.Early = earlyChanges(series[from:], metrics)
	}
	d.Standing, d.Verdict = concludeDrift(d)
	return d
}

// present are the metrics that the newest run has.
func present(series []Sample) []criterion {
	if len(series) == 0 {
		return nil
	}
	newest := series[len(series)-1].Values
	return slices.DeleteFunc(watchedCriteria(), func(f criterion) bool {
		_, ok := newest[f.name]
		return !ok
	})
}

// course is one metric on its way through a series: its present level with the
// runs that it is of, and the levels that are over, which lend their spread.
type course struct {
	criterion
	level, trials []float64
	at            []int
	past          [][]float64
}

// walk follows the metrics through the series and gives the changes after from.
func walk(series []Sample, metrics []criterion, from int) []result.MetricShift {
	var moved []result.MetricShift
	courses := make([]*course, len(metrics))
	for i, f := range metrics {
		courses[i] = &course{criterion: f}
	}
	for i, s := range series {
		var settled [][]float64
		for _, c := range courses {
			c.take(s, i, from)
			settled = append(settled, c.level[:max(len(c.level)-maxNewLevelRuns, 0)])
		}
		// Runs of one series have their days in common, and so how much a day
		// resembles the next: all metrics together show it best.
		alike := stats.Alike(settled)
		for _, c := range courses {
			if len(c.at) == 0 || c.at[len(c.at)-1] != i {
				continue
			}
			if found, ok := c.judge(series, i == len(series)-1, alike, len(metrics)); ok {
				if i >= from {
					moved = append(moved, c.shift(found, float64(len(metrics)), series[c.at[found.At]]))
				}
				c.past, c.level, c.at = append(c.past, c.level[:found.At:found.At]), c.level[found.At:], c.at[found.At:]
				c.trials = c.trials[min(found.At, len(c.trials)):]
			}
		}
	}
	return moved
}

// maxNewLevelRuns is how many of the last runs may be on a new level already.
const maxNewLevelRuns = 3

// take adds a run. A pinned one begins a level.
func (c *course) take(s Sample, i, from int) {
	v, ok := s.Values[c.name]
	if !ok || !c.usable(v) {
		return
	}
	if i >= from && len(c.at) > 0 && c.at[0] < from {
		c.past, c.level, c.trials, c.at = append(c.past, c.level), nil, nil, nil
	}
	c.level, c.at = append(c.level, c.nearestValue(s, c.level)), append(c.at, i)
	if c.Interval == figure.ByCount && s.Requests > 0 {
		c.trials = append(c.trials, float64(s.Requests))
	}
}

// judge looks for a change in the last runs: one that several show, or one so
// large that it needs no more than a few runs before it.
func (c *course) judge(series []Sample, newest bool, alike float64, metrics int) (stats.Change, bool) {
	monitor := stats.Monitor{Runs: driftRuns, Creep: true, Spread: c.past, Trials: c.trials, Alike: alike}
	if found := monitor.Judge(c.level); found.P*float64(metrics) <= alpha && c.matters(found, driftTolerance) {
		return found, true
	}
	before := minBefore
	if series[c.at[0]].Pinned {
		before = 1
	}
	// One run alone is the newest or gone astray; two stay.
	for last := 1; last <= 2; last++ {
		at := len(c.level) - last
		if at < before || last == 1 && !newest {
			continue
		}
		if found, ok := c.large(at, metrics); ok {
			return found, true
		}
	}
	return stats.Change{}, false
}

func (f criterion) matters(c stats.Change, tolerance float64) bool {
	if f.Share() {
		return math.Abs(c.After-c.Before) > tolerance/10
	}
	return math.Abs(c.After-c.Before) > math.Log1p(tolerance)
}

func (f criterion) shift(c stats.Change, metrics float64, since Sample) result.MetricShift {
	m := result.MetricShift{Metric: f.name, Unit: string(f.Unit), P: min(c.P*metrics, 1), Since: since.ID, At: since.At, Standing: slo.Worse}
	if (c.After > c.Before) == f.More {
		m.Standing = slo.Better
	}
	if f.Share() {
		m.Before, m.After, m.Difference = c.Before, c.After, new(c.After-c.Before)
		return m
	}
	m.Before, m.After, m.Ratio = math.Exp(c.Before), math.Exp(c.After), new(math.Exp(c.After-c.Before))
	return m
}

// settingsOver lists what became different from one run to the next. A
// setting that one of the two does not tell is no difference.
func settingsOver(series []Sample) []result.Setting {
	changes := []result.Setting{}
	known := map[string]string{}
	for _, s := range series {
		for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
			now := s.Settings[name]
			before, ok := known[name]
			if ok && before != now {
				changes = append(changes, result.Setting{Name: name, Before: before, After: now, Run: s.ID, At: s.At})
			}
			known[name] = now
		}
	}
	return changes
}

func causes(settings []result.Setting, run string) []result.Setting {
	var out []result.Setting
	for _, s := range settings {
		if s.Run == run {
			out = append(out, s)
		}
	}
	return out
}

// concludeDrift words the answer: a metric stands as its last change left it.
func concludeDrift(d *result.Drift) (slo.Standing, string) {
	last := map[string]result.MetricShift{}
	for _, m := range d.Changes {
		last[m.Metric] = m
	}
	worse, better := 0, 0
	var worst *result.MetricShift
	for _, f := range watchedCriteria() {
		m, ok := last[f.name]
		switch {
		case !ok:
		case m.Standing == slo.Worse:
			worse++
			if worst == nil {
				worst = &m
			}
		default:
			better++
		}
	}
	switch {
	case worse > 0:
		standing := slo.Worse
		if better > 0 {
			standing = slo.Mixed
		}
		return standing, fmt.Sprintf("%s is worse since %s: %s", worst.Metric, worst.At.Format(time.DateOnly), worst.Words())
	case better > 0:
		return slo.Better, fmt.Sprintf("better in %d of the metrics watched", better)
	case d.Needs > 0:
		return slo.Undecided, earlyVerdict(d)
	}
	return slo.Same, fmt.Sprintf("no change beyond what runs differ by anyway, over %s", text.Plural(d.Runs, "run"))
}
