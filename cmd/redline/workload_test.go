package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/workload"
)

const azureHead = "TIMESTAMP,ContextTokens,GeneratedTokens\n"

// azure is a trace of ten requests, one each half second, with prompts of 100,
// 200, … and outputs of 10, 20, … tokens.
func azure() string {
	var b strings.Builder
	b.WriteString(azureHead)
	for i := range 10 {
		fmt.Fprintf(&b, "2023-11-16 18:15:%02d.%d000000,%d,%d\n", 40+i/2, 5*(i%2), 100*(i+1), 10*(i+1))
	}
	return b.String()
}

// A file of words is said to be read as prose, and how much of it there is; one
// whose name promises rows is refused.
func TestWorkloadShowSaysThatAFileIsProse(t *testing.T) {
	t.Parallel()
	const words = 300
	code, stdout, stderr := redline(t, nil, "workload", "show", must.File(t, "book.txt", strings.Repeat(" the", words)))
	if want := fmt.Sprintf("read as text: %d tokens of prose", words); code != exitOK || !strings.Contains(stdout, want) {
		t.Errorf("exit %d, want %q: %s%s", code, want, stdout, stderr)
	}
	if code, _, stderr := redline(t, nil, "run", "--workload", must.File(t, "bad.csv", "garbage\n")); code != exitError || !strings.Contains(stderr, "bad.csv: holds prose") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// showWorkload runs workload show --json.
func showWorkload(t *testing.T, args ...string) workload.Summary {
	t.Helper()
	code, stdout, stderr := redline(t, nil, append([]string{"workload", "show", "--json"}, args...)...)
	if code != exitOK || stderr != "" {
		t.Fatalf("workload show %v: exit %d, %s", args, code, stderr)
	}
	var s workload.Summary
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	return s
}

func TestWorkloadShowsATrace(t *testing.T) {
	t.Parallel()
	path := must.File(t, "azure.csv", azure())
	got := showWorkload(t, path)
	want := workload.Summary{Name: path, Format: "azure", Seed: 1, Sessions: 10, Requests: 10,
		Prompt:   workload.Lengths{Mean: 550, P50: 550, P90: 910, P95: 955, P99: 991, Min: 100, Max: 1000},
		Output:   workload.Lengths{Mean: 55, P50: 55, P90: 91, P95: 95.5, P99: 99.1, Min: 10, Max: 100},
		Arrivals: &workload.Arrivals{SpanS: 4.5, Rate: 2, Dispersion1s: new(0.0)}}
	expect.Same(t, want, got, rounded)
	if half := showWorkload(t, path, "--from", "1s", "--for", "2s", "--speedup", "2"); half.Requests != 4 || half.Prompt.Min != 300 || half.Arrivals.Rate != 4 {
		t.Errorf("two seconds at twice the speed: %d requests from %g tokens on at %g/s; want 4 from 300 at 4",
			half.Requests, half.Prompt.Min, half.Arrivals.Rate)
	}
}

// rounded compares figures as far as their digits are worth something.
var rounded = cmp.Comparer(func(a, b float64) bool { return fmt.Sprintf("%.6g", a) == fmt.Sprintf("%.6g", b) })

// The keys that other programs rely on.
func TestWorkloadShowKeepsItsKeys(t *testing.T) {
	t.Parallel()
	_, stdout, _ := redline(t, nil, "workload", "show", "--json", must.File(t, "azure.csv", azure()))
	var got struct {
		Requests int
		Prompt   map[string]float64 `json:"prompt_tokens"`
		Output   map[string]float64 `json:"output_tokens"`
	}
	must.Do(t, json.Unmarshal([]byte(stdout), &got))
	for _, p := range []string{"p50", "p90", "p95", "p99", "max", "mean"} {
		if got.Prompt[p] == 0 || got.Output[p] == 0 {
			t.Errorf("no %s: %s", p, stdout)
		}
	}
	if got.Requests != 10 {
		t.Errorf("%d requests, want 10", got.Requests)
	}
}

// A preset has no end: what is shown is a sample, and says so.
func TestWorkloadShowSaysWhatIsASample(t *testing.T) {
	t.Parallel()
	code, stdout, _ := redline(t, nil, "workload", "show", "chat", "--samples", "2")
	if code != exitOK || !strings.Contains(stdout, "a sample of 10,000 requests drawn with seed 1") {
		t.Errorf("exit %d:\n%s", code, stdout)
	}
	if n := strings.Count(stdout, "── prompt "); n != 2 {
		t.Errorf("%d prompts are shown, want 2", n)
	}
	if _, trace, _ := redline(t, nil, "workload", "show", must.File(t, "azure.csv", azure())); strings.Contains(trace, "sample") {
		t.Errorf("a trace is no sample:\n%s", trace)
	}
}

func TestWorkloadListNamesWhatShowKnows(t *testing.T) {
	t.Parallel()
	code, stdout, _ := redline(t, nil, "workload", "list")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != exitOK || len(lines) != len(workload.Names()) {
		t.Fatalf("exit %d, %d lines for %d names", code, len(lines), len(workload.Names()))
	}
	for i, name := range workload.Names() {
		if strings.Fields(lines[i])[0] != name {
			t.Errorf("line %d is %q, want %s", i, lines[i], name)
		}
	}
}

// What was fitted behaves like its log when it is shown and when it is sent,
// and holds none of its names.
func TestFittedWorkloadIsShownAndSent(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 400 {
		fmt.Fprintf(&log, `{"timestamp":%d.%03d,"prompt_tokens":%d,"completion_tokens":%d,"tenant":"umbrella-corp"}`+"\n",
			1_700_000_000+i/20, 50*(i%20), 40+i%21, 4+i%5)
	}
	path, out := must.File(t, "access.jsonl", log.String()), filepath.Join(t.TempDir(), "fitted.yaml")
	code, stdout, stderr := redline(t, nil, "workload", "fit", path, "-o", out)
	if code != exitOK || !strings.Contains(stdout, "400 requests") || !strings.Contains(stdout, "workload show "+out) {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	if want := "access.jsonl: read as jsonl: time=timestamp, prompt=prompt_tokens, output=completion_tokens, tenant=tenant; --column ROLE=NAME"; !strings.Contains(stderr, want) {
		t.Errorf("%q lacks %q", stderr, want)
	}
	content, err := os.ReadFile(out)
	if err != nil || strings.Contains(string(content), "umbrella") {
		t.Errorf("the tenant's name is kept (%v):\n%s", err, content)
	}
	if code, _, stderr := redline(t, nil, "workload", "fit", path, "-o", path, "--force"); code != exitUsage || !strings.Contains(stderr, "is the log itself") {
		t.Errorf("exit %d over the log itself: %s", code, stderr)
	}
	if code, _, stderr := redline(t, nil, "workload", "show", out, "--speedup", "2"); code == exitOK || !strings.Contains(stderr, "fitted and draws fresh requests") {
		t.Errorf("exit %d at twice the speed: %s", code, stderr)
	}
	s := showWorkload(t, out)
	if !s.Drawn || s.Prompt.Min < 40 || s.Prompt.Max > 60 || s.Output.Min < 4 || s.Output.Max > 8 ||
		s.Arrivals == nil || s.Arrivals.Rate < 18 || s.Arrivals.Rate > 22 {
		t.Errorf("shows %+v with %+v; want prompts of 40 to 60, outputs of 4 to 8, 20 requests/s", s, s.Arrivals)
	}
	res, _ := runJSON(t, nil, "--workload", out, "--duration", "2s", "--warmup", "0s")
	point := res.Points[0]
	if n := point.Requests; n.OK != n.Due || n.Due < 15 || n.Due > 70 {
		t.Errorf("%d of %d requests in 2 s of about 20/s", n.OK, n.Due)
	}
	if mean := float64(point.Tokens.AskedPrompt) / float64(point.Requests.OK); mean < 46 || mean > 54 {
		t.Errorf("prompts of %g tokens on average, want about 50", mean)
	}
}

// Lengths without times are sent at a rate that is given, and not without one.
func TestLengthsWithoutTimesNeedARate(t *testing.T) {
	t.Parallel()
	log := must.File(t, "lengths.csv", "in_tok,out_tok\n100,20\n200,30\n")
	fitted := filepath.Join(t.TempDir(), "fitted.yaml")
	code, _, stderr := redline(t, nil, "workload", "fit", log, "--column", "prompt=in_tok", "--column", "output=out_tok", "-o", fitted)
	if code != 0 || !strings.Contains(stderr, "has no timestamps") {
		t.Errorf("fit: exit %d, %s", code, stderr)
	}
	code, _, stderr = redline(t, nil, "run", "--workload", fitted, "--duration", "3s", "--out", filepath.Join(t.TempDir(), "out"))
	if code != exitError || !strings.Contains(stderr, "give --rate or --concurrency") {
		t.Errorf("run: exit %d, %s", code, stderr)
	}
}

func TestBadWorkloads(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); http.NotFound(w, nil) })
	const early, late = "2023-11-16 18:15:46.0000000", "2023-11-16 18:15:48.0000000"
	dir := t.TempDir()
	write := func(name, content string) string { return must.File(t, name, content) }
	missing, empty := filepath.Join(dir, "none.csv"), write("empty.csv", "")
	unsorted := write("unsorted.csv", azureHead+late+",10,1\n"+early+",10,1\n")
	negative := write("negative.csv", azureHead+early+",10,1\n"+late+",-396,1\n")
	prompts := write("prompts.jsonl", `{"prompt": "a", "output_tokens": 5}`+"\n"+`{"prompt": "b", "output_tokens": -5}`+"\n")
	weights := write("weights.yaml", "workload:\n  prompt: {weights: [0, 0], token_counts: [10, 20]}\n  output: 10\n")
	histogram := write("histogram.yaml", "load_profile:\n  context_distribution: {weights: [0.5, -1], token_counts: [10, 20]}\n")
	tokenizer := write("tokenizer.json", `{"model": {"type": "Unigram"}}`)
	fitted := write("fitted.yaml", "schema: redline/workload/1\nsource: {requests: many}\n")
	for _, tt := range []struct {
		name string
		args []string // after the workload's own flag or argument
		work string
		code int
		want []string
	}{
		{"missing file", nil, missing, exitUsage, []string{missing, "no such file"}},
		{"empty file", nil, empty, exitError, []string{empty, "is empty"}},
		{"unsorted times", nil, unsorted, exitError, []string{unsorted + ":3", "back in time by 2s", "--sort", "--skip-bad-rows"}},
		{"negative length", nil, negative, exitError, []string{negative + ":3", "-396", "--skip-bad-rows"}},
		{"negative length of a prompt's answer", nil, prompts, exitError, []string{prompts + ":2", "-5", "--skip-bad-rows"}},
		{"fitted by nobody", nil, fitted, exitError, []string{fitted + ":2", "many"}},
		{"weights of nothing", nil, "in=choice(512:0,64:0) out=8", exitUsage, []string{"weights", "above 0"}},
		{"weights of nothing in a plan", []string{"--plan", weights}, "", exitUsage, []string{weights + ":2", "weights", "above 0"}},
		{"a negative weight", []string{"--plan", histogram}, "", exitUsage, []string{histogram + ":2", "context_distribution.weights", "-1"}},
		{"unknown preset", nil, "chta", exitUsage, []string{"chta", "did you mean chat?"}},
		{"a file that looks like a preset", nil, "access_log", exitUsage, []string{"access_log", "./access_log"}},
		{"unknown format", []string{"--workload-format", "azzure"}, negative, exitUsage, []string{"azzure", "azure"}},
		{"tokenizer that is not there", []string{"--tokenizer", "llama"}, "chat", exitError, []string{"tokenizer", "llama", "o200k_base"}},
		{"tokenizer of another kind", []string{"--tokenizer", tokenizer}, "chat", exitError, []string{tokenizer, "Unigram"}},
		{"slice beyond the end", []string{"--from", "1h", "--skip-bad-rows"}, negative, exitError, []string{negative, "1h"}},
		{"no speed", []string{"--speedup", "0"}, negative, exitUsage, []string{"--speedup", "more than 0"}},
		{"a file's flag without a file", []string{"--from", "10s"}, "chat", exitUsage, []string{"file"}},
	} {
		for _, command := range [][]string{{"workload", "show"}, {"run", "--url", url, "--model", "m", "--out", filepath.Join(dir, "out")}} {
			t.Run(tt.name+"/"+command[0], func(t *testing.T) {
				args := append(command[:len(command):len(command)], tt.args...)
				switch {
				case tt.work == "":
				case command[0] == "run":
					args = append(args, "--workload", tt.work)
				default:
					args = append(args, tt.work)
				}
				badInput(t, args, tt.code, tt.want)
				if exists(dir, "out") {
					t.Error("something was written")
				}
			})
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// badInput runs a command that must end in one line that says what is wanted.
func badInput(t *testing.T, args []string, code int, want []string) {
	t.Helper()
	got, stdout, stderr := redline(t, nil, args...)
	if got != code {
		t.Errorf("exit %d, want %d", got, code)
	}
	for _, w := range want {
		if !strings.Contains(stderr, w) {
			t.Errorf("stderr does not say %q: %s", w, stderr)
		}
	}
	oneLine(t, stderr)
	if stdout != "" {
		t.Errorf("stdout has %q", stdout)
	}
}

func TestBadFits(t *testing.T) {
	t.Parallel()
	good, dir := must.File(t, "azure.csv", azure()), t.TempDir()
	prose := must.File(t, "prose.dat", "It was a dark night, and nothing was counted.\n")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"nothing", nil, exitUsage, []string{"needs a log"}},
		{"missing file", []string{filepath.Join(dir, "none.csv")}, exitUsage, []string{"none.csv", "no such file"}},
		{"no log", []string{prose}, exitUsage, []string{prose, "--workload-format", "--column"}},
		{"unknown format", []string{good, "--workload-format", "azzure"}, exitUsage, []string{"azzure", "azure"}},
		{"column without a role", []string{good, "--column", "in_tok"}, exitUsage, []string{"--column", "role=name"}},
		{"unknown role", []string{good, "--column", "promt=in_tok"}, exitUsage, []string{"--column", "promt", "did you mean prompt?"}},
		{"unwritable", []string{good, "-o", filepath.Join(dir, "none", "f.yaml")}, exitError, []string{"-o", "f.yaml", "cannot be written"}},
		{"a directory", []string{good, "-o", dir}, exitError, []string{"-o", dir, "directory"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			badInput(t, append([]string{"workload", "fit"}, tt.args...), tt.code, tt.want)
		})
	}
	if found, _ := os.ReadDir(dir); len(found) != 0 {
		t.Errorf("%v was left behind", found)
	}
}

