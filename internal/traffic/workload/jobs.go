package workload

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
	"redline/internal/traffic/job"
)

// Jobs says how the pauses of agents' jobs are taken.
type Jobs struct {
	// IdleCap bounds each of them; 0 leaves them as recorded.
	IdleCap time.Duration `yaml:"idle_cap,omitempty"`
	// TimeScale multiplies them: 0.5 halves them; 1 where nil, and 0 leaves them
	// out.
	TimeScale *float64 `yaml:"time_scale,omitempty"`
	// Overflow says what becomes of requests that are longer than the model's
	// context: one of overflows. They are refused where it is empty.
	Overflow string `yaml:"overflow,omitempty"`
}

// overflows are the words for Jobs.Overflow: leave out the jobs that have such a
// request, cut its prompt, or send it as it is.
var overflows = []string{"skip", "truncate", "send"}

// validate says what is wrong.
func (j Jobs) validate() error {
	switch {
	case j.IdleCap < 0:
		return fmt.Errorf("idle_cap: want a time of at least 0, got %v", j.IdleCap)
	case j.TimeScale != nil && !(*j.TimeScale >= 0 && *j.TimeScale <= 1000):
		return fmt.Errorf("time_scale: want a factor from 0 to 1000, got %v", *j.TimeScale)
	case j.Overflow != "" && !slices.Contains(overflows, j.Overflow):
		return fmt.Errorf("overflow: want %s, got %s", text.List(overflows), text.Quote(j.Overflow))
	}
	return nil
}

// pause is what becomes of a recorded one.
func (j Jobs) pause(recorded time.Duration) time.Duration {
	if j.IdleCap > 0 {
		recorded = min(recorded, j.IdleCap)
	}
	if j.TimeScale != nil {
		recorded = time.Duration(float64(recorded) * *j.TimeScale)
	}
	return recorded
}

// isJobs says that a format is one of agents' jobs.
func isJobs(format string) bool { return slices.Contains(job.Formats(), format) }

// fromJobs sends agents' jobs: graphs of requests whose prompts are made of
// blocks.
func (w *Workload) fromJobs(c *class, t Traffic) error {
	switch {
	case t.Prompt != nil || t.Output != nil || t.Prefix != nil:
		return fmt.Errorf("%s has lengths of its own, want neither prompt, output nor prefix", t.File)
	case t.Session != nil && (t.Session.Turns != nil || t.Session.Agent != nil):
		return fmt.Errorf("session: %s says itself what follows what, want no turns and no agent", t.File)
	case w.options.Pooling:
		return fmt.Errorf("%s: jobs of agents want replies, which the API does not give", t.File)
	}
	file, err := job.Open(t.File, job.Options{Format: t.Format, Count: w.text.Count})
	if err != nil {
		return err
	}
	w.notes = append(w.notes, file.Notes...)
	source := &jobs{file: file, list: file.Jobs, ideal: map[*job.Job][]int{}, order: order{seed: w.seed, shuffled: t.Order == "shuffled"}, context: w.options.MaxContext}
	if t.Jobs != nil {
		source.Jobs = *t.Jobs
	}
	if left := slices.DeleteFunc(slices.Clone(source.list), source.overflows); source.Overflow == "skip" && len(left) < len(source.list) {
		if len(left) == 0 {
			return fmt.Errorf("%s: every job has a request that is longer than the model's context of %s tokens", t.File, text.Count(source.context))
		}
		w.notes = append(w.notes, fmt.Sprintf("jobs left out because a request is longer than the model's context of %s tokens: %s of %s",
			text.Count(source.context), text.Count(len(source.list)-len(left)), text.Count(len(source.list))))
		source.list = left
	}
	cache := job.NewCache(false)
	for _, j := range source.list {
		source.ideal[j] = cache.Add(j)
	}
	c.source, c.format, c.named = source, file.Format, true
	return nil
}

// LiveTokens is what a live job comes back to on average, nil where sessions are no
// jobs.
func (w *Workload) LiveTokens() *float64 {
	s, ok := w.classes[0].source.(*jobs)
	if !ok || len(w.classes) > 1 {
		return nil
	}
	return new(s.file.LiveTokens(s.pause))
}

// jobs is a source of agents' jobs.
type jobs struct {
	Jobs
	file    *job.File
	list    []*job.Job
	ideal   map[*job.Job][]int // tokens of each prompt in an endless cache, job after job
	order   order
	context int // of the model, 0 where it is not known
}

// overflows reports whether a job has a request that is longer than the model's
// context.
func (s *jobs) overflows(j *job.Job) bool {
	return s.context > 0 && slices.ContainsFunc(j.Requests, func(r job.Request) bool { return r.Prompt+r.Output > s.context })
}

func (s *jobs) length() int { return len(s.list) }

func (s *jobs) close() error { return nil }

