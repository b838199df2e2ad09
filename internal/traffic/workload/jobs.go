package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

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
	// AgentsFrom says where the first jobs of a closed loop begin: one of
	// beginnings, the first where it is empty.
	AgentsFrom string `yaml:"agents_from,omitempty"`
	// History says which replies later prompts have: one of histories, the first
	// where it is empty.
	History string `yaml:"history,omitempty"`
	// Rules names the rules of a benchmark of agents, one of RuleNames: settings
	// for what is left out here and in the load.
	Rules string `yaml:"rules,omitempty"`
}

// RuleNames are the words for Jobs.Rules.
var RuleNames = []string{"agentx", "mlperf-agentic"}

// histories are the words for Jobs.History: replies of the recorded lengths, so
// that later blocks are where they were, or what the server really said.
var histories = []string{"recorded", "live"}

// beginnings are the words for Jobs.AgentsFrom: at a random point, so that the mix
// of turns is steady from the start, or at their start.
var beginnings = []string{"anywhere", "start"}

// overflows are the words for Jobs.Overflow: leave out the jobs that have such a
// request, cut its prompt, or send it as it is.
var overflows = []string{"skip", "truncate", "send"}

// validate says what is wrong.
func (j Jobs) validate() error {
	switch {
	case j.IdleCap < 0:
		return fmt.Errorf("idle_cap: expected a time of at least 0, got %v", j.IdleCap)
	case j.TimeScale != nil && !(*j.TimeScale >= 0 && *j.TimeScale <= 1000):
		return fmt.Errorf("time_scale: expected a factor from 0 to 1000, got %v", *j.TimeScale)
	}
	for _, word := range []struct {
		key, value string
		known      []string
	}{{"overflow", j.Overflow, overflows}, {"agents_from", j.AgentsFrom, beginnings}, {"history", j.History, histories}, {"rules", j.Rules, RuleNames}} {
		if word.value != "" && !slices.Contains(word.known, word.value) {
			return fmt.Errorf("%s: expected %s, got %s", word.key, text.List(word.known), text.Quote(word.value))
		}
	}
	return nil
}

// pace gives a job the pauses that are wanted.
func (j Jobs) pace(recorded *job.Job) *job.Job {
	paced := *recorded
	paced.Requests = slices.Clone(recorded.Requests)
	for i := range paced.Requests {
		pause := &paced.Requests[i].Pause
		if j.IdleCap > 0 {
			*pause = min(*pause, j.IdleCap)
		}
		if j.TimeScale != nil {
			*pause = time.Duration(float64(*pause) * *j.TimeScale)
		}
	}
	return &paced
}

// isJobs says that a format is one of agents' jobs.
func isJobs(format string) bool { return slices.Contains(job.Formats(), format) }

// isJobs says that the traffic is jobs of agents: a file's of such a format, or a
// preset's.
func (t Traffic) isJobs() bool {
	if t.File != "" {
		format, err := t.formatOf()
		return err == nil && isJobs(format)
	}
	p, err := findPreset(t.Preset)
	return t.Preset != "" && err == nil && p.Jobs != nil
}

// OpenJobs reads the agents' jobs of a file, or draws some of a preset; count
// counts the tokens of a text.
func (t Traffic) OpenJobs(count func(text string) int) (*job.File, error) {
	if t.File != "" {
		return job.Open(t.File, job.Options{Format: t.Format, Count: count})
	}
	p, err := findPreset(t.Preset)
	if err != nil {
		return nil, err
	}
	return p.Jobs().Sample(p.Name, 1, job.ShownJobs), nil
}

// fromJobs sends agents' jobs: graphs of requests whose prompts are made of
// blocks.
func (w *Workload) fromJobs(c *class, t Traffic) error {
	name := cmp.Or(t.File, t.Preset)
	switch {
	case t.Prompt != nil || t.Output != nil || t.Prefix != nil:
		return fmt.Errorf("%s has lengths of its own; give neither prompt, output nor prefix", name)
	case t.Session != nil && (t.Session.Turns != nil || t.Session.Agent != nil):
		return fmt.Errorf("session: %s says itself what follows what; give no turns and no agent", name)
	case w.options.Pooling:
		return fmt.Errorf("%s: jobs of agents want replies, which the API does not give", name)
	}
	file, err := t.OpenJobs(w.text.Count)
	if err != nil {
		return err
	}
	w.notes = append(w.notes, file.Notes...)
	source := &jobs{file: file, list: file.Jobs, generator: file.Generator, order: order{seed: w.seed, shuffled: t.Order == "shuffled"}, context: w.options.MaxContext}
	if t.Jobs != nil {
		source.Jobs = *t.Jobs
	}
	if source.AgentsFrom != "start" {
		source.lanes = w.options.Lanes
	}
	if t.File == "" {
		source.Overflow = cmp.Or(source.Overflow, "skip")
	}
	if left := slices.DeleteFunc(slices.Clone(source.list), source.overflows); source.Overflow == "skip" && len(left) < len(source.list) {
		if len(left) == 0 {
			return fmt.Errorf("%s: every job has a request that is longer than the model's context of %s tokens", name, text.Count(source.context))
		}
		w.notes = append(w.notes, fmt.Sprintf("jobs left out because a request is longer than the model's context of %s tokens: %s of %s",
			text.Count(source.context), text.Count(len(source.list)-len(left)), text.Count(len(source.list))))
		source.list = left
	}
	source.list = text.Each(source.list, source.pace)
	source.findShared()
	source.measure()
	c.source, c.format, c.named = source, file.Format, true
	return nil
}

