package peer

import (
	"bytes"
	"encoding/csv"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"redline/internal/drive/table"
	"redline/internal/text"
)

// nvidiaFigure is one metric of the tables.
type nvidiaFigure struct {
	tag, title, unit string
	of               func(*Run) table.Series // nil for one that is a single number
	single           func(*Run) float64
}

func milliseconds(of func(*table.Request) (float64, bool)) func(*Run) table.Series {
	return func(r *Run) table.Series { return r.Each(of).Times(1000) }
}

var nvidiaFigures = []nvidiaFigure{
	{"time_to_first_token", "Time to First Token", "ms", milliseconds(ttft), nil},
	{"time_to_second_token", "Time to Second Token", "ms", milliseconds(func(q *table.Request) (float64, bool) {
		if len(q.Gaps) == 0 {
			return 0, false
		}
		return q.Gaps[0], true
	}), nil},
	{"request_latency", "Request Latency", "ms", milliseconds(latency), nil},
	{"inter_token_latency", "Inter Token Latency", "ms", milliseconds(tpot), nil},
	{"output_token_throughput_per_user", "Output Token Throughput Per User", "tokens/sec/user",
		func(r *Run) table.Series {
			return r.Each(func(q *table.Request) (float64, bool) { return 1 / q.TPOT(), q.Out > 1 && q.TPOT() > 0 })
		}, nil},
	{"output_sequence_length", "Output Sequence Length", "tokens", func(r *Run) table.Series { return r.Each(outputs) }, nil},
	{"input_sequence_length", "Input Sequence Length", "tokens", func(r *Run) table.Series { return r.Each(inputs) }, nil},
	{"output_token_throughput", "Output Token Throughput", "tokens/sec", nil, func(r *Run) float64 { return r.Each(outputs).Sum() / r.span() }},
	{"request_throughput", "Request Throughput", "requests/sec", nil, func(r *Run) float64 { return float64(len(r.Each(latency))) / r.span() }},
	{"request_count", "Request Count", "requests", nil, func(r *Run) float64 { return float64(len(r.Each(latency))) }},
}

// nvidiaShown are the figures of a command line: with goodput where limits are given.
func nvidiaShown(v *Values) []nvidiaFigure {
	limits := v.limits()
	if limits == nil {
		return nvidiaFigures
	}
	good := nvidiaFigure{"goodput", "Goodput", "requests/sec", nil, func(r *Run) float64 { return float64(nvidiaGood(r, limits)) / r.span() }}
	return append(slices.Clone(nvidiaFigures), good)
}

// limits are those of --goodput: the figure, and the most that it may be, or of a
// throughput the least.
func (v *Values) limits() map[*nvidiaFigure]float64 {
	if !v.Given("goodput") {
		return nil
	}
	limits := map[*nvidiaFigure]float64{}
	for _, pair := range strings.Fields(strings.Join(v.list("goodput"), " ")) {
		tag, said, _ := strings.Cut(pair, ":")
		limit, err := strconv.ParseFloat(said, 64)
		i := slices.IndexFunc(nvidiaFigures, func(f nvidiaFigure) bool { return f.tag == tag && f.of != nil })
		if err != nil || i < 0 {
			v.fail("goodput", "limits such as time_to_first_token:200 request_latency:3000")
			return nil
		}
		limits[&nvidiaFigures[i]] = limit
	}
	return limits
}

// nvidiaGood counts the requests that keep all limits.
func nvidiaGood(r *Run, limits map[*nvidiaFigure]float64) int {
	n := 0
	for q := range r.OK() {
		keeps, alone := true, &Run{Run: &table.Run{Requests: []table.Request{*q}}}
		for f, limit := range limits {
			value := f.of(alone)
			keeps = keeps && len(value) == 1 && (value[0] <= limit || f.unit == "tokens/sec/user") && (value[0] >= limit || f.unit != "tokens/sec/user")
		}
		if keeps {
			n++
		}
	}
	return n
}

// span is the time from the first request to the end of the last reply that
// succeeded, by which AIPerf divides.
func (r *Run) span() float64 {
	first, last := math.Inf(1), 0.0
	for q := range r.OK() {
		first, last = min(first, q.Start), max(last, q.Start+q.Latency)
	}
	if last <= first {
		return math.Inf(1)
	}
	return last - first
}