// Columns of any name make a log of a file, without a word about its format.
func TestColumnsAreAllThatALogNeeds(t *testing.T) {
	t.Parallel()
	columns := []string{"--column", "time=ts", "--column", "prompt=in_tok", "--column", "output=out_tok", "--column", "tenant=who"}
	for _, path := range []string{
		must.File(t, "gateway.csv", "ts,in_tok,out_tok,who\n1,100,10,a\n2,200,20,b\n3,300,30,a\n"),
		must.File(t, "gateway.jsonl", `{"ts":1,"in_tok":100,"out_tok":10,"who":"a"}`+"\n"+`{"ts":2,"in_tok":200,"out_tok":20,"who":"b"}`+"\n"+
			`{"ts":3,"in_tok":300,"out_tok":30,"who":"a"}`+"\n"),
	} {
		s := showWorkload(t, append([]string{path}, columns...)...)
		if s.Requests != 3 || s.Prompt.Mean != 200 || s.Output.Mean != 20 || len(s.Tenants) != 2 || s.Arrivals.SpanS != 2 {
			t.Errorf("%s: %+v", path, s)
		}
		code, stdout, stderr := redline(t, nil, append([]string{"workload", "fit", path}, columns...)...)
		if code != exitOK || !strings.Contains(stdout, "schema: redline/workload/1") {
			t.Errorf("fit of %s: exit %d, %s", path, code, stderr)
		}
		if want := "time=ts, prompt=in_tok, output=out_tok, tenant=who"; !strings.Contains(stderr, want) {
			t.Errorf("fit of %s: %q lacks %q", path, stderr, want)
		}
		badInput(t, []string{"workload", "show", path}, exitError, []string{path, "--column"})
		badInput(t, []string{"workload", "show", path, "--column", "prompt=nowhere"}, exitError, []string{path, "nowhere"})
		badInput(t, []string{"workload", "show", path, "--column", "promt=in_tok"}, exitUsage, []string{"promt", "did you mean prompt?"})
	}
}

