package export

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
)

func readCSV(t *testing.T, r *result.Result) []map[string]string {
	t.Helper()
	rows := must.Get(csv.NewReader(bytes.NewReader(writeResult(t, CSV, r))).ReadAll())(t)
	var points []map[string]string
	for _, row := range rows[1:] {
		point := map[string]string{}
		for i, name := range rows[0] {
			point[name] = row[i]
		}
		points = append(points, point)
	}
	return points
}

func TestCSVHasOneRowForEachPoint(t *testing.T) {
	t.Parallel()
	points := readCSV(t, readSample(t, "limit"))
	if len(points) != 8 {
		t.Fatalf("%d rows, want 8", len(points))
	}
	want := map[string]string{
		"run": "20260114-101500-sweep", "point": "4", "sustained": "true", "probe": "false", "mode": "open", "rate": "21.2", "concurrency": "",
		"window_s": "300", "steady": "true", "overload": "false", "due": "6360", "ok": "6360", "failed": "0", "goodput": "21",
		"ttft_due_p50_ms": "69", "ttft_due_p99_ms": "462", "ttft_due_p99_low_ms": "401", "ttft_due_p99_high_ms": "533",
		"tpot_p99_ms": "21.9", "slot_wait_p50_ms": "", "objectives": "met", "kv_peak_mb": "", "cost_per_request": "",
	}
	for name, value := range want {
		if got, there := points[4][name]; got != value || !there {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if points[7]["probe"] != "true" || points[7]["sustained"] != "false" || points[7]["overload"] != "true" {
		t.Errorf("the last level reads %v", points[7])
	}
}

func TestColumnsAreNamedOnceAndExplained(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for _, c := range Columns() {
		if seen[c.Name] || !name.MatchString(c.Name) || c.Means == "" {
			t.Errorf("column %q (%q) has a bad name, comes twice, or has no meaning", c.Name, c.Means)
		}
		seen[c.Name] = true
	}
}

// The manual names every column.
func TestTheManualListsTheColumns(t *testing.T) {
	t.Parallel()
	list := "| column | |\n|---|---|\n"
	for columns := Columns(); len(columns) > 0; {
		name, means, of := columns[0].Name, columns[0].Means, 1
		if title, ok := strings.CutPrefix(means, "p50 of "); ok {
			name, means, of = strings.Replace(name, "p50", "{p50,p90,p95,p99}", 1)+"`, `"+strings.Replace(name, "p50", "p99_{low,high}", 1),
				"percentiles of "+title+", and the 95% interval of the p99", 6
		}
		list += "| `" + name + "` | " + means + " |\n"
		columns = columns[of:]
	}
	const path, begin, end = "../../../docs/reference/RESULT.md", "<!-- columns -->\n", "<!-- /columns -->"
	page := must.Read(t, path)
	before, rest, _ := strings.Cut(string(page), begin)
	got, after, found := strings.Cut(rest, end)
	switch {
	case !found:
		t.Fatalf("%s has no place for the columns", path)
	case got != list && *update:
		must.Write(t, path, before+begin+list+end+after)
	case got != list:
		t.Errorf("%s lists other columns than there are: make golden", path)
	}
}

// A spreadsheet runs what begins like a formula.
func TestCSVHoldsNoFormula(t *testing.T) {
	t.Parallel()
	r := readSample(t, "met")
	r.ID, r.Points[0].Name = "=1+1", "@SUM(A1)\n,x"
	point := readCSV(t, r)[0]
	got := map[string]string{"run": point["run"], "name": point["name"]}
	expect.Same(t, map[string]string{"run": "'=1+1", "name": "'@SUM(A1) ,x"}, got)
}