// nvidiaTable is a table as the Rich library draws it.
func nvidiaTable(title, first string, stats []string, figures []nvidiaFigure, r *Run) string {
	rows := [][]string{append([]string{first}, stats...)}
	for _, f := range figures {
		cells := []string{f.title + " (" + f.unit + ")"}
		if f.of == nil {
			cells = append(cells, text.FixedNumber(f.single(r), 2))
			for range stats[1:] {
				cells = append(cells, "N/A")
			}
		} else {
			s := f.of(r)
			if len(s) == 0 {
				continue
			}
			for _, stat := range stats {
				cells = append(cells, text.FixedNumber(nvidiaStat(s, stat), 2))
			}
		}
		rows = append(rows, cells)
	}
	return drawBox(title, rows)
}

// nvidiaStat is a statistic by its name.
func nvidiaStat(s table.Series, name string) float64 {
	switch name {
	case "avg":
		return s.Mean()
	case "min":
		return s.Min()
	case "max":
		return s.Max()
	case "std":
		return s.Deviation(0)
	case "sum":
		return s.Sum()
	}
	percent, _ := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
	return s.At(percent)
}

// drawBox draws a table with a heavy head.
func drawBox(title string, rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	rule := func(left, mid, right, line string) string {
		parts := make([]string, len(widths))
		for i, w := range widths {
			parts[i] = strings.Repeat(line, w+2)
		}
		return left + strings.Join(parts, mid) + right + "\n"
	}
	cells := func(edge string, list []string) string {
		var b strings.Builder
		for i, c := range list {
			b.WriteString(edge + strings.Repeat(" ", 1+widths[i]-utf8.RuneCountInString(c)) + c + " ")
		}
		return b.String() + edge + "\n"
	}
	top := rule("┏", "┳", "┓", "━")
	indent := max(0, (utf8.RuneCountInString(top)-1-utf8.RuneCountInString(title))/2)
	out := strings.Repeat(" ", indent) + title + "\n" + top + cells("┃", rows[0]) + rule("┡", "╇", "┩", "━")
	for _, r := range rows[1:] {
		out += cells("│", r)
	}
	return out + rule("└", "┴", "┘", "─")
}

// nvidiaStats are the statistics of a JSON export, in its order.
var nvidiaStats = []string{"avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std"}

// nvidiaBlock is a metric in a JSON export.
func nvidiaBlock(f nvidiaFigure, r *Run) *object {
	o := &object{}
	o.put("unit", f.unit)
	if f.of == nil {
		o.put("avg", orNull(f.single(r)))
		return o
	}
	s := f.of(r)
	if len(s) == 0 {
		return nil
	}
	for _, stat := range nvidiaStats {
		o.put(stat, nvidiaStat(s, stat))
	}
	o.put("count", len(s))
	o.put("sum", s.Sum())
	return o
}

// nvidiaCSV is the CSV export: a row for each metric.
func nvidiaCSV(figures []nvidiaFigure, r *Run) ([]byte, error) {
	stats := []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}
	rows := [][]string{append([]string{"Metric"}, stats...)}
	for _, f := range slices.DeleteFunc(slices.Clone(figures), func(f nvidiaFigure) bool { return f.of == nil || len(f.of(r)) == 0 }) {
		cells := []string{f.title + " (" + f.unit + ")"}
		for _, stat := range stats {
			cells = append(cells, strconv.FormatFloat(nvidiaStat(f.of(r), stat), 'f', 2, 64))
		}
		rows = append(rows, cells)
	}
	rows = append(rows, nil, []string{"Metric", "Value"})
	for _, f := range figures {
		if f.of == nil {
			rows = append(rows, []string{f.title + " (" + f.unit + ")", strconv.FormatFloat(f.single(r), 'f', 2, 64)})
		}
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

// nvidiaDir is where artifacts go: a directory for each load.
func nvidiaDir(v *Values, r *Run) string {
	if v.Given("artifact-dir") {
		return filepath.Join(v.text("artifact-dir"), r.Plan.part)
	}
	by, load := r.Plan.load()
	name := map[string]string{"concurrency": "concurrency", "rate": "request_rate"}[by]
	return filepath.Join(v.text("artifact-dir"), strings.ReplaceAll(r.Model, "/", "_")+"-openai-"+v.text("endpoint-type")+"-"+name+load, r.Plan.part)
}
