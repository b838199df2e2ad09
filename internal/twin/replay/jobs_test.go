package replay

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"redline/docs/pages"
	"redline/internal/catalog"
	"redline/internal/must"
	"redline/internal/traffic/job"
	"redline/internal/twin/sim"
)

// sessions are the recorded ones, with pauses of 10 s at most.
func sessions(t *testing.T) (*job.File, func(time.Duration) time.Duration) {
	t.Helper()
	file := must.Get(job.Open("../../traffic/job/testdata/weka.tgz", job.Options{}))(t)
	return file, func(recorded time.Duration) time.Duration { return min(recorded, 10*time.Second) }
}

// quick is an engine that computes a prompt of 100,000 tokens in half a second,
// with a cache of so many tokens.
func quick(t *testing.T, tokens float64) sim.Core {
	t.Helper()
	none := 0.0
	core := must.Get(sim.NewBatching(sim.Spec{Law: &catalog.Law{WeightsUS: 6000, TokenUS: 5, Corner: 1.5, SequenceUS: 4, ContextUS: 0.001, PairUS: 0.00001}, Jitter: &none,
		MaxModelLen: 200_000, MaxNumBatchedTokens: 16384, MaxNumSeqs: 256, NumGPUBlocksOverride: int(tokens / BlockSize)}))(t)
	return core
}

// The share of prompt tokens in the cache falls off a cliff where the live jobs
// come back to more tokens than the cache has room for, and that number of jobs is
// the computed one within 15%.
func TestCacheOfLiveJobsHasACliff(t *testing.T) {
	t.Parallel()
	file, pause := sessions(t)
	const fits = 8.0
	each, ideal := file.LiveTokens(pause), file.Ideal()
	settle, end := 6*time.Minute, 16*time.Minute
	share := func(live int) float64 {
		var cached, prompts float64
		PlayJobs([]sim.Core{quick(t, fits*each)}, Agents{Jobs: file.Jobs, Live: live, Pause: pause, End: int64(end)}, func(r Turn) {
			if r.Due >= int64(settle) {
				cached, prompts = cached+float64(r.Cached), prompts+float64(r.Prompt)
			}
		})
		return cached / prompts
	}
	shares := map[int]float64{}
	for _, live := range []int{4, 6, 7, 8, 9, 10, 12} {
		shares[live] = share(live)
	}
	if shares[4] < 0.95*ideal || shares[12] > 0.2*ideal {
		t.Errorf("%.3f of the prompts are cached with half of the jobs that fit, %.3f with half more than fit; ideal is %.3f", shares[4], shares[12], ideal)
	}
	if half := halfway(shares, ideal/2); math.Abs(half/fits-1) > 0.15 {
		t.Errorf("half of the ideal share at %.2f jobs, computed %.0f", half, fits)
	}
	if os.Getenv("REDLINE_CLIFF") == "" {
		return
	}
	settle, end = 10*time.Minute, 40*time.Minute
	head, line, row := "| agents |", "|---|", "| from the cache |"
	for _, live := range []int{2, 4, 6, 7, 8, 9, 10, 12, 16} {
		shares[live] = share(live)
		head, line, row = head+fmt.Sprintf(" %d |", live), line+"--:|", row+fmt.Sprintf(" %.0f%% |", 100*shares[live])
	}
	must.Do(t, pages.Write("SCALE.md", "cliff", fmt.Sprintf("%s\n%s\n%s\n\nA live session comes back to %.0f thousand tokens, an endless cache has %.0f%%; half of that is left at %.1f agents.\n",
		head, line, row, each/1e3, 100*ideal, halfway(shares, ideal/2))))
}

// halfway is the number of jobs at which a share is crossed, 0 where it is not.
func halfway(shares map[int]float64, level float64) float64 {
	for live := range 16 {
		if before, after := shares[live], shares[live+1]; before >= level && after < level && after > 0 {
			return float64(live) + (before-level)/(before-after)
		}
	}
	return 0
}

// No request is sent before all that it waits for have ended, each is due when its
// pause is over, and an endless cache has what the ideal one has.
func TestPlayedJobsWait(t *testing.T) {
	t.Parallel()
	file, pause := sessions(t)
	var turns []Turn
	times := make([]int64, len(file.Jobs))
	for i := range times {
		times[i] = int64(i) * 1e9
	}
	PlayJobs([]sim.Core{quick(t, 1e8)}, Agents{Jobs: file.Jobs, Times: slices.Values(times), Pause: pause, End: Idle}, func(r Turn) { turns = append(turns, r) })
	if want := file.Summarize(0).Requests; len(turns) != want {
		t.Fatalf("%d requests, want %d", len(turns), want)
	}
	ends := make([]map[int]int64, len(file.Jobs))
	ideal := job.NewCache(false)
	hits, cached, prompts := 0, 0, 0
	for s, j := range file.Jobs {
		ends[s] = map[int]int64{}
		for _, n := range ideal.Add(j) {
			hits += n
		}
	}
	for _, r := range turns {
		ends[r.Session][r.Number] = r.Last
		cached, prompts = cached+r.Cached, prompts+r.Prompt
	}
	for _, r := range turns {
		asked := file.Jobs[r.Session].Requests[r.Number]
		waited := int64(0)
		for _, before := range asked.After {
			waited = max(waited, ends[r.Session][before])
		}
		if len(asked.After) > 0 && r.Due != waited+int64(pause(asked.Pause)) || r.First <= r.Due || r.Prompt != asked.Prompt {
			t.Errorf("session %d, request %d: %+v, waited for until %d", r.Session, r.Number, r, waited)
		}
	}
	if got, want := float64(cached)/float64(prompts), float64(hits)/float64(prompts); math.Abs(got-want) > 0.01 {
		t.Errorf("%.4f of the prompts are cached, ideal is %.4f", got, want)
	}
}

// Jobs come at their times, to the instance with the fewest; one of which a request
// is refused sends no more.
func TestPlayedJobsComeAtTheirTimes(t *testing.T) {
	t.Parallel()
	one := &job.Job{Requests: []job.Request{{Prompt: 16, Output: 100, From: -1, Blocks: []job.Block{{ID: 1, Tokens: 16}}},
		{After: []int{0}, Pause: time.Second, Prompt: 16, Output: 1, From: 0, Keep: 1}}}
	long := &job.Job{Requests: []job.Request{{Prompt: 300_000, Output: 1, From: -1, Blocks: []job.Block{{ID: 1, Tokens: 300_000}}},
		{After: []int{0}, Prompt: 16, Output: 1, From: -1, Blocks: []job.Block{{ID: 2, Tokens: 16}}}}}
	a, b := quick(t, 1e6), quick(t, 1e6)
	var due []int64
	var refused error
	PlayJobs([]sim.Core{a, b}, Agents{Jobs: []*job.Job{one, long, one}, Times: slices.Values([]int64{5, 6, 7, 1e12}), End: 1e12}, func(r Turn) {
		due, refused = append(due, r.Due), errors.Join(refused, r.Refused)
	})
	if len(due) != 5 || due[0] != 6 || due[1] != 5 || due[2] != 7 || refused == nil {
		t.Errorf("requests due at %v, refused: %v", due, refused)
	}
	if a.Stats().Finished != 2 || b.Stats().Finished != 2 {
		t.Errorf("%d and %d requests, want 2 of each instance", a.Stats().Finished, b.Stats().Finished)
	}
}
