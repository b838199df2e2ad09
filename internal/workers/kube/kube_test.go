package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	lib "go.yaml.in/yaml/v4"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/oracle"
)

// plain is the least that can be asked for.
func plain(change func(*Spec)) Spec {
	s := Spec{Name: "redline", Image: "registry.example.org/redline:v1", Workers: 4, TokenSecret: "redline-join-token", Size: "10Gi", CPU: 2, Memory: "2Gi",
		Deadline: time.Hour, Args: []string{"run", "--url", "http://vllm:8000"}}
	change(&s)
	return s
}

// specs are every way that a manifest can differ.
var specs = map[string]Spec{
	"plain": plain(func(*Spec) {}),
	"a NATS of its own, a claim, files, secrets": plain(func(s *Spec) {
		s.NATS, s.Claim, s.Files, s.SecretEnv = "nats://nats.messaging:4333", "results", "plans", []string{"OPENAI_API_KEY=llm/api-key", "HF_TOKEN=hub/token"}
	}),
	"nodes and pods":       plain(func(s *Spec) { s.Nodes, s.ServerPods = "pool=load,example.org/cpu=static", "app=vllm" }),
	"one per node":         plain(func(s *Spec) { s.OnePerNode, s.Name = true, strings.Repeat("n", maxName) }),
	"all":                  plain(func(s *Spec) { s.OnePerNode, s.ServerPods, s.NATS = true, "app=vllm,x=", "tls://nats" }),
	"a digest":             plain(func(s *Spec) { s.Image = "localhost:5000/load-test/red_line:V1.2@sha256:" + strings.Repeat("0a", 32) }),
	"as many as there can": plain(func(s *Spec) { s.Workers, s.CPU, s.Memory = maxWorkers, 96, "1Ti" }),
}

type object = map[string]any

func manifests(t *testing.T, s Spec) []byte {
	t.Helper()
	out := must.Get(s.Manifests())(t)
	return out
}

// read gives the objects by kind, Jobs by the name of their container.
func read(t *testing.T, manifests []byte) map[string]object {
	t.Helper()
	all := map[string]object{}
	for d := lib.NewDecoder(bytes.NewReader(manifests)); ; {
		var o object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v\n%s", err, manifests)
		}
		name := o["kind"].(string)
		if name == "Job" {
			name = container(o)["name"].(string)
		}
		all[name] = o
	}
}

// at follows keys and places.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(object)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}

func podOf(job object) object { return at(job, "spec", "template", "spec").(object) }

func container(job object) object { return at(podOf(job), "containers", 0).(object) }

// judge has kubernetes-validate look at manifests, and gives them as Python reads
// them.
func judge(t *testing.T, manifests []byte) (documents []object, err error) {
	t.Helper()
	c := exec.Command(oracle.Python(t, filepath.Join("testdata", "requirements.txt")), filepath.Join("testdata", "validate.py"))
	var out, said bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(manifests), &out, &said
	if c.Run() != nil {
		return nil, errors.New(said.String())
	}
	return documents, json.Unmarshal(out.Bytes(), &documents)
}

