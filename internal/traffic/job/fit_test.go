package job

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"redline/internal/must"
)

// openRecorded reads a file of jobs.
func openRecorded(t *testing.T, path string) *File {
	t.Helper()
	f := must.Get(Open(path, Options{}))(t)
	return f
}

// A generator that is fitted to recorded jobs makes some of the same shape, also
// after it was written and read.
func TestFittedJobsAreLikeTheirFile(t *testing.T) {
	t.Parallel()
	f := openRecorded(t, "testdata/weka.tgz")
	var document bytes.Buffer
	must.Do(t, Fit(f).Write(&document))
	g := must.Get(ReadGenerator("fitted.yaml", document.Bytes()))(t)
	for _, name := range []string{"trace_0", "Explore", "agent_00"} {
		if strings.Contains(document.String(), name) {
			t.Errorf("the fitted jobs hold the name %s", name)
		}
	}
	c := g.Compare(f)
	if off := c.Made.Ideal - c.File.Ideal; math.Abs(off) > 0.01 {
		t.Errorf("an ideal share of %.4f, want %.4f within a percentage point", c.Made.Ideal, c.File.Ideal)
	}
	for _, want := range []struct {
		name       string
		file, made float64
		error      float64
	}{
		{"prompt", c.File.Prompt.Mean, c.Made.Prompt.Mean, 0.05},
		{"median prompt", c.File.Prompt.P50, c.Made.Prompt.P50, 0.1},
		{"new tokens", c.File.New.Mean, c.Made.New.Mean, 0.05},
		{"output", c.File.Output.Mean, c.Made.Output.Mean, 0.05},
		{"pause", c.File.Pause.Mean, c.Made.Pause.Mean, 0.15},
		{"requests", c.File.PerJob.Mean, c.Made.PerJob.Mean, 0.15},
		{"width", c.File.Width.Mean, c.Made.Width.Mean, 0.15},
		{"depth", c.File.Depth.Max, c.Made.Depth.Max, 0},
	} {
		if math.Abs(want.made/want.file-1) > want.error {
			t.Errorf("%s: %g on average, want %g within %g", want.name, want.made, want.file, want.error)
		}
	}
}

// The jobs of a seed are always the same, others with another seed, and each is a
// graph: what a request waits for and begins with comes before it.
func TestFittedJobsAreGraphs(t *testing.T) {
	t.Parallel()
	g := Fit(openRecorded(t, "testdata/weka.tgz"))
	if !reflect.DeepEqual(g.Job(3, 5), g.Job(3, 5)) || reflect.DeepEqual(g.Job(3, 5), g.Job(4, 5)) || reflect.DeepEqual(g.Job(3, 5), g.Job(3, 6)) {
		t.Error("a job does not depend on its seed and number alone")
	}
	agents := 0
	for i := range 200 {
		j := g.Job(1, i)
		agents += len(j.agents())
		for k, r := range j.Requests {
			for _, before := range append(r.After, r.From) {
				if before >= k || before < -1 {
					t.Fatalf("request %d of job %d waits for or begins with %d", k, i, before)
				}
			}
			if n := tokensOf(j.Blocks(k)); n != r.Prompt || n > g.MaxPrompt || r.Output < 1 {
				t.Fatalf("request %d of job %d has %d tokens in its blocks, want %d, at most %d", k, i, n, r.Prompt, g.MaxPrompt)
			}
		}
	}
	if agents < 250 {
		t.Errorf("%d agents in 200 jobs, want subagents", agents)
	}
}

// What many jobs begin with is shared by those that are made, and prompts that
// grow with live replies do so.
func TestFittedJobsShareWhatTheirFileShares(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	system := strings.Repeat("the same words before every task ", 100)
	for i := range 12 {
		rows.WriteString(`{"session_id":"s` + string(rune('a'+i)) + `","turns":[{"messages":[{"role":"system","content":"` + system + `"},{"role":"user","content":"task ` +
			string(rune('a'+i)) + `"}],"max_tokens":100},{"messages":[{"role":"user","content":"go on"}],"max_tokens":50}]}` + "\n")
	}
	f := openRecorded(t, must.File(t, "jobs.jsonl", rows.String()))
	g := Fit(f)
	if s := g.Levels[0].Shared; s == nil || s.Groups != 1 || !g.LiveReplies {
		t.Fatalf("%+v and live replies %v, want one prefix of all jobs, and replies that are sent back", s, g.LiveReplies)
	}
	if c := g.Compare(f); math.Abs(c.Made.Ideal-c.File.Ideal) > 0.05 || math.Abs(c.Made.Prompt.Mean/c.File.Prompt.Mean-1) > 0.05 {
		t.Errorf("ideal %.3f and prompts of %.0f tokens, want %.3f and %.0f", c.Made.Ideal, c.Made.Prompt.Mean, c.File.Ideal, c.File.Prompt.Mean)
	}
}

// A generator that was fitted to one half of the jobs is no further from the other
// half than the halves are from each other, by more than the error of a fit.
func TestFittedJobsHoldForOthers(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/weka.tgz", "testdata/mlperf.jsonl.gz"} {
		c, own := HoldOut(openRecorded(t, path))
		if off, between := math.Abs(c.Made.Ideal-c.File.Ideal), math.Abs(own.Ideal-c.File.Ideal); off > between+0.02 {
			t.Errorf("%s: an ideal share of %.4f, want %.4f; the halves are %.4f apart", path, c.Made.Ideal, c.File.Ideal, between)
		}
		if off, between := math.Abs(c.Made.Prompt.Mean/c.File.Prompt.Mean-1), math.Abs(own.Prompt.Mean/c.File.Prompt.Mean-1); off > between+0.1 {
			t.Errorf("%s: prompts are %.3f off on average; the halves are %.3f apart", path, off, between)
		}
	}
}

func TestBadFittedJobs(t *testing.T) {
	t.Parallel()
	var good bytes.Buffer
	must.Do(t, Fit(openRecorded(t, "testdata/weka.tgz")).Write(&good))
	for _, bad := range []struct{ old, new, want string }{
		{"redline/jobs/1", "redline/jobs/9", `bad.yaml:2: schema: is "redline/jobs/9", expected "redline/jobs/1"`},
		{"token_s: ", "token_s: -", "token_s: must be 0 to 1000 seconds"},
		{"share: 0.22", "share: 0.92", "levels[0].kinds: the shares sum to 1.7"},
		{"max_prompt_tokens: ", "max_prompt_tokens: 99999", "max_prompt_tokens: must be 1 to 10000000"},
		{"live_replies", "x", ""},
		{"source:", "sauce: 1\nsource:", "sauce"},
	} {
		_, err := ReadGenerator("bad.yaml", []byte(strings.Replace(good.String(), bad.old, bad.new, 1)))
		if (err == nil) != (bad.want == "") || err != nil && !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, want %q", bad.new, err, bad.want)
		}
	}
}
