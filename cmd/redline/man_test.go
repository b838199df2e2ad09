package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestManHasAPageForEveryCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, _, stderr := redline(t, nil, "man", dir); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, c := range (&process{}).root().Commands() {
		if c.Hidden {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "redline-"+c.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		page := strings.NewReplacer(`\-`, "-", `\&`, "", `\\`, `\`, `\fB`, "", `\fP`, "").Replace(string(data))
		says := []string{c.Short, strings.ReplaceAll(c.Long, "\n\n", "\n\n.PP\n"), `.TH "REDLINE-` + strings.ToUpper(c.Name()) + `" `}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			value, help := describeFlag(f)
			name := "--" + f.Name + "=" + value
			if value == "" {
				name = "--" + f.Name + "[=true|false]"
			}
			says = append(says, name+"\n\t"+help+"\n")
		})
		for _, text := range says {
			if !strings.Contains(page, text) {
				t.Errorf("the page of %s does not say %q", c.Name(), text)
			}
		}
	}
	if code, _, stderr := redline(t, nil, "man", filepath.Join(dir, "missing")); code != exitError || !strings.Contains(stderr, "must exist") {
		t.Errorf("a directory that is not there: exit %d, %s", code, stderr)
	}
}

func TestFlagsCompleteTheirValues(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"--api": "openai-chat", "--workload": "chat", "--fault": "reset", "--cache": "cold"} {
		code, stdout, _ := redline(t, nil, "__complete", "run", flag, "")
		if code != exitOK || !strings.Contains("\n"+stdout, "\n"+want+"\n") {
			t.Errorf("%s completes to %q, want %s among them", flag, stdout, want)
		}
	}
}

// Who looks for Parquet or CSV finds the command that writes them.
func TestHelpNamesTheFormatsOfExport(t *testing.T) {
	t.Parallel()
	_, help, _ := redline(t, nil, "--help")
	for line := range strings.Lines(help) {
		if strings.Contains(line, " export ") && strings.Contains(line, "CSV") && strings.Contains(line, "Parquet") {
			return
		}
	}
	t.Error(help)
}

// --help of a command with many flags is short and names the way to all of them;
// --help-all has every flag. What --help shows in fewer words is still a flag.
func TestHelpIsShortAndHelpAllIsWhole(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range (&process{}).root().Commands() {
		c.InheritedFlags()
		names := flagNames(c)
		for _, name := range names {
			known[name] = true
		}
		if broken := regexp.MustCompile(`(?m)^.*\bredline( .* -\S*[^.,;\s])?$`).FindString(c.Long); broken != "" {
			t.Errorf("redline %s --help: a line ends within a command: %q", c.Name(), broken)
		}
		if c.Hidden || len(names) <= manyFlags {
			continue
		}
		_, brief, _ := redline(t, nil, c.Name(), "--help")
		_, whole, _ := redline(t, nil, c.Name(), "--help-all")
		if lines := strings.Count(brief, "\n"); lines > 55 || !strings.Contains(brief, c.Name()+" --help-all") || !strings.Contains(brief, "Examples:") {
			t.Errorf("redline %s --help has %d lines:\n%s", c.Name(), lines, brief)
		}
		for _, name := range names {
			if name != "help" && !strings.Contains(whole, "--"+name) {
				t.Errorf("redline %s --help-all lacks --%s", c.Name(), name)
			}
		}
	}
	for name := range commonFlags {
		if !known[name] {
			t.Errorf("--%s is no flag of any command", name)
		}
	}
}

// Help has a command's own words, the names of values and the defaults, also of
// flags that are no options of a plan.
func TestHelpShowsValuesAndDefaults(t *testing.T) {
	t.Parallel()
	for args, says := range map[string][]string{
		"capacity --help":      {"--rate R  peak load in requests per second", "--headroom N  spare capacity as a share of the load (default: 0.2)", "round-robin, least-outstanding, prefix, sticky (default: least-outstanding)", "(default: terminal)"},
		"sim --help":           {"--listen ADDRESS  address to serve on (default: 127.0.0.1:8000)"},
		"help history prune":   {"--runs DIR  directory that holds the run directories (default: runs)", "--dry-run  print"},
		"workload --help":      {"redline workload fit  fit a workload without text to logs"},
		"help workload fit":    {"redline workload fit LOG... [flags]"},
		"history drift --help": {"--since TIME  only runs since"},
	} {
		code, stdout, stderr := redline(t, nil, strings.Fields(args)...)
		plain := regexp.MustCompile(` *\n {20,}`).ReplaceAllString(stdout, " ")
		plain = regexp.MustCompile(` {2,}`).ReplaceAllString(plain, "  ")
		for _, text := range says {
			if code != exitOK || !strings.Contains(plain, text) {
				t.Errorf("%s: exit %d, %q is not in\n%s%s", args, code, text, plain, stderr)
			}
		}
	}
}

// Whoever reads help has 80 columns; only an example, which is copied whole, may
// be longer.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for line := range strings.Lines(c.Long) {
			if c.Parent() != nil && c.Parent().Name() == "completion" {
				break // not our words
			}
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	p := &process{page: func() int { return 80 }}
	walk(p.root())
	if text := p.inColumns("--flag VALUE", strings.Repeat("word ", 40)); len(strings.SplitAfter(text, "\n")[0]) > 81 {
		t.Errorf("%q is wider than 80 columns", text)
	}
}
