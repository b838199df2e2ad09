package job

import (
	"cmp"
	"math"
	"slices"

	"redline/internal/traffic/trace"
)

const (
	// minValues is how many requests each part of an agent's life has at least,
	// where they have lengths of their own.
	minValues = 8
	// minAgents is how many agents a kind has at least, and maxKinds how many kinds
	// there are at most.
	minAgents = 4
	maxKinds  = 4
	// resetBelow is the share of the prompt before below which it is not continued.
	resetBelow = 0.9
)

// lifeEdges are the shares of an agent's life at which its parts end: agents read
// much in the beginning.
var lifeEdges = []float64{0.1, 0.4, 1}

// lifePart is the part in which a share of a life lies.
func lifePart(life float64) int {
	part, _ := slices.BinarySearch(lifeEdges, life)
	return part
}

// Fit makes a generator of jobs like those of a file.
func Fit(f *File) *Generator {
	g := &Generator{Schema: fittedSchema, Source: GeneratorSource{f.Format, len(f.Jobs), 0}}
	var levels [][]agentLife
	across := NewCache(true)
	var took, output float64
	for _, j := range f.Jobs {
		g.Source.Requests += len(j.Requests)
		for _, r := range j.Requests {
			g.MaxPrompt = max(g.MaxPrompt, r.Prompt)
			g.LiveReplies = g.LiveReplies || r.Reply != 0
			took, output = took+f.Took(r).Seconds(), output+float64(r.Output)
		}
		for _, a := range j.lives(across.Add(j), NewCache(true).Add(j)) {
			for len(levels) <= a.depth {
				levels = append(levels, nil)
			}
			levels[a.depth] = append(levels[a.depth], a)
		}
	}
	g.TokenTime = math.Round(took/max(output, 1)*1e6) / 1e6
	for _, agents := range levels {
		if len(agents) == 0 {
			break
		}
		g.Levels = append(g.Levels, fitLevel(agents, g.MaxPrompt))
	}
	return g
}

// agentLife is what one agent of a job did.
type agentLife struct {
	depth, turns int
	first        float64 // tokens of its first prompt behind what it keeps of another's
	start        float64
	added        []float64
	at           []float64 // of what is added, as a share of the life
	output       []float64
	dropped      []float64
	pause        []float64
	resets       []reset
	// across and within are tokens that its first prompt has in common with those
	// of other jobs and of the same one, and kept the share of its launcher's.
	across, within, kept float64
	firstOfDepth         bool
	launches             []float64 // where in its life
	widths, joins        []float64
}

// reset is a prompt that does not continue the one before it, whose length is
// given: the shares that it keeps of it, and has of its length.
type reset struct{ before, keep, length float64 }

// lives gives what each agent of a job did; across and within are the tokens of
// each prompt in a cache that has seen the jobs before, and in one that has not.
func (j *Job) lives(across, within []int) (all []agentLife) {
	streams := map[string][]int{}
	owner := make([]int, len(j.Requests)) // place in its stream
	for i, r := range j.Requests {
		owner[i] = len(streams[r.Agent])
		streams[r.Agent] = append(streams[r.Agent], i)
	}
	depths := map[int]bool{}
	for _, name := range j.agents() {
		own := streams[name]
		first := &j.Requests[own[0]]
		a := agentLife{depth: first.Depth, turns: len(own), start: first.Pause.Seconds(), first: float64(tokensOf(first.Blocks)),
			across: float64(across[own[0]]), within: float64(within[own[0]]), firstOfDepth: !depths[first.Depth]}
		if kept := first.Prompt - tokensOf(first.Blocks); kept > 0 {
			a.kept = float64(kept) / float64(j.Requests[first.From].Prompt)
			a.across, a.within = a.across-float64(kept), a.within-float64(kept)
		}
		depths[a.depth] = true
		for t, i := range own {
			r := &j.Requests[i]
			a.output = append(a.output, float64(r.Output))
			if t > 0 {
				a.take(j, r, float64(t-1)/float64(len(own)-1))
			}
		}
		a.findLaunches(j, name, own, streams, owner)
		all = append(all, a)
	}
	return all
}

// take adds a request behind the first.
func (a *agentLife) take(j *Job, r *Request, life float64) {
	a.pause = append(a.pause, r.Pause.Seconds())
	added := tokensOf(r.Blocks)
	if r.From < 0 {
		// What it follows is gone: all that it has is new.
		before := float64(j.Requests[r.After[0]].Prompt)
		a.resets = append(a.resets, reset{before, 0, float64(r.Prompt) / before})
		return
	}
	from := &j.Requests[r.From]
	before, kept := float64(from.Prompt), float64(r.Prompt-added)
	if kept < resetBelow*before {
		a.resets = append(a.resets, reset{before, kept / before, float64(r.Prompt) / before})
		return
	}
	if from.Reply != 0 && len(r.Blocks) > 0 && r.Blocks[0].ID == from.Reply {
		added -= r.Blocks[0].Tokens
	}
	a.added, a.at = append(a.added, float64(added)), append(a.at, life)
	a.dropped = append(a.dropped, before-kept)
}

