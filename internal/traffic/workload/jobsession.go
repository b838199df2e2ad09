package workload

import (
	"cmp"
	"slices"
	"sync"

	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
)

// Branches says that sessions may have several requests at once: a closed loop
// then counts sessions.
func (w *Workload) Branches() bool {
	return slices.ContainsFunc(w.classes, func(c class) bool {
		_, ok := c.source.(*jobs)
		return ok
	})
}

// writeBlocks makes a part of the prompt of a job's request: the same text for the
// same block.
func (w *Workload) writeBlocks(c *class, s *script, i int, part part) string {
	buffer := w.buffers.Get().(*[]byte)
	defer w.buffers.Put(buffer)
	prompt := (*buffer)[:0]
	at := 0
	for _, b := range s.job.Blocks(i) {
		if n := min(at+b.Tokens, part.to) - max(at, part.from); n > 0 {
			prompt = w.text.Compose(prompt, stats.Rand(c.textSeed, blockStream, b.ID), n)
		}
		at += b.Tokens
	}
	if len(prompt) == 0 {
		prompt = w.text.Compose(prompt, stats.Rand(c.textSeed, ownStream, uint64(i)), 1)
	}
	*buffer = prompt
	return string(prompt)
}

// part is a part of a prompt: tokens of its blocks, or, in their place, what the
// server said to an earlier request.
type part struct {
	from, to int
	reply    int // the request, -1 for blocks
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
	// replies are what the server said, and parts what prompts were made of, where
	// the history is live.
	replies []string
	parts   [][]part
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
	if source, ok := s.class.source.(*jobs); ok && source.History == "live" {
		t.replies, t.parts = make([]string, len(requests)), make([][]part, len(requests))
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
	ended := prev.Turn
	if t.script.numbers != nil {
		ended, _ = slices.BinarySearch(t.script.numbers, prev.Turn)
	}
	t.ends[ended] = prev.End
	if t.replies != nil {
		t.replies[ended] = prev.Text
	}
	if t.failed = t.failed || prev.Outcome != llm.OK; t.failed {
		return nil
	}
	for _, i := range t.then[ended] {
		if t.waiting[i]--; t.waiting[i] == 0 {
			list = append(list, i)
		}
	}
	return list
}

// turnOf makes a request that is ready.
func (t *tree) turnOf(i int) *llm.Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := t.script.steps[i]
	one := t.session
	parts := t.partsOf(i)
	for _, p := range parts {
		if p.reply >= 0 {
			one.tokens += t.workload.text.Count(t.replies[p.reply])
		} else {
			one.tokens += p.to - p.from
		}
	}
	turn := &llm.Turn{Request: one.request(next), Think: next.think, Number: i, Of: len(t.script.steps), Depth: t.script.job.Requests[i].Depth, Ideal: next.ideal,
		KeepReply: t.replies != nil, Write: func() []llm.Message { return t.write(i, parts) }}
	if t.script.numbers != nil {
		turn.Number = t.script.numbers[i]
	}
	for _, before := range t.script.job.Requests[i].After {
		turn.After = max(turn.After, t.ends[before])
	}
	return turn
}

// partsOf says what the prompt of a request is made of.
func (t *tree) partsOf(i int) []part {
	tokens := t.script.steps[i].tokens
	if t.parts == nil {
		return []part{{0, tokens, -1}}
	}
	j := t.script.job
	r := &j.Requests[i]
	var parts []part
	at := 0 // where the last of them ends
	add := func(to, reply int) {
		if n := len(parts); n > 0 && reply < 0 && parts[n-1].reply < 0 {
			parts[n-1].to = to
		} else if to > at {
			parts = append(parts, part{at, to, reply})
		}
		at = to
	}
	if r.Keep > 0 {
		kept := tokens
		for _, b := range r.Blocks {
			kept -= b.Tokens
		}
		for _, p := range t.parts[r.From] {
			if p.to > kept && p.reply >= 0 || p.from >= kept {
				break
			}
			add(min(p.to, kept), p.reply)
		}
		if from, to := j.ReplyIn(i); at <= from && from < to && to < tokens && t.replies[r.From] != "" {
			add(from, -1)
			add(to, r.From)
		}
	}
	add(tokens, -1)
	t.parts[i] = parts
	return parts
}

// write makes the messages of a prompt.
func (t *tree) write(i int, parts []part) []llm.Message {
	return text.Each(parts, func(p part) llm.Message {
		if p.reply >= 0 {
			return llm.Message{Role: "assistant", Content: t.replies[p.reply]}
		}
		return llm.Message{Role: "user", Content: t.workload.writeBlocks(t.class, t.script, i, p)}
	})
}

// maxSharedJobs bounds the jobs of which sharing is worked out: they have far
// more blocks than other sessions.
const maxSharedJobs = 2000
