package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"redline/internal/browser"
	"redline/internal/text"
	"redline/internal/traffic/job"
)

// The job that docs/guide/AGENTS.md shows, of recorded sessions of a coding agent. A
// pause of minutes would hide all else.
const (
	sessions   = "internal/traffic/job/testdata/weka.tgz"
	shownJob   = "trace_0277"
	shownPause = time.Minute
)

// drawJob writes the picture of one job: who of its agents the server works for, and
// under it what each request sends.
func drawJob(target string) error {
	file, err := job.Open(sessions, job.Options{})
	if err != nil {
		return err
	}
	one, err := file.Example(shownJob)
	if err != nil {
		return err
	}
	svg := timelineSVG(file, one)
	return os.WriteFile(filepath.Join(target, "agent-job.svg"), []byte(svg), 0o644)
}

func timelineSVG(file *job.File, one *job.Job) string {
	paced := *one
	paced.Requests = slices.Clone(one.Requests)
	shortened := 0
	var agents []string
	longest := 0
	for i := range paced.Requests {
		r := &paced.Requests[i]
		if r.Pause > shownPause {
			r.Pause = shownPause
			shortened++
		}
		if !slices.Contains(agents, r.Agent) {
			agents = append(agents, r.Agent)
		}
		longest = max(longest, r.Prompt)
	}
	spans, cached := paced.Schedule(file.Took), job.NewCache(false).Add(&paced)
	end := time.Duration(1)
	for _, s := range spans {
		end = max(end, s.End)
	}
	const left, right, lane, tall = 150.0, 20.0, 30.0, 120.0
	const width = 900.0
	floor := 50 + lane*float64(len(agents)) + 40 + tall
	x := func(at time.Duration) float64 { return left + float64(at)/float64(end)*(width-left-right) }
	y := func(agent string) float64 { return 50 + lane*float64(slices.Index(agents, agent)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="13" fill="#222">
<title>One job of a coding agent: %d requests of an agent and %d subagents over time, and what each sends</title>
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="%g" y="24">the server works for</text>
`, width, floor+50, len(paced.Requests), len(agents)-1, left)
	for _, name := range agents {
		shown := name
		if shown == "" {
			shown = "the agent"
		}
		fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="end">%s</text><line x1="%g" x2="%g" y1="%g" y2="%g" stroke="#ddd"/>`+"\n",
			left-10, y(name)+4, text.Line(shown), left, width-right, y(name), y(name))
	}
	// What waits for another agent's request, and then all requests, over it.
	for i, r := range paced.Requests {
		for _, before := range r.After {
			if other := paced.Requests[before].Agent; other != r.Agent {
				fmt.Fprintf(&b, `<path d="M%.1f %g L%.1f %g" stroke="#999" stroke-dasharray="3 3"/>`+"\n", x(spans[before].End), y(other), x(spans[i].Start), y(r.Agent))
			}
		}
	}
	for i, r := range paced.Requests {
		wide := max(1, x(spans[i].End)-x(spans[i].Start))
		fmt.Fprintf(&b, `<rect x="%.1f" y="%g" width="%.1f" height="14" rx="2" fill="#2f6db5"/>`+"\n", x(spans[i].Start), y(r.Agent)-7, wide)
		high := func(tokens int) float64 { return tall * float64(tokens) / float64(longest) }
		all, known := high(r.Prompt), high(cached[i])
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="4" height="%.1f" fill="#a9c8ea"/><rect x="%.1f" y="%.1f" width="4" height="%.1f" fill="#d9622b"/>`+"\n",
			x(spans[i].Start), floor-known, known, x(spans[i].Start), floor-all, all-known)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g">prompt tokens of each request: <tspan fill="#d9622b">■</tspan> new, <tspan fill="#a9c8ea">■</tspan> sent before, which an endless cache has</text>
<text x="%g" y="%g" text-anchor="end">%s</text><line x1="%g" x2="%g" y1="%g" y2="%g" stroke="#222"/>
<text x="%g" y="%g">0</text><text x="%g" y="%g" text-anchor="end">%s</text>
`, left, floor-tall-12, left-10, floor-tall+10, text.Count(longest), left, width-right, floor, floor, left, floor+18, width-right, floor+18, text.Length(end))
	if shortened > 0 {
		fmt.Fprintf(&b, `<text x="%g" y="%g" fill="#666">%s of more than %s drawn as %s</text>`+"\n", left, floor+38, text.Plural(shortened, "pause"), text.Length(shownPause), text.Length(shownPause))
	}
	return b.String() + "</svg>\n"
}

// shootAgents takes the picture of the search for the number of agents that a simulated
// engine carries, which a test of the command runs in virtual time.
func shootAgents(b *browser.Browser, root, target string) error {
	page, err := filepath.Abs("agents.html")
	if err != nil {
		return err
	}
	test := exec.Command("go", "test", "-count=1", "-run", "TestPictureOfAgents", "-timeout", "1h", "./cmd/redline")
	test.Dir, test.Env = root, append(os.Environ(), "REDLINE_AGENTS_CURVE="+page)
	if out, err := test.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return shoot(b, "file://"+page, browser.Look{Width: 1100, Height: 1290}, filepath.Join(target, "agents-curve.png"))
}
