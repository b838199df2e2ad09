package export

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"redline/internal/drive/record"
	"redline/internal/drive/table"
	"redline/internal/exposition"
	"redline/internal/judge/figure"
	"redline/internal/judge/result"
	"redline/internal/show/gauge"
	"redline/internal/show/parquet"
)

// tableColumn is one column of a table of requests or jobs; ok is false where one
// does not have it.
type tableColumn[T any] struct {
	name string
	of   func(T) (value any, ok bool)
}

type requestColumn = tableColumn[request]

// request is one of a run, which may be a stage of an experiment.
type request struct {
	*table.Request
	run *table.Run
}

// requestColumns are in a fixed order. New latencies and columns of a record come
// at the end by themselves.
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
	for _, f := range figure.All {
		column := latency(cmp.Or(f.Key, f.Name))
		if f.Of == figure.Request && f.Unit == figure.Milliseconds && !slices.ContainsFunc(list, func(of requestColumn) bool { return of.name == column.name }) {
			list = append(list, column)
		}
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

// Tables are the formats of tables of requests and of jobs: what is not known is
// empty, null, or has no key.
var Tables = map[string]Table{
	"csv":     {writeCSV[request], writeCSV[job]},
	"jsonl":   {writeJSONL[request], writeJSONL[job]},
	"parquet": {writeParquet[request], writeParquet[job]},
}

// Table writes a row for each of some requests or jobs.
type Table struct {
	requests func(io.Writer, []request, []tableColumn[request], request) error
	jobs     func(io.Writer, []job, []tableColumn[job], job) error
}

// Requests writes a row for each measured request.
func (t Table) Requests(w io.Writer, runs []*table.Run) error {
	return t.requests(w, requestsOf(runs), requestColumns(), request{&table.Request{Record: &record.Record{}}, &table.Run{}})
}

// Jobs writes a row for each job.
func (t Table) Jobs(w io.Writer, runs []*table.Run) error {
	var list []job
	for _, r := range runs {
		for i := range r.Jobs {
			list = append(list, job{&r.Jobs[i], r})
		}
	}
	return t.jobs(w, list, jobColumns, job{&table.Job{}, &table.Run{}})
}

// job is one of a run, which may be a stage of an experiment.
type job struct {
	*table.Job
	run *table.Run
}

// jobColumns are in a fixed order. New ones come at the end.
var jobColumns = []tableColumn[job]{
	{"session", func(j job) (any, bool) { return j.Session, true }},
	{"class", func(j job) (any, bool) { return j.Class, j.Class != "" }},
	{"tenant", func(j job) (any, bool) { return j.Tenant, j.Tenant != "" }},
	{"phase", func(j job) (any, bool) { return j.Phase, true }},
	{"outcome", func(j job) (any, bool) { return j.Outcome, true }},
	{"begin_s", func(j job) (any, bool) { return j.Begin, true }},
	{"end_s", func(j job) (any, bool) { return j.End, true }},
	jobTime("job_time"), jobTime("job_serving"), jobTime("job_first"),
	{"requests", func(j job) (any, bool) { return j.Requests, true }},
	{"turns", func(j job) (any, bool) { return j.Turns, true }},
	{"prompt_tokens", func(j job) (any, bool) { return int(j.Prompt), true }},
	{"cached_tokens", func(j job) (any, bool) { return int(j.Cached), j.CachedKnown }},
	{"ideal_cached_tokens", func(j job) (any, bool) { return int(j.Ideal), j.IdealKnown }},
	{"output_tokens", func(j job) (any, bool) { return int(j.Output), true }},
	{"stage", func(j job) (any, bool) { return j.run.Stage, j.run.Stage != "" }},
	{"rate", func(j job) (any, bool) { return j.run.Rate, j.run.Rate > 0 }},
	{"concurrency", func(j job) (any, bool) { return j.run.MaxInFlight, j.run.MaxInFlight > 0 }},
}

func jobTime(name string) tableColumn[job] {
	return tableColumn[job]{name + "_ms", func(j job) (any, bool) { ms, ok := j.MS[name]; return ms, ok }}
}

func writeCSV[T any](w io.Writer, list []T, columns []tableColumn[T], _ T) error {
	rows := [][]string{nil}
	for _, c := range columns {
		rows[0] = append(rows[0], c.name)
	}
	for _, one := range list {
		var cells []string
		for _, c := range columns {
			cells = append(cells, cell(c.of(one)))
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

// writeParquet writes a column of one type for each figure: that which none has.
func writeParquet[T any](w io.Writer, list []T, columns []tableColumn[T], none T) error {
	var written []parquet.Column
	for _, c := range columns {
		written = append(written, parquet.Column{Name: c.name, Of: func(row int) (any, bool) {
			if row < 0 {
				return c.of(none)
			}
			return c.of(list[row])
		}})
	}
	return parquet.Write(w, len(list), written)
}

func writeJSONL[T any](w io.Writer, list []T, columns []tableColumn[T], _ T) error {
	var out bytes.Buffer
	for _, one := range list {
		out.WriteByte('{')
		for j, c := range columns {
			value, ok := c.of(one)
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