func TestSkippedRowsAreCounted(t *testing.T) {
	t.Parallel()
	path := must.File(t, "azure.csv", azure()+"2023-11-16 18:15:50.0000000,-1,5\nnever,5,5\n")
	if s := showWorkload(t, path, "--skip-bad-rows"); s.Skipped != 2 || s.Requests != 10 {
		t.Errorf("%d rows skipped, %d requests; want 2 and 10", s.Skipped, s.Requests)
	}
	_, stdout, _ := redline(t, nil, "workload", "show", path, "--skip-bad-rows")
	if !strings.Contains(stdout, "bad rows left out: 2, the first: "+path+":12:") {
		t.Errorf("the rows are not told of:\n%s", stdout)
	}
	out := filepath.Join(t.TempDir(), "f.yaml")
	code, _, stderr := redline(t, nil, "workload", "fit", path, "--skip-bad-rows", "-o", out)
	if code != exitOK || !strings.Contains(stderr, "2 bad rows") {
		t.Errorf("fit: exit %d, %q", code, stderr)
	}
	prompts := must.File(t, "prompts.jsonl", `{"prompt": "good day"}`+"\n{]\n")
	if s := showWorkload(t, prompts, "--skip-bad-rows"); s.Skipped != 1 || s.Requests != 1 || len(s.Notes) != 1 {
		t.Errorf("prompts: %+v", s)
	}
}

