// Package action holds the test of action.yml, which runs its steps as a runner of
// GitHub does.
package action

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"

	"redline/internal/must"
)

// action is the part of action.yml that is run.
type action struct {
	Inputs  map[string]struct{ Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Steps []struct {
			ID, Shell, Run string
			Env            map[string]string
		}
	}
}

// github is what a runner knows.
type github struct {
	values map[string]string // by expression
	env    []string
	dir    string
}

var expression = regexp.MustCompile(`\$\{\{ *([\w.-]+) *\}\}`)

func (g *github) say(t *testing.T, text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		name := expression.FindStringSubmatch(e)[1]
		value, known := g.values[name]
		if !known {
			t.Errorf("nothing sets %s", e)
		}
		return value
	})
}

// perform runs all steps and gives the action's outputs, the job summary, what was
// printed, and whether the job goes on.
func perform(t *testing.T, g *github, with map[string]string) (outputs map[string]string, summary, printed string, ok bool) {
	t.Helper()
	content := must.Read(t, "../../action.yml")
	var a action
	must.Do(t, yaml.Unmarshal(content, &a))
	for name, input := range a.Inputs {
		g.values["inputs."+name] = g.say(t, input.Default)
	}
	for name, value := range with {
		if _, known := a.Inputs[name]; !known {
			t.Fatalf("there is no input %s", name)
		}
		g.values["inputs."+name] = value
	}
	page, ok := filepath.Join(t.TempDir(), "summary"), true
	for _, step := range a.Runs.Steps {
		if step.Shell != "bash" || !ok {
			t.Fatalf("step %s: shell %q", step.ID, step.Shell)
		}
		file := filepath.Join(t.TempDir(), "output")
		c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		c.Dir = g.dir
		c.Env = append(append(os.Environ(), g.env...), "GITHUB_OUTPUT="+file, "GITHUB_STEP_SUMMARY="+page)
		for name, value := range step.Env {
			c.Env = append(c.Env, name+"="+g.say(t, value))
		}
		out, err := c.CombinedOutput()
		printed += string(out)
		ok = err == nil
		said, _ := os.ReadFile(file) // a step may have none
		for line := range strings.Lines(string(said)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			g.values["steps."+step.ID+".outputs."+name] = value
		}
	}
	outputs = map[string]string{}
	for name, o := range a.Outputs {
		outputs[name] = g.say(t, o.Value)
	}
	said, _ := os.ReadFile(page) // none is an empty one
	return outputs, string(said), printed, ok
}

// comments is GitHub's API as far as comments go.
type comments struct {
	sync.Mutex
	bodies []string
	tokens []string
}

func (c *comments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.Lock()
	defer c.Unlock()
	c.tokens = append(c.tokens, r.Header.Get("Authorization"))
	var in struct{ Body string }
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /repos/o/r/issues/7/comments":
		list := []map[string]any{}
		for i, body := range c.bodies {
			list = append(list, map[string]any{"id": 100 + i, "body": body})
		}
		_ = json.NewEncoder(w).Encode(list)
	case "POST /repos/o/r/issues/7/comments":
		c.bodies = append(c.bodies, in.Body)
	case "PATCH /repos/o/r/issues/comments/101":
		c.bodies[1] = in.Body
	default:
		http.NotFound(w, r)
	}
}

// serve starts the simulator and gives its URL.
func serve(t *testing.T, program string) string {
	t.Helper()
	c := exec.Command(program, "sim", "--listen", "127.0.0.1:0", "--pace", "100ms") // longer than a machine is held up
	out := must.Get(c.StderrPipe())(t)
	must.Do(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill() // it has no end of its own
		_ = c.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, after, found := strings.Cut(lines.Text(), "serving at "); found {
			return strings.Fields(after)[0]
		}
	}
	t.Fatal("the simulator does not say where it serves")
	return ""
}

