package job

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"redline/internal/stats"
)

// Summary is what a file of jobs holds.
type Summary struct {
	Name     string `json:"name"`
	Format   string `json:"format"`
	Jobs     int    `json:"jobs"`
	Requests int    `json:"requests"`
	// Dependencies counts what requests wait for, and Joins the requests that
	// wait for several.
	Dependencies int `json:"dependencies"`
	Joins        int `json:"joins"`
	// Histories counts requests by how their prompts begin.
	Histories map[History]int `json:"histories"`
	// PerJob are requests of a job, Depth how deep its subagents go, Width how
	// many requests are under way at once at most, Chain how many have to follow
	// one another.
	PerJob Figures `json:"requests_per_job"`
	Depth  Figures `json:"depth"`
	Width  Figures `json:"width"`
	Chain  Figures `json:"chain"`
	Prompt Figures `json:"prompt_tokens"`
	Output Figures `json:"output_tokens"`
	// New are the tokens of a prompt behind what it continues.
	New Figures `json:"new_tokens"`
	// Growth is the longest prompt of a job over its first one.
	Growth Figures `json:"prompt_growth"`
	// Held are the tokens that a job comes back to, on average over its time.
	Held Figures `json:"held_tokens"`
	// Pause is the tool or think time before a request that waits for others, and
	// JobTime how long a job takes with the recorded times of the server.
	Pause   Figures `json:"pause_s"`
	JobTime Figures `json:"job_s"`
	// Untimed says that requests took an assumed time, of AssumedToken for each
	// token of their reply.
	Untimed bool `json:"untimed,omitempty"`
	// Ideal is the share of prompt tokens that an endless prefix cache would
	// have, where jobs come one after another.
	Ideal float64 `json:"ideal_cached_share"`
	// Context is the model's, where it is given, and Overflow counts the requests
	// whose prompt and reply are longer.
	Context  int            `json:"context,omitempty"`
	Overflow int            `json:"overflow,omitempty"`
	Models   map[string]int `json:"models,omitempty"`
	Notes    []string       `json:"notes,omitempty"`
}

