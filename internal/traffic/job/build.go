package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"redline/internal/text"
)

// maxTokens bounds every length, and maxTime every time: more is a wrong unit.
const (
	maxTokens = 10_000_000
	maxTime   = 365 * 24 * time.Hour
)

// draft is a request as a reader finds it.
type draft struct {
	Request
	// where names it in an error: "requests[3]".
	where string
	// after and from are drafts of the same job by their index.
	after []int
	from  int // -1: none
	// prompt is the whole prompt, where From, Keep and Blocks are to be made of
	// it.
	prompt []Block
	// start is when it was sent, from the job's start.
	start time.Duration
}

func (d *draft) end() time.Duration { return d.start + d.Took }

// tokensOf gives the tokens of blocks.
func tokensOf(blocks []Block) (tokens int) {
	for _, b := range blocks {
		tokens += b.Tokens
	}
	return tokens
}

// build checks the drafts of a job and puts them in order.
func build(name string, drafts []draft) (*Job, error) {
	if len(drafts) == 0 {
		return nil, errors.New("has no request")
	}
	for i := range drafts {
		if err := drafts[i].check(len(drafts)); err != nil {
			return nil, fmt.Errorf("%s: %w", drafts[i].where, err)
		}
	}
	order, err := arrange(drafts)
	if err != nil {
		return nil, err
	}
	place := make([]int, len(drafts))
	for to, i := range order {
		place[i] = to
	}
	job := &Job{Name: name, Requests: make([]Request, len(drafts))}
	for to, i := range order {
		d := &drafts[i]
		r := d.Request
		r.After = slices.Compact(slices.Sorted(slices.Values(remap(d.after, place))))
		if r.From = -1; d.from >= 0 {
			r.From = place[d.from]
		}
		if d.prompt != nil {
			if d.from >= 0 {
				r.Keep = common(drafts[d.from].prompt, d.prompt)
			}
			r.Blocks = slices.Clone(d.prompt[r.Keep:])
		}
		if r.Keep == 0 {
			r.From = -1
		}
		job.Requests[to] = r
	}
	return job, nil
}

func remap(list, place []int) []int {
	all := make([]int, len(list))
	for i, n := range list {
		all[i] = place[n]
	}
	return all
}

// common is how many blocks two prompts have in common from their start.
func common(a, b []Block) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// check refuses what no request can have.
func (d *draft) check(requests int) error {
	for _, n := range []struct {
		name   string
		tokens int
	}{{"prompt", d.Prompt}, {"output", d.Output}} {
		if err := checkTokens(n.name, n.tokens); err != nil {
			return err
		}
	}
	for _, t := range []struct {
		name string
		time time.Duration
	}{{"start", d.start}, {"pause", d.Pause}, {"service time", d.Took}} {
		switch {
		case t.time < 0:
			return fmt.Errorf("has a %s of %v; must be 0 or more", t.name, t.time)
		case t.time > maxTime:
			return fmt.Errorf("has a %s of more than a year: is it in another unit?", t.name)
		}
	}
	for _, i := range append(slices.Clone(d.after), max(d.from, 0)) {
		if i < 0 || i >= requests {
			return errors.New("waits for a request that is not there")
		}
	}
	return nil
}

// checkTokens refuses a length that no prompt or reply can have.
func checkTokens(name string, n int) error {
	if n < 0 || n > maxTokens {
		return fmt.Errorf("has %s %s tokens; must be 0 to %s", text.Count(n), name, text.Count(maxTokens))
	}
	return nil
}

// arrange gives an order in which each draft comes after all that it waits for
// and after the one whose prompt it begins with, and else by time.
func arrange(drafts []draft) ([]int, error) {
	byTime := make([]int, len(drafts))
	for i := range byTime {
		byTime[i] = i
	}
	slices.SortStableFunc(byTime, func(a, b int) int { return cmp.Compare(drafts[a].start, drafts[b].start) })
	const begun, done = 1, 2
	state := make([]int, len(drafts))
	order := make([]int, 0, len(drafts))
	var visit func(i int) error
	visit = func(i int) error {
		switch state[i] {
		case begun:
			return fmt.Errorf("%s: waits for itself, by way of others; expected requests that wait for earlier ones", drafts[i].where)
		case done:
			return nil
		}
		state[i] = begun
		for _, before := range drafts[i].after {
			if err := visit(before); err != nil {
				return err
			}
		}
		if from := drafts[i].from; from >= 0 {
			if err := visit(from); err != nil {
				return err
			}
		}
		state[i] = done
		order = append(order, i)
		return nil
	}
	for _, i := range byTime {
		if err := visit(i); err != nil {
			return nil, err
		}
	}
	return order, nil
}
