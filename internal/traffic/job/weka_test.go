package job

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"redline/internal/must"
)

// plainRow is a row of a Weka session as it stands in the file.
type plainRow struct {
	T        float64
	Type     string
	In, Out  int
	HashIDs  []int   `json:"hash_ids"`
	APITime  float64 `json:"api_time"`
	Status   string
	Requests []plainRow
}

type plainSession struct {
	ID        string
	BlockSize int `json:"block_size"`
	Requests  []plainRow
}

// plainRequest is a request with its time in the session, and the lane that it
// is in: 0 for the agent, 1 and up for its subagents.
type plainRequest struct {
	plainRow
	lane int
	at   float64
}

func (p plainRequest) end() float64 { return p.at + p.APITime }

// unpackWeka reads the recorded sessions without the package's own reader.
func unpackWeka(t *testing.T) map[string]plainSession {
	t.Helper()
	file := must.Get(os.Open("testdata/weka.tgz"))(t)
	defer file.Close()
	plain := must.Get(gzip.NewReader(file))(t)
	sessions := map[string]plainSession{}
	for archive := tar.NewReader(plain); ; {
		entry, err := archive.Next()
		if err == io.EOF {
			return sessions
		}
		must.Do(t, err)
		if entry.Typeflag != tar.TypeReg {
			continue
		}
		var s plainSession
		must.Do(t, json.NewDecoder(archive).Decode(&s))
		sessions[s.ID] = s
	}
}

// flatten lays the requests of a session and its subagents in order of time.
func (s plainSession) flatten() (all []plainRequest) {
	lanes := 0
	for _, row := range s.Requests {
		if row.Type != "subagent" {
			all = append(all, plainRequest{row, 0, row.T})
			continue
		}
		lanes++
		for _, inner := range row.Requests {
			all = append(all, plainRequest{inner, lanes, row.T + inner.T})
		}
	}
	slices.SortStableFunc(all, func(a, b plainRequest) int { return cmp.Compare(a.at, b.at) })
	return all
}

// waits lists for each request, by the rules as the guide has them, the requests
// that it waits for: in these sessions no agent's own requests overlap.
func waits(all []plainRequest) [][]int {
	const second = 1.0
	list := make([][]int, len(all))
	for i, r := range all {
		newest := func(lane int) int {
			found := -1
			for k := range i {
				if all[k].lane == lane && all[k].end() <= r.at+second {
					found = k
				}
			}
			return found
		}
		own := newest(r.lane)
		if own < 0 && r.lane > 0 {
			own = newest(0)
		}
		if own >= 0 {
			list[i] = append(list[i], own)
		}
		if r.lane > 0 {
			continue
		}
		// A subagent's last request is waited for by the first of the agent's that
		// starts behind it.
		for lane := 1; lane <= len(all); lane++ {
			last := -1
			for k := range all {
				if all[k].lane == lane {
					last = k
				}
			}
			if last < 0 || all[last].end() > r.at+second || last > i {
				continue
			}
			earlier := false
			for k := range i {
				earlier = earlier || all[k].lane == 0 && all[k].at+second >= all[last].end() && k > last
			}
			if !earlier {
				list[i] = append(list[i], last)
			}
		}
		slices.Sort(list[i])
	}
	return list
}

// cachedTokens compares each prompt with every one before it.
func cachedTokens(all []plainRequest, size int) (cached, prompts int) {
	for i, r := range all {
		best := 0
		for k := range i {
			n := 0
			for n < len(r.HashIDs) && n < len(all[k].HashIDs) && r.HashIDs[n] == all[k].HashIDs[n] {
				n++
			}
			best = max(best, n)
		}
		cached += best * size
		prompts += r.In
	}
	return cached, prompts
}

func TestWekaSessionsEqualASlowReading(t *testing.T) {
	file := must.Get(Open("testdata/weka.tgz", Options{}))(t)
	sessions := unpackWeka(t)
	if len(file.Jobs) != len(sessions) || len(sessions) != 18 {
		t.Fatalf("%d jobs of %d sessions, want 18 of both", len(file.Jobs), len(sessions))
	}
	cached, prompts, requests, dependencies := 0, 0, 0, 0
	for _, j := range file.Jobs {
		s := sessions[j.Name]
		all := s.flatten()
		if len(all) != len(j.Requests) {
			t.Fatalf("%s: %d requests, want %d", j.Name, len(j.Requests), len(all))
		}
		after := waits(all)
		spans := j.Schedule(func(r Request) time.Duration { return r.Took })
		for i, r := range j.Requests {
			if r.Prompt != all[i].In || r.Output != all[i].Out {
				t.Errorf("%s request %d: %d and %d tokens, want %d and %d", j.Name, i, r.Prompt, r.Output, all[i].In, all[i].Out)
			}
			if !slices.Equal(r.After, after[i]) {
				t.Errorf("%s request %d waits for %v, want %v", j.Name, i, r.After, after[i])
			}
			if late := math.Abs(spans[i].Start.Seconds() - all[i].at); late > 1 {
				t.Errorf("%s request %d starts %.2f s off its recorded time", j.Name, i, late)
			}
			blocks := j.Blocks(i)
			if n := tokensOf(blocks); n != r.Prompt {
				t.Errorf("%s request %d: blocks of %d tokens in a prompt of %d", j.Name, i, n, r.Prompt)
			}
			dependencies += len(after[i])
		}
		c, p := cachedTokens(all, s.BlockSize)
		cached, prompts, requests = cached+c, prompts+p, requests+len(all)
	}
	got := file.Summarize(0)
	if got.Requests != requests || got.Dependencies != dependencies {
		t.Errorf("%d requests and %d dependencies, want %d and %d", got.Requests, got.Dependencies, requests, dependencies)
	}
	if want := float64(cached) / float64(prompts); math.Abs(got.Ideal-want) > 1e-12 {
		t.Errorf("ideal share %v, want %v", got.Ideal, want)
	}
}

