package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"redline/internal/judge/result"
	"redline/internal/show/document"
	"redline/internal/show/export"
)

// columns is how wide the standard output is by now: a terminal is resized while a
// run goes on.
func (p *process) columns() int {
	if p.page == nil {
		return 0
	}
	return p.page()
}

// screen is what the terminal can do; a file has no colors.
func (p *process) screen(toFile bool) document.TerminalOptions {
	return document.TerminalOptions{Color: p.color && !toFile, Width: p.columns()}
}

// print writes a document to stdout.
func (p *process) print(d *document.Document) error {
	return document.Terminal(p.stdout, d, p.screen(false))
}

// answer writes JSON to stdout where that is asked for, else a document.
func (p *process) answer(asJSON bool, v any, d *document.Document) error {
	if asJSON {
		return p.printJSON(v)
	}
	return p.print(d)
}

func (p *process) printJSON(v any) error { return export.WriteJSON(p.stdout, v) }

// printLocation says where a run is, and the page of its report.
func (p *process) printLocation(in, path string) error {
	lines := "\n" + p.line(in+" "+filepath.ToSlash(path)) + "\n"
	page := filepath.Join(path, pageName)
	if _, err := os.Stat(page); err == nil {
		lines += p.line("Report for a browser: "+filepath.ToSlash(page)) + "\n"
	}
	_, err := io.WriteString(p.stdout, lines)
	return err
}

// tell writes a line to stderr, broken at words where that is a terminal.
func (p *process) tell(line string) {
	line = p.line(line)
	if p.terminal && p.width != nil {
		line = document.WrapWords(line, p.width())
	}
	fmt.Fprintln(p.stderr, line)
}

// deliver writes a document to a file, or to the standard output.
func (p *process) deliver(write func(*bytes.Buffer) error, file string) error {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	if file == "" || file == "-" {
		_, err := p.stdout.Write(out.Bytes())
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// reportFormats are those that a command can write beside what it prints, or
// instead of it.
var reportFormats = []struct{ name, help string }{
	{"junit", "write the objectives as JUnit XML to this file too; - prints them instead of the report"},
	{"markdown", "write the report as Markdown to this file too; - prints it instead"},
	{"html", "write the report as a page to this file too; - prints it instead"},
	{"csv", "write a row for each point to this file too (docs/reference/RESULT.md); - prints them instead of the report"},
}

// addReports gives a command a flag for each format.
func (p *process) addReports(c *cobra.Command) {
	if p.reports == nil {
		p.reports = map[string]*string{}
	}
	for _, f := range reportFormats {
		if p.reports[f.name] == nil {
			p.reports[f.name] = new(string)
		}
		c.Flags().StringVar(p.reports[f.name], f.name, "", f.help)
	}
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		asked := p.stdoutFormats()
		if json := c.Flags().Lookup("json"); json != nil && json.Changed {
			asked = append(asked, "--json")
		}
		if len(asked) > 1 {
			return usage("%s and %s both print to standard output: give one of them a file, or leave it out", asked[0], asked[1])
		}
		return nil
	}
}

// stdoutFormats are the formats that are printed instead of the report.
func (p *process) stdoutFormats() (flags []string) {
	for _, f := range reportFormats {
		if file := p.reports[f.name]; file != nil && *file == "-" {
			flags = append(flags, "--"+f.name+" -")
		}
	}
	return flags
}

// writeReports writes the files that were asked for.
func (p *process) writeReports(res *result.Result) error {
	for _, f := range reportFormats {
		file := p.reports[f.name]
		if file == nil || *file == "" {
			continue
		}
		write, err := p.format(f.name, false, true)
		if err != nil {
			return err
		}
		if err := p.deliver(func(b *bytes.Buffer) error { return write(b, res) }, *file); err != nil {
			return err
		}
	}
	return nil
}