// LiveTokens is what a live job, or a group that comes in turn, holds on average; nil
// where sessions are neither.
func (w *Workload) LiveTokens() *float64 {
	if w.Rounds() > 0 {
		prompt, output := w.Mean()
		return new(prompt + output)
	}
	s, ok := w.classes[0].source.(*jobs)
	if !ok || len(w.classes) > 1 {
		return nil
	}
	return new((&job.File{Jobs: s.list, Untimed: s.file.Untimed}).LiveTokens(func(paced time.Duration) time.Duration { return paced }))
}

// jobs is a source of agents' jobs.
type jobs struct {
	Jobs
	file      *job.File
	list      []*job.Job
	generator *job.Generator // nil: those of the list
	order     order
	context   int // of the model, 0 where it is not known
	// lanes is how many jobs begin at a random point: the first of each agent.
	// ends are where the jobs of the list end when they come one after another.
	lanes int
	ends  []time.Duration
	// shared are the blocks that several jobs of the list have: they are the same
	// text in every pass through it.
	shared map[uint64]bool
}

// overflows reports whether a job has a request that is longer than the model's
// context.
func (s *jobs) overflows(j *job.Job) bool {
	return s.context > 0 && slices.ContainsFunc(j.Requests, func(r job.Request) bool { return r.Prompt+r.Output > s.context })
}

func (s *jobs) length() int {
	if s.generator != nil {
		return 0
	}
	return len(s.list)
}

func (s *jobs) close() error { return nil }

// findShared finds the blocks that several jobs have.
func (s *jobs) findShared() {
	s.shared = map[uint64]bool{}
	if s.generator != nil {
		return
	}
	owner := map[uint64]int{}
	for i, j := range s.list {
		for _, r := range j.Requests {
			for _, b := range r.Blocks {
				if before, seen := owner[b.ID]; seen && before != i {
					s.shared[b.ID] = true
				}
				owner[b.ID] = i
			}
		}
	}
}

// maxRedraws bounds how often a job is drawn again because a request is longer
// than the model's context.
const maxRedraws = 1000

// draw draws the i-th job of a seed.
func (s *jobs) draw(seed uint64, i int) *job.Job {
	drawn := s.generator.Job(seed, i)
	for again := uint64(1); s.Overflow == "skip" && s.overflows(drawn) && again < maxRedraws; again++ {
		drawn = s.generator.Job(stats.Scramble(seed+again), i)
	}
	return s.pace(drawn)
}

// job gives the i-th job. One that a file has had before has other blocks, but
// for those that its jobs share.
func (s *jobs) job(i int) *job.Job {
	if s.generator != nil {
		return s.draw(s.order.seed, i)
	}
	pass, row := s.order.at(len(s.list), i)
	if pass == 0 {
		return s.list[row]
	}
	return s.repeat(s.list[row], pass)
}

// repeat gives a job other blocks, but for those that the jobs of the list share.
func (s *jobs) repeat(j *job.Job, salt uint64) *job.Job {
	repeated := *j
	repeated.Requests = slices.Clone(repeated.Requests)
	key := func(id uint64) uint64 {
		if id == 0 || s.shared[id] {
			return id
		}
		return stats.Scramble(id + stats.Scramble(salt))
	}
	for k := range repeated.Requests {
		r := &repeated.Requests[k]
		r.Reply, r.Blocks = key(r.Reply), slices.Clone(r.Blocks)
		for b := range r.Blocks {
			r.Blocks[b].ID = key(r.Blocks[b].ID)
		}
	}
	return &repeated
}

// ideal is how many tokens of each prompt of a job an endless cache has that has
// seen what jobs share.
func (s *jobs) ideal(j *job.Job) []int {
	hits := s.hits(job.NewCache(s.History == "live"), j)
	for k, r := range j.Requests {
		tokens := 0
		for _, b := range r.Blocks {
			if r.Keep > 0 || !s.isShared(b.ID) {
				break
			}
			tokens += b.Tokens
		}
		hits[k] = max(hits[k], tokens)
	}
	return hits
}

