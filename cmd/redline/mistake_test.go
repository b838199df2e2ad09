package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/must"
)

// An error breaks at words on a terminal, and stays one line elsewhere.
func TestErrorsBreakAtWords(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		var out bytes.Buffer
		p := &process{args: []string{"run", "--progress", "scren"}, stdout: io.Discard, stderr: &out, lookupEnv: os.LookupEnv, terminal: terminal, width: func() int { return 30 }}
		p.run(t.Context())
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if (len(lines) > 1) != terminal || !strings.Contains(strings.Join(lines, " "), "did you mean screen?") {
			t.Errorf("terminal %v: %q", terminal, lines)
		}
		for _, line := range lines {
			if terminal && len(line) > 30 {
				t.Errorf("%q is too long", line)
			}
		}
	}
}

// A mistake is answered by one line, and by nothing on the standard output.
func TestMistakes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	run, sweep, none := keptRun(t), keptSweep(t, root, "quick", [2]float64{90, 600}), filepath.Join(root, "none")
	many := ""
	for i := range 27 {
		many += " " + keptSweep(t, root, fmt.Sprintf("s%02d", i), [2]float64{90, 600})
	}
	for _, tt := range []struct {
		line string
		code int
		says string
	}{
		{"calibrate", exitUsage, "needs the directory of a sweep"},
		{"calibrate " + none, exitError, "none: no such file"},
		{"sim --engine " + none, exitUsage, "no such"},
		{"run --url http://localhost:1 --engine " + none, exitUsage, "is for the embedded engine"},
		{"bench --slo mlperf:llama2-70b-interactiv", exitUsage, "did you mean mlperf:llama2-70b-interactive?"},
		{"bench --accept limit>lots", exitUsage, "limit>20"},
		{"bench --scale 7", exitUsage, "up to 1"},
		{"bench --resume nowhere", exitError, "no plan.yaml"},
		{"bench --rates 1,2", exitUsage, "unknown flag"},
		{"matrix --accept limit>2", exitUsage, "unknown flag"},
		{"matrix now", exitUsage, "takes no argument"},
		{"catalog llama3", exitUsage, "did you mean llama-3.1-8b or llama-3.1-70b or llama-3.1-405b?"},
		{"catalog H100 --gpu H100", exitUsage, "H100 is an accelerator: name the model in its place"},
		{"catalog llama-3.1-8b H100", exitUsage, "a pair is: redline catalog llama-3.1-8b --gpu H100"},
		{"catalog llama-3.1-8b --tp 4", exitUsage, "--tp: is about a pair: name the accelerator too"},
		{"catalog --gpu H100", exitUsage, "--gpu: name the model too"},
		{"catalog llama-3.1-8b --gpu H1000", exitUsage, "did you mean H100"},
		{"export -o x", exitUsage, "one run directory"},
		{"export " + run, exitUsage, "-o OUT"},
		{"export --layout note -o x " + run, exitUsage, "notes"},
		{"export --layout abc --format csv " + run, exitUsage, "two ways"},
		{"export -o x " + none, exitError, "none"},
		{"report --format htlm " + run, exitUsage, "html"},
		{"report --format postscript " + run, exitUsage, "terminal, markdown, html, json, csv, junit"},
		{"report --json --format csv " + run, exitUsage, "exclude each other"},
		{"report " + run + " -o " + filepath.Join(run, "none", "x"), exitError, "none"},
		{"report --pareto", exitUsage, "needs run directories"},
		{"report --pareto " + none, exitError, "none"},
		{"report --x ttft " + sweep, exitUsage, "--x is for --pareto"},
		{"report " + sweep + " " + sweep, exitUsage, "--pareto"},
		{"report --pareto --x interactivty " + sweep, exitUsage, "interactivity"},
		{"report --pareto --y ttft:worst " + sweep, exitUsage, `unknown statistic "worst"`},
		{"report --pareto --x cost --y cost " + sweep, exitUsage, "both cost"},
		{"report --pareto --y energy " + sweep, exitUsage, "no point has both"},
		{"report --pareto --format junit " + sweep, exitUsage, "terminal, json, csv, markdown, html"},
		{"report --pareto --label x --runs " + root, exitUsage, "no finished run"},
		{"report --pareto --label x --runs " + none, exitError, "no such directory"},
		{"report --pareto" + many, exitUsage, "27 series"},
		{"sim --fault rest:2%", exitUsage, "did you mean reset?"},
		{"sim --fault reset:200%", exitUsage, "a share such as 2%"},
		{"sim --restart-after -1s", exitUsage, "--restart-after: expected a positive time"},
		{"sim --restart-after 0s", exitUsage, "--restart-after: expected a positive time"},
		{"sim --pace -1s", exitUsage, "--pace: expected a positive time"},
		{"sim --pace 0", exitUsage, "--pace: expected a positive time"},
		{"sim --truth ''", exitUsage, "--truth: has no value"},
		{"sim --listen ''", exitUsage, "--listen: expected an address"},
		{"sweep --find-limit", exitUsage, "objective"},
		{"sweep --rates 1,x", exitUsage, "--rates"},
		{"sweep --rates 0", exitUsage, "above 0"},
		{"sweep --rates 1 --concurrencies 2", exitUsage, "one of the two"},
		{"sweep --concurrencies 1.5", exitUsage, "whole numbers"},
		{"sweep --resume nowhere", exitError, "no plan.yaml"},
		{"sweep --resume nowhere --rates 1", exitError, "no plan.yaml"},
		{"compare", exitUsage, "two runs or two URLs"},
		{"compare a http://127.0.0.1:1", exitUsage, "one of each"},
		{"compare nowhere nowhere", exitError, "nowhere"},
		{"run --repeat 0", exitUsage, "--repeat"},
		{"run --otlp localhost:4318", exitUsage, "expected the URL of an OTLP receiver such as http://localhost:4318"},
		{"run --otlp http://me:secret@host", exitUsage, "without a password"},
		{"run --metrics-listen host:port", exitUsage, "expected an address such as :9464"},
		{"run --metrics-listen 256.1.1.1:1 --out " + none, exitError, "--metrics-listen: "},
	} {
		code, stdout, stderr := redline(t, nil, shellWords(tt.line)...)
		if code != tt.code || !strings.Contains(stderr, tt.says) || stdout != "" || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "secret") {
			t.Errorf("redline %s: exit %d, %q, %q; want %d and one line with %q", tt.line, code, stdout, stderr, tt.code, tt.says)
		}
	}
}

