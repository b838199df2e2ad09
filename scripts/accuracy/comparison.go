//go:build unix

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/run/store"
	"redline/internal/stats"
	"redline/scripts/truth"
)

// comparison holds what redline says and what was so.
type comparison struct {
	trial    trial
	others   string // share of the machine that bystanders took
	reported result.Point
	valid    string
	reasons  []string

	ttft, tpot, gaps []float64 // true, ms
	errors           []float64 // of stamps that are not coalesced, µs
	events           int
	shared           int // coalesced
}

// join lays the records beside the truth.
func join(out string, lines []truth.Line) (*comparison, error) {
	dir, err := store.Open(out)
	if err != nil {
		return nil, err
	}
	res, err := dir.Result()
	if err != nil {
		return nil, err
	}
	if len(res.Points) == 0 {
		return nil, errors.New("nothing was measured")
	}
	c := &comparison{reported: res.Points[0], valid: string(res.Verdict.Valid), reasons: res.Verdict.Reasons}
	if err := truth.Join(dir, lines, c.add); err != nil {
		return nil, err
	}
	return c, c.finish()
}

// add takes in one request that both sides know.
func (c *comparison) add(r *record.Record, line truth.Line, origin int64) {
	if r.Phase == record.Measure {
		c.ttft = append(c.ttft, float64(line.Before[0]-origin-r.Sent)/1e6)
		c.tpot = append(c.tpot, line.TPOT())
	}
	start, end := int64(c.reported.Window.StartS*1e9), int64(c.reported.Window.EndS*1e9)
	for i, gap := range line.Gaps() {
		if at := line.Before[i+1] - origin; at >= start && at < end {
			c.gaps = append(c.gaps, gap)
		}
	}
	var times []int64
	for at := range r.Chunks() {
		times = append(times, at)
	}
	for i, at := range times {
		c.events++
		// Of events that share a stamp, it is the last one's.
		if i+1 < len(times) && times[i+1] == at {
			c.shared++
			continue
		}
		low, high := line.Before[i]-origin, line.After[i]-origin
		// Stamps are kept in whole microseconds.
		c.errors = append(c.errors, math.Max(0, float64(max(low-at-500, at-high-500)))/1e3)
	}
}

func (c *comparison) finish() error {
	l := c.reported.Latency
	if len(c.errors) == 0 || len(c.gaps) == 0 || len(c.ttft) == 0 || l.TPOT == nil || l.TTFT == nil || l.ITL == nil {
		return errors.New("nothing to compare: not one request streamed to its end in the window")
	}
	for _, values := range [][]float64{c.ttft, c.tpot, c.gaps, c.errors} {
		slices.Sort(values)
	}
	return nil
}

// figure is one number that redline reports, and the truth.
type figure struct {
	name      string
	got, want float64
	firm      bool
}

func (f figure) off() float64 { return 100 * math.Abs(f.got-f.want) / f.want }

func (c *comparison) figures() []figure {
	l := c.reported.Latency
	var all []figure
	for _, m := range []struct {
		name string
		got  *metric.Dist
		want []float64
	}{{"ttft", l.TTFT, c.ttft}, {"tpot", l.TPOT, c.tpot}, {"itl", l.ITL, c.gaps}} {
		for _, p := range []struct {
			key   string
			share float64
		}{{"p50", 0.5}, {"p99", 0.99}} {
			all = append(all, figure{m.name + " " + p.key, m.got.P[p.key], stats.Quantile(m.want, p.share), m.got.IsFirm(p.key)})
		}
	}
	return all
}

func (c *comparison) coalesced() float64 { return 100 * float64(c.shared) / float64(c.events) }

// stampTable shows how far stamps are from the writes, a row for each trial.
func stampTable(b *strings.Builder, all []*comparison) {
	b.WriteString("\n| tokens/s | cores | others | served, tokens/s | events | coalesced | stamp error p50, µs | p99 | max | run valid |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		valid := c.valid
		if len(c.reasons) > 0 {
			valid += ": " + strings.Join(c.reasons, "; ")
		}
		fmt.Fprintf(b, "| %s | %s | %s | %.0f | %d | %.2f %% | %.1f | %.1f | %.0f | %s |\n", c.trial.title, c.trial.cores(), c.others,
			c.reported.Throughput.Output, c.events, c.coalesced(),
			stats.Quantile(c.errors, 0.5), stats.Quantile(c.errors, 0.99), c.errors[len(c.errors)-1], valid)
	}
}

// figureTable shows what redline reports beside the truth.
func figureTable(b *strings.Builder, all []*comparison) {
	b.WriteString("\n| tokens/s | cores | figure | redline | truth | ± | firm |\n|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		for _, f := range c.figures() {
			firm := "no"
			if f.firm {
				firm = "yes"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %.3f | %.3f | %.2f %% | %s |\n", c.trial.title, c.trial.cores(), f.name, f.got, f.want, f.off(), firm)
		}
	}
}

// wrongAndFirm lists the figures that are off by more than the bound, in per
// cent, although redline says that they can be relied on.
func wrongAndFirm(all []*comparison, bound float64) []string {
	var found []string
	for _, c := range all {
		for _, f := range c.figures() {
			if f.firm && f.off() > bound {
				found = append(found, fmt.Sprintf("%s at %s, %s cores", f.name, c.trial.title, c.trial.cores()))
			}
		}
	}
	return found
}

// table shows one trial by itself.
func (c *comparison) table(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n| figure | redline | truth | ± |\n|---|---|---|---|\n", c.trial.title)
	for _, f := range c.figures() {
		fmt.Fprintf(b, "| %s | %.3f | %.3f | %.2f %% |\n", f.name, f.got, f.want, f.off())
	}
	fmt.Fprintf(b, "\nOthers: %s. %d events, %.2f %% coalesced. Error of the other stamps, µs outside the server's write: p50 %.1f, p99 %.1f, max %.0f.\n",
		c.others, c.events, c.coalesced(), stats.Quantile(c.errors, 0.5), stats.Quantile(c.errors, 0.99), c.errors[len(c.errors)-1])
}