// A server that says how long its context is gets no request at all.
func TestPromptOverTheContextOfAServer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			asked.Add(1)
		}
		fmt.Fprint(w, `{"data":[{"id":"m","max_model_len":1000}]}`)
	})
	trace := must.File(t, "azure.csv", azure())
	badInput(t, []string{"run", "--url", url, "--workload", trace, "--out", filepath.Join(t.TempDir(), "out")}, exitError,
		[]string{trace + ":11: 1,000 prompt and 100 output tokens do not fit the model's context of 1,000"})
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// What the model cannot take is refused by its row, before the load.
func TestPromptOverTheContext(t *testing.T) {
	t.Parallel()
	trace := must.File(t, "azure.csv", azure())
	for _, tt := range []struct{ name, workload, want string }{
		{"a row", trace, trace + ":11: 1,000 prompt and 100 output tokens do not fit the model's context of 1,000; take the row out, or serve a model with a longer context"},
		{"lengths", "fixed(990,20)", "workload session 0: 990 prompt and 20 output tokens do not fit the model's context of 1,000; clip the lengths"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			badInput(t, []string{"run", "--max-model-len", "1000", "--workload", tt.workload, "--out", filepath.Join(dir, "out")},
				exitError, []string{tt.want})
			if exists(dir, "out") {
				t.Error("something was written")
			}
		})
	}
}

