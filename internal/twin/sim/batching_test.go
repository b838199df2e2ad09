package sim

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/catalog"
	"redline/internal/expect"
	"redline/internal/must"
)

// noiselessSpec is an engine without noise, with few enough blocks to count.
func noiselessSpec(change func(*Spec)) Spec {
	quiet := 0.0
	s := Spec{Model: "llama-3.1-8b", GPU: "H100", Jitter: &quiet}
	if change != nil {
		change(&s)
	}
	return s
}

func newCore(t *testing.T, s Spec) *batching {
	t.Helper()
	core := must.Get(NewBatching(s))(t)
	return core.(*batching)
}

// ids gives n token ids that start at first.
func ids(first, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(first + i)
	}
	return out
}

func submit(t *testing.T, c Core, at int64, jobs ...*Job) {
	t.Helper()
	for _, j := range jobs {
		must.Do(t, c.Submit(at, j))
	}
}

// drain runs a core to its end and gives the tokens of each step that had any.
func drain(c Core) (steps [][]Token) {
	for next := c.Step(0, func(Token) {}); next != Idle; {
		var out []Token
		next = c.Step(next, func(k Token) { out = append(out, k) })
		if len(out) > 0 {
			steps = append(steps, out)
		}
	}
	return steps
}

// TestStepEndsBringTokens: a job alone takes one step for its prompt and one
// per further token, each as long as the model says.
func TestStepEndsBringTokens(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(nil))
	j := &Job{ID: 1, Prompt: ids(0, 100), Output: 3}
	submit(t, c, 50, j)

	var prefill, second, third catalog.StepLoad
	prefill.Prefill(100, 0, 0, true)
	second.Decode(101, 0)
	third.Decode(102, 0)
	first := 50 + int64(c.time.Seconds(prefill)*1e9)
	middle := first + int64(c.time.Seconds(second)*1e9)
	last := middle + int64(c.time.Seconds(third)*1e9)

	var got []Token
	note := func(k Token) { got = append(got, k) }
	if next := c.Step(50, note); next != first || len(got) != 0 {
		t.Fatalf("at arrival: next %d, tokens %v; want %d and none", next, got, first)
	}
	if next := c.Step(first-1, note); next != first || len(got) != 0 {
		t.Fatalf("called early: next %d, tokens %v; want %d and none", next, got, first)
	}
	// A caller that comes late finds every token at its own time.
	if next := c.Step(last+1000, note); next != Idle {
		t.Fatalf("after the last token: next %d, want Idle", next)
	}
	want := []Token{{Job: j, Index: 0, At: first}, {Job: j, Index: 1, At: middle}, {Job: j, Index: 2, At: last, Last: true}}
	expect.NoDiff(t, cmp.Diff(want, got, cmp.AllowUnexported(Job{})), "tokens (-want +got)")
	wantJob := &Job{ID: 1, Prompt: ids(0, 100), Output: 3, Received: 50, Arrived: 50, Scheduled: 50, Prefilled: first, First: first, Last: last}
	expect.NoDiff(t, cmp.Diff(wantJob, j, cmp.AllowUnexported(Job{})), "job (-want +got)")
	wantStats := Stats{KVBlocks: c.blocks, PrefixQueries: 100, PromptTokens: 100, OutputTokens: 3, Finished: 1, Steps: 3, StepTokens: 1}
	expect.NoDiff(t, cmp.Diff(wantStats, c.Stats()), "stats (-want +got)")
}

// TestLateJobWaitsForNextStep: a job that arrives inside a step joins the next
// one, even when the caller sleeps over the boundary.
func TestLateJobWaitsForNextStep(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(nil))
	early, late := &Job{ID: 1, Prompt: ids(0, 10), Output: 50}, &Job{ID: 2, Prompt: ids(100, 10), Output: 1}
	submit(t, c, 0, early)
	end := c.Step(0, func(Token) {})
	submit(t, c, end+5, late)
	drain(c)
	if late.Scheduled <= end+5 {
		t.Errorf("scheduled at %d, into a step that began at %d before it arrived at %d", late.Scheduled, end, end+5)
	}
}

