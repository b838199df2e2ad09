package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

func TestRunAgainstTheEmbeddedEngine(t *testing.T) {
	t.Parallel()
	virtually(t, runAgainstTheEmbeddedEngine)
}

func runAgainstTheEmbeddedEngine(w *world) {
	out := filepath.Join(w.TempDir(), "run")
	code, stdout, stderr := w.redline("run", "--rate", "20", "--duration", "2s", "--warmup", "500ms",
		"--workload", "fixed(64,20)", "--quiet", "--label", "first try", "--note", "why", "--out", out)
	if code != exitOK {
		w.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"llama-3.1-8b", "first try", "ttft from due", "requests", "Kept in " + out + "\nReport for a browser: " + out + "/report.html\n"} {
		if !strings.Contains(stdout, want) {
			w.Errorf("the report does not say %q:\n%s", want, stdout)
		}
	}
	if stderr != "" {
		w.Errorf("--quiet, but stderr has %q", stderr)
	}
	for _, name := range []string{"plan.yaml", "records.jsonl", "result.json"} {
		if !exists(out, name) {
			w.Errorf("no %s", name)
		}
	}
	_, again, _ := w.redline("report", out)
	expect.NoDiff(w, cmp.Diff(strings.Split(stdout, "\nKept in ")[0], again), "report shows something else than run did (-run +report)")
	if code, _, stderr := w.redline("run", "--out", out); code != exitError || !strings.Contains(stderr, "--force") {
		w.Errorf("a second run into %s: exit %d, %q", out, code, stderr)
	}
}

// A name that a terminal would obey is shown escaped.
func TestAKeptPathIsNotObeyed(t *testing.T) {
	t.Parallel()
	virtually(t, func(w *world) {
		out := filepath.Join(t.TempDir(), "run\x1b[31m")
		code, stdout, stderr := w.redline("run", "--plain", "--requests", "2", "--workload", "fixed(16,5)", "--quiet", "--out", out)
		if code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		if strings.Contains(stdout, "\x1b") || !strings.Contains(stdout, `run\x1b[31m/report.html`) {
			t.Errorf("the end of the report is %q", stdout[len(stdout)-200:])
		}
	})
}

func TestJSONIsAllThatStdoutGets(t *testing.T) {
	t.Parallel()
	var stdout string
	virtually(t, func(w *world) {
		code, answer, _ := w.redline("run", "--url", w.engine(sim.Spec{}, time.Millisecond), "--concurrency", "4", "--requests", "40", "--warmup", "0s",
			"--workload", "fixed(16,5)", "--json", "--out", filepath.Join(t.TempDir(), "run"))
		if stdout = answer; code != exitOK {
			t.Fatalf("exit %d", code)
		}
	})
	var res result.Result
	dec := json.NewDecoder(strings.NewReader(stdout))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&res); err != nil {
		t.Fatalf("stdout is not the result: %v\n%s", err, stdout)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Error("something follows the result on stdout")
	}
	if got := res.Points[0].Requests; got.Due != 40 || got.OK != 40 {
		t.Errorf("%d of %d requests ok, want 40 of 40", got.OK, got.Due)
	}
}

// asked is what a server was asked for, by request number.
type asked struct {
	mu     sync.Mutex
	bodies map[string]string
}