// Figures describes a list of numbers.
type Figures struct {
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

func figures(values []float64) Figures {
	if len(values) == 0 {
		return Figures{}
	}
	slices.Sort(values)
	q := func(p float64) float64 { return stats.Quantile(values, p) }
	return Figures{values[0], q(0.5), q(0.9), q(0.99), values[len(values)-1], stats.Mean(values)}
}

// AssumedToken is the time for each token of a reply where a file says nothing
// of a server's times.
const AssumedToken = 20 * time.Millisecond

// Took is the time that a request took, or is assumed to.
func (f *File) Took(r Request) time.Duration {
	if f.Untimed {
		return time.Duration(r.Output) * AssumedToken
	}
	return r.Took
}

// Summarize gives the figures of a file; context is the model's, 0 where it is
// not known.
func (f *File) Summarize(context int) *Summary {
	s := &Summary{Name: f.Path, Format: f.Format, Jobs: len(f.Jobs), Histories: map[History]int{}, Untimed: f.Untimed, Context: context,
		Models: map[string]int{}, Ideal: f.Ideal(), Notes: f.Notes}
	var perJob, depth, width, chain, prompt, output, added, growth, held, pause, length []float64
	for _, j := range f.Jobs {
		spans := j.Schedule(f.Took)
		deepest, longest, largest := 0, 0, 0
		end := time.Duration(0)
		steps := make([]int, len(j.Requests))
		for i, r := range j.Requests {
			s.Dependencies += len(r.After)
			if len(r.After) > 1 {
				s.Joins++
			}
			for _, before := range r.After {
				steps[i] = max(steps[i], steps[before])
			}
			steps[i]++
			deepest, longest, largest = max(deepest, r.Depth), max(longest, steps[i]), max(largest, r.Prompt)
			end = max(end, spans[i].End)
			prompt, output = append(prompt, float64(r.Prompt)), append(output, float64(r.Output))
			added = append(added, float64(tokensOf(r.Blocks)))
			if len(r.After) > 0 {
				pause = append(pause, r.Pause.Seconds())
			}
			if r.Model != "" {
				s.Models[r.Model]++
			}
			if context > 0 && r.Prompt+r.Output > context {
				s.Overflow++
			}
		}
		for _, h := range j.Histories() {
			s.Histories[h]++
		}
		s.Requests += len(j.Requests)
		perJob, depth = append(perJob, float64(len(j.Requests))), append(depth, float64(deepest))
		width, chain = append(width, float64(widest(spans))), append(chain, float64(longest))
		growth = append(growth, float64(largest)/max(1, float64(j.Requests[0].Prompt)))
		held = append(held, j.Live(spans)/max(end.Seconds(), 1e-9))
		length = append(length, end.Seconds())
	}
	s.PerJob, s.Depth, s.Width, s.Chain = figures(perJob), figures(depth), figures(width), figures(chain)
	s.Prompt, s.Output, s.New, s.Growth = figures(prompt), figures(output), figures(added), figures(growth)
	s.Held, s.Pause, s.JobTime = figures(held), figures(pause), figures(length)
	return s
}

// widest is how many requests are under way at once at most. One that takes no
// time is under way at its start.
func widest(spans []Span) (most int) {
	type change struct {
		at time.Duration
		by int
	}
	var changes []change
	for _, s := range spans {
		changes = append(changes, change{s.Start, 1}, change{max(s.End, s.Start+1), -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
	n := 0
	for _, c := range changes {
		n += c.by
		most = max(most, n)
	}
	return most
}

// Ideal is the share of prompt tokens that a prefix cache which forgets nothing
// would have, where jobs come one after another and the requests of each in
// their order.
func (f *File) Ideal() float64 {
	cache := NewCache(true)
	var hits, all float64
	for _, j := range f.Jobs {
		for i, n := range cache.Add(j) {
			hits += float64(n)
			all += float64(j.Requests[i].Prompt)
		}
	}
	return hits / max(all, 1)
}

// Cache is a prefix cache that forgets nothing: it remembers every beginning of a
// prompt, by a hash of its blocks.
type Cache struct {
	seed    maphash.Seed
	seen    map[uint64]struct{}
	replies bool
}

// NewCache makes an empty one. With replies, what a server says is the text that
// later prompts hold of it, where the file does not say otherwise.
func NewCache(replies bool) *Cache {
	return &Cache{maphash.MakeSeed(), map[uint64]struct{}{}, replies}
}

// chained is a block behind all that comes before it.
type chained struct{ before, block uint64 }

// Add gives how many tokens of each prompt of a job are in the cache when it
// comes. What a prompt keeps of another's was seen with that one, so that only
// what follows is looked at.
func (c *Cache) Add(j *Job) []int {
	tokens := make([]int, len(j.Requests))
	kept := make([][]uint64, len(j.Requests)) // hashes at the end of each own block
	owners := make([]int, len(j.Requests))    // of the last block that each keeps
	for i := range j.Requests {
		r := &j.Requests[i]
		tokens[i] = r.Prompt - tokensOf(r.Blocks)
		at, found := uint64(0), true
		if r.Keep > 0 {
			// By way of owners, since a prompt may keep the beginning of thousands in turn.
			owner := r.From
			for r.Keep <= j.Requests[owner].Keep {
				owner = owners[owner]
			}
			at, owners[i] = kept[owner][r.Keep-j.Requests[owner].Keep-1], owner
		}
		for _, b := range r.Blocks {
			at = c.follow(at, b.ID)
			kept[i] = append(kept[i], at)
			if _, seen := c.seen[at]; found && seen {
				tokens[i] += b.Tokens
			} else {
				found = false
			}
			c.seen[at] = struct{}{}
		}
		if c.replies && r.Reply != 0 {
			c.seen[c.follow(at, r.Reply)] = struct{}{}
		}
	}
	return tokens
}

func (c *Cache) follow(before, block uint64) uint64 {
	return maphash.Comparable(c.seed, chained{before, block})
}
