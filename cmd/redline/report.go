package main

import (
	"github.com/spf13/cobra"

	"redline/internal/measure"
)

const reportHelp = `Show the report of a run directory. A run that was killed before it wrote its
result is summarised from its records.

Exit code: 0 if the report was shown, whatever its verdict (redline run is what
ends with the verdict); 1 if it could not be; 2 usage.`

func (p *process) reportCommand() *cobra.Command {
	var asJSON, explain bool
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "show the report of a run directory, also of a killed run",
		Long:  reportHelp,
		Example: `  redline report runs/20261115-091500
  redline report runs/20261115-091500 --json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("report wants one run directory, such as: redline report runs/20261115-091500")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			res, err := measure.Rebuild(args[0])
			if err != nil {
				return err
			}
			return p.show(res, asJSON, explain)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON and nothing else")
	c.Flags().BoolVar(&explain, "explain", false, "print beside each figure how it is defined")
	return c
}
