package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// Column is one column of the table of points. Names are stable: columns are
// added at the end and never change their meaning.
type Column struct {
	Name  string
	Means string
	of    func(*result.Result, int) string
}

// Columns lists the columns of the CSV format in their order. What is not
// known is empty.
var Columns = columns()

func columns() []Column {
	list := []Column{
		{"run", "id of the run", func(r *result.Result, _ int) string { return csvText(r.ID) }},
		{"point", "number of the point in the result, from 0", func(_ *result.Result, i int) string { return strconv.Itoa(i) }},
		of("name", "name of the stage, where there are several", func(p *result.Point) string { return csvText(p.Name) }),
		{"sustained", "true for the sustained run at the limit", func(r *result.Result, i int) string { return strconv.FormatBool(i == sustained(r)) }},
		of("probe", "true where the window lasted under a minute", func(p *result.Point) string { return strconv.FormatBool(isProbe(p)) }),
		of("mode", "open, closed or capped", func(p *result.Point) string { return csvText(p.Load.Mode) }),
		of("rate", "requests per second asked for", func(p *result.Point) string { return optional(p.Load.Rate) }),
		of("concurrency", "requests in flight asked for", concurrencyText),
		of("window_s", "length of the measured window, seconds", func(p *result.Point) string { return number(windowLength(p)) }),
		of("steady", "whether the window was steady", func(p *result.Point) string { return truth(p.Window.Steady) }),
		of("overload", "whether the queue grew over the window", func(p *result.Point) string { return truth(p.Window.Overload) }),
	}
	list = append(list, requestColumns()...)
	list = append(list, rateColumns()...)
	for _, row := range latencyRows {
		for _, key := range []string{"p50", "p90", "p95", "p99"} {
			list = append(list, latencyColumn(row, key))
		}
		list = append(list, boundColumn(row, 0, "low"), boundColumn(row, 1, "high"))
	}
	list = append(list,
		of("objectives", "met, missed, undecided, or none without objectives", objectivesText),
		of("predicted_tpot_ms", "time per token that the hardware allows, ms", func(p *result.Point) string {
			return predictedOf(p, func(a *result.Prediction) *result.Agreement { return a.TPOT })
		}),
		of("predicted_ttft_ms", "time to first token that the hardware allows, ms", func(p *result.Point) string {
			return predictedOf(p, func(a *result.Prediction) *result.Agreement { return a.TTFT })
		}),
		of("kv_peak_mb", "largest key-value cache by arithmetic, MB", func(p *result.Point) string { return ofBlock(p.KV, func(k *result.KV) float64 { return k.PeakMB }) }),
		of("cost_per_request", "dollars for each ok request", func(p *result.Point) string {
			return ofBlock(p.Cost, func(c *result.Cost) float64 { return c.PerRequest })
		}),
		of("cost_per_1m_output_tokens", "dollars for a million output tokens", func(p *result.Point) string {
			if p.Cost == nil || p.Cost.Per1mOutput == 0 {
				return ""
			}
			return number(p.Cost.Per1mOutput)
		}),
		ofGauge("accelerator_busy", "share of time in which the accelerators ran a kernel", func(u *telemetry.AcceleratorUse) *telemetry.Gauge { return u.Utilization }),
		ofGauge("accelerator_dram_active", "share of cycles in which their memory moved data", func(u *telemetry.AcceleratorUse) *telemetry.Gauge { return u.DRAMActive }),
		ofGauge("accelerator_watts", "power of all accelerators together", func(u *telemetry.AcceleratorUse) *telemetry.Gauge { return u.Watts }),
		of("joules_per_output_token", "energy of the accelerators for each output token", func(p *result.Point) string {
			if p.Accelerator == nil {
				return ""
			}
			return optional(p.Accelerator.JoulesPerOutputToken)
		}),
		of("cost_per_1k_tokens", "dollars for a thousand prompt and output tokens", func(p *result.Point) string {
			return ofBlock(p.Cost, func(c *result.Cost) float64 { return c.Per1kTokens })
		}),
		of("cost_per_1m_accepted_tokens", "dollars for a million output tokens of requests that met every objective", acceptedCost),
		of("planned_cost_per_1m_output_tokens", "dollars for a million output tokens at the planned utilisation", plannedCost),
	)
	list = append(list, qualityColumns()...)
	return append(list, of("invalid", "why the figures are not valid, empty where they are", func(p *result.Point) string { return csvText(p.Invalid) }),
		of("ended_rate", "requests that ended ok within the window per second", func(p *result.Point) string { return number(p.Rates.Ended) }))
}

func acceptedCost(p *result.Point) string {
	if p.Cost == nil {
		return ""
	}
	return optional(p.Cost.Per1mAccepted)
}

func plannedCost(p *result.Point) string {
	if p.Cost == nil || p.Cost.Planned == nil || p.Cost.Planned.Per1mOutput == 0 {
		return ""
	}
	return number(p.Cost.Planned.Per1mOutput)
}

// ofGauge is the mean of a gauge of the accelerators.
func ofGauge(name, means string, gauge func(*telemetry.AcceleratorUse) *telemetry.Gauge) Column {
	return of(name, means, func(p *result.Point) string {
		if p.Accelerator == nil || gauge(p.Accelerator) == nil {
			return ""
		}
		return number(gauge(p.Accelerator).Mean)
	})
}

