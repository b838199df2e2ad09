package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"redline/internal/peer"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/text"
)

const rootHelp = `redline finds how much load an LLM inference engine can take before it misses
its SLOs, what that costs, why it fails there, and whether the numbers can be
trusted.

Try it without a server:

  redline run

Then on yours:

  redline run --url http://localhost:8000 --rate 5 --slo 'ttft:p99<500ms'

Or write redline before a command that you have: vllm bench serve,
sglang.bench_serving, genai-perf, aiperf, guidellm, llmperf, inference-perf.

  redline vllm bench serve --base-url http://localhost:8000 --num-prompts 100`

// run carries out the command line and gives the exit code.
func (p *process) run(ctx context.Context) int {
	args := append([]string{}, p.args...) // none are none, where nil would be this process's own
	if i := slices.Index(args, helpAll); i >= 0 && !slices.Contains(args[:i], "--") {
		args[i], p.helpAll = "--help", true
	}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := unknown(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	code, line := exitCode(err)
	if line != "" {
		p.tell("redline: " + plainLine(line, err))
		p.tellMore(err)
	}
	return p.failing(code)
}

// failing is the exit code, 0 where --fail-on does not name its ending.
func (p *process) failing(code int) int {
	word, known := endings[code]
	if !known || len(p.failOn) == 0 || slices.Contains(p.failOn, word) {
		return code
	}
	said := fmt.Sprintf("exit code 0 for %d (%s): --fail-on is %s", code, word, strings.Join(p.failOn, ","))
	if code == exitUndecided {
		said = "passed without deciding: " + said
	}
	p.tell("redline: " + said)
	return exitOK
}

// tellMore has the further mistakes of a plan or a command, a line each.
func (p *process) tellMore(err error) {
	const limit = 9
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return
	}
	for _, one := range wrong.More[:min(len(wrong.More), limit)] {
		p.tell("redline: " + one.Error())
	}
	if left := len(wrong.More) - limit; left > 0 {
		p.tell("redline: and " + text.Plural(left, "more mistake"))
	}
}

// plainLine is an error without the name of this program, which stands before
// it, and without that of a call of the system.
func plainLine(line string, err error) string {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		line = strings.Replace(line, path.Op+" "+path.Path+": ", path.Path+": ", 1)
	}
	return strings.TrimPrefix(line, "redline ")
}

// resolve makes a plan of what was given, and remembers its secrets: whatever is
// said from then on goes without them.
//
// Files of a plan may be long: whoever interrupts that is not kept waiting.
func (p *process) resolve(in config.Input) (*config.Config, error) {
	cfg, err := measure.Await(p.stop, func() (*config.Config, error) { return config.Resolve(in) })
	if err == nil {
		p.mask, p.failOn = p.mask.With(cfg.Secrets()...), cfg.Output.FailOn
	}
	return cfg, err
}

// line is a text that may be a server's, a file's or the environment's, as it
// can be shown on a terminal.
func (p *process) line(said string) string { return text.Line(p.mask.Hide(said)) }

// unknown refuses a command that there is not before its --help is answered with
// that of all commands. What cobra asks itself for completion is let through.
func unknown(root *cobra.Command, args []string) error {
	c, rest, err := root.Find(args)
	if err != nil || !c.HasSubCommands() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") || strings.HasPrefix(rest[0], "__") {
		return nil
	}
	switch rest[0] {
	case "help", "completion":
		return nil
	}
	return unknownCommand(c, rest[0])
}

// Commands are listed in the order in which they are added.
func init() { cobra.EnableCommandSorting = false }

func (p *process) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "redline",
		Short:         "find how much load an LLM inference engine can take",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
		Args:          noArguments,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(flagMistake)
	root.SetHelpCommand(helpCommand())
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"measure", "Measure", []*cobra.Command{p.runCommand(), p.sweepCommand(), p.benchCommand(), p.matrixCommand(), p.consistencyCommand()}},
		{"decide", "Decide", []*cobra.Command{p.compareCommand(), p.tuneCommand(), p.startupCommand(), p.capacityCommand()}},
		{"understand", "Understand", []*cobra.Command{p.reportCommand(), p.exportCommand(), p.importCommand(), p.historyCommand(), p.uiCommand()}},
		{"plan", "Plan", []*cobra.Command{p.workloadCommand(), p.catalogCommand(), p.simCommand(), p.calibrateCommand()}},
		{"operate", "Operate", []*cobra.Command{p.doctorCommand(), p.workerCommand(), p.kubeCommand(), p.watchCommand(), p.schemaCommand(), p.manCommand(), p.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title + ":"})
		for _, c := range group.commands {
			c.GroupID = group.id
			c.SetUsageFunc(p.usageOf)
		}
		root.AddCommand(group.commands...)
	}
	root.AddCommand(p.peerCommands()...)
	root.SetHelpCommandGroupID("operate")
	root.SetCompletionCommandGroupID("operate")
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Short = "print the completion script of a shell"
	}
	return root
}

