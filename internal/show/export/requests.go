package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"redline/internal/judge/result"
	"redline/internal/peer"
	"redline/internal/show/gauge"
	"redline/internal/show/parquet"
	"redline/internal/stats"
)

// requestColumn is one column of the table of requests; ok is false where a
// request does not have it.
type requestColumn struct {
	name, means string
	of          func(*peer.Request) (value any, ok bool)
}

// requestColumns are in a fixed order: new ones are added at the end.
var requestColumns = []requestColumn{
	{"id", "number of the request in its run", func(q *peer.Request) (any, bool) { return q.ID, true }},
	{"session", "number of its session", func(q *peer.Request) (any, bool) { return q.Session, true }},
	{"turn", "number of its turn in the session, from 0", func(q *peer.Request) (any, bool) { return q.Turn, true }},
	{"class", "class of a mix", func(q *peer.Request) (any, bool) { return q.Class, q.Class != "" }},
	{"outcome", "ok, or how it failed", func(q *peer.Request) (any, bool) { return q.Outcome, true }},
	{"status", "HTTP status", func(q *peer.Request) (any, bool) { return q.Status, q.Status != 0 }},
	{"due_s", "when it was due, seconds from the window's start", func(q *peer.Request) (any, bool) { return q.Due, true }},
	{"start_s", "when it could be sent, seconds from the window's start", func(q *peer.Request) (any, bool) { return q.Start, true }},
	{"slot_wait_ms", "waiting for a slot of the cap", func(q *peer.Request) (any, bool) { return 1e3 * q.Queue, true }},
	{"ttft_ms", "time to first output", func(q *peer.Request) (any, bool) { return 1e3 * q.TTFT, q.OK && q.TTFT > 0 }},
	{"tpot_ms", "time per output token after the first", func(q *peer.Request) (any, bool) { return 1e3 * q.TPOT(), q.OK && q.Out > 1 && q.Streamed }},
	gapColumn("itl_p50_ms", 50), gapColumn("itl_p95_ms", 95), gapColumn("itl_p99_ms", 99), gapColumn("itl_max_ms", 100),
	{"e2e_ms", "time to the last output", func(q *peer.Request) (any, bool) { return 1e3 * q.Latency, q.OK }},
	{"prompt_tokens", "tokens of the prompt", func(q *peer.Request) (any, bool) { return q.In, true }},
	{"cached_tokens", "of them, from the server's cache", func(q *peer.Request) (any, bool) { return q.Cached, q.OK }},
	{"output_tokens", "tokens of the reply", func(q *peer.Request) (any, bool) { return q.Out, q.OK }},
	{"reasoning_tokens", "of them, reasoning", func(q *peer.Request) (any, bool) { return q.Reasoning, q.OK }},
	{"error", "why it failed", func(q *peer.Request) (any, bool) { return q.Error, !q.OK && q.Error != "" }},
	{"kv_bytes", "its tokens in the key-value cache, by the shape of the model", func(q *peer.Request) (any, bool) { return q.KVBytes, q.KVBytes > 0 }},
}

// gapColumn is a percentile of the gaps between a reply's output events.
func gapColumn(name string, percent float64) requestColumn {
	return requestColumn{name, fmt.Sprintf("p%g of the gaps between output events", percent), func(q *peer.Request) (any, bool) {
		if !q.OK || len(q.Gaps) == 0 {
			return 0.0, false
		}
		sorted := append([]float64(nil), q.Gaps...)
		slices.Sort(sorted)
		return 1e3 * stats.Quantile(sorted, percent/100), true
	}}
}

// RequestsCSV writes a row for each measured request. What is not known is empty.
func RequestsCSV(w io.Writer, r *peer.Run) error {
	rows := [][]string{nil}
	for _, c := range requestColumns {
		rows[0] = append(rows[0], c.name)
	}
	for i := range r.Requests {
		var cells []string
		for _, c := range requestColumns {
			cells = append(cells, cell(c.of(&r.Requests[i])))
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
func RequestsParquet(w io.Writer, r *peer.Run) error {
	var columns []parquet.Column
	for _, c := range requestColumns {
		columns = append(columns, parquet.Column{Name: c.name, Of: func(row int) (any, bool) {
			if row < 0 {
				return c.of(&peer.Request{})
			}
			return c.of(&r.Requests[row])
		}})
	}
	return parquet.Write(w, len(r.Requests), columns)
}

// RequestsJSONL writes an object for each measured request; what is not known has
// no key.
func RequestsJSONL(w io.Writer, r *peer.Run) error {
	var out bytes.Buffer
	for i := range r.Requests {
		out.WriteByte('{')
		for j, c := range requestColumns {
			value, ok := c.of(&r.Requests[i])
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
