package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	lib "go.yaml.in/yaml/v4"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// kubeJob is what a cluster reads of a Job, as far as it starts processes.
type kubeJob struct {
	Kind string
	Spec struct {
		Completions int
		Template    struct {
			Spec struct{ Containers []kubeContainer }
		}
	}
}

type kubeContainer struct {
	Name          string
	WorkingDir    string `yaml:"workingDir"`
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	VolumeMounts []struct {
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

// kubeJobs are the Jobs among manifests, by the name of their container.
func kubeJobs(t *testing.T, manifests string) map[string]kubeJob {
	t.Helper()
	jobs := map[string]kubeJob{}
	for d := lib.NewDecoder(strings.NewReader(manifests)); ; {
		var j kubeJob
		err := d.Decode(&j)
		switch {
		case errors.Is(err, io.EOF):
			return jobs
		case err != nil:
			t.Fatalf("%v\n%s", err, manifests)
		case j.Kind == "Job":
			jobs[j.Spec.Template.Spec.Containers[0].Name] = j
		}
	}
}

// kubeCluster starts containers as processes of this machine.
type kubeCluster struct {
	secrets map[string]string // SECRET/KEY → value
	// names are what cluster DNS and the pod's network would make of a text.
	names *strings.Replacer
}

// expansion is what Kubernetes replaces in arguments.
var expansion = regexp.MustCompile(`\$\$|\$\([A-Za-z_][A-Za-z0-9_]*\)`)

// start begins a pod: with the manifest's command, the environment that it names
// and nothing else, and an empty folder for each volume.
func (k *kubeCluster) start(t *testing.T, c kubeContainer, extra ...string) (*exec.Cmd, map[string]string, *buffer) {
	t.Helper()
	volumes := map[string]string{}
	for _, v := range c.VolumeMounts {
		volumes[v.MountPath] = t.TempDir()
	}
	env, known := slices.Clone(extra), map[string]string{}
	for _, e := range c.Env {
		value := e.Value
		if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" {
			var ok bool
			if value, ok = k.secrets[ref.Name+"/"+ref.Key]; !ok {
				t.Fatalf("%s: no Secret %s with %s", e.Name, ref.Name, ref.Key)
			}
		}
		if folder, ok := volumes[value]; ok {
			value = folder
		}
		known[e.Name] = k.names.Replace(value)
		env = append(env, e.Name+"="+known[e.Name])
	}
	var args []string
	for _, arg := range c.Args {
		args = append(args, expansion.ReplaceAllStringFunc(arg, func(found string) string {
			value, ok := known[strings.Trim(found, "$()")]
			switch {
			case found == "$$":
				return "$"
			case ok:
				return value
			}
			return found
		}))
	}
	if !slices.Equal(c.Command, []string{"redline"}) || volumes[c.WorkingDir] == "" {
		t.Fatalf("%s runs %q in %s", c.Name, c.Command, c.WorkingDir)
	}
	ctx, cancel := context.WithTimeout(t.Context(), shownLimit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env, cmd.Dir = env, volumes[c.WorkingDir]
	said := new(buffer)
	cmd.Stdout, cmd.Stderr = said, said
	must.Do(t, cmd.Start())
	return cmd, volumes, said
}

// serveWithKey serves a simulated engine to whoever has the key, and counts who had
// not.
func serveWithKey(t *testing.T, key string) (address string, strangers *atomic.Int64) {
	t.Helper()
	spec := must.Get(sim.Spec{}.Resolve())(t)
	core := must.Get(sim.NewBatching(spec))(t)
	engine := must.Get(simserver.NewServer(simserver.Options{Spec: spec, Core: core, Clock: clock.New()}))(t)
	t.Cleanup(func() { engine.Close() })
	strangers = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Authorization") != "Bearer "+key {
			strangers.Add(1)
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		engine.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, strangers
}

// TestPodsDoTheWork starts the containers of the printed manifests as pods would
// be: the run ends with all workers in its result, and every pod by itself.
func TestPodsDoTheWork(t *testing.T) {
	t.Parallel()
	const workers, key, token = 3, "sk-only-in-a-secret", "t0123456789abcdef"
	server, strangers := serveWithKey(t, key)
	code, manifests, stderr := redline(t, nil, "kube", "--image", "redline:v1", "--workers", strconv.Itoa(workers), "--name", "load", "--secret-env", "OPENAI_API_KEY=llm/api-key", "--",
		"run", "--url", server, "--rate", "30", "--duration", "2s", "--warmup", "0s", "--drain", "20s", "--workload", "fixed(20,4)", "--label", "$(REDLINE_JOIN_TOKEN)")
	if code != exitOK || !strings.Contains(stderr, "kubectl create secret generic redline-join-token --from-literal=token=") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	port := freePort(t)
	cluster := &kubeCluster{secrets: map[string]string{"redline-join-token/token": token, "llm/api-key": key},
		names: strings.NewReplacer("tls://load:4222", "tls://127.0.0.1:"+port, "0.0.0.0:4222", "0.0.0.0:"+port)}
	jobs := kubeJobs(t, manifests)
	if n := jobs["worker"].Spec.Completions; n != workers {
		t.Fatalf("%d workers", n)
	}
	var pods []*exec.Cmd
	var logs []*buffer
	for i := range workers {
		pod, _, said := cluster.start(t, jobs["worker"].Spec.Template.Spec.Containers[0], "JOB_COMPLETION_INDEX="+strconv.Itoa(i))
		pods, logs = append(pods, pod), append(logs, said)
	}
	conductor, volumes, said := cluster.start(t, jobs["conductor"].Spec.Template.Spec.Containers[0])
	conductor.Wait()
	for i, pod := range pods {
		if err := pod.Wait(); err != nil {
			t.Errorf("worker %d: %v\n%s", i, err, logs[i])
		}
	}
	kept, _ := filepath.Glob(filepath.Join(volumes["/work"], "runs", "*", "result.json"))
	if len(kept) != 1 {
		t.Fatalf("%d results on the volume: %s", len(kept), said)
	}
	data, err := os.ReadFile(kept[0])
	var res result.Result
	must.Do(t, errors.Join(err, json.Unmarshal(data, &res)))
	if code := conductor.ProcessState.ExitCode(); code != resultCode(&res) {
		t.Errorf("exit %d of a result that is %s\n%s\n%s", code, res.Verdict.Valid, said, logs)
	}
	host, _ := os.Hostname()
	for i, w := range res.Workers {
		if want := host + "-" + strconv.Itoa(i); w.Name != want || w.LagP99MS == nil || w.Lost != "" {
			t.Errorf("worker %d: %+v, want %s, and that it sent something", i, w, want)
		}
	}
	// Without the share of any worker it would be two thirds.
	if n := res.Points[0].Requests; len(res.Workers) != workers || 10*n.OK <= 9*n.Due || strangers.Load() > 0 {
		t.Errorf("%d workers, %+v, %d requests without the key\n%s", len(res.Workers), n, strangers.Load(), said)
	}
	for _, secret := range []string{key, token} {
		if strings.Contains(manifests+said.String(), secret) || bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s is shown", secret)
		}
	}
}

// TestWorkersEndWithAConductorThatCannotMeasure: else the pods of a Job whose
// conductor found no server would keep their CPUs.
func TestWorkersEndWithAConductorThatCannotMeasure(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	code, manifests, stderr := redline(t, nil, "kube", "--image", "redline:v1", "--workers", "1", "--", "run", "--url", "http://127.0.0.1:"+freePort(t))
	if code != exitOK || !strings.Contains(stderr, "is the pod itself") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	cluster := &kubeCluster{secrets: map[string]string{"redline-join-token/token": "t0123456789abcdef"},
		names: strings.NewReplacer("tls://redline:4222", "tls://127.0.0.1:"+port, "0.0.0.0:4222", "0.0.0.0:"+port)}
	jobs := kubeJobs(t, manifests)
	worker, _, _ := cluster.start(t, jobs["worker"].Spec.Template.Spec.Containers[0], "JOB_COMPLETION_INDEX=0")
	conductor, _, said := cluster.start(t, jobs["conductor"].Spec.Template.Spec.Containers[0])
	conductor.Wait()
	if code := conductor.ProcessState.ExitCode(); code != exitError {
		t.Errorf("exit %d: %s", code, said)
	}
	expect.OK(t, worker.Wait())
}

func TestWorkersOfAJobHaveNames(t *testing.T) {
	t.Parallel()
	named := func(given string, env map[string]string) string {
		p := &process{lookupEnv: environment(env)}
		return p.workerName(given)
	}
	for _, c := range []struct{ given, variable, index, want string }{
		{"redline-workers-3", "", "3", "redline-workers-3"}, // as the pod's host is called
		{"", "zone-a", "3", "zone-a-3"},
		{"", "zone-13", "3", "zone-13-3"},
		{"mine", "zone-a", "", "mine"},
	} {
		if got := named(c.given, map[string]string{"REDLINE_NAME": c.variable, "JOB_COMPLETION_INDEX": c.index}); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestKubeRefuses what a pod could not do, and what a manifest must not show.
func TestKubeRefuses(t *testing.T) {
	t.Parallel()
	file := must.File(t, "plan.yaml", "")
	const vllm = "--url http://vllm:8000 "
	for command, want := range map[string]string{
		"":                                 "give the command to run after --",
		"run":                              "expected --url with the server to load",
		"nope":                             `unknown command "nope"`,
		"report runs/x":                    "these have: run, sweep",
		"tune " + vllm:                     "these have: run, sweep",
		"kube " + vllm:                     "these have: run, sweep",
		"run more " + vllm:                 "takes a URL",
		"run --workers 2 " + vllm:          "--workers: leave it out behind --",
		"run --nats nats://a " + vllm:      "--nats: leave it out behind --",
		"run --ratee 2 " + vllm:            "did you mean --rate",
		"run --rate x " + vllm:             `--rate: expected a number, got "x"`,
		"run " + vllm + "--plan " + file:   "no pod has the file " + file + ": kubectl create configmap",
		"run " + vllm + "--plan plan.yaml": "--files NAME before --, and --plan /etc/redline/plan.yaml behind it",
		"run " + vllm + "--plan /etc/redline/plan.yaml":       "no pod has the file /etc/redline/plan.yaml: kubectl create configmap NAME --from-file plan.yaml, then --files NAME before --",
		"run " + vllm + "--workload trace.csv":                "no pod has the file trace.csv",
		"run " + vllm + "--workload /work/trace.csv":          "no pod has the file /work/trace.csv",
		"run " + vllm + "--tokenizer tokenizer.json":          "no pod has the file tokenizer.json",
		"run " + vllm + "--ca-cert ca.pem":                    "no pod has the file ca.pem",
		"run " + vllm + "--api-key-env X":                     "--secret-env X=SECRET/KEY",
		"run " + vllm + "--out /data/x":                       "--out: a pod can write to /work",
		"run " + vllm + "--out ../x":                          "--out: a pod can write to /work",
		"run " + vllm + "--html /x.html":                      "--html: a pod can write to /work",
		"compare runs/a runs/b":                               "expected the URLs of two servers",
		"compare http://a":                                    "expected the URLs of two servers",
		"run --url http://u:Geheim12@vllm":                    "--secret-env REDLINE_URL=SECRET/KEY",
		"run --url http://vllm?sig=Geheim12":                  "--secret-env REDLINE_URL=SECRET/KEY",
		"run " + vllm + "--header Authorization=Geheim12":     "--secret-env REDLINE_HEADER=SECRET/KEY",
		"run " + vllm + "--header Authorization=abc":          "--secret-env REDLINE_HEADER=SECRET/KEY", // however short
		"run " + vllm + "--header X-Api-Key=ollama":           "--secret-env REDLINE_HEADER=SECRET/KEY", // or well known
		"run --url http://vllm?key=abc":                       "--secret-env REDLINE_URL=SECRET/KEY",
		"run " + vllm + `--extra-body {"api_key":"Geheim12"}`: "--secret-env REDLINE_EXTRA_BODY=SECRET/KEY",
		"run " + vllm + "--api-key-env sk-Geheim12":           "not the key itself",
		"compare http://a?sig=Geheim12 http://b":              "holds a secret",
		"run http://a?sig=Geheim12":                           "holds a secret",
	} {
		code, stdout, stderr := redline(t, nil, append([]string{"kube", "--image", "redline:v1", "--workers", "2", "--"}, strings.Fields(command)...)...)
		if code != exitUsage || !strings.Contains(stderr, want) || stdout != "" || strings.Contains(stderr, "Geheim") {
			t.Errorf("%s: exit %d, %s, want %s", command, code, stderr, want)
		}
		oneLine(t, stderr)
	}
	for flags, want := range map[string]string{
		"--workers 2":        "--image: expected an image",
		"--image redline:v1": "--workers: expected how many pods",
		"--image redline:v1 --workers 2 --cpu 1.5":             `--cpu: expected a whole number, got "1.5"`,
		"--image redline:v1 --workers 2 --deadline soon":       `--deadline: expected a time such as 90s or 6h, got "soon"`,
		"--image redline:v1 --workers 2 --name X":              "--name: expected a name",
		"--image redline:v1 --workers 2 --nats nats":           "--nats: expected the URL",
		"--image redline:v1 --workers 2 --nats tls://Geheim@n": "--nats: expected a URL without a password",
	} {
		args := append([]string{"kube"}, strings.Fields(flags+" -- run "+vllm)...)
		code, stdout, stderr := redline(t, nil, args...)
		if code != exitUsage || !strings.Contains(stderr, want) || stdout != "" || strings.Contains(stderr, "Geheim") {
			t.Errorf("%s: exit %d, %s, want %s", flags, code, stderr, want)
		}
		oneLine(t, stderr)
	}
}

// TestKubePasses what a pod can do, and warns of what it probably cannot.
func TestKubePasses(t *testing.T) {
	t.Parallel()
	const vllm = "--url http://vllm:8000 "
	for command, want := range map[string]string{
		"-- run " + vllm: "",
		"-- run " + vllm + "--workload chat --tokenizer server --golden builtin --out runs/x": "",
		"-- run " + vllm + "--workload hf:org/name/file.csv --out /tmp/x --html /work/x.html": "",
		"-- run " + vllm + "--plan /work/plan.yaml --workload /data/in-the-image.csv":         "",
		"-- sweep --resume runs/x":                                           "",
		"-- compare http://a http://b":                                       "",
		"-- compare --resume runs/x":                                         "",
		"--files plans -- run --plan /etc/redline/plan.yaml":                 "",
		"--secret-env X=llm/key -- run --api-key-env X " + vllm:              "",
		"--server-pods app=vllm -- run " + vllm:                              "",
		"--server-pods app=vllm -- run --url http://vllm.prod.svc:8000":      "",
		"--server-pods app=vllm -- run --url http://v.p.svc.cluster.local":   "",
		"-- run --url https://api.example.org":                               "",
		"--server-pods app=vllm -- run --url https://api.example.org":        "api.example.org does not look like a Service",
		"--server-pods app=vllm -- run --url http://10.1.2.3:8000":           "10.1.2.3:8000 does not look like a Service",
		"--server-pods app=vllm -- run --workload hf:org/name/f.csv " + vllm: "hf:org/name/f.csv cannot be fetched",
		"-- run --url localhost:8000":                                        "localhost:8000 is the pod itself",
	} {
		args := append([]string{"kube", "--image", "redline:v1", "--workers", "2"}, strings.Fields(command)...)
		code, stdout, stderr := redline(t, nil, args...)
		said, last, _ := strings.Cut(stderr, "redline: these need the Secret")
		if code != exitOK || last == "" || !strings.Contains(said, want) || want == "" && said != "" || !strings.HasPrefix(stdout, "apiVersion") {
			t.Errorf("%s: exit %d, %s, want %q", command, code, stderr, want)
		}
	}
	code, help, stderr := redline(t, nil, "kube", "--image", "redline:v1", "--workers", "2", "--", "sweep", "--help")
	_, want, _ := redline(t, nil, "sweep", "--help")
	if code != exitOK || stderr != "" || help == "" || help != want {
		t.Errorf("exit %d, %s\n%s", code, stderr, help)
	}
}
