package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"redline/internal/plan/config"
	"redline/internal/show/document"
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

// addOptions gives a command the flags of the options that wanted picks; words
// replace the help of flags that mean something else there. The returned func
// tells which were given.
func addOptions(c *cobra.Command, wanted func(*config.Option) bool, words map[string]string) (given func() map[string][]string) {
	c.Flags().SortFlags = false
	values := map[string]*[]string{}
	for i := range config.Options {
		o := &config.Options[i]
		if !wanted(o) {
			continue
		}
		texts := new([]string)
		values[o.Flag] = texts
		f := c.Flags().VarPF(flagValue{o, texts}, o.Flag, o.Short, cmp.Or(words[o.Flag], optionHelp(o)))
		if o.Kind == config.Bool {
			f.NoOptDefVal = "true"
		}
		// The only error is a flag that does not exist.
		_ = c.RegisterFlagCompletionFunc(o.Flag, completion(o))
	}
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

// takenBy picks the options that a command takes.
func takenBy(c *cobra.Command) func(*config.Option) bool {
	return func(o *config.Option) bool { return o.TakenBy(c.Name()) }
}

// selectOptions picks the options of a group, "" for none, and those that are named.
func selectOptions(group config.Group, flags ...string) func(*config.Option) bool {
	return func(o *config.Option) bool { return o.Group == group || slices.Contains(flags, o.Flag) }
}

// optionHelp is what an option does, and what it is where it is not given.
func optionHelp(o *config.Option) string {
	help := o.Help
	if o.Kind == config.Bool && o.Default == "true" {
		help += "; =false turns it off"
	}
	if o.Default != "" && o.Default != "false" {
		help += " (default: " + o.Default + ")"
	}
	return help
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

// configFromFlags sets the options that were given on a configuration of their own, for
// commands that have no plan to check them against.
func configFromFlags(given map[string][]string) (*config.Config, error) {
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

// exampleWidth is how wide an example may be: a narrow terminal.
const exampleWidth = 80

// foldExamples breaks long examples as a shell takes them, before a flag or a pipe. A
// comment would swallow the break, so that a line with one stays.
func foldExamples(examples string) string {
	lines := strings.Split(examples, "\n")
	for i, line := range lines {
		if strings.Contains(line, "# ") {
			continue
		}
		var done string
		for len(line) > exampleWidth {
			at := lastSpace(line, exampleWidth-len(" \\"))
			if at < 0 {
				break
			}
			done, line = done+line[:at]+" \\\n", "    "+line[at+1:]
		}
		lines[i] = done + line
	}
	return strings.Join(lines, "\n")
}

// lastSpace is the last space before a flag or a pipe within so many bytes of a
// line, outside quotes and behind its first word; -1 for none.
func lastSpace(line string, within int) int {
	last, quoted, word := -1, false, false
	for i := 0; i <= within && i < len(line); i++ {
		switch {
		case line[i] == '\'':
			quoted = !quoted
		case !quoted && word && (strings.HasPrefix(line[i:], " --") || strings.HasPrefix(line[i:], " |")):
			last = i
		}
		word = word || line[i] != ' '
	}
	return last
}

// helpAll asks for the help with every flag; --help shows what most people use
// of a command that has many.
const helpAll = "--help-all"

const (
	manyFlags     = 60 // of which --help shows some
	briefExamples = 3
)

// commonFlags are those that most people use, in fewer words where the whole help
// has many.
var commonFlags = map[string]string{"url": "base URL of the server", "model": "", "api-key-env": "", "rate": "requests per second to send",
	"concurrency": "", "requests": "", "duration": "", "workload": "chat, summarization, shared_rag, a file, or lengths: 'in=fixed(500) out=fixed(100)'",
	"slo": "objective such as 'ttft:p99<500ms', as often as needed", "rates": "", "concurrencies": "", "find-limit": "", "budget": "",
	"repeat": "", "rounds": "", "tolerance": "", "scale": "", "toggle": "", "knob": "", "server-command": "",
	"plan": "file that holds these settings", "out": "", "json": "", "dry-run": "print what would be sent, and send nothing",
	"resume": "directory of an interrupted run to resume", "html": ""}

// The groups of flags beside those of options.
const ownFlags, briefFlags config.Group = "This command", "Flags"

// describeFlags lists the flags of a command by group; in brief those that most
// people use, in a line each.
func (p *process) describeFlags(c *cobra.Command, brief bool) map[config.Group]string {
	groups := map[config.Group]string{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		group := ownFlags
		if v, ok := f.Value.(flagValue); ok {
			group = v.option.Group
		}
		value, help := describeFlag(f)
		if brief {
			words, known := commonFlags[f.Name]
			if !known {
				return
			}
			group = briefFlags
			if help, _, _ = strings.Cut(help, "; "); words != "" {
				help = words
			}
			help, _, _ = strings.Cut(help, " (")
		}
		name := strings.TrimSpace("--" + f.Name + " " + value)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		groups[group] += p.inColumns(name, help)
	})
	return groups
}

// usageOf prints the commands below a command, and its flags by group, those that
// are not options last.
func (p *process) usageOf(c *cobra.Command) error {
	c.InheritedFlags() // makes those of its parents flags of its own
	count := len(slices.DeleteFunc(flagNames(c), func(name string) bool { return name == "help" }))
	brief := count > manyFlags && !p.helpAll
	groups := p.describeFlags(c, brief)
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	if examples := c.Example; examples != "" {
		if lines := strings.SplitAfterN(examples, "\n", briefExamples+1); brief && len(lines) > briefExamples {
			examples = strings.TrimSuffix(strings.Join(lines[:briefExamples], ""), "\n")
		}
		fmt.Fprintf(&b, "\nExamples:\n%s\n", foldExamples(examples))
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, below := range c.Commands() {
			b.WriteString(p.inColumns(below.CommandPath(), below.Short))
		}
	}
	for _, group := range append(slices.Concat([]config.Group{briefFlags}, config.Groups), ownFlags) {
		if title := group; groups[group] != "" {
			if len(groups) == 1 {
				title = "Flags"
			}
			fmt.Fprintf(&b, "\n%s:\n%s", title, groups[group])
		}
	}
	if brief {
		fmt.Fprintf(&b, "\n%s %s shows all %d flags and more examples.\n", c.CommandPath(), helpAll, count)
	}
	_, err := c.OutOrStderr().Write([]byte(b.String()))
	return err
}

// valueNames are what flags that are no options take, where that is no number.
var valueNames = map[string]string{
	"catalog": "FILE", "csv": "FILE", "html": "FILE", "junit": "FILE", "label": "NAME", "markdown": "FILE", "out": "DIR", "format": "FORMAT", "gpu": "NAME", "history": "DIR", "kv-precision": "NAME", "layout": "NAME", "listen": "ADDRESS",
	"metrics-style": "ENGINE", "output": "PATH", "percentiles": "LIST", "precision": "NAME", "resume": "DIR", "router": "NAME", "runs": "DIR",
	"image": "IMAGE", "name": "NAME", "memory": "SIZE", "size": "SIZE", "server-pods": "LABELS", "nodes": "LABELS", "token-secret": "NAME", "secret-env": "NAME=SECRET/KEY",
	"files": "NAME", "claim": "NAME", "nats": "URL",
	"since": "TIME", "until": "TIME", "older-than": "AGE", "truth": "FILE", "x": "FIGURE", "y": "FIGURE",
}

// describeFlag is the name of a flag's value, none of a switch, and its help with
// its default.
func describeFlag(f *pflag.Flag) (value, help string) {
	switch f.Value.Type() {
	case "bool":
		return "", f.Usage
	case "int", "float64":
		value = "N"
	case "duration":
		value = "TIME"
	case "string", "stringArray":
		value = cmp.Or(valueNames[f.Name], "TEXT")
	default:
		return f.Value.Type(), f.Usage
	}
	if slices.Contains([]string{"", "0", "0s", "[]"}, f.DefValue) {
		return value, f.Usage
	}
	return value, f.Usage + " (default: " + f.DefValue + ")"
}

// inColumns sets a flag and its help in two columns, as wide as the terminal and
// at most 100 in all.
func (p *process) inColumns(flag, help string) string {
	const left, limit = 32, 100
	width := limit
	if page := p.columns(); page > 0 {
		width = min(page, limit)
	}
	var b strings.Builder
	column := "  " + flag
	if len(column) >= left {
		b.WriteString(column + "\n")
		column = ""
	}
	for _, line := range document.Wrap(help, width-left) {
		fmt.Fprintf(&b, "%-*s%s\n", left, column, line)
		column = ""
	}
	return b.String()
}
