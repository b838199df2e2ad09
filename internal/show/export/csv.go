package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/show/report"
	"redline/internal/text"
)

// Column is one column of the table of points. Names are stable: columns are
// added at the end and never change their meaning.
type Column struct {
	Name   string
	Means  string
	of     func(*result.Result, int) string
	figure *fig.Figure // nil where it is none
}

// help says what a column means and in which unit, to a reader who sees it alone.
func (c *Column) help() string {
	switch {
	case c.figure == nil:
		return c.Means
	case c.figure.Spread(): // its unit is in what it means
		return strings.TrimSuffix(c.Means+": "+c.figure.Formula+"; "+c.figure.Note, "; ")
	case c.figure.Unit == fig.Fraction:
		return c.Means + ", 0 to 1"
	}
	return c.Means + ", " + string(c.figure.Unit)
}

// Columns lists the columns of the CSV format in their order. What is not
// known is empty.
func Columns() []Column {
	list := []Column{
		all("run", "id of the run", func(r *result.Result, _ int) string { return CSVText(r.ID) }),
		all("point", "number of the point in the result, from 0", func(_ *result.Result, i int) string { return strconv.Itoa(i) }),
		at("name", "name of the stage, where there are several", "name"),
		all("sustained", "true for the sustained run at the limit", func(r *result.Result, i int) string { return strconv.FormatBool(i == report.SustainedPoint(r)) }),
		of("probe", "true where the window lasted under a minute", func(p *result.Point) string { return strconv.FormatBool(report.Exploratory(p)) }),
		at("mode", "open, closed or capped, or not known of an imported run", "load.mode"),
		at("rate", "requests per second asked for", "load.rate"),
		at("concurrency", "requests in flight asked for", "load.concurrency"),
		of("window_s", "length of the measured window, seconds", func(p *result.Point) string { return number(p.Window.Seconds()) }),
		at("steady", "whether the window was steady", "window.steady"),
		at("overload", "whether the queue grew over the window", "window.overload"),
		at("due", "requests due in the window", "requests.due"),
	}
	for _, c := range []*llm.Count{llm.OKs, llm.Failures, llm.Rejections, llm.Cancellations, llm.Cutoffs, llm.Omissions} {
		list = append(list, countColumn(c))
	}
	list = append(list, figureColumns("offered_rate", "sent_rate", "completed_rate", "goodput", "good_fraction", "output_tokens_per_s",
		"prompt_tokens_per_s", "in_flight_mean")...)
	list = append(list, at("in_flight_max", "most requests in flight", "concurrency.max"))
	list = append(list, figureColumns("ttft_due", "ttft", "ttfa", "tpot", "itl", "icl", "stall", "e2e_due", "e2e", "slot_wait")...)
	list = append(list,
		of("objectives", "met, missed, undecided, or none without objectives", func(p *result.Point) string { return string(slo.Overall(p.Objectives)) }),
		at("predicted_tpot_ms", "time per token that the hardware allows, ms", "prediction.tpot_ms.predicted"),
		at("predicted_ttft_ms", "time to first token that the hardware allows, ms", "prediction.ttft_ms.predicted"))
	list = append(list, figureColumns("kv_peak_mb", "cost_per_request", "cost_per_1m_output_tokens")...)
	list = append(list,
		at("accelerator_busy", "share of time in which the accelerators ran a kernel, 0 to 1", "accelerator.utilization.mean"),
		at("accelerator_dram_active", "share of cycles in which the accelerators' memory moved data, 0 to 1", "accelerator.dram_active.mean"),
		at("accelerator_watts", "power of all accelerators together, watts", "accelerator.watts.mean"))
	list = append(list, figureColumns("joules_per_output_token", "cost_per_1k_tokens", "cost_per_1m_accepted_tokens")...)
	list = append(list, at("planned_cost_per_1m_output_tokens", "dollars for a million output tokens at the planned utilization", "cost.planned.cost_per_1m_output_tokens"))
	list = append(list, qualityColumns()...)
	list = append(list, at("invalid", "why the figures are not valid, empty where they are", "invalid"))
	list = append(list, figureColumns("ended_rate")...)
	for _, f := range fig.All { // those that came later
		added := figureColumns(f.Key)
		if f.Can(fig.Export) && !slices.ContainsFunc(list, func(c Column) bool { return c.Name == added[0].Name }) {
			list = append(list, added...)
		}
	}
	for _, c := range llm.Counts() {
		if !slices.ContainsFunc(list, func(known Column) bool { return known.Name == c.Name }) {
			list = append(list, countColumn(c))
		}
	}
	return list
}

