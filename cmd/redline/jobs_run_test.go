package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/job"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// unpackSessions unpacks some of the recorded sessions into a folder, or all of them.
func unpackSessions(t *testing.T, names ...string) string {
	t.Helper()
	packed := must.Get(os.Open("../../internal/traffic/job/testdata/weka.tgz"))(t)
	defer packed.Close()
	plain := must.Get(gzip.NewReader(packed))(t)
	folder := t.TempDir()
	for archive := tar.NewReader(plain); ; {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		must.Do(t, err)
		name := filepath.Base(entry.Name)
		if entry.Typeflag != tar.TypeReg || names != nil && !slices.Contains(names, strings.TrimSuffix(name, ".json")) {
			continue
		}
		text, err := io.ReadAll(archive)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o644)
		}
		must.Do(t, err)
	}
}

// Recorded jobs run on the embedded engine: no request is sent before all that it
// waits for have ended, each is due when its pause is over, and a cache that is
// large enough has what the ideal one has. make long runs all 18 sessions.
func TestJobsRunAsTheyWait(t *testing.T) {
	t.Parallel()
	folder := unpackSessions(t, effort.Of([]string{"trace_0021", "trace_0026", "trace_0277"}, nil)...)
	file := must.Get(job.Open(folder, job.Options{}))(t)
	// An open loop begins jobs again before the last of the file has ended.
	requests := file.Summarize(0).Requests
	again := effort.Of(40, 900)
	for _, load := range [][]string{{"--agents", "1", "--agents-from", "start", "--requests", strconv.Itoa(requests)},
		{"--rate", "0.01", "--arrival", "constant", "--requests", strconv.Itoa(requests + again)}} {
		t.Run(load[0], func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			virtually(t, func(w *world) {
				code, _, stderr := w.redline(append([]string{"run", "--workload", folder, "--idle-cap", "5s", "--warmup", "0s", "--drain", "10m", "--model", "llama-3.1-8b",
					"--gpu", "B200", "--tp", "8", "--max-model-len", "200000", "--out", out, "--quiet"}, load...)...)
				if code != exitOK {
					t.Fatalf("exit %d, %s", code, stderr)
				}
			})
			records := readRecords(t, out)
			checkJobs(t, file, records, load[0] == "--agents")
			checkJobTable(t, file, records, out)
		})
	}
}

// Jobs that are played on the simulated engine without a server have what a run over
// HTTP has: the same requests, each as long, and the same tokens in the cache.
func TestPlayedJobsAgreeWithARun(t *testing.T) {
	t.Parallel()
	folder := unpackSessions(t, "trace_0021", "trace_0026", "trace_0277")
	file := must.Get(job.Open(folder, job.Options{}))(t)
	spec := sim.Spec{Model: "llama-3.1-8b", GPU: "B200", TP: 8, Jitter: new(float64)}
	out := filepath.Join(t.TempDir(), "run")
	virtually(t, func(w *world) {
		code, _, stderr := w.redline("run", "--url", w.engine(spec, 0), "--workload", folder, "--idle-cap", "5s", "--warmup", "0s", "--drain", "10m",
			"--rate", "0.02", "--arrival", "constant", "--requests", "110", "--out", out, "--quiet")
		if code != exitOK {
			t.Fatalf("exit %d, %s", code, stderr)
		}
	})
	records := map[[2]int]record.Record{}
	times := make([]int64, len(file.Jobs))
	for _, r := range readRecords(t, out) {
		if r.Session < len(file.Jobs) {
			records[[2]int{r.Session, r.Turn}] = r
			if r.Turn == 0 {
				times[r.Session] = r.Due
			}
		}
	}
	core := must.Get(sim.NewBatching(spec))(t)
	// Of subagents that are sent at one moment either may be the first, and have the
	// others' beginning in the cache.
	type sums struct{ requests, prompts, outputs, cached int }
	run, played := make([]sums, len(file.Jobs)), make([]sums, len(file.Jobs))
	var took, waited, runTook, runWaited float64
	replay.PlayJobs([]sim.Core{core}, replay.Agents{Jobs: file.Jobs, Times: slices.Values(times), End: replay.Idle,
		Pause: func(recorded time.Duration) time.Duration { return min(recorded, 5*time.Second) }}, func(p replay.Turn) {
		r := records[[2]int{p.Session, p.Number}]
		if math.Abs(float64(p.Due-r.Due)) > 0.002*float64(r.Due) {
			t.Errorf("session %d, request %d is due at %d ns, in the run at %d", p.Session, p.Number, p.Due, r.Due)
		}
		one, other := &played[p.Session], &run[p.Session]
		*one = sums{one.requests + 1, one.prompts + p.Prompt, one.outputs + p.Output, one.cached + p.Cached}
		*other = sums{other.requests + 1, other.prompts + r.PromptTokens, other.outputs + r.OutputTokens, other.cached + r.CachedTokens}
		took, waited = took+float64(p.Last-p.Due), waited+float64(p.First-p.Due)
		runTook, runWaited = runTook+float64(r.Last-r.Due), runWaited+float64(r.First-r.Due)
	})
	expect.NoDiff(t, cmp.Diff(run, played, cmp.AllowUnexported(sums{})), "requests and tokens of jobs (-run +played)")
	if math.Abs(took/runTook-1) > 0.01 || math.Abs(waited/runWaited-1) > 0.05 {
		t.Errorf("ttft sums to %g ns and e2e to %g, in the run to %g and %g", waited, took, runWaited, runTook)
	}
	// A plan for agents is tried with the run's own jobs, and pauses of 5 s at most: two
	// on each instance have nearly all of their prompts in the cache.
	engine := must.File(t, "engine.yaml", "schema: redline/engine/1\nlaw: {weights_us: 6000, token_us: 5, corner: 1.5}\n")
	virtually(t, func(w *world) {
		code, stdout, stderr := w.redline("capacity", out, "--agents", "4", "--limit", "2", "--headroom", "0", "--simulate", "--engine", engine, "--slo", "ttft:p90<10s", "--json")
		var plan struct {
			Capacity struct{ Rehearsal result.Rehearsal }
		}
		if err := json.Unmarshal([]byte(stdout), &plan); err != nil || code != exitOK {
			t.Fatalf("exit %d, %v, %s", code, err, stderr)
		}
		if tried := plan.Capacity.Rehearsal; tried.Traffic != "4 live agents" || tried.Planned.Instances != 2 || !tried.Planned.Met() || *tried.Planned.Cached < 0.8 {
			t.Errorf("%+v", tried)
		}
	})
}

