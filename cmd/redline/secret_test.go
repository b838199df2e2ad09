package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"redline/internal/must"
	"redline/internal/text"
)

// hostile is a server that answers a few streams and then every second request
// with what say makes of it.
func hostile(t *testing.T, model func(*http.Request) string, say func(http.ResponseWriter, *http.Request)) string {
	t.Helper()
	asked := make(chan int, 1)
	asked <- 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/models"):
			_ = json.NewEncoder(w).Encode(map[string]any{"data": []map[string]any{{"id": model(r), "owned_by": model(r), "root": model(r)}}})
		case strings.HasSuffix(r.URL.Path, "/completions"):
			n := <-asked
			asked <- n + 1
			if n >= 6 && n%2 == 0 { // after the requests before the load
				say(w, r)
				return
			}
			stream(w)
		case r.URL.Path == "/version":
			_ = json.NewEncoder(w).Encode(map[string]string{"version": strings.Repeat("v", 190) + model(r)})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	for range 3 {
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"word "}}]}`+"\n\n")
	}
	fmt.Fprint(w, `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`+"\n\ndata: [DONE]\n\n")
}

// tiny is a load of a second.
var tiny = []string{"--workload", "fixed(9,3)", "--rate", "20", "--duration", "1s", "--warmup", "0s", "--drain", "1s"}

// filesOf gives everything that a run left behind, by its name.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[path] = string(content)
		return err
	}))
	if len(files) < 3 {
		t.Fatalf("%s holds only %d files", dir, len(files))
	}
	return files
}

// leaks looks for any part of a secret that is long enough to be one.
func leaks(t *testing.T, texts map[string]string, secrets ...string) {
	t.Helper()
	const limit = 8
	for name, text := range texts {
		for _, secret := range secrets {
			for i := 0; i+limit <= len(secret); i++ {
				if at := strings.Index(text, secret[i:i+limit]); at >= 0 {
					t.Errorf("%s holds %q of %q: …%q…", name, secret[i:i+limit], secret, text[max(0, at-60):min(len(text), at+60)])
					break
				}
			}
		}
	}
}

// TestSignaturesDoNotLeak: a value of the query is hidden as it was given, as it
// is meant, and as JSON writes it, wherever a server repeats it.
func TestSignaturesDoNotLeak(t *testing.T) {
	t.Parallel()
	const raw, meant = "Xq7%2FZt9wLmKd%2BPv3sRcY%3D", "Xq7/Zt9wLmKd+Pv3sRcY="
	echo := func(r *http.Request) string { return r.URL.RawQuery + " " + r.URL.Query().Get("sig") }
	address := hostile(t, func(r *http.Request) string { return "model-" + echo(r) }, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		quoted, _ := json.Marshal(map[string]string{"error": "no such signature: " + echo(r)})
		_, _ = w.Write([]byte(strings.ReplaceAll(string(quoted), "/", `\/`)))
	})
	out := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := redline(t, nil, append([]string{"run", "-v", "--url", address + "/v1?sig=" + raw + "&api-version=2024",
		"--metrics-url", address + "/m?sig=" + raw, "--out", out}, tiny...)...)
	if code == exitUsage || !exists(out, "result.json") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	files := filesOf(t, out)
	files["stdout"], files["stderr"] = stdout, stderr
	leaks(t, files, raw, meant)
	if plan := files[filepath.Join(out, "plan.yaml")]; !strings.Contains(plan, "api-version=2024") || !strings.Contains(plan, "sig=***") {
		t.Errorf("the plan is\n%s", plan)
	}
	if !strings.Contains(files[filepath.Join(out, "records.jsonl")], "no such signature: sig=***") {
		t.Error("what the server said is lost")
	}
}

// TestErrorsAreMaskedBeforeTheyAreCut: wherever the key stands in what a server
// says, no part of it is left.
func TestErrorsAreMaskedBeforeTheyAreCut(t *testing.T) {
	t.Parallel()
	const key = "sk-0123456789abcdefghijklmnop"
	for _, c := range []struct {
		name   string
		before int
		status int
		form   string
	}{{"plain body", 177, 500, "%s"}, {"title", 180, 502, "<html><title>%s</title></html>"}, {"JSON", 285, 400, `{"error":{"message":"%s"}}`},
		{"malformed event", 100, 200, "data: %s\n\n"}, {"status line", 0, 0, "%s"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			say := func(w http.ResponseWriter, r *http.Request) {
				said := fmt.Sprintf(c.form, strings.Repeat("x", c.before)+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
				if c.status == 0 {
					conn, buf, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					fmt.Fprintf(buf, "%s%s\r\n\r\n", strings.Repeat("y", 50), said)
					buf.Flush()
					conn.Close()
					return
				}
				w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "text/plain"}[c.status == 200])
				w.WriteHeader(c.status)
				fmt.Fprint(w, said)
			}
			address := hostile(t, func(*http.Request) string { return "m" }, say)
			out := filepath.Join(t.TempDir(), "run")
			env := map[string]string{"KEY": key}
			code, stdout, stderr := redline(t, env, append([]string{"run", "--url", address, "--api-key-env", "KEY", "--out", out}, tiny...)...)
			if !exists(out, "result.json") {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			files := filesOf(t, out)
			files["stdout"], files["stderr"] = stdout, stderr
			leaks(t, files, key)
		})
	}
}

// TestTraceHidesTheBody: -v shows neither a token of the request's body nor a
// key that comes back with the escapes of JSON.
func TestTraceHidesTheBody(t *testing.T) {
	t.Parallel()
	const token, key = "hf_QwErTyUiOpAsDfGh", `k"ey/with\signs-123456`
	address := hostile(t, func(*http.Request) string { return "m" }, http.NotFound)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			http.Redirect(w, r, address, http.StatusFound)
			return
		}
		quoted, _ := json.Marshal(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"choices":[{"delta":{"content":%s}}]}`+"\n\ndata: [DONE]\n\n", quoted)
	}))
	defer server.Close()
	_, stdout, stderr := redline(t, map[string]string{"KEY": key}, append([]string{"run", "-v", "--model", "m", "--url", server.URL, "--api-key-env", "KEY",
		"--extra-body", `{"hf_token": "` + token + `"}`, "--out", filepath.Join(t.TempDir(), "run")}, tiny...)...)
	if !strings.Contains(stderr, `"hf_token":"***"`) || !strings.Contains(stderr, `"content":"***"`) {
		t.Errorf("the trace is\n%s", stderr)
	}
	escaped, _ := json.Marshal(key)
	leaks(t, map[string]string{"stdout": stdout, "stderr": stderr}, token, key, string(escaped))
}

// attack is what a server says to whoever reads it on a terminal.
const attack = "\x1b[2J\x1b]0;owned\a\u202egnp.exe\u2066 \u009b31m\rback"

// checkControlCharacters looks for characters that a terminal would act upon.
func checkControlCharacters(t *testing.T, texts map[string]string) {
	t.Helper()
	for name, said := range texts {
		for i, r := range said {
			if text.Clean(string(r)) != string(r) {
				t.Errorf("%s holds %U: …%q…", name, r, said[max(0, i-40):min(len(said), i+40)])
				break
			}
		}
	}
}

// TestNoTerminalObeysAServer: escape sequences in an error body, a model's name
// and an answer's type are shown, not obeyed, before the load and after.
func TestNoTerminalObeysAServer(t *testing.T) {
	t.Parallel()
	refuse := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": attack}})
	}
	dead := httptest.NewServer(http.HandlerFunc(refuse))
	t.Cleanup(dead.Close)
	sick := hostile(t, func(*http.Request) string { return "m" + attack }, refuse)
	plan := must.File(t, "plan.yaml", "load_profile: {rate: 20, duration: 1s, warmup: 0s}\nworkload: 'fixed(9,3)'\nexperiment:\n  rows: [{name: a}, {name: b}]\n")
	variants := must.File(t, "bench.yaml", "load_profile: {rate: 20, duration: 1s, warmup: 0s}\nworkload: 'fixed(9,3)'\n")
	for _, args := range [][]string{
		append([]string{"run", "-v", "--url", dead.URL, "--model", "m"}, tiny...),
		append([]string{"run", "-v", "--url", sick}, tiny...),
		append([]string{"sweep", "--url", dead.URL, "--model", "m", "--workload", "fixed(9,3)", "--rates", "10,20", "--duration", "1s"}, "--warmup", "0s"),
		{"bench", "--url", dead.URL, "--model", "m", "--plan", variants},
		{"matrix", "--url", dead.URL, "--model", "m", "--plan", plan},
		{"doctor", "--url", dead.URL, "--model", "m"},
		{"doctor", "--url", sick},
		{"doctor", "--url", sick, "--json"},
	} {
		t.Run(strings.Join(args[:3], " "), func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "run")
			if args[0] != "doctor" {
				args = append(args, "--out", out)
			}
			ask := func() (int, string, string) { return redline(t, nil, args...) }
			if args[0] == "doctor" {
				ask = func() (int, string, string) { return runDoctor(t, nil, nil, args[1:]...) }
			}
			code, stdout, stderr := ask()
			texts := map[string]string{"stdout": stdout, "stderr": stderr}
			if code == exitUsage {
				t.Fatalf("%s", stderr)
			}
			if said := stdout + stderr; !strings.Contains(said, `\x1b[2J`) && !strings.Contains(said, `\\x1b[2J`) {
				t.Errorf("what the server said is not shown:\n%s\n%s", stdout, stderr)
			}
			if exists(out, "report.html") {
				page := must.Read(t, filepath.Join(out, "report.html"))
				texts["report.html"] = string(page)
				for _, format := range []string{"markdown", "junit", "html", "csv", "json", "terminal"} {
					_, text, _ := redline(t, nil, "report", out, "--format", format)
					texts[format] = text
				}
			}
			checkControlCharacters(t, texts)
			for name, text := range texts {
				if !utf8.ValidString(text) {
					t.Errorf("%s is not UTF-8", name)
				}
			}
		})
	}
}

// TestWatchAndItsAlertsObeyNobody: neither the watch's log nor what its alert
// command is given carries what a server wants a terminal to do.
func TestWatchAndItsAlertsObeyNobody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": attack})
	}))
	defer server.Close()
	told := filepath.Join(t.TempDir(), "told")
	file := watchFile(t, server.URL, `schedules: [{name: often, cron: "@hourly", plan: plan.yaml}]
alerts: {command: 'printenv REDLINE_ALERT_TEXT > `+told+`; cat >> `+told+`'}
`)
	plan := filepath.Join(filepath.Dir(file), "plan.yaml")
	text, err := os.ReadFile(plan)
	if err == nil {
		err = os.WriteFile(plan, []byte(strings.Replace(string(text), "provider: {", "provider: {model: m, ", 1)), 0o644)
	}
	must.Do(t, err)
	_, stdout, stderr := runProcess(t, "watch", file, "--once")
	alert, err := os.ReadFile(told)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	texts := map[string]string{"stdout": stdout, "stderr": stderr, "alert": string(alert)}
	checkControlCharacters(t, texts)
	for _, name := range []string{"stderr", "alert"} {
		if !strings.Contains(texts[name], `\x1b[2J`) {
			t.Errorf("%s does not say what the server said:\n%s", name, texts[name])
		}
	}
}

// TestSecretsOfAWatchFileDoNotLeak: the command that alerts is started with a
// secret and says so.
func TestSecretsOfAWatchFileDoNotLeak(t *testing.T) {
	t.Parallel()
	const secret = "hook-0123456789abcdef"
	file := watchFile(t, "http://127.0.0.1:1", `schedules: [{name: often, cron: "@hourly", plan: plan.yaml}]
alerts: {command: 'echo no such key as ${HOOK_TOKEN}; exit 3'}
`)
	cmd, stdout, stderr := program(t, "watch", file, "--once")
	cmd.Env = append(cmd.Environ(), "HOOK_TOKEN="+secret)
	_ = cmd.Run() // what it says tells
	if !strings.Contains(stderr.String(), "no such key as ***") {
		t.Errorf("the command's words are missing: %s", stderr)
	}
	leaks(t, map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}, secret)
}

// TestPromptsOfAFileAreShownSafely: a file of prompts comes from elsewhere too.
func TestPromptsOfAFileAreShownSafely(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.jsonl")
	row, _ := json.Marshal(map[string]string{"prompt": "say " + attack, "class": "c", "tenant": "t"})
	must.Write(t, path, append(row, '\n'))
	code, stdout, stderr := redline(t, nil, "workload", "show", path, "--samples", "1")
	if code != exitOK || !strings.Contains(stdout, `\x1b[2J`) {
		t.Fatalf("exit %d: %s\n%s", code, stdout, stderr)
	}
	checkControlCharacters(t, map[string]string{"stdout": stdout, "stderr": stderr})
}

// TestAddressWithoutAScheme is read as http.
func TestAddressWithoutAScheme(t *testing.T) {
	t.Parallel()
	address := must.Get(url.Parse(metronome(t, 0)))(t)
	code, _, stderr := redline(t, nil, append([]string{"run", "--url", address.Host, "--out", filepath.Join(t.TempDir(), "run")}, tiny...)...)
	if code == exitUsage || code == exitError {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestAnErrorInsteadOfAStream: a gateway that answers 200 with an error is
// quoted, not taken for a wrong path.
func TestAnErrorInsteadOfAStream(t *testing.T) {
	t.Parallel()
	overloaded := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"error":{"message":"model overloaded"}}`)
	}
	server := httptest.NewServer(http.HandlerFunc(overloaded))
	defer server.Close()
	code, _, stderr := redline(t, nil, append([]string{"run", "--url", server.URL, "--model", "m", "--out", filepath.Join(t.TempDir(), "a")}, tiny...)...)
	if code != exitError || !strings.Contains(stderr, "an error in place of a stream: model overloaded") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	oneLine(t, stderr)
	out := filepath.Join(t.TempDir(), "b")
	redline(t, nil, append([]string{"run", "--url", hostile(t, func(*http.Request) string { return "m" }, overloaded), "--out", out}, tiny...)...)
	if records := filesOf(t, out)[filepath.Join(out, "records.jsonl")]; !strings.Contains(records, `"outcome":"rejected"`) || !strings.Contains(records, "model overloaded") {
		t.Errorf("the records do not say that requests were rejected:\n%s", records)
	}
}