// A slip on the command line is answered by one line that leads on.
func TestSlips(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, want string
	}{
		{"limit", `unknown command "limit": did you mean redline sweep?`},
		{"limit --help", `unknown command "limit": did you mean redline sweep?`},
		{"k6 run script.js", `unknown command "k6": redline does not run its scripts; redline run --url URL --rate 5 sends such a load to an LLM server`},
		{"swep --help", `unknown command "swep": did you mean redline sweep?`},
		{"zzz -h", `unknown command "zzz": redline --help lists them`},
		{"workload lst --help", `unknown command "lst": did you mean redline workload list?`},
		{"run --raet 5", "unknown flag: --raet; did you mean --rate?"},
		{"run --accept limit>20", "unknown flag: --accept; it is a flag of redline bench"},
		{"run --sustaned 5m", "unknown flag: --sustaned; did you mean --sustained, a flag of redline sweep, redline bench?"},
		{"run --frobnicate", "unknown flag: --frobnicate; redline run --help lists the flags"},
		{"compare a b --rate 5", "--rate: is for two servers, but two stored runs are compared: leave it out"},
		{"compare http://a http://b --history c", "--history: is for stored runs, but two servers are compared: leave it out"},
		{"sweep --find-limit --slo chat --budget -1m", "--budget: expected a time above 0 and up to 72h0m0s such as 10m, got -1m0s"},
		{"sweep --find-limit --slo chat --budget 0s", "--budget: expected a time above 0 and up to 72h0m0s such as 10m, got 0s"},
		{"sweep --find-limit --slo chat --budget 100h", "--budget: expected a time above 0 and up to 72h0m0s such as 10m, got 100h0m0s"},
		{"run --confidence 120%", "--confidence: expected a share from 0.5 to 0.999 such as 0.95 or 95%, got 1.2"},
		{"run --rate 5%", "--rate: expected a number such as 0.05, got \"5%\""},
		{"compare a b --tolerance 5%%", "--tolerance: expected a number, got \"5%%\""},
		{"bench --no-stream --accept ttft:p99<2s --slo e2e:p99<9s", "--accept: \"ttft:p99<2s\" cannot be measured: replies are not streamed (--no-stream); leave it out, or judge e2e:p99 in its place"},
		{"report a --format parquet", `--format "parquet" is a file of single requests: redline export DIR --format parquet -o FILE writes it`},
		{"run --anyway", "--anyway: counts what is invalid among several runs, but there is one: add --repeat, or leave it out"},
	} {
		code, stdout, stderr := redline(t, nil, strings.Fields(tt.args)...)
		if want := "redline: " + tt.want + "\n"; code != exitUsage || stderr != want || stdout != "" {
			t.Errorf("redline %s: exit %d\n got %q\nwant %q\n%s", tt.args, code, stderr, want, stdout)
		}
	}
}

