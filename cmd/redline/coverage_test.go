package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// coveredRow is one row of testdata/coverage.md.
type coveredRow struct{ requirement, command, shows, test string }

var coverageRow = regexp.MustCompile("(?m)^\\| (.+) \\| `(.+)` \\| (.+) \\| `(Test\\w+)` \\|$")

func coverage(t *testing.T) (rows []coveredRow) {
	t.Helper()
	page := must.Read(t, "testdata/coverage.md")
	for _, m := range coverageRow.FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, coveredRow{m[1], m[2], m[3], m[4]})
	}
	if lines := strings.Count(string(page), "` |\n"); len(rows) != lines {
		t.Fatalf("%d rows are read of %d", len(rows), lines)
	}
	return rows
}

// coveredFiles are what the commands of testdata/coverage.md read.
var coveredFiles = map[string]string{
	"p.csv":         "prompt_tokens\n" + strings.Repeat("100\n300\n2500\n20000\n", 30),
	"one.yaml":      "metadata: {model_revision: 8c22764, tokenizer: meta-llama/Llama-3.1-8B, driver: '570.86', cuda: '12.8', interconnect: NVLink, rollback_risk: 'low, the old image stays warm', flags: '--max-num-seqs=256'}\n",
	"models.yaml":   "workload: {prompt: 100, output: 20, tenants: [{name: a, model: base}, {name: b, model: adapter}, {name: c, model: adapter}]}\n",
	"users.csv":     "timestamp,user\n1,a\n",
	"access.log":    `10.0.0.1 - - [01/Nov/2026:10:00:00 +0000] "POST /v1/chat/completions HTTP/1.1" 200 99 request_length=4000` + "\n",
	"trace.csv":     "timestamp,prompt_tokens,output_tokens\n0,100,10\n1,120,12\n2,300,5\n4,200,9\n",
	"sharegpt.json": `[{"conversations":[{"from":"human","value":"Why is decode bound by memory?"},{"from":"gpt","value":"Each token reads all weights."}]}]`,
	"engine.log":    "INFO 11-01 10:00:00 Avg generation throughput: 900 tokens/s\n",
	"watch.yaml":    "schedules: [{name: monthly, cron: '@monthly', plan: one.yaml}]\n",
	"mine.yaml":     "accelerators: [{name: effective-600, memory_gib: 80, bandwidth_gbs: 750, bf16_tflops: 1000}]\n",
	"variants.yaml": `workload: fixed(60,4)
load_profile: {rate: 20, warmup: 0s, drain: 5s}
experiment: {scale: 0.002, budget: 1s, ceiling: 20, anyway: true, rows: [{name: short, workload: 'fixed(20,4)', concurrency: 1}], variants: [{name: bf16}, {name: fp8, sim: {quantization: fp8}}]}
`,
	"quick.yaml": `server: {sim: {gpu: B200, tp: 8, jitter: 0}}
workload: in=lognormal(60,0.5,20..100) out=fixed(4)
load_profile: {rate: 20, warmup: 0s, drain: 5s}
experiment: {scale: 0.002, budget: 1s, ceiling: 20, anyway: true}
`,
}