// hits is how many tokens of each prompt of a job are in a cache, with the replies
// that are sent back.
func (s *jobs) hits(cache *job.Cache, j *job.Job) []int {
	hits := cache.Add(j)
	for k, r := range j.Requests {
		if from, to := j.ReplyIn(k); from < to && s.History == "live" && j.Requests[r.From].Reply == 0 {
			hits[k] += to - from // all before it was sent with the request that it answers
		}
	}
	return hits
}

// isShared says that several jobs have a block.
func (s *jobs) isShared(id uint64) bool {
	if s.generator != nil {
		return job.IsShared(id)
	}
	return s.shared[id]
}

// duration gives when the requests of a job are sent, and how long it takes.
func (s *jobs) duration(j *job.Job) (spans []job.Span, end time.Duration) {
	spans = j.Schedule(s.file.Took)
	for _, span := range spans {
		end = max(end, span.End)
	}
	return spans, max(end, 1)
}

// measure finds how long the jobs of the list take.
func (s *jobs) measure() {
	if s.lanes == 0 || s.generator != nil {
		return
	}
	total := time.Duration(0)
	for _, j := range s.list {
		_, end := s.duration(j)
		total += end
		s.ends = append(s.ends, total)
	}
}

// candidates is out of how many drawn jobs one is chosen that is under way.
const candidates = 8

// underWay gives the job of a lane, what of it is left at a random moment, and the
// places of that in the whole. A job is met at a moment as often as it is long.
func (s *jobs) underWay(lane int) (rest *job.Job, numbers []int) {
	r := stats.Rand(s.order.seed, "lanes", uint64(lane))
	var all *job.Job
	var share float64 // of its time
	if s.generator == nil {
		// Lanes lie at even distances, so that few of them are like many.
		offset := stats.Rand(s.order.seed, "lanes", 0).Float64()
		at := time.Duration((float64(lane) + offset) / float64(s.lanes) * float64(s.ends[len(s.ends)-1]))
		row, _ := slices.BinarySearch(s.ends, at+1)
		row = min(row, len(s.list)-1)
		begin := time.Duration(0)
		if row > 0 {
			begin = s.ends[row-1]
		}
		share = float64(at-begin) / float64(s.ends[row]-begin)
		all = s.repeat(s.list[row], 1<<40+uint64(lane))
	} else {
		drawn, weights := make([]*job.Job, candidates), make([]float64, candidates)
		for k := range drawn {
			drawn[k] = s.draw(stats.Scramble(s.order.seed+uint64(k)<<32), lane)
			_, end := s.duration(drawn[k])
			weights[k] = float64(end)
		}
		all, share = drawn[stats.Choose(r, weights)], r.Float64()
	}
	spans, end := s.duration(all)
	last := time.Duration(0)
	for _, span := range spans {
		last = max(last, span.Start)
	}
	return all.Rest(spans, min(last, time.Duration(share*float64(end))))
}

func (s *jobs) script(i int) (*script, error) {
	var numbers []int
	j := s.job(i)
	if i < s.lanes {
		j, numbers = s.underWay(i)
	}
	ideal := s.ideal(j)
	out := &script{job: j, numbers: numbers, anyLength: s.Overflow == "send", steps: make([]step, len(j.Requests)), chain: make([]laterTurn, len(j.Requests))}
	for k, r := range j.Requests {
		out.steps[k] = step{think: r.Pause, tokens: max(1, r.Prompt), output: max(1, r.Output), whole: true}
		if next := &out.steps[k]; s.Overflow == "truncate" && s.context > 0 {
			next.output = min(next.output, max(1, s.context-1))
			next.tokens = min(next.tokens, max(1, s.context-next.output))
		}
		out.steps[k].ideal = min(ideal[k], out.steps[k].tokens)
		for _, before := range r.After {
			if b := out.chain[before]; b.before+1 > out.chain[k].before {
				out.chain[k] = laterTurn{before: b.before + 1, think: b.think}
			}
		}
		out.chain[k].think += out.steps[k].think
	}
	return out, nil
}

// sharing is the share of prompt tokens of the first n jobs that an ideal
// prefix cache would have. A server's replies are in none of them, unless they are
// sent back.
func (s *jobs) sharing(n int) (float64, error) {
	cache := job.NewCache(s.History == "live")
	var hits, prompts float64
	for i := range min(n, maxSharedJobs) {
		out, err := s.script(i)
		if err != nil {
			return 0, err
		}
		for k, n := range s.hits(cache, out.job) {
			hits += float64(min(n, out.steps[k].tokens))
			prompts += float64(out.steps[k].tokens)
		}
	}
	return hits / max(prompts, 1), nil
}