// countColumn is the number of requests that ended in one way.
func countColumn(c *llm.Count) Column {
	return of(c.Name, "requests due in the window that "+c.Means, func(p *result.Point) string { return strconv.Itoa(p.Requests.Of(c)) })
}

// qualityColumns are the scores of a point's phases.
func qualityColumns() []Column {
	scored := func(name, phase, means string) Column {
		return of(name, means, func(p *result.Point) string {
			if one := p.Quality.Phase(phase); one != nil && one.Score != nil {
				return number(*one.Score)
			}
			return ""
		})
	}
	return []Column{
		scored("quality_alone", result.Alone, "share of golden questions answered rightly before the load, 0 to 1"),
		scored("quality_under_load", result.UnderLoad, "share of golden questions answered rightly beside the load, 0 to 1"),
		scored("quality_after", result.After, "share of golden questions answered rightly after the load, 0 to 1"),
		of("structured_validity", "least share, over the phases, of answers that keep their JSON Schema, 0 to 1", func(p *result.Point) string {
			if p.Quality == nil {
				return ""
			}
			worst := report.WorstShare(p.Quality, func(q *result.QualityPhase) *result.QualityShare { return q.Structured })
			if worst == nil {
				return ""
			}
			return number(worst.Share)
		}),
	}
}

// at is what the document has of a point at a place.
func at(name, means, place string) Column {
	return of(name, means, func(p *result.Point) string {
		switch v := fig.At(p, place).(type) {
		case string:
			return CSVText(v)
		case float64:
			return number(v)
		case int, bool:
			return fmt.Sprint(v)
		}
		return ""
	})
}

// figureColumns are those of figures by their keys. A distribution has four
// percentiles and the interval of the last.
func figureColumns(keys ...string) []Column {
	var list []Column
	for _, key := range keys {
		f, _ := fig.Find(key)
		if !f.Spread() {
			list = append(list, Column{Name: key, Means: f.Formula, figure: f, of: func(r *result.Result, i int) string {
				v, ok := fig.Statistic{Figure: f, Stat: f.Stat}.Read(&r.Points[i], r)
				return numberOrEmpty(v, ok)
			}})
			continue
		}
		for _, stat := range []string{"p50", "p90", "p95", "p99"} {
			list = append(list, distColumn(f, stat, stat+" of ", func(d *metric.Dist) (float64, bool) { return d.Statistic(stat) }))
		}
		for end, side := range []string{"low", "high"} {
			list = append(list, distColumn(f, "p99_"+side, side+" end of the 95% interval of the p99 of ", func(d *metric.Dist) (float64, bool) {
				ci, drawn := d.CI["p99"]
				return ci[end], drawn
			}))
		}
	}
	return list
}

// distColumn puts the statistic before the unit: ttft_due_p99_ms.
func distColumn(f *fig.Figure, stat, means string, read func(*metric.Dist) (float64, bool)) Column {
	name := f.Key + "_" + stat
	if f.Unit == fig.Milliseconds {
		name += "_ms"
	}
	c := of(name, means+f.Title+", "+string(f.Unit), func(p *result.Point) string {
		d, measured := f.Own(p).(*metric.Dist)
		if !measured {
			return ""
		}
		v, ok := read(d)
		return numberOrEmpty(v, ok)
	})
	c.figure = f
	return c
}

func numberOrEmpty(v float64, ok bool) string {
	if !ok {
		return ""
	}
	return number(v)
}

// all is a column of the whole result, of one of its points.
func all(name, means string, value func(*result.Result, int) string) Column {
	return Column{Name: name, Means: means, of: value}
}

func of(name, means string, value func(*result.Point) string) Column {
	return all(name, means, func(r *result.Result, i int) string { return value(&r.Points[i]) })
}

// number writes every digit that tells a value from its neighbors.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return text.Plain(v)
}

// CSVText is a name from outside. A spreadsheet takes one that begins like a
// formula for a formula, so that is quoted.
func CSVText(s string) string {
	if s = text.Line(s); s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// CSV writes one row for each point under a row of column names.
func CSV(w io.Writer, r *result.Result) error {
	if r == nil {
		return report.ErrNoResult
	}
	var out bytes.Buffer
	writer := csv.NewWriter(&out)
	columns, rows := Columns(), make([][]string, 1+len(r.Points))
	for _, c := range columns {
		rows[0] = append(rows[0], c.Name)
		for i := range r.Points {
			rows[1+i] = append(rows[1+i], c.of(r, i))
		}
	}
	if err := writer.WriteAll(rows); err != nil {
		return fmt.Errorf("write result %q as CSV: %w", r.ID, err)
	}
	_, err := w.Write(out.Bytes())
	return err
}
