package experiment

import (
	"redline/internal/judge/result"
	"redline/internal/text"
)

// crew is everybody who sent load in an experiment, each once.
type crew struct {
	list []result.Worker
	at   map[string]int // by name: no two of a crew have the same
	due  float64        // requests of the stages whose figures were added
	gone []string       // those that the last stage lost
	// conductor is the process that led them.
	conductor result.Client
}

// attend lists the workers of a stage, and notes and names those that it lost.
func (c *crew) attend(stage string, workers []result.Worker) (lost []string) {
	if c.at == nil {
		c.at = map[string]int{}
	}
	for _, w := range workers {
		i, known := c.at[w.Name]
		if !known {
			i = len(c.list)
			c.at[w.Name] = i
			c.list = append(c.list, result.Worker{Name: w.Name, Host: w.Host, Version: w.Version})
		}
		if w.Lost != "" {
			lost = append(lost, w.Name)
			c.list[i].Lost = text.Join("; ", c.list[i].Lost, "in "+stage+": "+w.Lost)
		}
	}
	return lost
}

// add takes in the figures of a stage's workers, who have been listed. Shares are
// of all requests so far.
func (c *crew) add(due int, workers []result.Worker) {
	before := c.due
	c.due += float64(due)
	if c.due > 0 {
		for i := range c.list {
			c.list[i].Share *= before / c.due
		}
	}
	for _, w := range workers {
		one := &c.list[c.at[w.Name]]
		one.Add(w)
		if c.due > 0 {
			one.Share += w.Share * float64(due) / c.due
		}
	}
}

// addWorkers takes a stage's workers into the whole. Their figures count unless the
// stage is repeated.
func (x *conductor) addWorkers(s Stage, res *result.Result) {
	if len(res.Workers) == 0 {
		return
	}
	if s.repeats != "" && len(x.crew.gone) > 0 {
		them := "it"
		if len(x.crew.gone) > 1 {
			them = "them"
		}
		x.warn("%s lost in %s, which was repeated without %s", were(x.crew.gone), s.repeats, them)
	}
	x.crew.gone = x.crew.attend(s.Name, res.Workers)
	if !s.Measures() && len(x.crew.gone) > 0 {
		x.warn("%s lost in %s", were(x.crew.gone), s.Name)
	}
	if x.leftOut == "" || !s.repeatable() {
		due := 0
		if len(res.Points) > 0 {
			due = res.Points[0].Requests.Due
		}
		x.crew.add(due, res.Workers)
		if res.Conductor != nil {
			x.crew.conductor.Add(*res.Conductor)
		}
	}
	x.res.Workers, x.res.Conductor = x.crew.list, new(x.crew.conductor)
	x.res.Client = result.MergeClients(x.res.Client, x.crew.list)
}

// maxNamed is how many lost workers a warning names; the list of workers has all.
const maxNamed = 5

// were begins a sentence about workers.
func were(names []string) string {
	switch {
	case len(names) == 1:
		return "worker " + names[0] + " was"
	case len(names) > maxNamed:
		return text.Plural(len(names), "worker") + " were"
	}
	return "workers " + text.List(names) + " were"
}