// TestRowsAreSentAsTheyAsk: tools, calls, images, a format of the reply and
// sampling of a prompt file reach the server in the words of every API that has
// them; where one has no word, the row is refused by its name; and fields that
// nobody reads are named.
func TestRowsAreSentAsTheyAsk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := `{"prompt": "plain"}
{"prompt": "with tools", "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type":"object"}}}], "top_p": 0.5, "logprobs": true}
{"messages": [{"role": "user", "content": [{"type": "text", "text": "call it"}, {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"}}]}, {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "c1", "content": "42"}]}
`
	must.Write(t, file, rows)
	for _, api := range []string{"openai-chat", "openai-responses", "anthropic-messages", "ollama-chat"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			d, _ := wire.ByName(api)
			asked := make(chan *llm.Request, 1000)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				request, options, err := d.ParseRequest(body)
				if !d.Serves(r.URL.Path) || err != nil {
					http.NotFound(w, r)
					return
				}
				asked <- request
				reply := &wire.Reply{ID: "1", Model: "m", Finish: "stop", IncludeUsage: options.IncludeUsage, Usage: llm.Usage{PromptTokens: 5, OutputTokens: 1}}
				w.Header().Set("Content-Type", d.Framing.ContentType())
				_, _ = w.Write(d.Close(d.Output(d.Open(nil, reply), reply, llm.Text, "word"), reply))
			}))
			defer server.Close()
			code, stdout, stderr := redline(t, nil, "run", "--url", server.URL, "--api", api, "--model", "m", "--workload", file, "--concurrency", "1",
				"--requests", "3", "--duration", "10s", "--warmup", "0s", "--out", filepath.Join(t.TempDir(), "run"))
			if code == exitUsage || code == exitError {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			server.Close()
			close(asked)
			seen := map[string]bool{}
			for r := range asked {
				last := r.Messages[len(r.Messages)-1]
				if len(r.Messages) == 3 && len(r.Messages[0].Parts) == 1 && strings.HasPrefix(string(r.Messages[0].Parts[0].Data), "GIF89a") && len(r.Messages[1].Parts) == 1 && r.Messages[1].Parts[0].Name == "f" && len(last.Parts) == 1 && last.Parts[0].Text == "42" {
					seen["call"] = true
				}
				if strings.HasSuffix(last.Content, "with tools") && r.Tools != nil && r.Tools.Tools[0].Name == "f" && string(r.Tools.Tools[0].Parameters) == `{"type":"object"}` && *r.Sampling.TopP == 0.5 {
					seen["tools"] = true
				}
			}
			if !seen["call"] || !seen["tools"] {
				t.Errorf("rows were not sent as they ask: %v", seen)
			}
			if !strings.Contains(strings.Join(strings.Fields(stdout), " "), "fields that are not used, and in how many rows: logprobs 1") {
				t.Errorf("nobody says that a field is not used:\n%s", stdout)
			}
		})
	}
	code, _, stderr := redline(t, nil, "run", "--url", "http://127.0.0.1:9", "--api", "tgi-generate", "--model", "m", "--workload", file, "--out", filepath.Join(t.TempDir(), "other"))
	if want := file + ":2: asks for tools, which the API tgi-generate cannot be asked for"; code != exitError || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %s, want %s", code, stderr, want)
	}
	oneLine(t, stderr)
}

