package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/must"
	"redline/internal/traffic/job"
)

// twoAgents is a session of three requests, one of them a subagent's.
const twoAgents = `{"id":"one","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[
 {"t":0,"type":"n","model":"m","in":128,"out":50,"hash_ids":[1,2],"api_time":2},
 {"t":4,"type":"subagent","agent_id":"a","subagent_type":"Explore","status":"completed","requests":[
  {"t":0,"type":"n","model":"h","in":64,"out":60,"hash_ids":[9],"api_time":4}]},
 {"t":10,"type":"n","model":"m","in":140000,"out":70,"hash_ids":[1,2,3],"api_time":2}]}
`

func TestWorkloadShowsJobs(t *testing.T) {
	t.Parallel()
	path := must.File(t, "session.json", twoAgents)
	code, stdout, stderr := redline(t, nil, "workload", "show", path, "--json", "--model", "llama-3.1-70b")
	var s job.Summary
	if err := json.Unmarshal([]byte(stdout), &s); code != exitOK || err != nil {
		t.Fatalf("exit %d, %v, %s", code, err, stderr)
	}
	if s.Format != "weka" || s.Jobs != 1 || s.Requests != 3 || s.Dependencies != 3 || s.Overflow != 1 || s.JobTime.Max != 12 || s.Ideal != 128.0/140192 {
		t.Errorf("%+v, want three requests with three dependencies, 12 s, and one longer than the context", s)
	}
	code, stdout, stderr = redline(t, nil, "workload", "show", path)
	if code != exitOK {
		t.Fatal(stderr)
	}
	for _, want := range []string{"1 job of 3 requests (weka)", "requests at once", "timeline of one", " a Explore ", "█", "2 fresh, 1 continued, 0 forked"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

func TestWorkloadShowsJobsByTheirNames(t *testing.T) {
	t.Parallel()
	path := must.File(t, "session.json", twoAgents)
	for _, bad := range []struct {
		args []string
		want string
	}{
		{[]string{path, "--job", "two"}, `session.json: has no job "two"`},
		{[]string{path, "--model", "nobody"}, "--model: "},
		{[]string{path, "--samples", "2"}, "--advise and --samples are for single requests"},
		{[]string{"chat", "--job", "x"}, "--job and --model are for files of agents' jobs"},
		{[]string{path, "--workload-format", "satf"}, "session.json: has no job in it"},
	} {
		code, _, stderr := redline(t, nil, append([]string{"workload", "show"}, bad.args...)...)
		if code == exitOK || !strings.Contains(stderr, bad.want) {
			t.Errorf("%v: exit %d, %s, want %q", bad.args, code, stderr, bad.want)
		}
	}
}

func TestAgentsAreForJobs(t *testing.T) {
	t.Parallel()
	path := must.File(t, "session.json", twoAgents)
	for _, bad := range []struct {
		args []string
		want string
	}{
		{[]string{"--workload", path}, "--agents: expected the number of live agents, such as --agents 8, or --rate 0.2"},
		{[]string{"--workload", "coding-agent"}, "--agents: expected the number of live agents"},
		{[]string{"--workload", "chat", "--agents", "3"}, "--agents: is for a file of agents' jobs, which the workload is not"},
		{[]string{"--workload", path, "--agents", "3", "--concurrency", "2"}, "--agents: is the same setting as --concurrency: keep one of the two"},
		{[]string{"--workload", path, "--agents", "3", "--time-scale", "-1"}, "--time-scale: expected a factor from 0 to 1000, got -1"},
		{[]string{"--workload", path, "--agents", "3", "--speedup", "2"}, "--speedup: is for a trace with times of its own"},
	} {
		code, _, stderr := redline(t, nil, append([]string{"run", "--dry-run"}, bad.args...)...)
		if code == exitOK || !strings.Contains(stderr, bad.want) {
			t.Errorf("%v: exit %d, %s, want %q", bad.args, code, stderr, bad.want)
		}
	}
}

// Jobs that were fitted to a file are shown, and compared with it when they are
// made.
func TestFittedJobsAreShown(t *testing.T) {
	t.Parallel()
	recorded, out := "../../internal/traffic/job/testdata/weka.tgz", filepath.Join(t.TempDir(), "agents.yaml")
	code, stdout, stderr := redline(t, nil, "workload", "fit", recorded, "-o", out)
	if code != exitOK {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for _, want := range []string{"fitted to 18 jobs of 709 requests (weka)", "prompt tokens", "93.4% of prompt tokens in an endless cache", "fitted to every second job", "workload show " + out} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	code, stdout, stderr = redline(t, nil, "workload", "show", out, "--json")
	var s job.Summary
	if err := json.Unmarshal([]byte(stdout), &s); code != exitOK || err != nil || s.Format != job.Fitted || s.Jobs != job.ShownJobs {
		t.Fatalf("exit %d, %v, %s", code, err, stderr)
	}
	badInput(t, []string{"workload", "fit", out}, exitUsage, []string{"agents.yaml: is fitted already"})
	if code, stdout, _ = redline(t, nil, "workload", "fit", recorded); code != exitOK || !strings.HasPrefix(stdout, "# Jobs fitted") || strings.Contains(stdout, "file p50") {
		t.Errorf("exit %d, %.200s, want the document alone", code, stdout)
	}
}
