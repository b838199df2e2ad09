package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"redline/internal/plan/config"
)

// flagValue collects the texts of one flag; what they mean is decided where
// plan and environment are read too.
type flagValue struct {
	option *config.Option
	given  *[]string
}

func (f flagValue) String() string { return "" }

func (f flagValue) Type() string { return f.option.Value }

func (f flagValue) Set(s string) error {
	*f.given = append(*f.given, s)
	return nil
}

// addOptions gives a command the flags of the options that wanted picks, and
// help that groups them; words replace the help of flags that mean something
// else there. The returned func tells which were given.
func addOptions(c *cobra.Command, wanted func(*config.Option) bool, words map[string]string) (given func() map[string][]string) {
	values := map[string]*[]string{}
	for i := range config.Options {
		o := &config.Options[i]
		if !wanted(o) {
			continue
		}
		texts := new([]string)
		values[o.Flag] = texts
		f := c.Flags().VarPF(flagValue{o, texts}, o.Flag, o.Short, o.Help)
		if o.Kind == config.Bool {
			f.NoOptDefVal = "true"
		}
		// The only error is a flag that does not exist.
		_ = c.RegisterFlagCompletionFunc(o.Flag, completion(o))
	}
	c.SetUsageFunc(func(c *cobra.Command) error { return groupedUsage(c, wanted, words) })
	return func() map[string][]string {
		set := map[string][]string{}
		c.Flags().Visit(func(f *pflag.Flag) {
			if texts, ok := values[f.Name]; ok {
				set[f.Name] = *texts
			}
		})
		return set
	}
}

// completion is what a shell offers after a flag: its values, and files where
// it takes some.
func completion(o *config.Option) cobra.CompletionFunc {
	directive := cobra.ShellCompDirectiveNoFileComp
	switch {
	case strings.Contains(o.Value, "DIR"):
		directive = cobra.ShellCompDirectiveFilterDirs
	case strings.Contains(o.Value, "FILE"), o.Flag == "workload", o.Flag == "tokenizer":
		directive = cobra.ShellCompDirectiveDefault
	}
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return o.Values, directive
	}
}

// only sets the options that were given on a configuration of their own, for
// commands that have no plan to check them against.
func only(given map[string][]string) (*config.Config, error) {
	cfg := &config.Config{}
	for i := range config.Options {
		o := &config.Options[i]
		if values := given[o.Flag]; len(values) > 0 {
			if err := o.Set(cfg, values); err != nil {
				return nil, usage("--%s: %v", o.Flag, err)
			}
		}
	}
	return cfg, nil
}

// groupedUsage prints the flags by group, those that are not options last.
func groupedUsage(c *cobra.Command, wanted func(*config.Option) bool, words map[string]string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	known := map[string]bool{"help": true}
	for _, group := range config.Groups {
		var lines []string
		for i := range config.Options {
			if o := &config.Options[i]; o.Group == group && wanted(o) {
				known[o.Flag] = true
				lines = append(lines, optionLine(o, words[o.Flag]))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s:\n%s", group, strings.Join(lines, ""))
		}
	}
	var rest []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !known[f.Name] {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			if kind := f.Value.Type(); kind != "bool" {
				name += " " + kind
			}
			rest = append(rest, wrapped(name, f.Usage))
		}
	})
	if len(rest) > 0 {
		fmt.Fprintf(&b, "\n%s:\n%s", "This command", strings.Join(rest, ""))
	}
	_, err := c.OutOrStderr().Write([]byte(b.String()))
	return err
}

// optionLine sets one option, in the command's own words where it has some.
func optionLine(o *config.Option, words string) string {
	flag := "--" + o.Flag
	if o.Short != "" {
		flag = "-" + o.Short + ", " + flag
	}
	if o.Value != "" {
		flag += " " + o.Value
	}
	help := o.Help
	if o.Kind == config.Bool && o.Default == "true" {
		help += "; =false turns it off"
	}
	if o.Default != "" && o.Default != "false" {
		help += " (default: " + o.Default + ")"
	}
	if words != "" {
		help = words
	}
	return wrapped(flag, help)
}

// wrapped sets a flag and its help in two columns of 100 in all.
func wrapped(flag, help string) string {
	const left, width = 32, 100
	var b strings.Builder
	column := "  " + flag
	if len(column) >= left {
		b.WriteString(column + "\n")
		column = ""
	}
	for line := range slices.Values(wrap(help, width-left)) {
		fmt.Fprintf(&b, "%-*s%s\n", left, column, line)
		column = ""
	}
	return b.String()
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