// TestChunkedPrefill: prompts share the budget of a step with the running
// jobs, which go first.
func TestChunkedPrefill(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(func(s *Spec) { s.MaxNumBatchedTokens, s.MaxNumSeqs = 64, 4 }))
	short, long := &Job{ID: 1, Prompt: ids(0, 10), Output: 9}, &Job{ID: 2, Prompt: ids(1000, 150), Output: 1}
	submit(t, c, 0, short, long)
	var tokens []int64
	for next := c.Step(0, func(Token) {}); next != Idle; {
		tokens = append(tokens, c.Stats().StepTokens)
		next = c.Step(next, func(Token) {})
	}
	// 10 + 54, then 1 + 63, then 1 + 33, then the short job alone.
	if want := []int64{64, 64, 34, 1, 1, 1, 1, 1, 1}; !slices.Equal(tokens, want) {
		t.Errorf("tokens by step: got %v, want %v", tokens, want)
	}
}

// TestWholePrompts: without chunks a prompt waits until the budget holds it.
func TestWholePrompts(t *testing.T) {
	t.Parallel()
	off := false
	c := newCore(t, noiselessSpec(func(s *Spec) {
		s.EnableChunkedPrefill, s.MaxModelLen, s.MaxNumBatchedTokens, s.MaxNumSeqs = &off, 200, 200, 4
	}))
	a, b := &Job{ID: 1, Prompt: ids(0, 150), Output: 2}, &Job{ID: 2, Prompt: ids(1000, 150), Output: 2}
	submit(t, c, 0, a, b)
	drain(c)
	if b.Scheduled != a.First {
		t.Errorf("second prompt scheduled at %d, want the next step, at %d", b.Scheduled, a.First)
	}
}

// TestPrefillFirst: steps are prompts or generation.
func TestPrefillFirst(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(func(s *Spec) { s.PrefillFirst = true }))
	a, b := &Job{ID: 1, Prompt: ids(0, 100), Output: 4}, &Job{ID: 2, Prompt: ids(1000, 200), Output: 2}
	submit(t, c, 0, a)
	submit(t, c, c.Step(0, func(Token) {}), b)
	var tokens []int64
	for next := int64(0); next != Idle; next = c.Step(next, func(Token) {}) {
		tokens = append(tokens, c.Stats().StepTokens)
	}
	if want := []int64{100, 100, 200, 2, 1, 1}; !slices.Equal(tokens, want) {
		t.Errorf("tokens by step: got %v, want %v", tokens, want)
	}
}

// TestPreemption: when blocks run out the job admitted last starts over, goes
// before those that wait, and still gives every token once.
func TestPreemption(t *testing.T) {
	t.Parallel()
	// Six blocks of 16: two jobs of 32 prompt tokens start in two blocks each
	// and need four at their ends.
	c := newCore(t, noiselessSpec(func(s *Spec) { s.NumGPUBlocksOverride = 6 }))
	a := &Job{ID: 1, Prompt: ids(0, 32), Output: 33}
	b := &Job{ID: 2, Prompt: ids(1000, 32), Output: 33}
	w := &Job{ID: 3, Prompt: ids(2000, 60), Output: 1}
	submit(t, c, 0, a, b, w)
	indices := map[uint64][]int{}
	for _, step := range drain(c) {
		for _, k := range step {
			indices[k.Job.ID] = append(indices[k.Job.ID], k.Index)
		}
	}
	count := make([]int, 33)
	for i := range count {
		count[i] = i
	}
	expect.NoDiff(t, cmp.Diff(map[uint64][]int{1: count, 2: count, 3: {0}}, indices), "token indices by job (-want +got)")
	if a.Preempted != 0 || b.Preempted != 1 || w.Preempted != 0 || c.Stats().Preemptions != 1 {
		t.Errorf("preempted %d, %d, %d times, want only the second, once", a.Preempted, b.Preempted, w.Preempted)
	}
	if w.Scheduled < a.Last {
		t.Errorf("the waiting job passed the preempted one: scheduled at %d, before %d", w.Scheduled, a.Last)
	}
	if got := c.pool.free; got != 6 {
		t.Errorf("%d blocks free at the end, want 6", got)
	}
}

