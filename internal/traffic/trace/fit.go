package trace

import (
	"errors"
	"slices"
	"time"

	"redline/internal/stats"
)

// FitOptions say what to keep. The zero value keeps pairs and drops names.
type FitOptions struct {
	// Independent draws prompts and outputs apart from one another.
	Independent bool
	// KeepNames keeps the names of tenants and classes.
	KeepNames bool
}

// The shares at which curves are kept: those of the whole closer, those of a
// bin of prompts, which add up to the whole, wider. Both are denser in the
// tail, where percentiles are asked for.
var (
	wholeGrid = []float64{0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65,
		0.7, 0.75, 0.8, 0.85, 0.875, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995, 0.999, 1}
	binGrid = []float64{0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 1}
	// binEdges are the shares of prompts at which bins end.
	binEdges = []float64{0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
		0.9, 0.95, 0.99, 1}
)

// minInBin is how many requests a bin needs to say anything about their
// outputs.
const minInBin = 40

// Fit describes files of one service as one workload. Times are joined on the
// calendar, so that logs of several replicas add up.
func Fit(o FitOptions, files ...*File) (*FittedWorkload, error) {
	t, err := newTally()
	if err != nil {
		return nil, err
	}
	f := &FittedWorkload{Schema: schema}
	timed := 0
	for _, file := range files {
		if err := t.read(file); err != nil {
			return nil, err
		}
		if file.HasTimes() {
			timed++
		}
		if !slices.Contains(f.Source.Formats, file.Format()) {
			f.Source.Formats = append(f.Source.Formats, file.Format())
		}
		f.Source.Skipped += file.SkippedRows()
		f.Source.Notes = append(f.Source.Notes, file.notes...)
	}
	if len(t.prompts) == 0 {
		return nil, errors.New("no requests to fit a workload to")
	}
	if timed != 0 && timed != len(files) {
		return nil, fault(files[0].Path(), "some of the logs have timestamps and some have none; fit them apart")
	}
	if err := f.fitSessions(t, files); err != nil {
		return nil, err
	}
	return f, f.fill(t, o)
}

func (f *FittedWorkload) fill(t *tally, o FitOptions) error {
	n := len(t.prompts)
	f.Source.Requests = n
	f.Pairs = Pairs{Independent: o.Independent, Bins: pair(t.prompts, t.outputs)}
	f.Prompt, f.Output = describe(sortedLengths(t.prompts)), describe(sortedLengths(t.outputs))
	f.Prefix = t.sharing.estimate()
	f.Tenants = shares(t.tenants, n, "tenant", o.KeepNames)
	f.Classes = shares(t.classes, n, "class", o.KeepNames)
	times := timeline(t.times)
	if len(times) == 0 {
		return nil
	}
	f.Source.Span = round(float64(times[len(times)-1])/float64(time.Second), 3)
	arrivals, err := fitArrivals(times, times[len(times)-1])
	f.Arrivals = arrivals
	return err
}

func describe(sorted []float64) Lengths {
	return Lengths{Percentiles: percentiles(sorted), Buckets: buckets(sorted, bucketEdges), Curve: curveOf(sorted, wholeGrid)}
}

// curveOf keeps the quantiles of ascending values at the given shares.
func curveOf(sorted []float64, grid []float64) Curve {
	c := Curve{At: slices.Clone(grid), Value: make([]float64, len(grid))}
	for i, p := range grid {
		c.Value[i] = round(stats.Quantile(sorted, p), 3)
	}
	return c
}

// pair cuts the requests into bins by their prompts. Equal prompts stay in the
// order of their times, so that a cut among them says nothing of outputs.
func pair(prompts, outputs []int32) []Bin {
	order := make([]int32, len(prompts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(prompts[a] - prompts[b]) })
	var bins []Bin
	from, n := 0, len(order)
	for _, edge := range binEdges {
		to := int(edge * float64(n))
		if edge == 1 {
			to = n
		}
		if to-from < minInBin && edge < 1 || n-to < minInBin && edge < 1 {
			continue
		}
		in, out := make([]float64, 0, to-from), make([]float64, 0, to-from)
		for _, i := range order[from:to] {
			in, out = append(in, float64(prompts[i])), append(out, float64(outputs[i]))
		}
		slices.Sort(out)
		bins = append(bins, Bin{Share: round(float64(to-from)/float64(n), 6), Prompt: curveOf(in, binGrid), Output: curveOf(out, binGrid)})
		from = to
	}
	return bins
}