func (s *jobs) script(i int) (*script, error) {
	pass, row := s.order.at(len(s.list), i)
	j := s.list[row]
	out := &script{job: j, pass: pass, anyLength: s.Overflow == "send", steps: make([]step, len(j.Requests)), chain: make([]laterTurn, len(j.Requests))}
	for k, r := range j.Requests {
		out.steps[k] = step{think: s.pause(r.Pause), tokens: max(1, r.Prompt), output: max(1, r.Output), whole: true}
		if next := &out.steps[k]; s.Overflow == "truncate" && s.context > 0 {
			next.output = min(next.output, max(1, s.context-1))
			next.tokens = min(next.tokens, max(1, s.context-next.output))
		}
		out.steps[k].ideal = min(s.ideal[j][k], out.steps[k].tokens)
		for _, before := range r.After {
			if b := out.chain[before]; b.before+1 > out.chain[k].before {
				out.chain[k] = laterTurn{b.before + 1, b.think}
			}
		}
		out.chain[k].think += out.steps[k].think
	}
	return out, nil
}

// Branches says that sessions may have several requests at once: a closed loop
// then counts sessions.
func (w *Workload) Branches() bool {
	return slices.ContainsFunc(w.classes, func(c class) bool {
		_, ok := c.source.(*jobs)
		return ok
	})
}

// writeBlocks makes the prompt of a job's request: the same text for the same
// block in one pass through the file, another in the next.
func (w *Workload) writeBlocks(c *class, s *script, i int) string {
	buffer := w.buffers.Get().(*[]byte)
	defer w.buffers.Put(buffer)
	prompt := (*buffer)[:0]
	left := s.steps[i].tokens
	for _, b := range s.job.Blocks(i) {
		n := min(b.Tokens, left)
		left -= n
		key := b.ID
		if s.pass > 0 {
			key = stats.Scramble(b.ID + stats.Scramble(s.pass))
		}
		prompt = w.text.Compose(prompt, stats.Rand(c.textSeed, blockStream, key), n)
	}
	if len(prompt) == 0 {
		prompt = w.text.Compose(prompt, stats.Rand(c.textSeed, ownStream, uint64(i)), 1)
	}
	*buffer = prompt
	return string(prompt)
}

// tree is a session that is a job: a request is ready when all that it waits for
// have ended well.
type tree struct {
	session
	mu      sync.Mutex
	waiting []int   // for how many each request still waits
	then    [][]int // which requests wait for each
	ends    []int64
	failed  bool
}

// newTree begins a job.
func newTree(s session) *tree {
	t := &tree{session: s}
	requests := s.script.job.Requests
	t.waiting, t.then, t.ends = make([]int, len(requests)), make([][]int, len(requests)), make([]int64, len(requests))
	for i, r := range requests {
		t.waiting[i] = len(r.After)
		for _, before := range r.After {
			t.then[before] = append(t.then[before], i)
		}
	}
	return t
}

// Next gives what the end of a request makes ready.
func (t *tree) Next(prev *llm.Reply) *llm.Turn {
	var turns []*llm.Turn
	for _, i := range t.ready(prev) {
		turns = append(turns, t.turnOf(i))
	}
	if turns == nil {
		return nil
	}
	if prev == nil {
		// The first is due when the job is, the others as much later as recorded.
		slices.SortStableFunc(turns, func(a, b *llm.Turn) int { return cmp.Compare(a.Think, b.Think) })
		for _, turn := range turns[1:] {
			turn.Think -= turns[0].Think
		}
	}
	turns[0].Beside = turns[1:]
	return turns[0]
}

// ready takes in how a request ended and gives those that may be sent now. A job
// of which one has failed is over.
func (t *tree) ready(prev *llm.Reply) (list []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if prev == nil {
		for i, n := range t.waiting {
			if n == 0 {
				list = append(list, i)
			}
		}
		return list
	}
	t.ends[prev.Turn] = prev.End
	if t.failed = t.failed || prev.Outcome != llm.OK; t.failed {
		return nil
	}
	for _, i := range t.then[prev.Turn] {
		if t.waiting[i]--; t.waiting[i] == 0 {
			list = append(list, i)
		}
	}
	return list
}

// turnOf makes a request that is ready.
func (t *tree) turnOf(i int) *llm.Turn {
	next := t.script.steps[i]
	one := t.session
	one.tokens = next.tokens
	turn := &llm.Turn{Request: one.request(next), Think: next.think, Number: i, Of: len(t.script.steps), Depth: t.script.job.Requests[i].Depth, Ideal: next.ideal, Write: func() []llm.Message {
		return []llm.Message{{Role: "user", Content: t.workload.writeBlocks(t.class, t.script, i)}}
	}}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, before := range t.script.job.Requests[i].After {
		turn.After = max(turn.After, t.ends[before])
	}
	return turn
}

// sharing is the share of prompt tokens of the first n jobs that an ideal
// prefix cache would have, where a server's replies are in none of them.
func (s *jobs) sharing(n int) (float64, error) {
	var hits, prompts float64
	for i := range n {
		out, err := s.script(i)
		if err != nil {
			return 0, err
		}
		for _, one := range out.steps {
			hits += float64(one.ideal)
			prompts += float64(one.tokens)
		}
	}
	return hits / max(prompts, 1), nil
}
