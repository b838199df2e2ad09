// Package job reads what agents did: it takes files of recorded or described
// sessions, each format recognized by its content, and gives jobs: graphs of
// requests that wait for each other, with lengths in tokens and prompts as
// blocks, and no text. It also gives their figures: lengths, widths, tool times
// and what an endless prefix cache would have. It must not know how a request is
// sent, nor read a clock.
package job

import (
	"slices"
	"time"
)

// Job is a piece of work of one agent and its subagents.
type Job struct {
	Name string
	// Requests come after all that they wait for and after the one whose prompt
	// they begin with.
	Requests []Request
	// Place is the file and line where the job begins.
	Place string
}

// Request is one request of a job.
type Request struct {
	// After are the requests that have to end before it, by their index.
	After []int
	// Pause is the tool or think time behind the last of them, or behind the
	// start of the job where it waits for none.
	Pause time.Duration
	// From is the request whose prompt this one begins with, -1 for none, and
	// Keep how many blocks of it. Blocks follow these.
	From, Keep int
	Blocks     []Block
	// Prompt and Output count tokens.
	Prompt, Output int
	// Reply names the block that the reply is in later prompts. It is 0 where
	// later prompts hold a recorded reply, which is not what a server says.
	Reply uint64
	Model string
	// Agent names who asks, "" for the job's first; Depth is 0 for that one, 1
	// for its subagents, 2 for theirs.
	Agent string
	Depth int
	// Took is how long the server took when it was recorded; 0 where unknown.
	Took time.Duration
}

// Block is a part of a prompt. Blocks with the same ID are the same text.
type Block struct {
	ID     uint64
	Tokens int
}

// History says how a prompt begins.
type History string

const (
	Fresh     History = "fresh"     // with nothing that the job sent before
	Continued History = "continued" // with the prompt of a request before it
	Forked    History = "forked"    // as Continued, and others continue the same one
)

// Histories gives the History of every request.
func (j *Job) Histories() []History {
	uses := make([]int, len(j.Requests))
	for _, r := range j.Requests {
		if r.Keep > 0 {
			uses[r.From]++
		}
	}
	all := make([]History, len(j.Requests))
	for i, r := range j.Requests {
		switch {
		case r.Keep == 0:
			all[i] = Fresh
		case uses[r.From] > 1:
			all[i] = Forked
		default:
			all[i] = Continued
		}
	}
	return all
}

// Blocks gives the whole prompt of the i-th request.
func (j *Job) Blocks(i int) []Block {
	var parts [][]Block
	r := &j.Requests[i]
	parts, keep := append(parts, r.Blocks), r.Keep
	for keep > 0 {
		if r = &j.Requests[r.From]; keep > r.Keep {
			parts, keep = append(parts, r.Blocks[:keep-r.Keep]), r.Keep
		}
	}
	slices.Reverse(parts)
	return slices.Concat(parts...)
}

// ReplyIn gives the tokens of a request's prompt, from and up to, that stand for the
// reply of the request whose prompt it continues; none where it has no such part.
func (j *Job) ReplyIn(i int) (from, to int) {
	r := &j.Requests[i]
	if r.Keep == 0 {
		return 0, 0
	}
	before := &j.Requests[r.From]
	if kept := r.Prompt - tokensOf(r.Blocks); float64(kept) < resetBelow*float64(before.Prompt) || r.Prompt <= before.Prompt+before.Output {
		return 0, 0
	}
	return before.Prompt, before.Prompt + before.Output
}

// length is how many blocks the prompt of a request has.
func (r *Request) length() int { return r.Keep + len(r.Blocks) }

// Span is when a request is sent, from the start of its job, and when its reply
// ends.
type Span struct{ Start, End time.Duration }

// Schedule gives the span of every request where each is sent as soon as it may
// be and the server takes as long as took says.
func (j *Job) Schedule(took func(Request) time.Duration) []Span {
	spans := make([]Span, len(j.Requests))
	for i, r := range j.Requests {
		start := time.Duration(0)
		for _, before := range r.After {
			start = max(start, spans[before].End)
		}
		start += r.Pause
		spans[i] = Span{start, start + took(r)}
	}
	return spans
}

// Rest is what is left of a job at a time of its schedule: the requests that start
// then or later, with what was left of their pauses, and before them those whose
// prompts they continue, sent again for one token each. numbers are the places of
// its requests in the whole job.
func (j *Job) Rest(spans []Span, at time.Duration) (rest *Job, numbers []int) {
	place := make([]int, len(j.Requests)) // in rest, -1 for none
	left := func(i int) bool { return spans[i].Start >= at }
	warm := map[int]bool{}
	for i, r := range j.Requests {
		if left(i) && r.Keep > 0 && !left(r.From) {
			warm[r.From] = true
		}
	}
	rest = &Job{Name: j.Name, Place: j.Place}
	for i, r := range j.Requests {
		place[i] = -1
		switch {
		case left(i):
			waits := false
			var after []int
			for _, before := range r.After {
				if left(before) {
					after, waits = append(after, place[before]), true
				}
			}
			if !waits {
				r.Pause = spans[i].Start - at
			}
			if r.Keep > 0 {
				if !left(r.From) {
					after = append(after, place[r.From])
				}
				r.From = place[r.From]
			}
			slices.Sort(after)
			r.After = after
		case warm[i]:
			r.After, r.Pause, r.From, r.Keep, r.Blocks, r.Output = nil, 0, -1, 0, j.Blocks(i), 1
		default:
			continue
		}
		place[i] = len(rest.Requests)
		rest.Requests, numbers = append(rest.Requests, r), append(numbers, i)
	}
	return rest, numbers
}