func TestActionMeasuresComparesAndComments(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "jq", "xargs"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	program := filepath.Join(t.TempDir(), "redline")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "../../cmd/redline").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	url := serve(t, program)
	pull := &comments{bodies: []string{"a person's"}}
	api := httptest.NewServer(pull)
	t.Cleanup(api.Close)
	g := &github{dir: t.TempDir(), env: []string{"GITHUB_API_URL=" + api.URL, "GITHUB_REPOSITORY=o/r"},
		values: map[string]string{"github.token": "secret-token", "github.action_path": "../..", "github.event.pull_request.number": "7"}}
	with := map[string]string{"redline": program, "out": "first run", "comment": "true",
		"args": "--url " + url + " --requests 60 --concurrency 5 --warmup 0s --workload 'in=fixed(9) out=fixed(4)' --slo 'e2e:p50<30s'"}

	outputs, summary, printed, ok := perform(t, g, with)
	if code := outputs["exit-code"]; code != "0" || !ok {
		t.Fatalf("exit code %q, goes on %v\n%s", code, ok, printed)
	}
	for _, name := range []string{filepath.Join("first run", "result.json"), outputs["junit"], outputs["markdown"]} {
		if _, err := os.Stat(filepath.Join(g.dir, name)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(summary, "ttft") || len(pull.bodies) != 2 || !strings.HasPrefix(pull.bodies[1], "<!-- redline -->\n") || !strings.Contains(pull.bodies[1], "ttft") {
		t.Errorf("summary:\n%s\ncomments: %q", summary, pull.bodies)
	}

	with["out"], with["baseline"], with["compare-args"] = "second", "first run", "--tolerance 0.9"
	with["args"] = strings.Replace(with["args"], "e2e:p50<30s", "e2e:p50<1us", 1)
	outputs, summary, printed, ok = perform(t, g, with)
	if code := outputs["exit-code"]; ok || code != "3" {
		t.Errorf("a missed objective: exit code %q, goes on %v\n%s", code, ok, printed)
	}
	compared, err := os.ReadFile(filepath.Join(g.dir, "second.compare.md"))
	if err != nil || len(compared) == 0 || !strings.HasPrefix(summary, string(compared)) || len(pull.bodies) != 2 || !strings.Contains(pull.bodies[1], string(compared)) {
		t.Errorf("the comparison is not in the summary and the comment: %v\n%s\n%q", err, summary, pull.bodies)
	}
	if strings.Contains(printed+summary+fmt.Sprint(pull.bodies), "secret-token") || pull.tokens[0] != "Bearer secret-token" {
		t.Errorf("the token: %q", pull.tokens)
	}

	with["comment"], with["out"] = "false", "third"
	delete(with, "compare-args")
	with["args"] = strings.Replace(with["args"], "e2e:p50<1us", "e2e:p50<30s", 1)
	if outputs, _, printed, ok := perform(t, g, with); !ok || outputs["exit-code"] != "0" && outputs["exit-code"] != "6" { // nothing changed, or too little to tell
		t.Errorf("a build like its baseline: exit code %q, goes on %v\n%s", outputs["exit-code"], ok, printed)
	}

	with["fail-on"], with["args"] = "worse,error", strings.Replace(with["args"], "e2e:p50<30s", "e2e:p50<1us", 1)
	if outputs, _, printed, ok := perform(t, g, with); !ok || outputs["exit-code"] != "3" || !strings.Contains(printed, "::warning::redline ended with exit code 3 (missed)") {
		t.Errorf("a missed objective that does not fail the job: exit code %q, goes on %v\n%s", outputs["exit-code"], ok, printed)
	}
	with["fail-on"] = "red"
	if _, _, printed, ok := perform(t, g, with); ok || !strings.Contains(printed, "fail-on: unknown ending red") {
		t.Errorf("an unknown ending: goes on %v\n%s", ok, printed)
	}
	delete(with, "fail-on")

	with["args"] = "--rate five"
	if outputs, _, _, ok := perform(t, g, with); ok || outputs["exit-code"] != "2" {
		t.Errorf("a wrong flag: exit code %q", outputs["exit-code"])
	}
}