// coveredRuns are the commands that make the runs of testdata/coverage.md, a month
// apart, where a server is at http://a:8000, a slower one at http://b:8000, and
// an exporter of an accelerator's readings at port 10001.
var coveredRuns = []string{
	"run --plan one.yaml --rate 10 --duration 3s --warmup 1s --drain 3s --workload mix --slo ttft:p99<2s --slo tpot:p95<80ms --price-per-gpu-hour 3 --reserved-per-gpu-hour 2 --golden builtin --price-per-kwh 0.3 --watts 700 --utilization 0.4 --seed 1 --out one",
	"run --rate 10 --duration 10s --warmup 2s --workload fixed(256,16) --prefix 2048 --prefix-groups 10 --seed 1 --out cached",
	"run --concurrency 1 --requests 40 --warmup 0s --workload fixed(64,64) --slo tpot:p50<1ms --seed 1 --out alone",
	"sweep --rates 5,10 --workload fixed(256,32) --duration 2s --warmup 1s --drain 3s --slo ttft:p90<2s --slo tpot:p90<80ms --price-per-gpu-hour 3 --seed 1 --out levels",
	"run --profile steps(5:5s,20:5s,40:5s) --workload fixed(64,16) --warmup 0s --duration 15s --seed 1 --out steps",
	"run --profile diurnal(8..40,24s) --workload fixed(64,16) --warmup 0s --duration 24s --seed 1 --out day",
	"matrix --scale 0.15 --workload chat --rate 4 --seed 1 --out rows",
	"matrix --toggle all --workload 'in=lognormal(2000,1,100..16000) out=fixed(8)' --prefix 2048 --rate 5 --duration 6s --rounds 2 --seed 1 --out toggled",
	"run --plan benchmark-config.yaml --url http://a:8000/v1/messages --metrics-url http://a:8000/none --requests 60 --out template",
	"run --plan benchmark-config.yaml --url http://a:8000/v1/messages --catalog config.json --requests 60 --out shaped",
	"run --profile hot-spot --rate 20 --duration 8s --warmup 0s --workload fixed(64,16) --slo mlperf:llama3.1-8b-interactive --slo tbt:p99<50ms --out hot",
	"run --profile burst --rate 20 --duration 8s --warmup 0s --workload fixed(64,16) --out burst",
	"run --profile overload --limit 20 --duration 3s --warmup 0s --workload fixed(64,16) --out overload",
	"run --concurrency 8 --pace 500ms --requests 60 --workload fixed(64,16) --out pool",
	"run --workload trace.csv --speedup 2 --warmup 0s --out trace",
	"sweep --find-limit --slo ttft:p90<500ms --max-num-seqs 2 --workload fixed(64,32) --budget 40s --out limit",
	"compare http://a:8000 http://b:8000 --rounds 8 --cooldown 2s --concurrency 2 --requests 10 --warmup 0s --workload fixed(64,16) --slo e2e:p95<1s --out pair",
	"bench --plan quick.yaml --slo batch --accept limit>1 --out protocol",
	"bench --plan variants.yaml --slo batch --out variants",
	"run --url http://a:8000 --no-telemetry --concurrency 1 --requests 40 --warmup 0s --workload fixed(64,64) --slo tpot:p50<1ms --out bare",
	"run --url http://a:8000 --model claude-sonnet-4-20250514 --slo kv:max<1024MB --warmup 0s",
	"run --rate 10 --duration 4s --warmup 0s --workload fixed(400,100) --num-gpu-blocks-override 150 --percentiles 50 --out full",
	"run --golden builtin --answer-error 0.2 --keep-text --rate 2 --duration 10s --warmup 0s --workload fixed(64,16) --engine-log engine.log --out wrong",
	"run --accelerator http://127.0.0.1:10001/metrics --rate 2 --duration 10s --warmup 0s --workload fixed(64,16) --out watched",
	"sweep --concurrencies 1,4 --requests 40 --warmup 0s --workload fixed(64,16) --out range",
	"run --replicas 4 --router round-robin --slow-replica 2:1.5 --rate 20 --duration 10s --warmup 0s --workload fixed(256,16) --seed 1 --out fleet",
	"run --label monthly --rate 10 --duration 4s --warmup 0s --workload fixed(32,8) --out series/1",
	"run --label monthly --rate 10 --duration 4s --warmup 0s --workload fixed(32,8) --out series/2",
	"run --label monthly --rate 10 --duration 4s --warmup 0s --workload fixed(32,8) --out series/3",
	"run --label monthly --rate 10 --duration 4s --warmup 0s --workload fixed(32,8) --mbu 0.25 --out series/4",
	"vllm bench serve --base-url http://a:8000 --num-prompts 8 --random-input-len 20 --random-output-len 4",
}

// coveredDir has what the commands of testdata/coverage.md read, and gives what
// those that made it printed.
func coveredDir(t *testing.T) (dir string, outputs map[string]string) {
	t.Helper()
	dir, outputs = t.TempDir(), map[string]string{}
	for name, content := range coveredFiles {
		must.Write(t, filepath.Join(dir, name), content)
	}
	for _, path := range []string{"benchmark-config.yaml", "shape/config.json"} {
		content, err := os.ReadFile(filepath.Join("../../internal/plan/config/testdata", path))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), content, 0o600)
		}
		must.Do(t, err)
	}
	for month, command := range coveredRuns {
		words := shellWords(command)
		virtually(t, func(w *world) {
			w.env = environment(map[string]string{"REDLINE_SEED": "1", "REDLINE_QUIET": "1", "REDLINE_OUT": filepath.Join(dir, words[0]), "INFERENCE_API_KEY": "k"})
			w.engineAt("a:8000", sim.Spec{ServedModelName: "claude-sonnet-4-20250514"}, 0)
			w.engineAt("b:8000", sim.Spec{ServedModelName: "claude-sonnet-4-20250514", MemoryShare: 0.4}, 0)
			w.serve(func(rw http.ResponseWriter, _ *http.Request) {
				io.WriteString(rw, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",modelName=\"NVIDIA H100\"} 87\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 61000\nDCGM_FI_DEV_FB_FREE{gpu=\"0\"} 20000\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 612\n")
			})
			time.Sleep(time.Duration(month) * 30 * 24 * time.Hour)
			code, stdout, stderr := w.redline(within(dir, words)...)
			outputs["redline "+command] = stdout + stderr
			if at := slices.Index(words, "--out"); at > 0 {
				if res := readResultOf(t, words[at+1]); code != resultCode(res) || res.Verdict.Valid != result.Valid {
					t.Errorf("redline %s: exit %d, %s: %s", command, code, res.Verdict.Valid, stderr)
				}
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
	return dir, outputs
}

// within names files of a directory by their whole paths.
func within(dir string, args []string) []string {
	for i, a := range args {
		_, err := os.Stat(filepath.Join(dir, a))
		if err == nil && a != "" || i > 0 && (args[i-1] == "--out" || args[i-1] == "-o") {
			args[i] = filepath.Join(dir, a)
		}
	}
	return args
}

// maxPlaces is how often an output may have what a row looks for: what is
// everywhere would be found without the feature.
const maxPlaces = 3

// looksFor is what a cell of the table looks for; an ellipsis stands for up to
// 200 characters, a # for a number.
func looksFor(cell string) *regexp.Regexp {
	parts := strings.Split(strings.Trim(cell, "`"), "…")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(part)), "#", `<?\d[\d,.]*[¹²³⁴⁵]?`)
	}
	return regexp.MustCompile(strings.Join(parts, ".{0,200}?"))
}

