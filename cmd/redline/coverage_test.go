package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"redline/internal/judge/result"
)

// coveredRow is one row of docs/COVERAGE.md.
type coveredRow struct{ requirement, command, shows, test string }

var coverageRow = regexp.MustCompile("(?m)^\\| (.+) \\| `(.+)` \\| (.+) \\| `(Test\\w+)` \\|$")

func coverage(t *testing.T) (rows []coveredRow) {
	t.Helper()
	page, err := os.ReadFile("../../docs/COVERAGE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range coverageRow.FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, coveredRow{m[1], m[2], m[3], m[4]})
	}
	if lines := strings.Count(string(page), "` |\n"); len(rows) != lines {
		t.Fatalf("%d rows are read of %d", len(rows), lines)
	}
	return rows
}

// coveredDir has what the commands of docs/COVERAGE.md read.
func coveredDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"p.csv":       "prompt_tokens\n" + strings.Repeat("100\n300\n2500\n20000\n", 30),
		"one.yaml":    "metadata: {model_revision: 8c22764, tokenizer: meta-llama/Llama-3.1-8B, driver: '570.86', cuda: '12.8', interconnect: NVLink, rollback_risk: 'low, the old image stays warm'}\n",
		"models.yaml": "workload: {prompt: 100, output: 20, tenants: [{name: a, model: base}, {name: b, model: adapter}, {name: c, model: adapter}]}\n",
		"users.csv":   "timestamp,user\n1,a\n",
		"access.log":  `10.0.0.1 - - [01/Nov/2026:10:00:00 +0000] "POST /v1/chat/completions HTTP/1.1" 200 99 request_length=4000` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"run --plan one.yaml --rate 10 --duration 3s --warmup 1s --drain 3s --workload mix --slo ttft:p99<2s --slo tpot:p95<80ms --price-per-gpu-hour 3 --reserved-per-gpu-hour 2 --golden builtin --price-per-kwh 0.3 --watts 700 --seed 1 --out one",
		"run --rate 10 --duration 10s --warmup 2s --workload fixed(256,16) --prefix 2048 --prefix-groups 10 --seed 1 --out cached",
		"run --concurrency 1 --requests 40 --warmup 0s --workload fixed(64,64) --slo tpot:p50<1ms --seed 1 --out alone",
		"sweep --rates 5,10 --workload fixed(256,32) --duration 2s --warmup 1s --drain 3s --slo ttft:p90<2s --slo tpot:p90<80ms --price-per-gpu-hour 3 --seed 1 --out levels",
		"run --profile steps(5:5s,20:5s,40:5s) --workload fixed(64,16) --warmup 0s --duration 15s --seed 1 --out steps",
		"run --profile diurnal(8..40,24s) --workload fixed(64,16) --warmup 0s --duration 24s --seed 1 --out day",
		"matrix --scale 0.1 --workload chat --rate 4 --seed 1 --out rows",
		"matrix --toggle prefix_caching --workload shared_rag --rate 8 --duration 20s --seed 1 --out toggled",
	} {
		args := append(within(dir, strings.Fields(command)), "--quiet")
		args[len(args)-2] = filepath.Join(dir, args[len(args)-2])
		virtually(t, func(w *world) {
			code, _, stderr := w.redline(args...)
			if res := kept(t, args[len(args)-2]); code != resultCode(res) || res.Verdict.Valid != result.Valid {
				t.Errorf("redline %s: exit %d, %s: %s", command, code, res.Verdict.Valid, stderr)
			}
		})
	}
	virtually(t, func(w *world) {
		if code, _, stderr := w.redline("run", "--plan", filepath.Join(dir, "models.yaml"), "--url", w.models("base", "adapter"), "--model", "base", "--rate", "20", "--duration", "5s",
			"--price-per-hour", "36", "--out", filepath.Join(dir, "tenants"), "--quiet"); code != exitOK {
			t.Error(stderr)
		}
	})
	importedLevel(t, dir, 5, "llama")
	importedLevel(t, dir, 10, "llama")
	// One run is of this machine.
	redline(t, nil, "run", "--rate", "inf", "--requests", "40", "--workload", "fixed(256,64)", "--prefix", "512", "--prefix-groups", "4", "--seed", "1",
		"--out", filepath.Join(dir, "closed"), "--quiet")
	return dir
}

// within names files of a directory by their whole paths.
func within(dir string, args []string) []string {
	for i, a := range args {
		if _, err := os.Stat(filepath.Join(dir, a)); err == nil && a != "" {
			args[i] = filepath.Join(dir, a)
		}
	}
	return args
}

// mostPlaces is how often an output may have what a row looks for: what is
// everywhere would be found without the feature.
const mostPlaces = 3

// looksFor is what a cell of the table looks for; an ellipsis stands for up to
// 200 characters.
func looksFor(cell string) *regexp.Regexp {
	parts := strings.Split(strings.Trim(cell, "`"), "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(part))
	}
	return regexp.MustCompile(strings.Join(parts, ".{0,200}?"))
}

// Every requirement has a command whose output shows it, and a test.
func TestCoverage(t *testing.T) {
	t.Parallel()
	rows := coverage(t)
	dir := coveredDir(t)
	outputs, taken := map[string]string{}, map[string]bool{}
	for _, r := range rows {
		if r.shows == "long" {
			continue
		}
		text, known := outputs[r.command]
		if !known {
			_, stdout, stderr := redline(t, nil, within(dir, shellWords(r.command)[1:])...)
			if strings.Contains(r.requirement, "refused in one line") && strings.Count(stdout+stderr, "\n") != 1 {
				t.Errorf("%s: %s prints more than a line:\n%s%s", r.requirement, r.command, stdout, stderr)
			}
			text = strings.ReplaceAll(strings.Join(strings.Fields(stdout+stderr), " "), ` \ `, " ")
			outputs[r.command] = text
		}
		looked := looksFor(r.shows)
		if taken[r.command+looked.String()] {
			t.Errorf("%s: %s looks for %s, as another row does", r.requirement, r.command, r.shows)
		}
		taken[r.command+looked.String()] = true
		switch n := len(looked.FindAllString(text, -1)); {
		case n == 0:
			t.Errorf("%s: %s does not show %s:\n%.3000s", r.requirement, r.command, r.shows, text)
		case n > mostPlaces && !strings.Contains(r.command, "--format"):
			t.Errorf("%s: %s shows %s in %d places: look for what only this prints", r.requirement, r.command, r.shows, n)
		}
	}
	tests := testNames(t)
	for _, r := range rows {
		if !tests[r.test] {
			t.Errorf("%s: there is no %s", r.requirement, r.test)
		}
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(content), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
