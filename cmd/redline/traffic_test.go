package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/traffic/token"
)

// runJSON offers a load and gives its result and its directory.
func runJSON(t *testing.T, env map[string]string, args ...string) (res result.Result, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := redline(t, env, append([]string{"run", "--json", "--quiet", "--out", dir}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &res); err != nil {
		t.Fatalf("%v: exit %d, %v: %s%s", args, code, err, stdout, stderr)
	}
	if code != resultCode(&res) {
		t.Errorf("%v: exit %d of a result that is %s", args, code, res.Verdict.Valid)
	}
	return res, dir
}

// measuredRecords lists the records of a run's window in the order of their numbers.
func measuredRecords(t *testing.T, path string) []record.Record {
	t.Helper()
	list := slices.DeleteFunc(readRecords(t, path), func(r record.Record) bool { return r.Phase != record.Measure })
	slices.SortFunc(list, func(a, b record.Record) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// call is one request as a server got it, and the text that it answered with.
type call struct {
	Header   http.Header
	Model    string
	Messages []struct{ Role, Content string }
	Reply    string
}

// calls is what a server was asked, by request number.
type calls struct {
	mu   sync.Mutex
	list map[string]call
}

// number is the last group of a request's id.
func number(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	return id[strings.LastIndexByte(id, '-')+1:]
}

// beforeTheLoad tells requests of the preflight, which count down from the
// highest number, and questions about the server itself, which have none.
func beforeTheLoad(number string) bool { return number == "" || strings.HasPrefix(number, "9999") }

// serveChat serves a chat whose every answer is told from every other.
func serveChat(t *testing.T) (url string, seen *calls) {
	seen = &calls{list: map[string]call{}}
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		c := call{Header: r.Header, Reply: "answer to " + number(r)}
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if !beforeTheLoad(number(r)) {
			seen.mu.Lock()
			seen.list[number(r)] = c
			seen.mu.Unlock()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", c.Reply)
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n")
	}), seen
}

func TestSessionsFeedRepliesBack(t *testing.T) {
	t.Parallel()
	url, seen := serveChat(t)
	plan := must.File(t, "plan.yaml", `
workload:
  prompt: 20
  output: 4
  session: {turns: fixed(3), think: 1ms, prompt: fixed(5), header: X-Session-Id}
load_profile: {rate: 40, duration: 500ms, warmup: 0s}
`)
	res, _ := runJSON(t, nil, "--plan", plan, "--url", url, "--model", "m")
	bySession := map[string][]call{}
	for _, c := range seen.list {
		name := c.Header.Get("X-Session-Id")
		bySession[name] = append(bySession[name], c)
	}
	whole := 0
	for name, turns := range bySession {
		slices.SortFunc(turns, func(a, b call) int { return cmp.Compare(len(a.Messages), len(b.Messages)) })
		if name == "" || len(turns) > 3 {
			t.Fatalf("session %q has %d turns, want a name and at most 3", name, len(turns))
		}
		for i, turn := range turns {
			if len(turn.Messages) != 2*i+1 {
				t.Fatalf("session %s: %d messages in turn %d, want %d", name, len(turn.Messages), i, 2*i+1)
			}
			for k := range i {
				if m := turn.Messages[2*k+1]; m.Role != "assistant" || m.Content != turns[k].Reply {
					t.Errorf("session %s, turn %d: message %d is %q by %s, want the reply %q", name, i, 2*k+1, m.Content, m.Role, turns[k].Reply)
				}
				if turn.Messages[2*k] != turns[k].Messages[2*k] {
					t.Errorf("session %s, turn %d: question %d is another one than was asked", name, i, k)
				}
			}
		}
		if len(turns) == 3 {
			whole++
		}
	}
	if whole < 5 {
		t.Errorf("%d conversations are whole, want most of about 20", whole)
	}
	if turns := res.Points[0].Turns; len(turns) != 3 {
		t.Errorf("the result has %d turns, want 3", len(turns))
	}
}

func TestTenantsArriveAsThemselves(t *testing.T) {
	t.Parallel()
	url, seen := serveChat(t)
	plan := must.File(t, "plan.yaml", `
workload:
  prompt: 10
  output: 4
  tenants:
    - {name: acme, api_key: "${ACME_KEY}", headers: {X-Team: search, X-Token: "${ACME_TOKEN}"}}
    - {name: small, model: small-adapter}
load_profile: {max_concurrency: 2, total_requests: 40, warmup: 0s}
`)
	env := map[string]string{"ACME_KEY": "sk-acme-secret", "ACME_TOKEN": "token-of-acme", "OPENAI_API_KEY": "sk-house-secret"}
	res, dir := runJSON(t, env, "--plan", plan, "--url", url, "--model", "base")
	type identity struct{ Key, Team, Token, Model string }
	want := map[string]identity{
		"acme":  {"Bearer sk-acme-secret", "search", "token-of-acme", "base"},
		"small": {"Bearer sk-house-secret", "", "", "small-adapter"},
	}
	got := map[string]identity{}
	for _, r := range measuredRecords(t, dir) {
		c := seen.list[fmt.Sprintf("%012d", r.ID)]
		who := identity{c.Header.Get("Authorization"), c.Header.Get("X-Team"), c.Header.Get("X-Token"), c.Model}
		if before, ok := got[r.Tenant]; ok && before != who {
			t.Errorf("%s came as %+v and as %+v", r.Tenant, before, who)
		}
		got[r.Tenant] = who
	}
	expect.Same(t, want, got)
	if n := len(res.Points[0].Tenants); n != 2 {
		t.Errorf("the result has %d tenants, want 2", n)
	}
	noSecret(t, dir, env)
}

// noSecret looks for the values of an environment in everything that a run left
// behind and in its report.
func noSecret(t *testing.T, dir string, env map[string]string) {
	t.Helper()
	_, report, _ := redline(t, nil, "report", dir)
	shown := map[string]string{"the report": report}
	files := must.Get(os.ReadDir(dir))(t)
	for _, f := range files {
		content := must.Read(t, filepath.Join(dir, f.Name()))
		shown[f.Name()] = string(content)
	}
	for where, text := range shown {
		for name, secret := range env {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", where, name)
			}
		}
	}
}

func TestClassesHaveTheirOwnObjectives(t *testing.T) {
	t.Parallel()
	plan := must.File(t, "plan.yaml", `
workload:
  classes:
    - {name: chat, weight: 0.5, workload: "fixed(20,4)", slo: ["ttft:p50<10s"]}
    - {name: rag, weight: 0.5, workload: "fixed(200,2)", slo: ["e2e:p50<1us"], generation: {temperature: 0}}
load_profile: {rate: 40, duration: 1s, warmup: 0s}
sla_thresholds: ["error:rate<5%"]
`)
	out := filepath.Join(t.TempDir(), "run")
	virtually(t, func(w *world) {
		if code, _, stderr := w.redline("run", "--plan", plan, "--quiet", "--out", out); code != exitMissed {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	})
	point := readResultOf(t, out).Points[0]
	var objectives, classes []string
	for _, o := range point.Objectives {
		objectives = append(objectives, o.Objective)
	}
	for _, c := range point.Classes {
		classes = append(classes, c.Name)
	}
	slices.Sort(classes)
	expect.NoDiff(t, gocmp.Diff([]string{"error:rate<5%", "class=chat ttft:p50<10s", "class=rag e2e:p50<1us"}, objectives), "objectives: -want +got")
	expect.NoDiff(t, gocmp.Diff([]string{"chat", "rag"}, classes), "classes: -want +got")
	// Too close to call where this machine was held up all the while.
	if impossible := point.Objectives[2]; impossible.Standing == "met" {
		t.Errorf("an answer within a microsecond: %+v", impossible)
	}
}

// A cold row and a warm one differ in the words of the prefix, and in nothing
// else.
func TestColdAndWarmAreAPair(t *testing.T) {
	t.Parallel()
	const prefix = 40
	plan := must.File(t, "plan.yaml", fmt.Sprintf(`
workload:
  output: 4
  prompt: 20
  prefix: {groups: 2, tokens: %d, suffix: "uniform(10,30)"}
  salt: one
load_profile: {rate: 100, duration: 400ms, warmup: 0s}
seed: 5
`, prefix))
	type sent struct {
		Due    int64
		Asked  [2]int
		Suffix string
	}
	offer := func(cache string) (load []sent, beginnings map[string]bool) {
		url, seen := serveChat(t)
		_, dir := runJSON(t, nil, "--plan", plan, "--url", url, "--model", "m", "--cache", cache)
		beginnings = map[string]bool{}
		list := measuredRecords(t, dir)
		for _, r := range list {
			ids := token.O200k().Encode(nil, seen.list[fmt.Sprintf("%012d", r.ID)].Messages[0].Content)
			if len(ids) != r.AskedPrompt {
				t.Fatalf("%d tokens, want %d", len(ids), r.AskedPrompt)
			}
			beginnings[token.O200k().Decode(ids[:prefix])] = true
			load = append(load, sent{r.Due - list[0].Due, [2]int{r.AskedPrompt, r.AskedOutput}, token.O200k().Decode(ids[prefix:])})
		}
		return load, beginnings
	}
	warm, few := offer("warm")
	cold, many := offer("cold")
	expect.NoDiff(t, gocmp.Diff(warm, cold), "more than the prefix differs: -warm +cold")
	if len(few) != 2 || len(many) != len(cold) {
		t.Errorf("%d beginnings warm, %d of %d requests cold; want 2, and one for each", len(few), len(many), len(cold))
	}
}

// Two runs of one seed ask for the same lengths in other words, unless told
// otherwise: a rerun does not measure the cache.
func TestEveryRunHasItsOwnSalt(t *testing.T) {
	t.Parallel()
	offer := func(args ...string) (lengths [][2]int, prompts map[string]bool) {
		url, seen := serveChat(t)
		_, dir := runJSON(t, nil, append([]string{"--url", url, "--model", "m", "--concurrency", "1", "--requests", "20", "--warmup", "0s",
			"--seed", "3", "--workload", "in=uniform(10,30) out=4"}, args...)...)
		prompts = map[string]bool{}
		for _, r := range measuredRecords(t, dir) {
			lengths = append(lengths, [2]int{r.AskedPrompt, r.AskedOutput})
			prompts[seen.list[fmt.Sprintf("%012d", r.ID)].Messages[0].Content] = true
		}
		return lengths, prompts
	}
	shared := func(a, b map[string]bool) (n int) {
		for p := range a {
			if b[p] {
				n++
			}
		}
		return n
	}
	first, a := offer()
	second, b := offer()
	expect.NoDiff(t, gocmp.Diff(first, second), "one seed gives other lengths")
	if n := shared(a, b); n != 0 {
		t.Errorf("%d of %d prompts were sent by both runs", n, len(a))
	}
	_, c := offer("--salt", "false")
	_, d := offer("--salt", "false")
	if n := shared(c, d); n != len(c) {
		t.Errorf("%d of %d prompts are the same without a salt, want all", n, len(c))
	}
}

func TestStepsOverSockets(t *testing.T) {
	t.Parallel()
	url, _ := serveChat(t)
	_, dir := runJSON(t, nil, "--url", url, "--model", "m", "--profile", "steps(10:1s,40:1s)", "--arrival", "constant",
		"--duration", "2s", "--warmup", "0s", "--workload", "fixed(10,4)")
	records := measuredRecords(t, dir)
	var first, second int
	for _, r := range records {
		if r.Due-records[0].Due < 1e9 {
			first++
		} else {
			second++
		}
	}
	if first < 9 || first > 11 || second < 38 || second > 41 {
		t.Errorf("%d requests in the first second and %d in the next, want 10 and 40", first, second)
	}
}
