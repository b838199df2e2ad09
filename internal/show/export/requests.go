package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"redline/internal/judge/result"
	"redline/internal/peer"
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
	*peer.Request
	run *peer.Run
}

// requestColumns are in a fixed order: new ones are added at the end.
var requestColumns = []requestColumn{
	{"id", func(q request) (any, bool) { return q.ID, true }},
	{"session", func(q request) (any, bool) { return q.Session, true }},
	{"turn", func(q request) (any, bool) { return q.Turn, true }},
	{"class", func(q request) (any, bool) { return q.Class, q.Class != "" }},
	{"outcome", func(q request) (any, bool) { return q.Outcome, true }},
	{"status", func(q request) (any, bool) { return q.Status, q.Status != 0 }},
	{"due_s", func(q request) (any, bool) { return q.Due, true }},
	{"start_s", func(q request) (any, bool) { return q.Start, true }},
	latency("slot_wait"), latency("ttft"), latency("tpot"),
	latency("itl_p50"), latency("itl_p95"), latency("itl_p99"), latency("itl_max"),
	latency("e2e"),
	{"prompt_tokens", func(q request) (any, bool) { return q.In, true }},
	{"cached_tokens", func(q request) (any, bool) { return q.Cached, q.OK }},
	{"output_tokens", func(q request) (any, bool) { return q.Out, q.OK }},
	{"reasoning_tokens", func(q request) (any, bool) { return q.Reasoning, q.OK }},
	{"error", func(q request) (any, bool) { return q.Error, !q.OK && q.Error != "" }},
	{"kv_bytes", func(q request) (any, bool) { return q.KVBytes, q.KVBytes > 0 }},
	latency("ttft_due"), latency("ttfa"), latency("stall"), latency("e2e_due"), latency("decode"), latency("lag"), latency("connect"), latency("tls"),
	{"stage", func(q request) (any, bool) { return q.run.Stage, q.run.Stage != "" }},
	{"rate", func(q request) (any, bool) { return q.run.Rate, q.run.Rate > 0 }},
	{"concurrency", func(q request) (any, bool) { return q.run.Most, q.run.Most > 0 }},
}

// requestsOf are the requests of all runs, one run after another.
func requestsOf(runs []*peer.Run) (list []request) {
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
func RequestsCSV(w io.Writer, runs []*peer.Run) error {
	rows := [][]string{nil}
	for _, c := range requestColumns {
		rows[0] = append(rows[0], c.name)
	}
	for _, q := range requestsOf(runs) {
		var cells []string
		for _, c := range requestColumns {
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
func RequestsParquet(w io.Writer, runs []*peer.Run) error {
	var columns []parquet.Column
	rows := requestsOf(runs)
	for _, c := range requestColumns {
		columns = append(columns, parquet.Column{Name: c.name, Of: func(row int) (any, bool) {
			if row < 0 {
				return c.of(request{&peer.Request{}, &peer.Run{}})
			}
			return c.of(rows[row])
		}})
	}
	return parquet.Write(w, len(rows), columns)
}

// RequestsJSONL writes an object for each measured request; what is not known has
// no key.
func RequestsJSONL(w io.Writer, runs []*peer.Run) error {
	var out bytes.Buffer
	for _, q := range requestsOf(runs) {
		out.WriteByte('{')
		for j, c := range requestColumns {
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
	_, err := w.Write(gauge.Text(Gauges(r)))
	return err
}

// Gauges are the figures of a result, a value for each of its points.
func Gauges(r *result.Result) []gauge.Gauge {
	var list []gauge.Gauge
	for _, c := range Columns() {
		g := gauge.Gauge{Name: gauge.Prefix + c.Name, Means: c.help()}
		for i := range r.Points {
			if value, err := strconv.ParseFloat(c.of(r, i), 64); err == nil {
				g.At = append(g.At, gauge.Value{Labels: []gauge.Label{{Name: "run", Value: r.ID}, {Name: "label", Value: r.Label}, {Name: "model", Value: r.Model.Name}, {Name: "point", Value: strconv.Itoa(i)}}, Value: value})
			}
		}
		if len(g.At) > 0 && c.Name != "point" {
			list = append(list, g)
		}
	}
	return list
}