// flagMistake says what is wrong with a flag in words that are not Go's.
func flagMistake(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return usage("%v; %s", err, flagHint(c, err))
	}
	want := map[string]string{"int": "a whole number", "float64": "a number", "duration": "a time such as 90s or 6h", "bool": "true or false"}
	f := value.GetFlag()
	return usage("--%s: expected %s, got %s", f.Name, cmp.Or(want[f.Value.Type()], value.Unwrap().Error()), text.Quote(value.GetValue()))
}

// lengthFlags are what APIs and other tools call the length of a reply.
var lengthFlags = []string{"max-tokens", "max-new-tokens", "max-output-tokens", "max-completion-tokens", "output-tokens"}

// flagHint points from an unknown flag to the command that has it, to the
// nearest one, or to the list.
func flagHint(c *cobra.Command, err error) string {
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		if strings.Contains(err.Error(), "'o'") && c.Flags().Lookup("out") != nil {
			return "did you mean --out?"
		}
		return c.CommandPath() + " --help lists the flags"
	}
	if slices.Contains(lengthFlags, name) {
		return "the workload has the length of replies, such as --workload 'in=fixed(500) out=fixed(100)'"
	}
	own := flagNames(c)
	known := slices.Clone(own)
	for _, other := range c.Root().Commands() {
		known = append(known, flagNames(other)...)
	}
	meant := flagOfWords(name, own)
	ours, by := peer.OurFlag(name)
	if ours != "" && !slices.Contains(known, name) && (meant == "" || slices.Contains(own, ours)) {
		hint := fmt.Sprintf("%s's --%s is --%s here", by, name, ours)
		if ours == "workload" {
			hint += ", such as --workload 'in=fixed(500) out=fixed(100)'"
		}
		if !slices.Contains(own, ours) {
			hint += ", a flag of " + commandsWith(c, ours)
		}
		return hint
	}
	switch meant = cmp.Or(meant, text.Nearest(name, known)); {
	case meant == "":
		return c.CommandPath() + " --help lists the flags"
	case slices.Contains(own, meant):
		return "did you mean --" + meant + "?"
	case meant == name:
		return "it is a flag of " + commandsWith(c, meant)
	default:
		return "did you mean --" + meant + ", a flag of " + commandsWith(c, meant) + "?"
	}
}

// flagWords are the words of our flags for those that others use.
var flagWords = map[string]string{"input": "prompt", "token": "tokens", "cost": "price", "costs": "price", "million": "1m", "qps": "rate", "rps": "rate",
	"clients": "concurrency", "parallel": "concurrency", "seconds": "duration", "spend": "max-spend", "key": "api-key-env", "port": "listen", "host": "listen"}

// flagOfWords is the shortest flag that has all words of a name, such as
// price-per-1m-prompt-tokens for input-price; "" where none has or one word
// alone would say too little.
func flagOfWords(name string, known []string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' })
	for i, w := range words {
		words[i] = cmp.Or(flagWords[w], w)
	}
	best := ""
	for _, k := range known {
		has := strings.Split(k, "-")
		all := k == strings.Join(words, "-") || len(words) > 1 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) })
		if all && (best == "" || len(k) < len(best)) {
			best = k
		}
	}
	return best
}

func flagNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// commandsWith names the commands that have a flag.
func commandsWith(c *cobra.Command, flag string) string {
	var names []string
	for _, other := range c.Root().Commands() {
		if other.Flags().Lookup(flag) != nil {
			names = append(names, other.CommandPath())
		}
	}
	return strings.Join(names, ", ")
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

func atMostOneArgument(c *cobra.Command, args []string) error {
	if len(args) <= 1 {
		return nil
	}
	return usage("%s takes one argument at most, got %q too; %s --help shows examples", c.CommandPath(), args[1], c.CommandPath())
}

// helpCommand is cobra's own, but that what it does not know is a mistake.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "show the help of a command",
		RunE: func(c *cobra.Command, words []string) error {
			about, rest, err := c.Root().Find(words)
			if err != nil {
				return unknownCommand(c.Root(), words[0])
			}
			if len(rest) > 0 {
				return unknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func unknownCommand(c *cobra.Command, name string) error {
	hint := c.CommandPath() + " --help lists them"
	var names []string
	for _, known := range c.Commands() {
		names = append(names, known.Name())
	}
	meant := c.SuggestionsFor(name)
	if meant = append(meant, text.Nearest(name, names)); meant[0] != "" {
		hint = "did you mean " + c.CommandPath() + " " + meant[0] + "?"
	}
	if instead := peer.Instead(name); instead != "" && !c.HasParent() {
		hint = instead
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() && c.PersistentFlags().Lookup("runs") != nil {
		hint = "is it the directory of the runs? " + c.CommandPath() + " --runs " + name
	}
	return usage("unknown command %q: %s", name, hint)
}
