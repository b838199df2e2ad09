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

// shades are how much of a column's time the server works, a quarter each.
var shades = []rune("░▒▓█")

// Timeline draws a job in lines of at most width columns, a line an agent: shades
// where the server works, dots where the agent waits for a tool, a person or its
// subagents.
func (f *File) Timeline(j *Job, width int) []string {
	const label = 18
	columns := width - label - 1
	short, cut := j.shortenPauses()
	spans := short.Schedule(f.Took)
	end := time.Duration(1)
	for _, s := range spans {
		end = max(end, s.End, s.Start)
	}
	wide := float64(end) / float64(columns)
	column := func(at time.Duration) int { return min(columns-1, int(float64(at)/wide)) }
	agents := j.agents()
	more := max(0, len(agents)-maxLanes)
	agents = agents[:len(agents)-more]
	lines := make([]string, 0, len(agents)+2)
	for _, agent := range agents {
		works := make([]float64, columns) // time in each column
		first, last, depth := columns, -1, 0
		for i, r := range j.Requests {
			if r.Agent != agent {
				continue
			}
			from, to := column(spans[i].Start), column(spans[i].End)
			first, last, depth = min(first, from), max(last, to), r.Depth
			for k := from; k <= to; k++ {
				works[k] += max(1, min(float64(spans[i].End), float64(k+1)*wide)-max(float64(spans[i].Start), float64(k)*wide))
			}
		}
		lane := []rune(strings.Repeat(" ", columns))
		for k := first; k <= last; k++ {
			if lane[k] = '·'; works[k] > 0 {
				lane[k] = shades[min(len(shades)-1, int(works[k]/wide*float64(len(shades))))]
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
