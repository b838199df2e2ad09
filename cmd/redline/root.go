package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `redline finds how hard an LLM inference engine can be driven before it breaks
its latency promise, and says whether the number can be trusted.

Try it now, with no server at all:

  redline run

Then on yours:

  redline run --url http://localhost:8000 --rate 5 --slo 'ttft:p99<500ms'`

// run carries out the command line and gives the exit code.
func (p *process) run(ctx context.Context) int {
	root := p.root()
	root.SetArgs(p.args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	code, line := exitCode(root.ExecuteContext(ctx))
	if line != "" {
		fmt.Fprintln(p.stderr, "redline:", strings.ReplaceAll(line, "\n", " "))
	}
	return code
}

func (p *process) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "redline",
		Short:         "find how hard an LLM inference engine can be driven",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%v; %s --help lists the flags", err, c.CommandPath())
	})
	root.AddCommand(p.runCommand(), p.reportCommand(), p.simCommand(), p.schemaCommand(), p.versionCommand())
	return root
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasParent() {
		return unknownCommand(c, args[0])
	}
	return usage("%s takes no argument, got %q; %s --help shows examples", c.CommandPath(), args[0], c.CommandPath())
}

func unknownCommand(c *cobra.Command, name string) error {
	hint := "redline --help lists them"
	if near := c.SuggestionsFor(name); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	}
	return usage("unknown command %q: %s", name, hint)
}

func (p *process) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.stdout, "redline", version)
			return err
		},
	}
}