// checkJobs looks at the records of the first pass through a file.
func checkJobs(t *testing.T, file *job.File, records []record.Record, oneByOne bool) {
	t.Helper()
	bySession := map[int]map[int]record.Record{}
	for _, r := range records {
		if bySession[r.Session] == nil {
			bySession[r.Session] = map[int]record.Record{}
		}
		bySession[r.Session][r.Turn] = r
	}
	cache := job.NewCache(false)
	ideal, cached, prompts, joins := 0, 0, 0, 0
	end := int64(0)
	for s, j := range file.Jobs {
		hits := cache.Add(j)
		first := bySession[s][0].Due
		if oneByOne && first < end {
			t.Errorf("%s begins at %d, before the last request of the job before has ended, at %d", j.Name, first, end)
		}
		for i, want := range j.Requests {
			r, ok := bySession[s][i]
			if !ok || r.Outcome != llm.OK {
				t.Fatalf("%s request %d: %q %s", j.Name, i, r.Outcome, r.Error)
			}
			if r.AskedPrompt != want.Prompt || r.AskedOutput != want.Output || r.PromptTokens < want.Prompt {
				t.Errorf("%s request %d asks for %d and %d tokens, want %d and %d", j.Name, i, r.AskedPrompt, r.AskedOutput, want.Prompt, want.Output)
			}
			if r.Turns != len(j.Requests) || r.Depth != want.Depth || r.IdealCached != hits[i] {
				t.Errorf("%s request %d is one of %d at depth %d with %d tokens in an endless cache, want %d, %d and %d", j.Name, i, r.Turns, r.Depth, r.IdealCached, len(j.Requests), want.Depth, hits[i])
			}
			waited := first
			for _, before := range want.After {
				waited = max(waited, bySession[s][before].End)
			}
			if len(want.After) > 1 {
				joins++
			}
			if due := waited + min(int64(want.Pause), 5e9); r.Sent < waited || len(want.After) > 0 && r.Due != due {
				t.Errorf("%s request %d is due at %d and sent at %d, want %d, and not before %d", j.Name, i, r.Due, r.Sent, due, waited)
			}
			ideal, cached, prompts = ideal+hits[i], cached+r.CachedTokens, prompts+r.PromptTokens
			end = max(end, r.End)
		}
	}
	if joins == 0 {
		t.Error("no request waits for several others")
	}
	if got, want := float64(cached)/float64(prompts), float64(ideal)/float64(prompts); math.Abs(got-want) > 0.01 {
		t.Errorf("%.4f of the prompt tokens were cached, want %.4f within a percentage point", got, want)
	}
}

