package job

import (
	"cmp"
	"slices"
	"time"
)

// stream is what one agent asked: drafts by their index, in order of time.
type stream struct {
	name     string
	parent   int // the stream that launched it, -1 for none
	drafts   []int
	detached bool // its parent never waits for it
	leaves   []int
	joined   bool
}

// rounding is by how much a recorded end may lie behind the start of what
// waited for it: some files have whole seconds.
const rounding = time.Second

// link finds what each request waited for by recorded times, streams before
// those that they launch. A request waits for what had ended when it started, of
// its own stream and of the subagents that its stream had launched; the first of
// a subagent waits for the newest request of its parent that had ended. What
// overlaps does not wait.
func link(drafts []draft, streams []stream) {
	type step struct{ stream, draft int }
	var steps []step
	for s := range streams {
		for _, d := range streams[s].drafts {
			steps = append(steps, step{s, d})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(drafts[a.draft].start, drafts[b.draft].start) })
	seen := make([][]int, len(streams))
	for _, at := range steps {
		d, s := &drafts[at.draft], &streams[at.stream]
		d.after = s.join(drafts, d.start, seen[at.stream])
		if len(d.after) == 0 && s.parent >= 0 {
			d.after = newest(drafts, d.start, seen[s.parent])
		}
		for c := range streams {
			child := &streams[c]
			if child.parent != at.stream || child.joined || child.detached || len(seen[c]) < len(child.drafts) {
				continue
			}
			if haveEnded(drafts, d.start, seen[c]) {
				d.after = append(d.after, child.leaves...)
				child.joined = true
			}
		}
		s.leaves = append(slices.DeleteFunc(s.leaves, func(i int) bool { return slices.Contains(d.after, i) }), at.draft)
		seen[at.stream] = append(seen[at.stream], at.draft)
		d.pauseBehind(drafts)
	}
}

// join gives the leaves of a stream that had ended at a time, or the newest of
// its requests that had.
func (s *stream) join(drafts []draft, start time.Duration, seen []int) (after []int) {
	for _, leaf := range s.leaves {
		if haveEnded(drafts, start, []int{leaf}) {
			after = append(after, leaf)
		}
	}
	if after == nil {
		after = newest(drafts, start, seen)
	}
	return after
}

// newest is the request that ended last before a time.
func newest(drafts []draft, start time.Duration, among []int) (after []int) {
	for _, i := range among {
		if haveEnded(drafts, start, []int{i}) && (after == nil || drafts[i].end() >= drafts[after[0]].end()) {
			after = []int{i}
		}
	}
	return after
}

func haveEnded(drafts []draft, start time.Duration, list []int) bool {
	return !slices.ContainsFunc(list, func(i int) bool { return drafts[i].end() > start+rounding })
}

// pauseBehind takes the pause of a draft from its start.
func (d *draft) pauseBehind(drafts []draft) {
	last := time.Duration(0)
	for _, i := range d.after {
		last = max(last, drafts[i].end())
	}
	d.Pause = max(0, d.start-last)
}

// recent is how many requests of a stream are looked at for the one whose
// prompt is continued.
const recent = 8

// findHistories finds for each draft the one whose prompt it continues for the
// longest: a recent one of its stream, or one of the stream that launched it.
func findHistories(drafts []draft, streams []stream) {
	for s := range streams {
		var launching []int
		if p := streams[s].parent; p >= 0 {
			launching = streams[p].drafts
		}
		for k, i := range streams[s].drafts {
			best := 0
			try := func(j int) {
				if n := common(drafts[j].prompt, drafts[i].prompt); n > best {
					best, drafts[i].from = n, j
				}
			}
			drafts[i].from = -1
			for back := 1; back <= min(k, recent); back++ {
				try(streams[s].drafts[k-back])
			}
			before := launching
			for n, j := range launching {
				if drafts[j].start > drafts[i].start {
					before = launching[:n]
					break
				}
			}
			for _, j := range before[max(0, len(before)-recent):] {
				try(j)
			}
		}
	}
}
