package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/drive/table"
	"redline/internal/exposition"
	"redline/internal/judge/account"
	"redline/internal/judge/progress"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/show/export"
	"redline/internal/show/gauge"
	"redline/internal/show/report"
)

// These tests change tables that all share, so none of them is parallel.

// recordSchema is the schema of a record log as it would be generated now.
func recordSchema(t *testing.T) string {
	t.Helper()
	text := must.Get(json.Marshal(recordLine()))(t)
	return string(text)
}

// A column of the record is one row: the log has it and reads it back, the schema
// knows it, and it stands in every table of requests.
func TestAToyColumnIsOneRow(t *testing.T) {
	if strings.Contains(recordSchema(t), `"toy"`) {
		t.Fatal("there is a column toy already")
	}
	before := record.Columns
	t.Cleanup(func() { record.Columns = before })
	record.Columns = append(slices.Clone(before), record.Column{Key: "toy", Traits: record.Export | record.Early,
		At: func(r *record.Record) any { return &r.Claimed }}) // a field that nothing else here needs

	if strings.Count(recordSchema(t), `"toy":{"type":"integer"`) != 2 {
		t.Error("the schema does not have it in the line of a request's end and of its beginning")
	}
	r := &record.Record{ID: 1, Outcome: llm.OK, Phase: record.Measure, Claimed: 7}
	line := string(r.AppendLine(nil))
	if !strings.Contains(line, `,"toy":7}`) {
		t.Errorf("the log does not have it: %s", line)
	}
	if got := r.Opening().Claimed; got != 7 {
		t.Errorf("a request on its way has %d", got)
	}
	for _, text := range []string{strings.Replace(line, `"claimed_tokens":7,`, "", 1), `{"toy": 7, "id": 1}`} {
		if got, err := record.ParseLine([]byte(text)); err != nil || got.Claimed != 7 {
			t.Errorf("%s is read as %+v (%v)", text, got, err)
		}
	}
	records := func(yield func(*record.Record, error) bool) { yield(r, nil) }
	run := must.Get(table.FromRecords(records, 0, 0, account.Figures))(t)
	tables := map[string]string{}
	for name, format := range export.Tables {
		var out bytes.Buffer
		must.Do(t, format.Requests(&out, []*table.Run{run}))
		tables[name] = out.String()
	}
	if !strings.Contains(tables["csv"], ",toy\n") || !strings.HasSuffix(tables["csv"], ",7\n") || !strings.Contains(tables["jsonl"], `,"toy":7}`) || !strings.Contains(tables["parquet"], "toy") {
		t.Errorf("the tables of requests are %q", tables)
	}
}

// An outcome of its own is one row: it is counted, shown and exported by its name,
// and no objective is about it.
func TestAToyOutcomeIsOneRow(t *testing.T) {
	before := llm.Outcomes
	t.Cleanup(func() { llm.Outcomes = before })
	llm.Outcomes = append(slices.Clone(before), llm.OutcomeRow{Outcome: "toy",
		Count: &llm.Count{Name: "toys", Word: "played", Means: "were for play", Judged: llm.Outside}})

	if !strings.Contains(recordSchema(t), `"unsent","toy"]`) {
		t.Error("the schema of a record does not have it")
	}
	second := int64(time.Second)
	records := func(yield func(*record.Record, error) bool) {
		for i := range 20 {
			r := &record.Record{ID: i, Try: 1, Phase: record.Measure, Due: second + int64(i), Begin: second + int64(i), Sent: second + int64(i), End: 2 * second, Outcome: llm.OK}
			if i%4 == 0 {
				r.Outcome = "toy"
			}
			if !yield(r, nil) {
				return
			}
		}
	}
	objectives := must.Get(slo.ParseAll([]string{"error:rate<1%", "good:fraction>0.5", "e2e:p50<10s"}))(t)
	var live progress.Live
	for r := range records {
		live.Observe(r)
	}
	s := must.Get(account.Summarize(func() iter.Seq2[*record.Record, error] { return records }, account.Options{Start: second, End: 11 * second, Objectives: objectives}))(t)
	if got := fmt.Sprint(s.Requests.Due, s.Requests.OK, s.Requests.Failed, s.Requests.Others); got != "20 15 0 map[toys:5]" {
		t.Errorf("counted as %s", got)
	}
	for _, v := range s.Objectives {
		if v.N != 15 || v.Violations != 0 {
			t.Errorf("%s is about %d requests, of which %d violate it; want 15 and none", v.Objective, v.N, v.Violations)
		}
	}
	res := &result.Result{ID: "r", Points: []result.Point{{Summary: s}}}
	var page, table, prom bytes.Buffer
	must.Do(t, report.Terminal(&page, res, report.TerminalOptions{}))
	if !strings.Contains(page.String(), "15 ok + 5 played") {
		t.Errorf("the report does not count it:\n%s", page.String())
	}
	must.Do(t, export.CSV(&table, res))
	rows, err := csv.NewReader(&table).ReadAll()
	if at := slices.Index(rows[0], "toys"); err != nil || at < 0 || rows[1][at] != "5" {
		t.Errorf("the table of points has it at %d of %v (%v)", at, rows, err)
	}
	if err := export.Prometheus(&prom, res); err != nil || !strings.Contains(prom.String(), "redline_toys{") {
		t.Errorf("no gauge of the result has it (%v)", err)
	}
	if text := string(exposition.Text(gauge.Live(live.Snapshot(progress.Snapshot{}, 0)))); !strings.Contains(text, "redline_toys 5\n") {
		t.Errorf("no gauge of a run under way has it:\n%s", text)
	}
}