// TestKubernetesTakesTheManifests: by the published schemas, unknown fields
// refused.
func TestKubernetesTakesTheManifests(t *testing.T) {
	t.Parallel()
	for name, s := range specs {
		if _, err := judge(t, manifests(t, s)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	page := must.Read(t, filepath.Join("..", "..", "..", "docs", "reference", "WORKERS.md"))
	shown := regexp.MustCompile("(?s)```yaml\n(apiVersion.*?)```").FindAllSubmatch(page, -1)
	if len(shown) == 0 {
		t.Error("docs/reference/WORKERS.md shows no manifest")
	}
	for _, m := range shown {
		if _, err := judge(t, m[1]); err != nil {
			t.Errorf("docs/reference/WORKERS.md: %v", err)
		}
	}
	good := manifests(t, specs["plain"])
	for right, wrong := range map[string]string{"completions: 4": "completions: four", "backoffLimit: 0": "retries: 0", "kind: Service": "kind: Job"} {
		spoilt := bytes.Replace(good, []byte(right), []byte(wrong), 1)
		if _, err := judge(t, spoilt); err == nil || bytes.Equal(spoilt, good) {
			t.Errorf("nothing is found wrong with %s", wrong)
		}
	}
}

// expansion is what Kubernetes replaces in arguments: $(NAME) by the variable, $$
// by a $.
var expansion = regexp.MustCompile(`\$\$|\$\([A-Za-z_][A-Za-z0-9_]*\)`)

func expand(arg string, env map[string]string) string {
	return expansion.ReplaceAllStringFunc(arg, func(found string) string {
		value, known := env[strings.Trim(found, "$()")]
		switch {
		case found == "$$":
			return "$"
		case known:
			return value
		}
		return found
	})
}

// TestHostileValuesStayQuoted: whatever the command holds, it arrives in the pod
// as it was given, for readers of YAML 1.1 and of 1.2, and brings in no token.
func TestHostileValuesStayQuoted(t *testing.T) {
	t.Parallel()
	hostile := []string{"", " ", "yes", "no", "on", "null", "~", "0777", "1e3", "12:30:45", "0x1f", ".inf", "=", "<<", "- a", "a: b", "a #b", "#", "&a", "*a", "!!int 3", "%YAML",
		"---", "...", "\n---\nkind: Secret\n", "\"", "'", `\`, `\n`, "{{.Name}}", "{a: b}", "[", "tab\there", "line\u2028separator", "\u0085", "\x7f\x00\x1b[31m", "\ufeff", "é", "🙂",
		"$(REDLINE_JOIN_TOKEN)", "$$(REDLINE_JOIN_TOKEN)", "$$$(REDLINE_JOIN_TOKEN)", "$(", "$", "$$", "$HOME", "cost:max<$2.50"}
	s := plain(func(s *Spec) { s.Args = hostile })
	env := map[string]string{"REDLINE_JOIN_TOKEN": "the token", "HOME": "/tmp"}
	look := func(reader string, args any) {
		var got []string
		for _, a := range args.([]any) {
			text, ok := a.(string)
			if !ok {
				t.Errorf("%s: %v is a %T", reader, a, a)
			}
			got = append(got, expand(text, env))
		}
		expect.NoDiff(t, cmp.Diff(hostile, got), "%s", reader)
	}
	look("YAML 1.2", container(read(t, manifests(t, s))["conductor"])["args"])
	documents := must.Get(judge(t, manifests(t, s)))(t)
	look("YAML 1.1", container(documents[len(documents)-1])["args"])
}

// TestPodsHaveNoPrivileges: what the Pod Security Standards call restricted, and
// more.
func TestPodsHaveNoPrivileges(t *testing.T) {
	t.Parallel()
	for name, s := range specs {
		all := read(t, manifests(t, s))
		for _, job := range []object{all["worker"], all["conductor"]} {
			pod, c := podOf(job), container(job)
			for key := range pod {
				if strings.HasPrefix(key, "host") || key == "serviceAccountName" || key == "initContainers" {
					t.Errorf("%s: a pod has %s", name, key)
				}
			}
			if len(pod["containers"].([]any)) != 1 || pod["automountServiceAccountToken"] != false || pod["enableServiceLinks"] != false {
				t.Errorf("%s: %v", name, pod)
			}
			got := object{"pod": pod["securityContext"], "container": c["securityContext"]}
			want := object{
				"pod": object{"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532, "fsGroupChangePolicy": "OnRootMismatch",
					"seccompProfile": object{"type": "RuntimeDefault"}},
				"container": object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []any{"ALL"}}},
			}
			expect.NoDiff(t, cmp.Diff(want, got), "%s", name)
			expect.NoDiff(t, cmp.Diff(at(c, "resources", "limits"), at(c, "resources", "requests")), "%s: no Guaranteed QoS", name)
		}
	}
}

// TestOnlyWorkersReachTheConductor: the policy's selectors meet the labels that
// the pods have, and so does the Service's.
func TestOnlyWorkersReachTheConductor(t *testing.T) {
	t.Parallel()
	all := read(t, manifests(t, specs["nodes and pods"]))
	pods := map[string]object{}
	for _, name := range []string{"worker", "conductor"} {
		pods[name] = at(all[name], "spec", "template", "metadata", "labels").(object)
	}
	selected := func(labels any) (names []string) {
		for _, name := range []string{"worker", "conductor"} {
			both := maps.Clone(pods[name])
			maps.Copy(both, labels.(object))
			if cmp.Equal(both, pods[name]) {
				names = append(names, name)
			}
		}
		return names
	}
	policy := at(all["NetworkPolicy"], "spec")
	got := map[string][]string{
		"the policy":  selected(at(policy, "podSelector", "matchLabels")),
		"let in":      selected(at(policy, "ingress", 0, "from", 0, "podSelector", "matchLabels")),
		"reached":     selected(at(policy, "egress", 2, "to", 0, "podSelector", "matchLabels")),
		"the Service": selected(at(all["Service"], "spec", "selector")),
	}
	want := map[string][]string{"the policy": {"worker", "conductor"}, "let in": {"worker"}, "reached": {"conductor"}, "the Service": {"conductor"}}
	expect.Same(t, want, got)
	if n := len(at(policy, "ingress").([]any)) + len(at(policy, "egress").([]any)); n != 4 {
		t.Errorf("%d rules, want one for what comes in, and three for names, the server and the conductor", n)
	}
	if _, ok := read(t, manifests(t, specs["all"]))["Service"]; ok {
		t.Error("a NATS server of its own, and a Service for one inside the conductor")
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxName+1)
	for want, change := range map[string]func(*Spec){
		"--image: expected an image with redline": func(s *Spec) { s.Image = "" },
		"--image: expected the name":              func(s *Spec) { s.Image = "redline\nprivileged: true" },
		`in lower case, got "R/X:1"`:              func(s *Spec) { s.Image = "R/X:1" },
		`got "redline:"`:                          func(s *Spec) { s.Image = "redline:" },
		"--workers: ":                             func(s *Spec) { s.Workers = 0 },
		"10000, got 10001":                        func(s *Spec) { s.Workers = maxWorkers + 1 },
		`got "Red_Line"`:                          func(s *Spec) { s.Name = "Red_Line" },
		`got "1st"`:                               func(s *Spec) { s.Name = "1st" },
		`got "` + long:                            func(s *Spec) { s.Name = long },
		`got "x-"`:                                func(s *Spec) { s.Name = "x-" },
		"--token-secret: expected the name of a Secret":         func(s *Spec) { s.TokenSecret = "" },
		"--claim: expected the name of a PersistentVolumeClaim": func(s *Spec) { s.Claim = "my_claim" },
		"--files: expected the name of a ConfigMap":             func(s *Spec) { s.Files = "../plans" },
		"--cpu: expected whole CPUs":                            func(s *Spec) { s.CPU = 0 },
		"--memory: expected an amount":                          func(s *Spec) { s.Memory = "2 GB" },
		"--size: expected an amount":                            func(s *Spec) { s.Size = "" },
		"--deadline: ":                                          func(s *Spec) { s.Deadline = 0 },
		"--server-pods: expected labels":                        func(s *Spec) { s.ServerPods = "app" },
		"--nodes: expected labels":                              func(s *Spec) { s.Nodes = "pool=load, x=y" },
		"--secret-env: expected NAME=SECRET/KEY":                func(s *Spec) { s.SecretEnv = []string{"OPENAI_API_KEY=sk-Geheim1234"} },
		"REDLINE_JOIN_TOKEN is a variable":                      func(s *Spec) { s.SecretEnv = []string{"REDLINE_JOIN_TOKEN=a/b"} },
		"is not UTF-8":                                          func(s *Spec) { s.Args = []string{"\xff"} },
	} {
		out, err := plain(change).Manifests()
		if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "Geheim") {
			t.Errorf("want %q, got %v\n%s", want, err, out)
		}
	}
}