// Examples fit a narrow terminal, and mean the same when they are broken.
func TestExamplesFitANarrowTerminal(t *testing.T) {
	t.Parallel()
	breaks := regexp.MustCompile(` \\\n +`)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		shown := foldExamples(c.Example)
		for line := range strings.Lines(shown) {
			if line = strings.TrimSuffix(line, "\n"); len(line) > exampleWidth && lastSpace(line, len(line)) >= 0 {
				t.Errorf("%s: an example is wider than %d columns: %s", c.CommandPath(), exampleWidth, line)
			}
		}
		if got, want := breaks.ReplaceAllString(shown, " "), breaks.ReplaceAllString(c.Example, " "); got != want {
			t.Errorf("%s: broken, the examples are others:\n%s\nwant\n%s", c.CommandPath(), got, want)
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk((&process{}).root())
}

// A cut stream is no sign of TLS once the server has answered with HTTP.
func TestACutStreamIsNotTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	_, _, stderr := redline(t, nil, "run", "--url", server.URL, "--model", "m", "--rate", "1", "--duration", "1s", "--workload", "fixed(16,4)", "--out", filepath.Join(t.TempDir(), "run"))
	if !strings.Contains(stderr, "cut in mid stream") || strings.Contains(stderr, "TLS") {
		t.Errorf("%q, want the stream cut, and nothing of TLS", stderr)
	}
}

// Names that would become file names too long, and a directory without a name, are
// refused before a worker waits for work.
func TestWorkerFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flag, value, want string
	}{
		{"--name", strings.Repeat("n", 101), "redline: --name: expected a name of at most 100 bytes, got 101\n"},
		{"--keep", "", "redline: --keep: expected a directory, got \"\"; leave the flag out to keep no records\n"},
	} {
		if code, _, stderr := redline(t, nil, "worker", "--nats", "nats://127.0.0.1:1", tt.flag, tt.value); code != exitUsage || stderr != tt.want {
			t.Errorf("%s: exit %d, %q, want %q", tt.flag, code, stderr, tt.want)
		}
	}
}

// A worker that could not keep its records says so before it waits for work.
func TestWorkerKeepsNowhere(t *testing.T) {
	t.Parallel()
	file := must.File(t, "file", "")
	code, stdout, stderr := redline(t, nil, "worker", "--nats", "nats://127.0.0.1:1", "--keep", file)
	if want := "redline: --keep: " + file + ": not a directory; choose a directory that this worker may write to\n"; code != exitError || stderr != want || stdout != "" {
		t.Errorf("exit %d\n got %q\nwant %q", code, stderr, want)
	}
}

// Of several servers the one that is at fault is named.
func TestSecondServerIsNamed(t *testing.T) {
	t.Parallel()
	good := metronome(t, time.Millisecond)
	for second, want := range map[string]string{
		"http://127.0.0.1:1": "http://127.0.0.1:1/v1/chat/completions: 127.0.0.1:1 refused the connection",
		good + "/lost":       good + "/lost/v1/chat/completions: 404 from the server",
	} {
		code, _, stderr := redline(t, nil, "run", "--quiet", "--url", good, "--url", second, "--requests", "1", "--out", filepath.Join(t.TempDir(), "run"))
		if code != exitError || !strings.HasPrefix(stderr, "redline: "+want) {
			t.Errorf("%s: exit %d: %s", second, code, stderr)
		}
	}
	code, _, stderr := redline(t, nil, "run", "--quiet", "--url", good+"/lost", "--api", "openai-chat", "--out", filepath.Join(t.TempDir(), "run"))
	if code != exitError || !strings.Contains(stderr, "is the path in --url right?") {
		t.Errorf("a wrong path: exit %d: %s", code, stderr)
	}
}

// What was fitted before is not written over by accident.
func TestFitKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, out := filepath.Join(dir, "log.csv"), filepath.Join(dir, "out.yaml")
	rows := "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.98,100,20\n2023-11-16 18:17:04.03,110,20\n"
	for path, text := range map[string]string{log: rows, out: "mine"} {
		must.Write(t, path, text)
	}
	code, _, stderr := redline(t, nil, "workload", "fit", log, "-o", out)
	if kept, _ := os.ReadFile(out); code != exitUsage || string(kept) != "mine" || !strings.Contains(stderr, "--force") {
		t.Errorf("exit %d, %q kept: %s", code, kept, stderr)
	}
	if code, _, stderr = redline(t, nil, "workload", "fit", log, "-o", out, "--force"); code != exitOK {
		t.Errorf("with --force: exit %d: %s", code, stderr)
	}
}
