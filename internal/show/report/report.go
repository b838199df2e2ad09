// Package report is how an answer is shown: it takes a result and gives it for
// a terminal, as JSON, CSV, Markdown, HTML or JUnit XML, or as a directory of
// notes, and it turns snapshots of a running test into the live line. It computes no figure and judges nothing: what it
// prints stands in the result, rounded. It must not know how a run is made,
// where its files lie, or which process it runs in.
package report

import (
	"errors"
	"io"

	"redline/internal/judge/result"
)

// Format is one way of showing a whole result.
type Format struct {
	// Name is what a user calls it: "terminal", "json".
	Name string
	// Write renders r. It writes either the whole document or nothing.
	Write func(w io.Writer, r *result.Result) error
}

// Formats lists every format. A new one is a file and a line here.
var Formats = []Format{
	{"terminal", func(w io.Writer, r *result.Result) error { return Terminal(w, r, TerminalOptions{}) }},
	{"json", JSON},
	{"csv", CSV},
	{"markdown", Markdown},
	{"html", HTML},
	{"junit", JUnit},
}

var errNoResult = errors.New("report: there is no result to show: the run ended before it made one")
