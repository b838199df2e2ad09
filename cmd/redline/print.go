package main

import (
	"bytes"
	"os"

	"redline/internal/show/document"
	"redline/internal/show/export"
)

// screen is what the terminal can do; a file has no colors.
func (p *process) screen(toFile bool) document.TerminalOptions {
	return document.TerminalOptions{Color: p.color && !toFile, Width: p.page}
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

func (p *process) printJSON(v any) error { return export.Indented(p.stdout, v) }

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
