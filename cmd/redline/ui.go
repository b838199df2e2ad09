package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"redline/internal/listen"
	"redline/internal/show/ui"
)

const uiHelp = `Show the runs of a directory in a browser: a list with filters, the report of
each run, comparisons, frontiers, drift with baselines to pin, and capacity with
sliders. A run that is being written shows its figures as they come; a form
starts a run, a sweep or a comparison, and stops it. Every page has a URL and
the command that prints the same.

It listens on this machine only, unless --listen names another address. Pin,
start and stop need the token in the URL that it prints; at another address
everything does. Nothing leaves the machine. docs/guide/WATCHING.md has the
rules.

Ctrl-C ends it, and the run that it started.`

const uiExamples = `  redline ui
  redline ui /data/runs --listen 127.0.0.1:7701
  redline ui --read-only`

func (p *process) uiCommand() *cobra.Command {
	c := &cobra.Command{Use: "ui [DIR]", SuggestFor: []string{"web", "browser", "dashboard", "gui"}, Short: "show the runs of a directory in a browser", Long: uiHelp, Example: uiExamples, Args: atMostOneArgument}
	o := ui.Options{Root: "runs", Version: version}
	var address string
	c.Flags().StringVar(&address, "listen", "127.0.0.1:7700", "address to serve on")
	c.Flags().BoolVar(&o.ReadOnly, "read-only", false, "refuse to pin, start and stop")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if len(args) == 1 {
			o.Root = args[0]
		}
		if info, err := os.Stat(o.Root); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: no such directory: name the one that holds run directories, or make one with redline run", o.Root)
		}
		if o.Program, err = os.Executable(); err != nil {
			return err
		}
		return p.ui(c, o, address)
	}
	return c
}

// ui serves the pages until it is interrupted.
func (p *process) ui(c *cobra.Command, o ui.Options, address string) error {
	ctx, cancel := p.stoppable(c.Context())
	defer cancel()
	l, err := listen.Open(ctx, address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	server := ui.New(o, l.Addr())
	fmt.Fprintf(p.stderr, "redline ui: serving %s at %s (Ctrl-C to stop)\n", p.line(o.Root), server.URL())
	return server.Serve(ctx, l)
}
