package job

import (
	"slices"
	"strings"
	"time"

	"redline/internal/text"
)

// Example is the job of a name, or, where that is "", the one with the most
// agents, of those the one with the most requests.
func (f *File) Example(name string) (*Job, error) {
	var best *Job
	for _, j := range f.Jobs {
		switch {
		case name == j.Name && name != "":
			return j, nil
		case name == "" && (best == nil || len(j.agents()) > len(best.agents()) ||
			len(j.agents()) == len(best.agents()) && len(j.Requests) > len(best.Requests)):
			best = j
		}
	}
	if best == nil {
		return nil, fault(f.Path, 0, "has no job %s: %s", text.Quote(name), text.HintWithKnown(name, text.Each(f.Jobs, func(j *Job) string { return j.Name })))
	}
	return best, nil
}

// agents are those who ask, in the order in which they begin.
func (j *Job) agents() (names []string) {
	for _, r := range j.Requests {
		if !slices.Contains(names, r.Agent) {
			names = append(names, r.Agent)
		}
	}
	return names
}

// maxLanes bounds the lines of a picture, and maxDrawn a pause in it: a night
// between two questions would hide all else.
const (
	maxLanes = 24
	maxDrawn = time.Minute
)

// shortenPauses gives a job with the pauses that its picture has, and how many of them
// are shorter than they were.
func (j *Job) shortenPauses() (short *Job, cut int) {
	short = &Job{Requests: slices.Clone(j.Requests)}
	for i := range short.Requests {
		if r := &short.Requests[i]; r.Pause > maxDrawn {
			r.Pause = maxDrawn
			cut++
		}
	}
	return short, cut
}

// Timeline draws a job in lines of at most width columns, a line an agent: full
// blocks where the server works, dots where the agent waits for a tool, a person
// or its subagents.
func (f *File) Timeline(j *Job, width int) []string {
	const label = 18
	columns := width - label - 1
	short, cut := j.shortenPauses()
	spans := short.Schedule(f.Took)
	end := time.Duration(1)
	for _, s := range spans {
		end = max(end, s.End, s.Start)
	}
	column := func(at time.Duration) int {
		return min(columns-1, int(float64(at)/float64(end)*float64(columns)))
	}
	agents := j.agents()
	more := max(0, len(agents)-maxLanes)
	agents = agents[:len(agents)-more]
	lines := make([]string, 0, len(agents)+2)
	for _, agent := range agents {
		lane := []rune(strings.Repeat(" ", columns))
		first, last, depth := columns, -1, 0
		for i, r := range j.Requests {
			if r.Agent == agent {
				first, last, depth = min(first, column(spans[i].Start)), max(last, column(spans[i].End)), r.Depth
			}
		}
		for k := first; k <= last; k++ {
			lane[k] = '·'
		}
		for i, r := range j.Requests {
			if r.Agent != agent {
				continue
			}
			for k := column(spans[i].Start); k <= column(spans[i].End); k++ {
				lane[k] = '█'
			}
		}
		name := agent
		if name == "" {
			name = "agent"
		}
		name = text.Cut(strings.Repeat(" ", min(depth, 4))+text.Line(name), label-1)
		lines = append(lines, strings.TrimRight(name+strings.Repeat(" ", label-len([]rune(name)))+" "+string(lane), " "))
	}
	if more > 0 {
		lines = append(lines, "and "+text.Plural(more, "agent")+" more")
	}
	span := text.Length(end)
	lines = append(lines, strings.Repeat(" ", label+1)+"0"+strings.Repeat(" ", max(1, columns-1-len([]rune(span))))+span)
	if cut > 0 {
		lines = append(lines, text.Plural(cut, "pause")+" of more than "+text.Length(maxDrawn)+" drawn as "+text.Length(maxDrawn))
	}
	return lines
}
