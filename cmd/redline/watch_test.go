package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/run/watch"
)

// watchFile writes a watch file with a plan of a second, and gives its path.
func watchFile(t *testing.T, url, rest string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Write(t, path, text)
		return path
	}
	write("plan.yaml", fmt.Sprintf("provider: {api_endpoint: %q}\nload_profile: {max_concurrency: 4, duration: 1s, warmup: 0s}\n"+
		"workload: 'in=fixed(20) out=fixed(5)'\nsla_thresholds: ['ttft:max<1us']\n", url))
	return write("watch.yaml", "runs: "+filepath.Join(dir, "runs")+"\n"+rest)
}

// TestWatchOnce runs a schedule over sockets against an objective that cannot
// be met, and looks at what is told: the alert begins, and is not told again.
func TestWatchOnce(t *testing.T) {
	t.Parallel()
	alerts := make(chan watch.Alert, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a watch.Alert
		expect.OK(t, json.NewDecoder(r.Body).Decode(&a))
		alerts <- a
	}))
	defer hook.Close()
	file := watchFile(t, metronome(t, 100*time.Millisecond), `schedules: [{name: often, cron: "@hourly", plan: plan.yaml}]
alerts: {webhooks: [{url: `+hook.URL+`}]}
`)
	for round, told := range []int{1, 0} {
		code, _, stderr := runProcess(t, "watch", file, "--once")
		if code != exitMissed || len(alerts) != told {
			t.Fatalf("round %d: exit %d, %d alerts\n%s", round, code, len(alerts), stderr)
		}
		for len(alerts) > 0 {
			if a := <-alerts; a.Schedule != "often" || a.Run == "" || a.Kind != watch.Missed {
				t.Errorf("told %+v", a)
			}
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "runs", watch.StateFile)); err != nil {
			t.Error(err)
		}
	}
	code, stdout, _ := redline(t, nil, "history", "--runs", filepath.Join(filepath.Dir(file), "runs"), "--label", "often")
	if code != exitOK || strings.Count(stdout, "4 in flight") != 2 {
		t.Errorf("two runs wanted:\n%s", stdout)
	}
}

func TestWatchTellsOfADeadServer(t *testing.T) {
	t.Parallel()
	told := filepath.Join(t.TempDir(), "told")
	file := watchFile(t, "http://127.0.0.1:1", `schedules: [{name: often, cron: "@hourly", plan: plan.yaml}]
alerts: {command: 'echo "$REDLINE_ALERT_KIND $REDLINE_ALERT_TEXT" >> `+told+`'}
`)
	if code, _, stderr := runProcess(t, "watch", file, "--once"); code != exitError {
		t.Errorf("exit %d: %s", code, stderr)
	}
	text, err := os.ReadFile(told)
	if err != nil || !strings.HasPrefix(string(text), "failed no result: exit code 1: ") || strings.Count(string(text), "\n") != 1 {
		t.Errorf("%v, told %q", err, text)
	}
}

func TestWatchStops(t *testing.T) {
	t.Parallel()
	file := watchFile(t, "http://127.0.0.1:1", "listen: 127.0.0.1:0\nschedules: [{name: rare, cron: '@yearly', plan: plan.yaml}]\n")
	cmd, _, stderr := program(t, "watch", file)
	must.Do(t, cmd.Start())
	await(t, "the watch to begin", func() bool { return strings.Contains(stderr.String(), "rare: next at ") })
	if code, _, line := runProcess(t, "watch", file); code != exitError || !strings.Contains(line, "another redline watch runs") {
		t.Errorf("a second one: exit %d, %q", code, line)
	}
	must.Do(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil || !strings.Contains(stderr.String(), "stopped") {
		t.Errorf("%v: %s", err, stderr)
	}
}

func TestWatchMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		args       []string
		says       string
	}{
		{"an unknown key", "schedule: []\n", nil, "watch.yaml:2: schedule: unknown key"},
		{"a bad cron line", "schedules:\n  - name: a\n    cron: noon\n    plan: plan.yaml\n", nil, "watch.yaml:4: schedules[0].cron: expected five fields"},
		{"no such plan", "schedules: [{name: a, cron: '@daily', plan: none.yaml}]\n", nil, "no such file"},
		{"no such schedule", "schedules: [{name: a, cron: '@daily', plan: plan.yaml}]\n", []string{"--only", "b"}, `no schedule "b"`},
		{"nothing to do", "jitter: 1m\n", nil, "schedules: expected at least one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"watch", watchFile(t, "http://127.0.0.1:1", c.text), "--check"}, c.args...)
			code, _, stderr := redline(t, nil, args...)
			if code != exitUsage && code != exitError || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, %q, want %q in it", code, stderr, c.says)
			}
		})
	}
	if code, _, stderr := redline(t, nil, "watch"); code != exitUsage || !strings.Contains(stderr, "one watch file") {
		t.Errorf("without a file: exit %d, %q", code, stderr)
	}
}

// TestExamples reads every example, and has every redline command in them read
// by redline itself.
func TestExamples(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "examples")
	if code, stdout, stderr := redline(t, nil, "watch", filepath.Join(root, "watch.yaml"), "--check"); code != exitOK || strings.Count(stdout, "next at") != 2 {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	read := func(name string, into any) string {
		text := must.Read(t, filepath.Join(root, name))
		if into != nil {
			if err := yaml.Unmarshal(text, into); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		return string(text)
	}
	understood := func(args []string) {
		t.Helper()
		p := &process{}
		c, rest, err := p.root().Find(args)
		if err != nil || !c.HasParent() {
			t.Errorf("%v: %v", args, err)
			return
		}
		if err := c.ParseFlags(rest); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	unit := read("systemd/redline-watch.service", nil)
	_, line, _ := strings.Cut(unit, "ExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	understood(strings.Fields(line)[1:])

	var job struct {
		Spec struct {
			JobTemplate struct {
				Spec struct {
					Template struct {
						Spec struct {
							Containers []struct{ Args []string }
						}
					}
				}
			} `yaml:"jobTemplate"`
		}
	}
	read("kubernetes/cronjob.yaml", &job)
	containers := job.Spec.JobTemplate.Spec.Template.Spec.Containers
	if len(containers) != 1 {
		t.Fatalf("%d containers", len(containers))
	}
	understood(containers[0].Args)

	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With struct{ Args string }
			}
		}
	}
	read("github/redline.yml", &workflow)
	measured := false
	for _, step := range workflow.Jobs["nightly"].Steps {
		if strings.HasPrefix(step.Uses, "OWNER/redline") {
			understood(append([]string{"run"}, strings.Fields(step.With.Args)...))
			measured = true
		}
	}
	if !measured {
		t.Error("the workflow does not use the action")
	}
}
