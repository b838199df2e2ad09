package export

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/drive/table"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/oracle"
)

// pandas and DuckDB find in the Parquet file what stands in the JSON lines, in
// columns of the same types whatever is known.
func TestRequestsAsParquet(t *testing.T) {
	t.Parallel()
	python := oracle.Python(t, filepath.Join("..", "parquet", "testdata", "requirements.txt"))
	var columns []string
	for _, c := range requestColumns() {
		kind := "int64"
		switch {
		case strings.HasSuffix(c.name, "_ms"), strings.HasSuffix(c.name, "_s"), c.name == "rate":
			kind = "double"
		case c.name == "class", c.name == "outcome", c.name == "error", c.name == "stage":
			kind = "string"
		}
		columns = append(columns, c.name+":"+kind)
	}
	whole := table.Request{Record: &record.Record{ID: 1, Session: 2, Turn: 3, Class: "=chat", Outcome: llm.OK, Status: 200, CachedTokens: 64, OutputTokens: 4, ReasoningTokens: 1},
		OK: true, Due: 0.5, Start: 0.75, MS: map[string]float64{"ttft": 100, "e2e": 900, "itl_p50": 300}, In: 100}
	for name, requests := range map[string][]table.Request{
		"mixed":    {whole, {Record: &record.Record{ID: 2, Outcome: llm.HTTP, Status: 500}, Error: "-broken, \"truly\"\nso"}},
		"a failed": {{Record: &record.Record{Outcome: llm.Timeout}}},
	} {
		r := []*table.Run{{Requests: requests}, {Stage: "02-8", Rate: 8, MaxInFlight: 3, Requests: requests}}
		var parquet, lines bytes.Buffer
		must.Do(t, errors.Join(Tables["parquet"].Requests(&parquet, r), Tables["jsonl"].Requests(&lines, r)))
		dir := t.TempDir()
		table, jsonl := filepath.Join(dir, "r.parquet"), filepath.Join(dir, "r.jsonl")
		must.Do(t, errors.Join(os.WriteFile(table, parquet.Bytes(), 0o644), os.WriteFile(jsonl, lines.Bytes(), 0o644)))
		if out, err := exec.Command(python, append([]string{"../parquet/testdata/judge.py", table, jsonl}, columns...)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// A text that a spreadsheet would take for a formula is quoted in CSV, and only
// there.
func TestOnlyCSVQuotesFormulas(t *testing.T) {
	r := []*table.Run{{Requests: []table.Request{{Record: &record.Record{Class: "=1+1", Outcome: llm.OK}, OK: true}}}}
	var csv, lines bytes.Buffer
	must.Do(t, errors.Join(Tables["csv"].Requests(&csv, r), Tables["jsonl"].Requests(&lines, r)))
	if !strings.Contains(csv.String(), "'=1+1") || !strings.Contains(lines.String(), `"class":"=1+1"`) {
		t.Errorf("csv %s\njsonl %s", csv.String(), lines.String())
	}
}

// Whoever meets a gauge alone reads what it is counted in.
func TestEveryGaugeSaysItsUnit(t *testing.T) {
	t.Parallel()
	units := []string{", ms", "seconds", "requests", "tokens", "tokens/s", "per second", "0 to 1", "$", "dollars", ", MB", ", J", "watts", "evictions", "inputs/s", ", jobs", "number of"}
	for _, c := range Columns() {
		if words := []string{"run", "name", "sustained", "probe", "mode", "steady", "overload", "objectives", "invalid"}; slices.Contains(words, c.Name) {
			continue // no number
		}
		if help := c.help(); !slices.ContainsFunc(units, func(u string) bool { return strings.Contains(help, u) }) || strings.HasSuffix(help, "; ") {
			t.Errorf("%s: the help %q has no unit, or ends early", c.Name, help)
		}
	}
	for _, name := range []string{"limit"} {
		r := readSample(t, name)
		r.Model.Name = ""
		var page bytes.Buffer
		if err := Prometheus(&page, r); err != nil || strings.Contains(page.String(), `=""`) {
			t.Errorf("%s: a label without a value (%v):\n%s", name, err, page.String())
		}
	}
}

// Jobs are a table of their own; what is not known of one is empty.
func TestTableOfJobs(t *testing.T) {
	t.Parallel()
	runs := []*table.Run{{Stage: "01-8", MaxInFlight: 8, Jobs: []table.Job{
		{Session: 3, Phase: "measure", Outcome: "ok", Begin: 1.5, End: 9, MS: map[string]float64{"job_time": 7500, "job_serving": 5000, "job_first": 250}, Requests: 4, Turns: 4, Prompt: 4000, Output: 80, Cached: 2500, CachedKnown: true, Ideal: 3000, IdealKnown: true},
		{Session: 4, Phase: "measure", Outcome: "cut", Begin: 2, End: 60, Requests: 1, Turns: 4, Prompt: 1000},
	}}}
	var csv, lines, columns bytes.Buffer
	must.Do(t, errors.Join(Tables["csv"].Jobs(&csv, runs), Tables["jsonl"].Jobs(&lines, runs), Tables["parquet"].Jobs(&columns, runs)))
	want := "session,class,tenant,phase,outcome,begin_s,end_s,job_time_ms,job_serving_ms,job_first_ms,requests,turns,prompt_tokens,cached_tokens,ideal_cached_tokens,output_tokens,stage,rate,concurrency\n" +
		"3,,,measure,ok,1.5,9,7500,5000,250,4,4,4000,2500,3000,80,01-8,,8\n4,,,measure,cut,2,60,,,,1,4,1000,,,0,01-8,,8\n"
	if csv.String() != want {
		t.Errorf("csv:\n%s\nwant\n%s", csv.String(), want)
	}
	if !strings.Contains(lines.String(), `{"session":4,"phase":"measure","outcome":"cut","begin_s":2,"end_s":60,"requests":1,"turns":4,"prompt_tokens":1000,"output_tokens":0,"stage":"01-8","concurrency":8}`) {
		t.Errorf("jsonl:\n%s", lines.String())
	}
	if !strings.HasPrefix(columns.String(), "PAR1") || !strings.Contains(columns.String(), "job_serving_ms") {
		t.Errorf("parquet: %.40q", columns.String())
	}
}