func requestColumns() []Column {
	counted := func(name, means string, n func(metric.Requests) int) Column {
		return of(name, means, func(p *result.Point) string { return strconv.Itoa(n(p.Requests)) })
	}
	return []Column{
		counted("due", "requests due in the window", func(r metric.Requests) int { return r.Due }),
		counted("ok", "of them, answered in full", func(r metric.Requests) int { return r.OK }),
		counted("failed", "of them, failed", func(r metric.Requests) int { return r.Failed }),
		counted("rejected", "of them, refused with 429 or 503", func(r metric.Requests) int { return r.Rejected }),
		counted("cancelled", "of them, cancelled by the user", func(r metric.Requests) int { return r.Cancelled }),
		counted("censored", "of them, still running when the drain ended", func(r metric.Requests) int { return r.Censored }),
		counted("unsent", "of them, never begun", func(r metric.Requests) int { return r.Unsent }),
	}
}

func rateColumns() []Column {
	rate := func(name, means string, v func(*result.Point) float64) Column {
		return of(name, means, func(p *result.Point) string { return number(v(p)) })
	}
	return []Column{
		rate("offered_rate", "requests due per second", func(p *result.Point) float64 { return p.Rates.Offered }),
		rate("sent_rate", "requests sent per second", func(p *result.Point) float64 { return p.Rates.Sent }),
		rate("completed_rate", "requests completed per second", func(p *result.Point) float64 { return p.Rates.Completed }),
		of("goodput", "requests per second that met every objective", func(p *result.Point) string {
			return ofBlock(p.Goodput, func(g *metric.Goodput) float64 { return g.Requests })
		}),
		of("good_fraction", "share of due that met every objective", func(p *result.Point) string {
			return ofBlock(p.Goodput, func(g *metric.Goodput) float64 { return g.Fraction })
		}),
		rate("output_tokens_per_s", "output tokens per second", func(p *result.Point) float64 { return p.Throughput.Output }),
		rate("prompt_tokens_per_s", "uncached prompt tokens per second", func(p *result.Point) float64 { return p.Throughput.Prompt }),
		rate("in_flight_mean", "mean requests in flight", func(p *result.Point) float64 { return p.Concurrency.Mean }),
		rate("in_flight_max", "most requests in flight", func(p *result.Point) float64 { return float64(p.Concurrency.Max) }),
	}
}

// latencyColumn puts the percentile before the unit: ttft_due_p99_ms.
func latencyColumn(row latencyRow, key string) Column {
	name := strings.TrimSuffix(row.key, "_ms") + "_" + key
	return of(name+"_ms", percentileName(key)+" of "+row.name+", ms", func(p *result.Point) string {
		if v, ok := percentile(row.dist(&p.Latency), key); ok {
			return number(v)
		}
		return ""
	})
}

func boundColumn(row latencyRow, end int, side string) Column {
	name := strings.TrimSuffix(row.key, "_ms") + "_p99_" + side + "_ms"
	return of(name, side+" end of the 95% interval of the p99 of "+row.name+", ms", func(p *result.Point) string {
		d := row.dist(&p.Latency)
		if d == nil {
			return ""
		}
		ci, drawn := d.CI["p99"]
		if !drawn {
			return ""
		}
		return number(ci[end])
	})
}

func of(name, means string, value func(*result.Point) string) Column {
	return Column{name, means, func(r *result.Result, i int) string { return value(&r.Points[i]) }}
}

// ofBlock is a figure of a block that may be absent.
func ofBlock[T any](block *T, v func(*T) float64) string {
	if block == nil {
		return ""
	}
	return number(v(block))
}

func concurrencyText(p *result.Point) string {
	if p.Load.Concurrency == nil {
		return ""
	}
	return strconv.Itoa(*p.Load.Concurrency)
}

func objectivesText(p *result.Point) string {
	if len(p.Objectives) == 0 {
		return "none"
	}
	return string(slo.Overall(p.Objectives))
}

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}

func truth(v *bool) string {
	if v == nil {
		return ""
	}
	return strconv.FormatBool(*v)
}

// number writes every digit that tells a value from its neighbours.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return text.Plain(v)
}

// csvText is a name from outside. A spreadsheet takes one that begins like a
// formula for a formula, so that is quoted.
func csvText(s string) string {
	if s = clean(s); s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// CSV writes one row for each point under a row of column names.
func CSV(w io.Writer, r *result.Result) error {
	if r == nil {
		return errNoResult
	}
	var out bytes.Buffer
	writer := csv.NewWriter(&out)
	row := make([]string, len(Columns))
	for j, c := range Columns {
		row[j] = c.Name
	}
	rows := [][]string{row}
	for i := range r.Points {
		row := make([]string, len(Columns))
		for j, c := range Columns {
			row[j] = c.of(r, i)
		}
		rows = append(rows, row)
	}
	if err := writer.WriteAll(rows); err != nil {
		return fmt.Errorf("report: write result %q as CSV: %w", r.ID, err)
	}
	_, err := w.Write(out.Bytes())
	return err
}
