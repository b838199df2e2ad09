package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"redline/internal/drive/record"
	"redline/internal/drive/table"
	"redline/internal/exposition"
	"redline/internal/judge/result"
	"redline/internal/show/gauge"
	"redline/internal/show/parquet"
)

// requestColumn is one column of the table of requests; ok is false where a
// request does not have it.
type requestColumn struct {
	name string
	of   func(request) (value any, ok bool)
}

// request is one of a run, which may be a stage of an experiment.
type request struct {
	*table.Request
	run *table.Run
}

// requestColumns are in a fixed order. New ones come at the end, those of a record
// by themselves.
func requestColumns() []requestColumn {
	list := []requestColumn{own("id"), own("session"), own("turn"), own("class"), own("outcome"), own("status"),
		{"due_s", func(q request) (any, bool) { return q.Due, true }},
		{"start_s", func(q request) (any, bool) { return q.Start, true }},
		latency("slot_wait"), latency("ttft"), latency("tpot"),
		latency("itl_p50"), latency("itl_p95"), latency("itl_p99"), latency("itl_max"),
		latency("e2e"),
		{"prompt_tokens", func(q request) (any, bool) { return q.In, true }},
		own("cached_tokens"), own("output_tokens"), own("reasoning_tokens"),
		{"error", func(q request) (any, bool) { return q.Error, !q.OK && q.Error != "" }},
		own("kv_bytes"),
		latency("ttft_due"), latency("ttfa"), latency("stall"), latency("e2e_due"), latency("decode"), latency("lag"), latency("connect"), latency("tls"),
		{"stage", func(q request) (any, bool) { return q.run.Stage, q.run.Stage != "" }},
		{"rate", func(q request) (any, bool) { return q.run.Rate, q.run.Rate > 0 }},
		{"concurrency", func(q request) (any, bool) { return q.run.MaxInFlight, q.run.MaxInFlight > 0 }},
	}
	for _, c := range record.Columns {
		if c.Has(record.Export) && !slices.ContainsFunc(list, func(of requestColumn) bool { return of.name == c.Key }) {
			list = append(list, own(c.Key))
		}
	}
	return list
}

// own is a column of the record.
func own(key string) requestColumn {
	i := slices.IndexFunc(record.Columns, func(c record.Column) bool { return c.Key == key })
	return requestColumn{key, func(q request) (any, bool) { return record.Columns[i].Value(q.Record) }}
}

// requestsOf are the requests of all runs, one run after another.
func requestsOf(runs []*table.Run) (list []request) {
	for _, r := range runs {
		for i := range r.Requests {
			list = append(list, request{&r.Requests[i], r})
		}
	}
	return list
}

// latency is the column of a latency by its name.
func latency(name string) requestColumn {
	return requestColumn{name + "_ms", func(q request) (any, bool) { ms, ok := q.MS[name]; return ms, ok }}
}

// RequestsCSV writes a row for each measured request. What is not known is empty.
func RequestsCSV(w io.Writer, runs []*table.Run) error {
	columns, rows := requestColumns(), [][]string{nil}
	for _, c := range columns {
		rows[0] = append(rows[0], c.name)
	}
	for _, q := range requestsOf(runs) {
		var cells []string
		for _, c := range columns {
			cells = append(cells, cell(c.of(q)))
		}
		rows = append(rows, cells)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func cell(value any, ok bool) string {
	if !ok {
		return ""
	}
	switch v := value.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		return CSVText(v)
	}
	return fmt.Sprint(value)
}

// RequestsParquet writes the same table as Parquet: a column of one type for each
// figure, null where it is not known.
func RequestsParquet(w io.Writer, runs []*table.Run) error {
	var columns []parquet.Column
	rows := requestsOf(runs)
	for _, c := range requestColumns() {
		columns = append(columns, parquet.Column{Name: c.name, Of: func(row int) (any, bool) {
			if row < 0 {
				return c.of(request{&table.Request{Record: &record.Record{}}, &table.Run{}})
			}
			return c.of(rows[row])
		}})
	}
	return parquet.Write(w, len(rows), columns)
}

// RequestsJSONL writes an object for each measured request; what is not known has
// no key.
func RequestsJSONL(w io.Writer, runs []*table.Run) error {
	var out bytes.Buffer
	columns := requestColumns()
	for _, q := range requestsOf(runs) {
		out.WriteByte('{')
		for j, c := range columns {
			value, ok := c.of(q)
			if !ok {
				continue
			}
			said, err := json.Marshal(value)
			if err != nil {
				return err
			}
			if j > 0 {
				out.WriteByte(',')
			}
			fmt.Fprintf(&out, "%q:%s", c.name, said)
		}
		out.WriteString("}\n")
	}
	_, err := w.Write(out.Bytes())
	return err
}

// Prometheus writes every figure of a result as a gauge, for a node exporter's
// text file or a push gateway.
func Prometheus(w io.Writer, r *result.Result) error {
	_, err := w.Write(exposition.Text(Gauges(r)))
	return err
}

// Gauges are the figures of a result, a value for each of its points.
func Gauges(r *result.Result) []exposition.Family {
	var list []exposition.Family
	for _, c := range Columns() {
		g := exposition.Family{Name: gauge.Prefix + c.Name, Help: c.help()}
		for i := range r.Points {
			if value, err := strconv.ParseFloat(c.of(r, i), 64); err == nil {
				g.Series = append(g.Series, exposition.Series{Labels: []exposition.Label{{Name: "run", Value: r.ID}, {Name: "label", Value: r.Label}, {Name: "model", Value: r.Model.Name}, {Name: "point", Value: strconv.Itoa(i)}}, Value: value})
			}
		}
		if len(g.Series) > 0 && c.Name != "point" {
			list = append(list, g)
		}
	}
	return list
}