// checkJobTable compares the exported jobs of the first pass with the records.
func checkJobTable(t *testing.T, file *job.File, records []record.Record, out string) {
	t.Helper()
	code, table, stderr := redline(t, nil, "export", "--format", "jsonl", "--table", "jobs", out)
	if code != exitOK {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	ended := 0
	for line := range strings.Lines(table) {
		var row struct {
			Session, Requests, Turns int
			Outcome                  string
			JobMS                    float64 `json:"job_time_ms"`
			ServingMS                float64 `json:"job_serving_ms"`
			Prompt                   int     `json:"prompt_tokens"`
			Cached                   int     `json:"cached_tokens"`
		}
		must.Do(t, json.Unmarshal([]byte(line), &row))
		if row.Session >= len(file.Jobs) {
			continue
		}
		var begin, end int64 = math.MaxInt64, 0
		requests, prompt, cached := 0, 0, 0
		for _, r := range records {
			if r.Session == row.Session {
				begin, end = min(begin, r.Due), max(end, r.Last)
				requests, prompt, cached = requests+1, prompt+r.PromptTokens, cached+r.CachedTokens
			}
		}
		if row.Outcome != "ok" || row.Requests != requests || row.Turns != requests || row.Prompt != prompt || row.Cached != cached ||
			math.Abs(row.JobMS-float64(end-begin)/1e6) > 1e-3 || !(row.ServingMS > 0 && row.ServingMS < row.JobMS) {
			t.Errorf("job %d: %+v; want %d requests, %d prompt tokens, %d cached, %d ns", row.Session, row, requests, prompt, cached, end-begin)
		}
		ended++
	}
	if ended != len(file.Jobs) {
		t.Errorf("%d of %d jobs are in the table", ended, len(file.Jobs))
	}
}

// Agents are met in the middle of their jobs: the first request of each warms the
// cache, for one token, and is not measured; what follows has its place in the job.
func TestAgentsAreMetInTheMiddle(t *testing.T) {
	t.Parallel()
	folder := unpackSessions(t, "trace_0021", "trace_0026", "trace_0277")
	file := must.Get(job.Open(folder, job.Options{}))(t)
	out := filepath.Join(t.TempDir(), "run")
	const agents = 6
	virtually(t, func(w *world) {
		code, _, stderr := w.redline("run", "--workload", folder, "--agents", strconv.Itoa(agents), "--idle-cap", "5s", "--warmup", "0s", "--drain", "10m", "--requests", "60",
			"--model", "llama-3.1-8b", "--gpu", "B200", "--tp", "8", "--out", out, "--quiet", "--seed", "5")
		if code != exitOK {
			t.Fatalf("exit %d, %s", code, stderr)
		}
	})
	asked := map[int]bool{} // prompts of the file
	for _, j := range file.Jobs {
		for _, r := range j.Requests {
			asked[r.Prompt] = true
		}
	}
	warm, first, measured := 0, map[int]record.Record{}, 0
	for _, r := range readRecords(t, out) {
		if !asked[r.AskedPrompt] {
			t.Errorf("session %d asks for %d tokens, which no request of the file has", r.Session, r.AskedPrompt)
		}
		if r.Phase == record.Measure {
			measured++
		}
		if before, seen := first[r.Session]; !seen || r.Due < before.Due || r.Due == before.Due && r.Turn < before.Turn {
			first[r.Session] = r
		}
		if r.AskedOutput == 1 && r.Session < agents {
			warm++
			if r.Phase != record.Warmup {
				t.Errorf("a request that warms the cache of session %d counts in the %s phase", r.Session, r.Phase)
			}
		}
	}
	inside := 0
	for session := range agents {
		if first[session].Turn > 0 {
			inside++
		}
	}
	if warm < agents-1 || inside == 0 || measured < 60 {
		t.Errorf("%d requests warm the cache, %d sessions begin behind their first request, %d are measured; want nearly one for each of %d agents", warm, inside, measured, agents)
	}
}

// Prompts in which the server's replies are sent back still begin with those before
// them: the cache has as much of them.
func TestLiveRepliesLeavePrefixes(t *testing.T) {
	t.Parallel()
	folder := unpackSessions(t, "trace_0021", "trace_0057")
	shares := map[string]float64{}
	for _, history := range []string{"recorded", "live"} {
		out := filepath.Join(t.TempDir(), history)
		virtually(t, func(w *world) {
			code, _, stderr := w.redline("run", "--workload", folder, "--agents", "1", "--agents-from", "start", "--history", history, "--idle-cap", "1s", "--warmup", "0s", "--drain", "10m",
				"--requests", "22", "--model", "llama-3.1-8b", "--gpu", "B200", "--tp", "8", "--out", out, "--quiet", "--seed", "5")
			if code != exitOK {
				t.Fatalf("exit %d, %s", code, stderr)
			}
		})
		cached, prompts := 0, 0
		for _, r := range readRecords(t, out) {
			if r.Session > 1 {
				continue // the second pass through the file
			}
			if r.Outcome != llm.OK {
				t.Fatalf("%s %s", r.Outcome, r.Error)
			}
			cached, prompts = cached+r.CachedTokens, prompts+r.PromptTokens
		}
		shares[history] = float64(cached) / float64(prompts)
	}
	if shares["live"] < shares["recorded"]-0.01 || shares["recorded"] < 0.85 {
		t.Errorf("%v of the prompt tokens were cached, want no fewer where replies are sent back", shares)
	}
}
