package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/measure"
	"redline/internal/near"
	"redline/internal/report"
	"redline/internal/result"
)

const reportHelp = `Show the report of a run directory. A run that was killed before it wrote its
result is summarised from its records.

Formats: terminal; json, the whole result; csv, one row for each point; markdown,
for a pull request; html, one file that needs no network; junit, each objective
a test case.

Exit code: 0 if the report was shown, whatever its verdict (redline run is what
ends with the verdict); 1 if it could not be; 2 usage.

Columns of csv (what is not known is empty):
`

func (p *process) reportCommand() *cobra.Command {
	var asJSON, explain bool
	var format, out string
	c := &cobra.Command{
		Use:        "report DIR",
		SuggestFor: []string{"show", "view", "open", "render", "html"},
		Short:      "show the report of a run directory, also of a killed run",
		Long:       reportHelp + csvColumns(),
		Example: `  redline report runs/20261115-091500
  redline report runs/20261115-091500 --format html -o report.html
  redline report runs/20261115-091500 --json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("report wants one run directory, such as: redline report runs/20261115-091500")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON {
				if c.Flags().Changed("format") && format != "json" {
					return usage("--json and --format %s exclude each other", format)
				}
				format = "json"
			}
			write, err := p.format(format, explain, out != "")
			if err != nil {
				return err
			}
			res, err := measure.Rebuild(args[0])
			if err != nil {
				return err
			}
			return p.deliver(res, write, out)
		},
	}
	c.Flags().StringVar(&format, "format", "terminal", "how to show it: "+strings.Join(formatNames(), ", "))
	c.Flags().StringVarP(&out, "output", "o", "", "file to write instead of the standard output")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON and nothing else")
	c.Flags().BoolVar(&explain, "explain", false, "print beside each figure how it is defined (terminal)")
	return c
}

// csvColumns lists the columns of the table of points with their meanings.
func csvColumns() string {
	var out strings.Builder
	for _, c := range report.Columns {
		fmt.Fprintf(&out, "\n  %-28s %s", c.Name, c.Means)
	}
	return out.String()
}

func formatNames() []string {
	names := make([]string, len(report.Formats))
	for i, f := range report.Formats {
		names[i] = f.Name
	}
	return names
}

type writer func(*bytes.Buffer, *result.Result) error

// format gives the writer of a format. A terminal's knows the terminal, unless
// its text goes to a file.
func (p *process) format(name string, explain, toFile bool) (writer, error) {
	if name == "terminal" {
		options := report.TerminalOptions{Color: p.colour && !toFile, Explain: explain, Width: p.page}
		return func(out *bytes.Buffer, r *result.Result) error { return report.Terminal(out, r, options) }, nil
	}
	for _, f := range report.Formats {
		if f.Name == name {
			return func(out *bytes.Buffer, r *result.Result) error { return f.Write(out, r) }, nil
		}
	}
	hint := near.Hint(name, formatNames())
	if hint == "" {
		hint = "want one of " + strings.Join(formatNames(), ", ")
	}
	return nil, usage("--format %q is not known; %s", name, hint)
}

// deliver writes a result to a file, or to the standard output.
func (p *process) deliver(res *result.Result, write writer, file string) error {
	var out bytes.Buffer
	if err := write(&out, res); err != nil {
		return err
	}
	if file == "" || file == "-" {
		_, err := p.stdout.Write(out.Bytes())
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}