// echo serves one token to everybody and remembers what was asked.
func echo(t *testing.T) (string, *asked) {
	a := &asked{bodies: map[string]string{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("X-Request-Id")
		number := id[strings.LastIndexByte(id, '-')+1:]
		a.mu.Lock()
		a.bodies[number] = string(body)
		a.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL, a
}

func TestSameSeedSameLoad(t *testing.T) {
	t.Parallel()
	type sent struct {
		Due    int64
		Asked  [2]int
		Prompt string
	}
	offer := func(seed, salt string) map[string]sent {
		url, a := echo(t)
		out := filepath.Join(t.TempDir(), "run")
		code, _, stderr := redline(t, nil, "run", "--url", url, "--model", "m", "--rate", "60", "--duration", "1s",
			"--warmup", "0s", "--seed", seed, "--salt", salt, "--quiet", "--out", out)
		if code == exitError || code == exitUsage {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		dir := must.Get(store.Open(out))(t)
		load := map[string]sent{}
		var first int64
		for r, err := range dir.Records() {
			must.Do(t, err)
			if r.ID == 0 {
				first = r.Due
			}
		}
		for r := range dir.Records() {
			if r.Phase == record.Measure {
				id := fmt.Sprintf("%012d", r.ID)
				load[id] = sent{r.Due - first, [2]int{r.AskedPrompt, r.AskedOutput}, a.bodies[id]}
			}
		}
		return load
	}
	one, two, other, salted := offer("7", "a"), offer("7", "a"), offer("8", "a"), offer("7", "b")
	if len(one) < 20 {
		t.Fatalf("only %d requests in a second at 60/s", len(one))
	}
	expect.NoDiff(t, cmp.Diff(one, two), "two runs of one seed differ")
	if cmp.Equal(one, other) {
		t.Error("two seeds give the same load")
	}
	for id, s := range one {
		again := salted[id]
		if again.Due != s.Due || again.Asked != s.Asked || again.Prompt == s.Prompt {
			t.Errorf("request %s with another salt: due and lengths %d %v, want %d %v, in other words", id, again.Due, again.Asked, s.Due, s.Asked)
		}
	}
	seen := map[string]bool{}
	for id, s := range one {
		if s.Prompt == "" || seen[s.Prompt] {
			t.Errorf("request %s: prompt missing, or sent before", id)
		}
		seen[s.Prompt] = true
	}
}

func TestObjectivesDecideTheExitCode(t *testing.T) {
	t.Parallel()
	virtually(t, func(w *world) {
		url := w.engine(sim.Spec{}, time.Millisecond)
		for _, tt := range []struct {
			name, slo string
			want      int
		}{
			{"met", "ttft:p50<2ms", exitOK},
			{"missed", "ttft:p50<1us", exitMissed},
			{"too few to decide", "ttft:p9999<1h", exitUndecided},
		} {
			code, stdout, stderr := w.redline("run", "--url", url, "--concurrency", "8", "--duration", "1s", "--warmup", "200ms",
				"--workload", "fixed(16,5)", "--slo", tt.slo, "--quiet", "--out", filepath.Join(t.TempDir(), "run"))
			if code != tt.want {
				t.Errorf("%s: exit %d, want %d\n%s%s", tt.name, code, tt.want, stdout, stderr)
			}
		}
	})
}

// The plan that asked for the product runs unchanged but for its endpoint and
// the shape of its model, without which its objective on the cache is not judged.
func TestSeedPlanOverSockets(t *testing.T) {
	t.Parallel()
	url := metronomeAs(t, "claude-sonnet-4-20250514", time.Millisecond)
	out := filepath.Join(t.TempDir(), "run")
	args := []string{"run", "--plan", "../../internal/plan/config/testdata/benchmark-config.yaml", "--url", url + "/v1/messages",
		"--requests", "20", "--quiet", "--out", out}
	key := map[string]string{"INFERENCE_API_KEY": "key"}
	judged := func(args ...string) (res result.Result, cache slo.Verdict) {
		code, stdout, stderr := redline(t, key, args...)
		if err := json.Unmarshal([]byte(stdout), &res); err != nil || code != resultCode(&res) {
			t.Fatalf("the plan asks for JSON: exit %d, %v: %s", code, err, stderr)
		}
		for _, v := range res.Points[0].Objectives {
			if strings.Contains(v.Objective, "kv") {
				cache = v
			}
		}
		return res, cache
	}
	if _, cache := judged(args...); cache.Standing != slo.NotJudged || !strings.Contains(cache.Note, "shape is not known") {
		t.Errorf("without a shape: %#v", cache)
	}
	res, cache := judged(append(args, "--force", "--catalog", "../../internal/plan/config/testdata/shape/config.json")...)
	if cache.Standing == slo.NotJudged {
		t.Errorf("with a shape: %+v", cache)
	}
	if got := res.Points[0].Requests; got.Due != 20 || got.OK != 20 {
		t.Errorf("%d of %d requests ok, want 20 of 20", got.OK, got.Due)
	}
	if res.Engine.API != "anthropic-messages" || len(res.Points[0].Objectives) != 3 {
		t.Errorf("api %s with %d objectives", res.Engine.API, len(res.Points[0].Objectives))
	}
}

func TestBudgetEndsTheSending(t *testing.T) {
	t.Parallel()
	url := metronome(t, time.Millisecond)
	code, stdout, _ := redline(t, nil, "run", "--url", url, "--concurrency", "2", "--requests", "1000", "--warmup", "0s",
		"--workload", "fixed(16,4)", "--max-tokens-total", "400", "--json", "--quiet", "--out", filepath.Join(t.TempDir(), "run"))
	if code == exitUsage {
		t.Fatalf("exit %d", code)
	}
	var res result.Result
	must.Do(t, json.Unmarshal([]byte(stdout), &res))
	// Those before the load use 16 + 16 tokens each; they are three, and two more
	// for each time that a repeated one was quick by chance. What they leave pays
	// for requests of 16 + 4.
	paid := map[int]bool{}
	for before := 3; before <= 11; before += 2 {
		paid[(400-32*before)/20] = true
	}
	if got := res.Points[0].Requests.OK; !paid[got] || !strings.Contains(res.Interrupted, "--max-tokens-total") {
		t.Errorf("%d requests ok, interrupted by %q; want as many as --max-tokens-total pays for: %v", got, res.Interrupted, paid)
	}
}

func deadPort(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return "http://" + l.Addr().String()
}

func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := func(name, text string) string { return must.File(t, name, text) }
	sim := metronome(t, time.Millisecond)
	html := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>hello</html>") })
	locked := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"bad key"}}`, http.StatusUnauthorized)
	})
	answering := func(status int) string {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", status) })
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"unknown command", []string{"rnu"}, exitUsage, []string{`"rnu"`, "run"}},
		{"help on an unknown command", []string{"help", "rnu"}, exitUsage, []string{`"rnu"`, "did you mean redline run?"}},
		{"help on more than a command", []string{"help", "run", "nonsense"}, exitUsage, []string{`"nonsense"`}},
		{"help on what is like nothing", []string{"help", "nonsense"}, exitUsage, []string{`"nonsense"`, "--help"}},
		{"unknown flag", []string{"run", "--rat", "5"}, exitUsage, []string{"--rat", "did you mean --rate?"}},
		{"argument to run", []string{"run", "chat"}, exitUsage, []string{`"chat"`}},
		{"negative rate", []string{"run", "--rate", "-1"}, exitUsage, []string{"--rate", "-1"}},
		{"rate that is no number", []string{"run", "--rate", "fast"}, exitUsage, []string{"--rate", "fast"}},
		{"bad duration", []string{"run", "--duration", "10"}, exitUsage, []string{"--duration", "10"}},
		{"unknown workload", []string{"run", "--workload", "chta"}, exitUsage, []string{"chta", "chat"}},
		{"unknown api", []string{"run", "--url", sim, "--api", "opnai-chat"}, exitUsage, []string{"opnai-chat", "openai-chat"}},
		{"bad objective", []string{"run", "--slo", "ttft:p99<fast"}, exitUsage, []string{"--slo"}},
		{"objective on gaps of whole replies", []string{"run", "--no-stream", "--slo", "itl:p99<50ms"}, exitUsage, []string{"--slo", "itl:p99<50ms", "--no-stream", "e2e:p99"}},
		{"an end before the first look", []string{"run", "--slo", "chat", "--max-duration", "30s"}, exitUsage, []string{"--max-duration", "1m", "30s"}},
		{"two lengths", []string{"run", "--slo", "chat", "--max-duration", "2m", "--duration", "90s"}, exitUsage, []string{"--max-duration", "--duration", "leave out one"}},
		{"a confidence of nothing", []string{"run", "--confidence", "0"}, exitUsage, []string{"--confidence", "0.5", "0.999"}},
		{"missing key variable", []string{"run", "--url", sim, "--api-key-env", "NO_SUCH_KEY"}, exitUsage, []string{"NO_SUCH_KEY"}},
		{"unknown accelerator", []string{"run", "--gpu", "H1000"}, exitUsage, []string{"H1000", "H100"}},
		{"missing plan", []string{"run", "--plan", filepath.Join(dir, "none.yaml")}, exitUsage, []string{"none.yaml"}},
		{"unknown key", []string{"run", "--plan", plan("key.yaml", "load_profile:\n  raet: 5\n")}, exitUsage, []string{"key.yaml:2", "raet", "rate"}},
		{"wrong type", []string{"run", "--plan", plan("type.yaml", "load_profile:\n  rate: [1]\n")}, exitUsage, []string{"type.yaml:2", "rate"}},
		{"spend without a price", []string{"run", "--url", sim, "--max-spend", "5"}, exitUsage, []string{"--max-spend", "cost"}},
		{"unreachable host", []string{"run", "--url", deadPort(t), "--model", "m"}, exitError, []string{"refused"}},
		{"unknown model", []string{"run", "--url", sim, "--model", "gpt-9"}, exitError, []string{"404", "gpt-9", "llama-3.1-8b"}},
		{"no model list", []string{"run", "--url", html}, exitError, []string{"--model"}},
		{"not a stream", []string{"run", "--url", html, "--model", "m"}, exitError, []string{"text/html", "--no-stream"}},
		{"wrong key", []string{"run", "--url", locked, "--model", "m"}, exitError, []string{"401 from the server: the API key is missing or wrong (it says: bad key); name the variable that holds it with --api-key-env"}},
		{"wrong key and no model", []string{"run", "--url", locked}, exitError, []string{"401 from the server: the API key is missing or wrong; name the variable that holds it with --api-key-env"}},
		{"forbidden", []string{"run", "--url", answering(http.StatusForbidden), "--model", "m"}, exitError, []string{"403 from the server: the API key may not use this"}},
		{"too many", []string{"run", "--url", answering(http.StatusTooManyRequests), "--model", "m"}, exitError, []string{"429 from the server: it takes no more requests", "wait"}},
		{"a path that is wrong", []string{"run", "--url", answering(http.StatusNotFound), "--model", "m"}, exitError, []string{"404 from the server", "is the path in --url right", "--model"}},
		{"TLS on a plain port", []string{"run", "--url", strings.Replace(html, "http://", "https://", 1), "--model", "m"}, exitError, []string{"does not speak TLS: use http://"}},
		{"report of nothing", []string{"report"}, exitUsage, []string{"directory"}},
		{"report of a missing directory", []string{"report", filepath.Join(dir, "none")}, exitError, []string{"none"}},
		{"report of another directory", []string{"report", dir}, exitError, []string{"no run"}},
		{"unknown schema", []string{"schema", "plna"}, exitUsage, []string{"plan"}},
		{"zero accelerators", []string{"run", "--tp", "0"}, exitUsage, []string{"--tp", "0"}},
		{"zero accelerators to simulate", []string{"sim", "--tp", "0"}, exitUsage, []string{"--tp", "0"}},
		{"zero tokens", []string{"run", "--url", sim, "--max-tokens-total", "0"}, exitUsage, []string{"--max-tokens-total", "0"}},
		{"too few tokens to ask at all", []string{"run", "--url", sim, "--max-tokens-total", "31"}, exitError, []string{"--max-tokens-total 31", "16 prompt and 16 output"}},
		{"metrics at no URL", []string{"run", "--url", sim, "--metrics-url", "somewhere"}, exitUsage, []string{"--metrics-url", "http://"}},
		{"metrics never", []string{"run", "--telemetry-interval", "0s"}, exitUsage, []string{"--telemetry-interval", "100ms"}},
		{"negative pace", []string{"sim", "--pace", "-1s"}, exitUsage, []string{"--pace"}},
		{"port taken", []string{"sim", "--listen", strings.TrimPrefix(sim, "http://")}, exitError, []string{"in use"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := tt.args
			if args[0] == "run" {
				args = append(args, "--out", filepath.Join(dir, "out"))
			}
			code, stdout, stderr := redline(t, nil, args...)
			if code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr does not say %q: %s", want, stderr)
				}
			}
			oneLine(t, stderr)
			if stdout != "" {
				t.Errorf("stdout has %q", stdout)
			}
			if exists(dir, "out") {
				t.Error("something was written")
			}
		})
	}
}

func TestSecretsReachNoFileAndNoScreen(t *testing.T) {
	t.Parallel()
	url, _ := echo(t)
	out := filepath.Join(t.TempDir(), "run")
	const secret, token = "sk-very-secret", "also-secret"
	code, stdout, stderr := redline(t, map[string]string{"MY_KEY": secret}, "run", "--url", url, "--model", "m",
		"--api-key-env", "MY_KEY", "--header", "Authorization=Bearer "+token, "-v", "--requests", "3", "--warmup", "0s",
		"--concurrency", "1", "--out", out)
	if code == exitError || code == exitUsage {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	shown := stdout + stderr
	for _, name := range []string{"plan.yaml", "records.jsonl", "result.json"} {
		content := must.Read(t, filepath.Join(out, name))
		shown += string(content)
	}
	for _, s := range []string{secret, token} {
		if strings.Contains(shown, s) {
			t.Errorf("%s is shown or kept", s)
		}
	}
	if !strings.Contains(stderr, "> POST ") || !strings.Contains(stderr, "[DONE]") {
		t.Errorf("-v does not show the exchange: %s", stderr)
	}
}

func TestHelpTeaches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"redline run\n", "--slo"}},
		{[]string{"run", "--help-all"}, []string{"Examples:", "--rate", "Load:", "Exit code"}},
		{[]string{"help", "run"}, []string{"Examples:", "--rate", "Exit code", "redline run --help-all"}},
		{[]string{"sim", "--help-all"}, []string{"--pace", "--truth", "--max-num-seqs", "--listen"}},
		{[]string{"help"}, []string{"Try it without a server", "redline run"}},
		{[]string{"report", "--help"}, []string{"redline report runs/"}},
	} {
		code, stdout, stderr := redline(t, nil, tt.args...)
		if code != exitOK || stderr != "" {
			t.Errorf("%v: exit %d, stderr %q", tt.args, code, stderr)
		}
		for _, want := range tt.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%v: help does not say %q:\n%s", tt.args, want, stdout)
			}
		}
		for _, line := range strings.Split(stdout, "\n") {
			if len(line) > 120 {
				t.Errorf("%v: help line of %d columns: %s", tt.args, len(line), line)
			}
		}
	}
}
