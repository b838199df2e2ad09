package doctor

import (
	"fmt"
	"slices"

	"redline/internal/judge/validity"
	"redline/internal/text"
)

// Worker is what one worker found on its machine and on its way to the endpoint.
type Worker struct {
	Name   string  `json:"name"`
	Host   string  `json:"host"`
	Report *Report `json:"report"`
}

// Join takes in what a worker found.
func (r *Report) Join(w *Worker) {
	r.Workers = append(r.Workers, w)
	for _, f := range w.Report.Findings {
		about := "worker " + w.Name
		if f.About != validity.AboutMachine {
			about += " → " + f.About
		}
		f.About = about
		r.Findings = append(r.Findings, f)
		r.Ready = r.Ready && f.Mark != validity.Bad
	}
	r.Verdict = verdict(r)
}

// together is what workers can drive: those of one machine share what it can.
func together(workers []*Worker) string {
	tokens, requests := map[string]float64{}, map[string]float64{}
	for _, w := range workers {
		tokens[w.Host] = max(tokens[w.Host], w.Report.Machine.Tokens.Rate())
		requests[w.Host] = max(requests[w.Host], w.Report.Machine.Requests.Rate)
	}
	var allTokens, allRequests float64
	for host := range tokens {
		allTokens, allRequests = allTokens+tokens[host], allRequests+requests[host]
	}
	return fmt.Sprintf("%s on %s drive about %s tokens/s and %s requests/s together", text.Plural(len(workers), "worker"),
		text.Plural(len(tokens), "machine"), text.Short(allTokens), text.Short(allRequests))
}

// tokenWords is the rate with this before it, or that it is too small to be found.
func tokenWords(d validity.TokenDrive, about string) string {
	if d.Rate() == 0 {
		return "fewer than " + text.Short(d.Min())
	}
	return about + text.Short(d.Rate())
}

// Row is a worker in a table of them.
type Row struct {
	Tokens, Requests, Pacing, RoundTrip, Problems string
}

// Row sums up what the worker found.
func (w *Worker) Row() Row {
	m := w.Report.Machine
	row := Row{Tokens: text.Absent, Requests: text.Absent, Pacing: text.Absent, RoundTrip: text.Absent}
	if m.Fault == "" {
		row.Tokens, row.Requests = tokenWords(m.Tokens, ""), text.Short(m.Requests.Rate)
	}
	if m.Pacing.N > 0 {
		row.Pacing = text.Span(m.Pacing.P99)
	}
	farthest := int64(0)
	for _, e := range w.Report.Endpoints {
		if e.Unreachable != "" {
			row.RoundTrip = "unreachable"
			break
		}
		farthest = max(farthest, e.Handshake.P50)
		row.RoundTrip = text.Span(farthest)
	}
	count := map[validity.Mark]int{}
	for _, f := range w.Report.Findings {
		count[f.Mark]++
	}
	for _, mark := range []validity.Mark{validity.Bad, validity.Warn} {
		if n := count[mark]; n > 0 {
			row.Problems = text.Join(", ", row.Problems, fmt.Sprintf("%d %s", n, mark))
		}
	}
	if row.Problems == "" {
		row.Problems = "none"
	}
	return row
}

// Group is what is not well on one machine, or between it and an endpoint.
type Group struct {
	// Host is the machine's name, "" for the one of this process; System is what
	// runs on it, and Workers are those that looked from there.
	Host, System string
	Workers      []string
	// About is "machine", or the address of the endpoint.
	About    string
	Findings []validity.Finding
}

// Problems are the findings of this process, on the host of this name, and of all
// workers that are not well. Those of one machine are found by each of its
// workers, and are there once, as the worst of them says.
func (r *Report) Problems(here string) []Group {
	own, names := len(r.Findings), map[string][]string{}
	for _, w := range r.Workers {
		own -= len(w.Report.Findings)
		names[w.Host] = append(names[w.Host], w.Name)
	}
	all := append([]*Worker{{Host: here, Report: &Report{Findings: r.Findings[:own], Machine: r.Machine}}}, r.Workers...)
	first := func(w *Worker) int { return slices.IndexFunc(all, func(o *Worker) bool { return o.Host == w.Host }) }
	var groups []Group
	for _, w := range slices.SortedStableFunc(slices.Values(all), func(a, b *Worker) int { return first(a) - first(b) }) {
		found := Group{Host: w.Host, System: w.Report.Machine.System, Workers: names[w.Host]}
		if w.Host == here {
			found.Host = ""
		}
		for _, f := range w.Report.Findings {
			if f.Mark != validity.Warn && f.Mark != validity.Bad {
				continue
			}
			g := slices.IndexFunc(groups, func(g Group) bool { return g.Host == found.Host && g.About == f.About })
			if g < 0 {
				g, found.About = len(groups), f.About
				groups = append(groups, found)
			}
			groups[g].take(f)
		}
	}
	return groups
}

// take keeps the worse of two findings of the same check.
func (g *Group) take(f validity.Finding) {
	i := slices.IndexFunc(g.Findings, func(o validity.Finding) bool { return o.Check == f.Check })
	switch {
	case i < 0:
		g.Findings = append(g.Findings, f)
	case f.Mark == validity.Bad && g.Findings[i].Mark == validity.Warn:
		g.Findings[i] = f
	}
}
