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
		if err := errors.Join(RequestsParquet(&parquet, r), RequestsJSONL(&lines, r)); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		table, jsonl := filepath.Join(dir, "r.parquet"), filepath.Join(dir, "r.jsonl")
		if err := errors.Join(os.WriteFile(table, parquet.Bytes(), 0o644), os.WriteFile(jsonl, lines.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
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
	if err := errors.Join(RequestsCSV(&csv, r), RequestsJSONL(&lines, r)); err != nil {
		t.Fatal(err)
	}
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
		r := sampled(t, name)
		r.Model.Name = ""
		var page bytes.Buffer
		if err := Prometheus(&page, r); err != nil || strings.Contains(page.String(), `=""`) {
			t.Errorf("%s: a label without a value (%v):\n%s", name, err, page.String())
		}
	}
}