// Kinds of rows, by what shows that a requirement is met.
const (
	byOutput = "output"
	byFile   = "file"
	byKey    = "JSON key"
	byHelp   = "help"
	bySchema = "schema"
	byTest   = "test alone"
)

// kind is what shows a row's requirement; a document counts as output only by a
// value.
func (r coveredRow) kind() string {
	switch {
	case r.shows == "long":
		return byTest
	case strings.HasPrefix(r.command, "cat "):
		return byFile
	case strings.HasPrefix(r.command, "redline schema"):
		return bySchema
	case strings.Contains(r.command, "--help"):
		return byHelp
	case regexp.MustCompile(`--format (json|jsonl|csv)\b|--json`).MatchString(r.command) && !regexp.MustCompile(`(": ?|,)"?[#\d\pL]`).MatchString(r.shows):
		return byKey
	}
	return byOutput
}

// Rows are shown by what redline prints, not by its help, its schemas or a
// test's name; -v prints how many are of each kind.
func TestCoverageIsByOutput(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, r := range coverage(t) {
		count[r.kind()]++
	}
	for _, kind := range []string{byOutput, byFile, byKey, byHelp, bySchema, byTest} {
		t.Logf("%3d rows by %s", count[kind], kind)
	}
	const least = 190
	if count[byOutput] < least || count[byKey]+count[bySchema] > 0 {
		t.Errorf("%d rows are shown by output, want at least %d; %d by a bare key and %d by a schema, want none", count[byOutput], least, count[byKey], count[bySchema])
	}
}

func TestKindsOfRows(t *testing.T) {
	t.Parallel()
	for want, rows := range map[string][]coveredRow{
		byOutput: {{command: "redline report one", shows: "`ttft # ms`"}, {command: "redline report one --format json", shows: "`\"mean\": #`"}, {command: "redline report one --format csv", shows: "`open,10,#`"}},
		byKey:    {{command: "redline report one --format json", shows: "`\"ttft_ms\": {`"}, {command: "redline report one --format csv", shows: "`error_rate`"}},
		byFile:   {{command: "cat results/hardware.md", shows: "`H100`"}},
		byHelp:   {{command: "redline run --help-all", shows: "`--slo`"}},
		bySchema: {{command: "redline schema plan", shows: "`metadata`"}},
		byTest:   {{command: "redline tune", shows: "long"}},
	} {
		for _, r := range rows {
			if got := r.kind(); got != want {
				t.Errorf("%s that shows %s is %q, want %q", r.command, r.shows, got, want)
			}
		}
	}
}

// outputOf is what a command prints, or the content of a file.
func outputOf(t *testing.T, dir, command string) string {
	t.Helper()
	words := within(dir, shellWords(command))
	if words[0] == "cat" {
		content, err := os.ReadFile(words[1])
		expect.OK(t, err)
		return string(content)
	}
	_, stdout, stderr := redline(t, nil, words[1:]...)
	return stdout + stderr
}

// Every requirement has a command whose output shows it, and a test.
func TestCoverage(t *testing.T) {
	t.Parallel()
	rows := coverage(t)
	dir, outputs := coveredDir(t)
	taken := map[string]bool{}
	for _, r := range rows {
		if r.kind() == byTest {
			continue
		}
		text, known := outputs[r.command]
		if !known {
			text = outputOf(t, dir, r.command)
			outputs[r.command] = text
		}
		if strings.Contains(r.requirement, "refused in one line") && strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %s prints more than a line:\n%s", r.requirement, r.command, text)
		}
		text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), ` \ `, " ")
		looked := looksFor(r.shows)
		if taken[r.command+looked.String()] {
			t.Errorf("%s: %s looks for %s, as another row does", r.requirement, r.command, r.shows)
		}
		taken[r.command+looked.String()] = true
		switch n := len(looked.FindAllString(text, -1)); {
		case n == 0:
			t.Errorf("%s: %s does not show %s:\n%.3000s", r.requirement, r.command, r.shows, text)
		case n > maxPlaces && !strings.Contains(r.command, "--format"):
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
	must.Do(t, filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(content), -1) {
			names[m[1]] = true
		}
		return err
	}))
	return names
}