// TestPrefixCache: a repeated prompt is found in whole blocks but for its last
// token, and a reply that is known is found by the turn after it.
func TestPrefixCache(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(nil))
	prompt, reply := ids(0, 64), ids(5000, 20)
	first := &Job{ID: 1, Prompt: prompt, Output: 20, Reply: reply}
	submit(t, c, 0, first)
	drain(c)
	again := &Job{ID: 2, Prompt: prompt, Output: 1}
	turn := &Job{ID: 3, Prompt: slices.Concat(prompt, reply, ids(9000, 30)), Output: 1}
	other := &Job{ID: 4, Prompt: ids(1, 64), Output: 1}
	for _, j := range []*Job{again, turn, other} {
		submit(t, c, c.end, j)
		drain(c)
	}
	// The 64 tokens of the repeated prompt are four blocks, of which one must
	// be computed; the next turn finds 64 + 16 of the reply's 20.
	got := []int{first.Cached, again.Cached, turn.Cached, other.Cached}
	if want := []int{0, 48, 80, 0}; !slices.Equal(got, want) {
		t.Errorf("cached tokens: got %v, want %v", got, want)
	}
	if s := c.Stats(); s.PrefixQueries != 64+64+114+64 || s.PrefixHits != 128 {
		t.Errorf("%d of %d tokens hit, want 128 of 306", s.PrefixHits, s.PrefixQueries)
	}
	if again.First-again.Arrived >= first.First-first.Arrived {
		t.Errorf("a cached prompt took %d ns, no less than %d", again.First-again.Arrived, first.First-first.Arrived)
	}
}

// TestPrefixCacheEviction: blocks are reused oldest first.
func TestPrefixCacheEviction(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(func(s *Spec) { s.NumGPUBlocksOverride = 8 }))
	play := func(id uint64, first int) int {
		j := &Job{ID: id, Prompt: ids(first, 48), Output: 1}
		submit(t, c, c.end, j)
		drain(c)
		return j.Cached
	}
	got := []int{play(1, 0), play(2, 1000), play(3, 0), play(4, 2000), play(5, 0), play(6, 1000)}
	// The first prompt is used again and stays. The fourth and fifth plays take
	// three and one more blocks: two never used, the first prompt's old third
	// one, and then the second prompt's from its end, which leaves it one.
	if want := []int{0, 0, 32, 0, 32, 16}; !slices.Equal(got, want) {
		t.Errorf("cached tokens: got %v, want %v", got, want)
	}
	// Besides, the last play takes the third prompt's last block.
	if got := c.Stats().EvictedBlocks; got != 4 {
		t.Errorf("%d blocks evicted, want 4", got)
	}
}

// Of the blocks in use only the last one of a sequence is not full, however many
// share the others.
func TestTokensInBlocks(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(func(s *Spec) { s.NumGPUBlocksOverride = 100 }))
	submit(t, c, 0, &Job{ID: 1, Prompt: ids(0, 40), Output: 5}, &Job{ID: 2, Prompt: ids(0, 50), Output: 5})
	c.Step(0, func(Token) {})
	// 40 tokens in three blocks; of 50, two blocks are shared and two its own.
	if s := c.Stats(); math.Abs(s.KVUsage-0.05) > 1e-9 || s.KVTokens != 40+50-32 {
		t.Errorf("%d tokens in %g of 100 blocks, want 58 in 5 of them", s.KVTokens, 100*s.KVUsage)
	}
	drain(c)
	if got := c.Stats().KVTokens; got != 0 {
		t.Errorf("%d tokens held by nobody", got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(func(s *Spec) { s.MaxNumSeqs = 2 }))
	jobs := []*Job{{ID: 1, Prompt: ids(0, 40), Output: 5}, {ID: 2, Prompt: ids(1000, 40), Output: 5},
		{ID: 3, Prompt: ids(2000, 40), Output: 5}, {ID: 4, Prompt: ids(3000, 40), Output: 5}}
	submit(t, c, 0, jobs...)
	c.Step(0, func(Token) {})
	c.Cancel(1, 1) // running, in a step
	c.Cancel(1, 3) // waiting
	c.Cancel(1, 99)
	if s := c.Stats(); s.Running != 1 || s.Waiting != 1 {
		t.Errorf("%d running and %d waiting, want 1 and 1", s.Running, s.Waiting)
	}
	tokens := map[uint64]int{}
	for _, step := range drain(c) {
		for _, k := range step {
			tokens[k.Job.ID]++
		}
	}
	expect.NoDiff(t, cmp.Diff(map[uint64]int{2: 5, 4: 5}, tokens), "tokens by job (-want +got)")
	if c.pool.free != c.blocks {
		t.Errorf("%d of %d blocks free at the end", c.pool.free, c.blocks)
	}
}

