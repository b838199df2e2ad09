package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"redline/internal/plan/config"
)

// manCommand writes the manual pages, for packages and for MANPATH.
func (p *process) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "write the manual pages",
		Example: "  redline man ~/.local/share/man/man1",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("redline man needs one directory, such as ~/.local/share/man/man1")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			root.DisableAutoGenTag = true
			describeFlags(root)
			header := &doc.GenManHeader{Section: "1", Source: "redline " + version, Manual: "redline"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write the manual pages: %w; the directory must exist", err)
			}
			return nil
		},
	}
}

// inMarkdown keeps Markdown, which manual pages are made from, from taking the limit
// of an objective for a tag.
var inMarkdown = strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`)

// describeFlags lets the flags of a command and of those below it be printed as
// --help shows them: a manual page has their defaults where it should have the
// names of their values.
func describeFlags(c *cobra.Command) {
	c.Long = inMarkdown.Replace(c.Long)
	c.InitDefaultHelpFlag()
	say := func(f *pflag.Flag) {
		value, help := describeFlag(f)
		f.Usage, f.DefValue = inMarkdown.Replace(help), value
		f.Value = flagValue{option: &config.Option{Value: value}}
		if f.NoOptDefVal != "" {
			f.DefValue = "true|false"
		}
	}
	for _, below := range c.Commands() {
		describeFlags(below)
	}
	c.LocalNonPersistentFlags().VisitAll(say)
	c.PersistentFlags().VisitAll(say)
}