// findLaunches finds which of an agent's requests launched others, and when it
// waited for them.
func (a *agentLife) findLaunches(j *Job, name string, own []int, streams map[string][]int, place []int) {
	widths := map[int]float64{} // by the request
	for _, child := range j.agents() {
		list := streams[child]
		first := &j.Requests[list[0]]
		if child == name || first.Depth != a.depth+1 || len(first.After) == 0 || j.Requests[first.After[0]].Agent != name {
			continue
		}
		launcher := first.After[0]
		widths[launcher]++
		join := len(own) // never
		for t := place[launcher] + 1; t < len(own); t++ {
			if slices.Contains(j.Requests[own[t]].After, list[len(list)-1]) {
				join = t - place[launcher] - 1
				break
			}
		}
		a.joins = append(a.joins, float64(join))
	}
	for launcher, n := range widths {
		a.launches, a.widths = append(a.launches, float64(place[launcher])/float64(len(own))), append(a.widths, n)
	}
}

// fitLevel describes the agents of one depth.
func fitLevel(agents []agentLife, maxPrompt int) Level {
	slices.SortStableFunc(agents, func(a, b agentLife) int { return cmp.Compare(a.turns, b.turns) })
	var l Level
	kinds := max(1, min(maxKinds, len(agents)/minAgents))
	for k := range kinds {
		l.Kinds = append(l.Kinds, fitKind(agents[len(agents)*k/kinds:len(agents)*(k+1)/kinds], len(agents), maxPrompt))
	}
	var shared, siblings, forked []float64
	later := 0
	for _, a := range agents {
		if !a.firstOfDepth {
			later++
		}
		switch {
		case a.across >= a.within+grain:
			shared = append(shared, a.across)
		case a.within >= grain:
			siblings = append(siblings, a.within)
		}
		if a.kept > 0 {
			forked = append(forked, a.kept)
		}
	}
	if n := len(shared); n > 0 {
		l.Shared = &Layer{Agents: 1, Groups: groupsOf(len(agents), len(agents)-n), Length: trace.NewCurve(shared)}
	}
	if n := len(siblings); n > 0 {
		l.Siblings = &Layer{Agents: min(1, float64(n)/float64(max(later, 1))), Length: trace.NewCurve(siblings)}
	}
	if n := len(forked); n > 0 {
		l.Forked = &Layer{Agents: float64(n) / float64(len(agents)), Length: trace.NewCurve(forked)}
	}
	return l
}

// groupsOf is out of how many equal groups n draws show so many different ones.
func groupsOf(n, different int) int {
	groups := max(1, different)
	for seen := func(g float64) float64 { return g * -math.Expm1(float64(n)*math.Log1p(-1/g)) }; groups < n*n && seen(float64(groups)) < float64(different); groups++ {
	}
	return groups
}

// fitKind describes agents of like numbers of requests.
func fitKind(agents []agentLife, all, maxPrompt int) Kind {
	var turns, first, start, output, dropped, pause, times, at, widths, joins []float64
	added := make([][]float64, len(lifeEdges))
	var resets []reset
	requests, full := 0, 0
	for _, a := range agents {
		turns, first, start = append(turns, float64(a.turns)), append(first, a.first), append(start, a.start)
		output, dropped, pause = append(output, a.output...), append(dropped, a.dropped...), append(pause, a.pause...)
		for i, n := range a.added {
			part := lifePart(a.at[i])
			added[part] = append(added[part], n)
		}
		resets = append(resets, a.resets...)
		requests += len(a.pause)
		times, at = append(times, float64(len(a.launches))), append(at, a.launches...)
		widths, joins = append(widths, a.widths...), append(joins, a.joins...)
	}
	if slices.ContainsFunc(added, func(part []float64) bool { return len(part) < minValues }) {
		added = [][]float64{slices.Concat(added...)}
	}
	k := Kind{Share: float64(len(agents)) / float64(all), Turns: trace.NewCurve(turns), First: trace.NewCurve(first), Output: trace.NewCurve(output),
		Dropped: trace.NewCurve(dropped), Start: trace.NewCurve(start), Pause: trace.NewCurve(pause)}
	for _, part := range added {
		k.Added = append(k.Added, trace.NewCurve(part))
	}
	if len(resets) > 0 {
		var keep, length []float64
		for _, r := range resets {
			keep, length = append(keep, r.keep), append(length, r.length)
			if r.before > resetBelow*float64(maxPrompt) {
				full++ // these come by themselves
			}
		}
		k.Reset = &Reset{Chance: float64(len(resets)-full) / float64(requests), WhenFull: full > 0, Keep: trace.NewCurve(keep), Length: trace.NewCurve(length)}
	}
	if len(at) > 0 {
		k.Launches = &Launches{Times: trace.NewCurve(times), At: trace.NewCurve(at), Width: trace.NewCurve(widths), Join: trace.NewCurve(joins)}
	}
	return k
}

// Comparison is a file's figures beside those of what a generator makes.
type Comparison struct{ File, Made *Summary }

// comparedJobs is how many jobs are drawn to compare a generator with a file.
const comparedJobs = 500

// Compare draws jobs and puts their figures beside those of a file.
func (g *Generator) Compare(f *File) Comparison {
	return Comparison{f.Summarize(0), g.Sample(f.Path, 1, comparedJobs).Summarize(0)}
}

// MinHeldOut is how many jobs it takes to fit some and compare with the others.
const MinHeldOut = 2 * minAgents

// HoldOut fits a generator to every second job and compares it with the others;
// own are the figures of the jobs that it was fitted to.
func HoldOut(f *File) (c Comparison, own *Summary) {
	var halves [2]File
	for i, j := range f.Jobs {
		half := &halves[i%2]
		half.Path, half.Format, half.Untimed = f.Path, f.Format, f.Untimed
		half.Jobs = append(half.Jobs, j)
	}
	return Fit(&halves[0]).Compare(&halves[1]), halves[0].Summarize(0)
}
