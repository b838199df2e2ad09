// Package matrix is an experiment in rows: each differs in one thing from
// another, and what came of it is compared with what was expected. It takes a
// plan and the points of the rows so far, and gives the next row, the plan of its
// stage, the answer to its expectations and what all rows together say. It runs
// nothing, reads no file and no clock.
package matrix

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/traffic/workload"
)

// Known is what came of the rows so far.
type Known struct {
	// Over counts the rows that were run; Points are those of the rows that
	// count, by name.
	Over   int
	Points map[string]*result.Point
}

// Add takes in a row that was run; the point is nil where it does not count.
func (k *Known) Add(name string, p *result.Point) {
	if k.Points == nil {
		k.Points = map[string]*result.Point{}
	}
	if k.Over++; p != nil {
		k.Points[name] = p
	}
}

// RowsOf are the rows that a plan asks for, or those built in.
func RowsOf(c *config.Config) []config.Row {
	if len(c.Experiment.Rows) > 0 {
		return c.Experiment.Rows
	}
	return Rows
}

// Next is the row that follows; false where none does.
func Next(c *config.Config, k Known) (config.Row, bool) {
	if rows := RowsOf(c); k.Over < len(rows) {
		return rows[k.Over], true
	}
	return config.Row{}, false
}

// Conclude is where the objectives stand, and what the answer lacks. The other
// rows are instruments: only of those that expect the objectives is it asked
// whether they meet them.
func Conclude(c *config.Config, k Known) (standing slo.Standing, missing []string) {
	standing = slo.None
	rows := RowsOf(c)
	for _, r := range rows {
		if !slices.Contains(r.Expectation, "objectives") {
			continue
		}
		if k.Points[r.Name] == nil {
			missing = append(missing, r.Name+", which asks for the objectives, is left out")
			continue
		}
		standing = slo.Overall(k.Points[r.Name].Objectives)
	}
	if left := len(rows) - len(k.Points); 2*left > len(rows) {
		missing = append(missing, fmt.Sprintf("%d of %d rows are left out", left, len(rows)))
	}
	return standing, missing
}

// Name is how the stage of a row is called.
func Name(r config.Row) string { return strings.TrimSpace(r.Name + " " + r.About) }

// Own reports whether a row is the plan's own work under a steady load.
func Own(r config.Row) bool { return reflect.ValueOf(r.Workload).IsZero() && r.Profile == "" }

// Plan is the plan of a row's stage. A row that says nothing of its load or its
// workload has the plan's.
func Plan(whole *config.Config, r config.Row) *config.Config {
	c := *whole
	c.Experiment = config.Experiment{}
	if !reflect.ValueOf(r.Workload).IsZero() {
		c.Workload = r.Workload
	}
	if r.Rate > 0 || r.Concurrency > 0 || r.Profile != "" {
		c.Load.Rate, c.Load.Profile, c.Load.Bounds.Pace = r.Rate, r.Profile, r.Pace
	}
	// An open row that names no cap keeps the plan's, as a search does.
	c.Load.Bounds.MaxConcurrency = cmp.Or(r.Concurrency, c.Load.Bounds.MaxConcurrency)
	switch {
	case !c.Load.Open():
		c.Load.Process = ""
	case c.Load.Process == "":
		c.Load.Process = "poisson"
	}
	if r.Generation != "" {
		c.Generation = workload.Generation{Preset: r.Generation}
	}
	bound(&c, r, whole)
	return &c
}

// bound gives a row its length and its warm-up. A trace that comes as it was
// recorded has both of its own, unless the row says otherwise.
func bound(c *config.Config, r config.Row, whole *config.Config) {
	b, open := &c.Load.Bounds, r.Duration == 0 && r.Requests == 0
	if open && c.Recorded() {
		return
	}
	b.TotalRequests, b.Duration = fewer(whole, r.Requests), r.Duration
	if open {
		b.Duration = Length
	}
	b.Duration = Scale(whole, b.Duration)
	if b.Warmup == nil && !c.Recorded() {
		b.Warmup = new(Scale(whole, Warmup))
	}
}

const (
	// Length is how long a row is measured: the shortest that is no probe.
	Length = time.Minute
	// Warmup is what a change of shape needs to settle on a warm server.
	Warmup = 10 * time.Second
	// shortest is what scaling leaves of any stage.
	shortest = 100 * time.Millisecond
)

// Scale is a length by the plan's factor; none stays none.
func Scale(c *config.Config, d time.Duration) time.Duration {
	if s := c.Experiment.Scale; s > 0 && s < 1 && d > 0 {
		return max(time.Duration(float64(d)*s), min(shortest, d)).Round(time.Millisecond)
	}
	return d
}

// fewer is a number of requests by the plan's factor: of several at least two,
// so that there is something to compare.
func fewer(c *config.Config, requests int) int {
	if s := c.Experiment.Scale; s > 0 && s < 1 && requests > 2 {
		return max(2, int(float64(requests)*s))
	}
	return requests
}