// What a cache has of prompts that keep parts of each other, by way of others, is what
// comparing each with all before it gives.
func TestCacheEqualsASlowComparison(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	drafts := make([]draft, 300)
	slow := make([]plainRequest, len(drafts))
	for i := range drafts {
		d := &drafts[i]
		if d.from = -1; i > 0 {
			d.from = r.IntN(i)
			d.prompt = slices.Clone(drafts[d.from].prompt[:r.IntN(len(drafts[d.from].prompt)+1)])
		}
		for len(d.prompt) == 0 || r.IntN(2) == 0 {
			d.prompt = append(d.prompt, Block{ID: r.Uint64N(9), Tokens: 64})
		}
		d.start, d.Prompt = time.Duration(i), tokensOf(d.prompt)
		for _, b := range d.prompt {
			slow[i].HashIDs = append(slow[i].HashIDs, int(b.ID))
		}
	}
	j := must.Get(build("random", drafts))(t)
	got := 0
	for _, tokens := range NewCache(false).Add(j) {
		got += tokens
	}
	if want, _ := cachedTokens(slow, 64); got != want {
		t.Errorf("%d tokens in the cache, want %d", got, want)
	}
}

// Equal ids are equal text within a session, and in no other.
func TestWekaBlocksOfTwoSessionsDiffer(t *testing.T) {
	file := must.Get(Open("testdata/weka.tgz", Options{}))(t)
	owner := map[uint64]string{}
	for _, j := range file.Jobs {
		for _, r := range j.Requests {
			for _, b := range r.Blocks {
				if other, ok := owner[b.ID]; ok && other != j.Name {
					t.Fatalf("%s and %s share a block", other, j.Name)
				}
				owner[b.ID] = j.Name
			}
		}
	}
	if owners := slices.Compact(slices.Sorted(maps.Values(owner))); len(owners) < 2 {
		t.Errorf("only %q have blocks", owners)
	}
}

// What is left of a job at any time has the same prompts, waits for the same
// requests that are left, and has before them the prompts that they continue.
func TestRestOfAJob(t *testing.T) {
	t.Parallel()
	f := openRecorded(t, "testdata/weka.tgz")
	for _, j := range f.Jobs {
		spans := j.Schedule(f.Took)
		for _, part := range []float64{0, 0.1, 0.5, 0.9, 1} {
			at := time.Duration(part * float64(spans[len(spans)-1].Start))
			rest, numbers := j.Rest(spans, at)
			again := rest.Schedule(f.Took)
			for k, i := range numbers {
				whole, left := &j.Requests[i], &rest.Requests[k]
				if !slices.Equal(rest.Blocks(k), j.Blocks(i)) || left.Prompt != whole.Prompt {
					t.Fatalf("%s at %v: request %d has another prompt", j.Name, at, i)
				}
				if spans[i].Start < at {
					if left.Output != 1 || left.Pause != 0 || left.After != nil {
						t.Errorf("%s at %v: %+v, want one token at once, to warm the cache", j.Name, at, left)
					}
					continue
				}
				if left.Output != whole.Output {
					t.Errorf("%s at %v: request %d has another output", j.Name, at, i)
				}
				for _, before := range left.After {
					if n := numbers[before]; !slices.Contains(whole.After, n) && n != whole.From {
						t.Errorf("%s at %v: request %d waits for %d", j.Name, at, i, n)
					}
				}
				// Warming took some time, for which all that follows is later.
				if early := spans[i].Start - at - again[k].Start; early > 0 {
					t.Errorf("%s at %v: request %d is %v early", j.Name, at, i, early)
				}
			}
			if want := len(j.Requests) - len(slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.Start >= at })); len(numbers) < want {
				t.Errorf("%s at %v: %d requests, want at least the %d that are left", j.Name, at, len(numbers), want)
			}
		}
	}
}