// TestImagesAreSeen: made images reach the embedded engine, whose usage tells their
// tokens from those of text; an engine that takes none, an API that has no word for
// them and a file that is no image end the run before the load, in one line each.
func TestImagesAreSeen(t *testing.T) {
	t.Parallel()
	run := func(flags ...string) (int, string, string) {
		return redline(t, nil, append([]string{"run", "--workload", "fixed(20,2)", "--concurrency", "1", "--requests", "4", "--plain", "--json", "--out", filepath.Join(t.TempDir(), "run")}, flags...)...)
	}
	code, stdout, stderr := run("--images", "56x56 count=fixed(2) format=png")
	var result struct {
		Points []struct {
			Images     struct{ Count int }
			Tokens     struct{ Vision, Prompt int }
			Throughput struct {
				Images float64 `json:"images_per_s"`
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || len(result.Points) != 1 {
		t.Fatalf("exit %d: %s %v", code, stderr, err)
	}
	// An image of 56 × 56 pixels is four tokens.
	if p := result.Points[0]; p.Images.Count != 8 || p.Tokens.Vision != 8*4 || p.Tokens.Prompt != 8*4+4*20 || p.Throughput.Images <= 0 {
		t.Errorf("8 images were asked for, and the result has %+v", p)
	}
	text := must.File(t, "text.png", "text")
	for want, flags := range map[string][]string{
		"At most 0 image(s) may be provided in one prompt.":                                      {"--images", "56x56", "--limit-mm-per-prompt", "0"},
		"workload.images: asks for images, which the API openai-completions cannot be asked for": {"--images", "56x56", "--api", "openai-completions"},
		text + ": is not an image": {"--images", "files=" + text},
	} {
		code, _, stderr := run(flags...)
		if code != exitError || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s, want %s", flags, code, stderr, want)
		}
		oneLine(t, stderr)
	}
}

// TestClassesAddToTheirRequests: over a real socket each class sends its own
// headers, key, body, priority and adapter, beside the provider's; none of the
// secrets is in a file; and an API without a word for one is refused by name.
func TestClassesAddToTheirRequests(t *testing.T) {
	t.Parallel()
	type request struct {
		Key, Tier, Both, Model, Salt string
		Priority, TopK               int
	}
	var mu sync.Mutex
	seen := map[request]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model    string
			Priority int
			TopK     int    `json:"top_k"`
			Salt     string `json:"cache_salt"`
		}
		if json.NewDecoder(r.Body).Decode(&body) == nil && r.Header.Get("X-Tier") != "" {
			mu.Lock()
			seen[request{r.Header.Get("Authorization"), r.Header.Get("X-Tier"), r.Header.Get("X-Both"), body.Model, body.Salt, body.Priority, body.TopK}]++
			mu.Unlock()
		}
		stream(w)
	}))
	defer server.Close()
	plan := must.File(t, "plan.yaml", `
provider: {api_endpoint: "`+server.URL+`", model: base, api_key: "${MAIN}", headers: {X-Both: provider}, extra_body: {top_k: 20}}
workload:
  classes:
    - {name: gold, workload: "fixed(5,1)", headers: {X-Tier: gold, X-Both: class}, api_key: "${GOLD}", body: {top_k: 5, auth: {api_key: body-secret-1}}, priority: -5}
    - {name: bulk, workload: "fixed(5,1)", headers: {X-Tier: bulk}, adapter: bulk-lora, body: {cache_salt: b}, priority: 7}
load_profile: {concurrency: 2, total_requests: 40, duration: 20s, warmup: 0s}
`)
	out := filepath.Join(t.TempDir(), "run")
	env := map[string]string{"MAIN": "main-key-1", "GOLD": "gold-key-1"}
	if code, _, stderr := redline(t, env, "run", "--plan", plan, "--out", out); code == exitUsage || code == exitError {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	gold := request{"Bearer gold-key-1", "gold", "class", "base", "", -5, 5}
	bulk := request{"Bearer main-key-1", "bulk", "provider", "bulk-lora", "b", 7, 20}
	mu.Lock()
	if len(seen) != 2 || seen[gold] == 0 || seen[bulk] == 0 {
		t.Errorf("the classes sent %+v", seen)
	}
	mu.Unlock()
	err := filepath.WalkDir(out, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range []string{"gold-key-1", "main-key-1", "body-secret-1"} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s shows %s", path, secret)
			}
		}
		return err
	})
	expect.OK(t, err)
	code, _, stderr := redline(t, env, "run", "--plan", plan, "--api", "anthropic-messages", "--out", out+"2")
	if want := "class gold: asks for priority, which the API anthropic-messages cannot be asked for"; code != exitError || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %s, want %s", code, stderr, want)
	}
}
