// Package report is what an answer says: it turns a result into a document of
// blocks, which internal/show/document lays out. It computes no figure and judges nothing: what it shows stands
// in the result, rounded. It must not know how a run is made, where its files
// lie, or which process it runs in.
package report

import (
	"errors"
	"io"
	"slices"

	"redline/internal/judge/result"
	"redline/internal/show/document"
)

// Format is one way of showing a whole result.
type Format struct {
	// Name is what a user calls it: "terminal", "json".
	Name string
	// Write renders r. It writes either the whole document or nothing.
	Write func(w io.Writer, r *result.Result) error
}

// Formats lists those that people read. A new one is a renderer of documents and
// a line here.
var Formats = []Format{
	{"terminal", func(w io.Writer, r *result.Result) error { return Terminal(w, r, TerminalOptions{}) }},
	{"markdown", Markdown},
	{"html", HTML},
}

// ErrNoResult says that there is nothing to show.
var ErrNoResult = errors.New("report: there is no result to show: the run ended before it made one")

// TerminalOptions says what the terminal can do and what the reader asked for.
type TerminalOptions struct {
	Color   bool
	Width   int  // columns; 0 means 100
	Explain bool // print the formula of every figure shown, and what a first look can do without
}

// Whole is the report with everything that it can say, before it is laid out.
func Whole(r *result.Result) *document.Document { return newDocument(r, whole) }

// Terminal writes the report that a person reads: the verdict and its reasons,
// what was run, the figures, and how far they can be trusted.
func Terminal(w io.Writer, r *result.Result, o TerminalOptions) error {
	if r == nil {
		return ErrNoResult
	}
	room := glance
	if o.Explain {
		room = explained
	}
	return document.Terminal(w, newDocument(r, room), document.TerminalOptions{Color: o.Color, Width: o.Width})
}

// Markdown writes the report for a pull request: what decides, in about a screen.
func Markdown(w io.Writer, r *result.Result) error { return markdown(w, r, pull) }

// ExplainedMarkdown writes what a terminal shows with --explain.
func ExplainedMarkdown(w io.Writer, r *result.Result) error { return markdown(w, r, explained) }

func markdown(w io.Writer, r *result.Result, room room) error {
	if r == nil {
		return ErrNoResult
	}
	d := newDocument(r, room)
	for i, s := range d.Sections {
		d.Sections[i].Blocks = slices.DeleteFunc(s.Blocks, func(b document.Block) bool { _, drawn := b.(document.Charts); return drawn })
	}
	return document.Markdown(w, d, 2)
}

// HTML writes the report as a page.
func HTML(w io.Writer, r *result.Result) error {
	if r == nil {
		return ErrNoResult
	}
	return document.HTML(w, Whole(r))
}