func TestSubmitRefuses(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(func(s *Spec) { s.MaxModelLen, s.NumGPUBlocksOverride = 1000, 4 }))
	submit(t, c, 0, &Job{ID: 7, Prompt: ids(0, 32), Output: 33})
	for _, row := range []struct {
		name, want string
		job        Job
	}{
		{"empty prompt", "the prompt is empty", Job{ID: 1, Output: 1}},
		{"no output", "ask for at least one", Job{ID: 1, Prompt: ids(0, 3)}},
		{"too long", "900 prompt tokens + 101 output tokens exceed max_model_len 1000", Job{ID: 1, Prompt: ids(0, 900), Output: 101}},
		{"never fits", "need 5 KV blocks and the cache has 4", Job{ID: 1, Prompt: ids(0, 33), Output: 33}},
		{"twice", "job 7 is already in the engine", Job{ID: 7, Prompt: ids(0, 3), Output: 1}},
	} {
		if err := c.Submit(0, &row.job); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want an error with %q", row.name, err, row.want)
		}
	}
}

// TestWindowBlocks: layers with a window take blocks of their own until the
// window is full, and give them back.
func TestWindowBlocks(t *testing.T) {
	t.Parallel()
	c := newCore(t, noiselessSpec(func(s *Spec) { s.Model = "gpt-oss-20b" }))
	submit(t, c, 0, &Job{ID: 1, Prompt: ids(0, 64), Output: 1}, &Job{ID: 2, Prompt: ids(1000, 640), Output: 1})
	c.Step(0, func(Token) {})
	// Half the layers have a window of 128: 4 + 4 blocks, and 40 + 8.
	if used := c.blocks - c.pool.free; used != 56 {
		t.Errorf("%d blocks in use, want 56", used)
	}
	drain(c)
	if c.pool.free != c.blocks {
		t.Errorf("%d of %d blocks free at the end", c.pool.free, c.blocks)
	}
}

// TestJitter: noise changes the times by its sigma and nothing else, and one
// seed gives one run.
func TestJitter(t *testing.T) {
	t.Parallel()
	run := func(seed uint64, sigma float64) int64 {
		c := newCore(t, noiselessSpec(func(s *Spec) { s.Seed, s.Jitter = seed, &sigma }))
		j := &Job{ID: 1, Prompt: ids(0, 10), Output: 500}
		submit(t, c, 0, j)
		drain(c)
		return j.Last
	}
	exact := run(1, 0)
	if again := run(2, 0); again != exact {
		t.Errorf("without noise the seed matters: %d and %d", exact, again)
	}
	noisy := run(1, 0.04)
	if noisy == exact || noisy == run(2, 0.04) || noisy != run(1, 0.04) {
		t.Errorf("noise does not follow its seed")
	}
	// The mean of 500 factors with sigma 0.04 is within 1 % of 1.
	if ratio := float64(noisy) / float64(exact); ratio < 0.99 || ratio > 1.01 {
		t.Errorf("noise shifts the mean by %.3f", ratio)
	}
}

// BenchmarkDecode is the cost of one token of a thousand running jobs.
func BenchmarkDecode(b *testing.B) {
	core := must.Get(NewBatching(Spec{Model: "llama-3.1-8b", GPU: "B200"}))(b)
	const running = 1000
	submitAll := func(round int) {
		for i := range running {
			j := &Job{ID: uint64(round*running + i), Prompt: ids(i*7919, 64), Output: 1500}
			if err := core.Submit(0, j); err != nil {
				b.Fatal(err)
			}
		}
	}
	tokens, round := 0, 0
	submitAll(round)
	next := core.Step(0, func(Token) {})
	b.ReportAllocs()
	begin := time.Now()
	for b.Loop() {
		if next = core.Step(next, func(Token) { tokens++ }); next == Idle {
			round++
			submitAll(round)
			next = core.Step(0, func(Token) {})
		}
	}
	b.ReportMetric(float64(time.Since(begin).Nanoseconds())/float64(tokens), "ns/token")
}
