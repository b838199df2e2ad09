package main

import (
	"errors"
	"flag"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"redline/internal/must"
	"redline/internal/peer"
)

// asPrinted runs the commands of the pages with the times that they have, as
// make docs-as-printed does before a release.
var asPrinted = flag.Bool("as-printed", false, "run the commands of README, docs/ and --help at full length")

var (
	fencedBlock   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	inlineCommand = regexp.MustCompile("`(redline [^`]+)`")
	variable      = regexp.MustCompile(`^[A-Z_]+=\S+ `)
	exitSaid      = regexp.MustCompile(`exit code (\d)`)
	headline      = regexp.MustCompile(`^[A-Z][A-Z ]+\b`)
	// placeholder is a word in the place of one of the reader's own.
	placeholder = regexp.MustCompile(`^[A-Z]+$|…|/[A-Z]+-[A-Z]+$`)
)

// shownPages are the commands of the README and of docs/: those of the blocks, and
// those in sentences that are more than the name of a command. CAPACITY.md has a
// test of its own.
func shownPages(t *testing.T) (pages [][]shownCommand) {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(paths) < 25 {
		t.Fatalf("%d pages (%v)", len(paths), err)
	}
	for _, path := range append(paths, "../../README.md") {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		if name == "docs/reference/CAPACITY.md" {
			continue
		}
		text := must.Read(t, path)
		var commands []shownCommand
		for _, at := range fencedBlock.FindAllStringSubmatchIndex(string(text), -1) {
			before, language, block := string(text[:at[0]]), string(text[at[2]:at[3]]), string(text[at[4]:at[5]])
			switch {
			case strings.HasSuffix(before, "<!-- output -->\n"): // which make readme writes
				commands[len(commands)-1].says, _, _ = strings.Cut(block, "\n")
			case slices.Contains([]string{"", "sh", "console"}, language) && !strings.HasSuffix(before, "-->\n"):
				commands = append(commands, shownIn(name, block)...)
			}
		}
		for _, m := range inlineCommand.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(text), ""), -1) {
			for _, c := range shownIn(name, m[1]) {
				if c.mention = name != "README.md"; len(strings.Fields(c.line)) > 2 {
					commands = append(commands, c)
				}
			}
		}
		pages = append(pages, commands)
	}
	return pages
}

// shownElsewhere are commands that need what no test has, and why. Their flags are
// checked.
var shownElsewhere = []struct {
	line *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`http://127\.0\.0\.1:8197|http://server:8000`), "a record of one measurement, with the address that it had"},
	{regexp.MustCompile(`--workers (8|1000)\b|--workers 4 --url http://gateway:8000 --rate 400`), "machines of their own for the workers"},
	{regexp.MustCompile(`--nats-listen 0\.0\.0\.0`), "an address that other machines reach"},
	{regexp.MustCompile(`'vllm serve `), "vLLM, a model and an accelerator"},
	{regexp.MustCompile(`kubectl scale `), "a cluster"},
	{regexp.MustCompile(`http://gpu1:8000`), "a machine with an accelerator"},
	{regexp.MustCompile(`--seed N`), "a row of a table for each seed"},
}

// elsewhere reports whether a command needs what no test has.
func (c shownCommand) elsewhere() bool {
	for _, e := range shownElsewhere {
		if e.line.MatchString(c.line) {
			return true
		}
	}
	return false
}

// onlyFlags reports whether a command is not run: a sentence mentions it, it has
// words in the place of the reader's own, or it needs what no test has.
func (s *showcase) onlyFlags(c shownCommand) bool {
	return c.mention || c.elsewhere() || slices.ContainsFunc(shellWords(c.line), func(word string) bool {
		_, known := s.words[word]
		return placeholder.MatchString(word) && !known && !strings.Contains(word, " ")
	})
}

// checkFlags looks at the flags of a command alone: a sentence names them without
// their values.
func checkFlags(t *testing.T, c shownCommand) {
	args := slices.DeleteFunc(shellWords(c.line)[1:], func(word string) bool { return word == "…" || word == "--help" })
	if of, rest := peer.Find(args); of != nil {
		if _, err := of.Parse(rest); err != nil {
			t.Errorf("%s: %s: %v", c.where, c.line, err)
		}
		return
	}
	command, rest, err := (&process{}).root().Find(args)
	if err == nil && !c.mention {
		err = command.ParseFlags(rest)
	}
	if err != nil && !errors.As(err, new(*pflag.ValueRequiredError)) {
		t.Fatalf("%s: %s: %v", c.where, c.line, err)
	}
	for _, word := range rest {
		name, isFlag := strings.CutPrefix(word, "--")
		if name, _, _ = strings.Cut(name, "="); name == "" && isFlag {
			break // what follows is another command
		} else if isFlag && command.Flag(name) == nil {
			t.Errorf("%s: %s: %s has no flag --%s", c.where, c.line, command.CommandPath(), name)
		}
	}
}

// peerScales are flags of other benchmarks that say how long they run, and those that
// say where they write.
var peerScales = map[string]string{"--num-prompts": "20", "--request-count": "20", "--max-requests": "6", "--max-seconds": "0.3", "--max-num-completed-requests": "10"}

var peerOutputs = map[string]string{"vllm": "--result-dir=", "python": "--output-file=", "aiperf": "--artifact-dir=", "genai-perf": "--artifact-dir=", "guidellm": "--output-path=",
	"inference-perf": "--storage.local_storage.path=", "token_benchmark_ray.py": "--results-dir="}

// peerScaled are the words of a command of another benchmark, with other servers and
// files, and fewer requests.
func (s *showcase) peerScaled(t *testing.T, words []string) []string {
	scaled := slices.Clone(words)
	for i, word := range words {
		switch fewer := peerScales[word]; {
		case fewer != "" && !*asPrinted:
			scaled[i+1] = fewer
		case s.words["http://"+word] != "":
			scaled[i] = strings.TrimPrefix(s.words["http://"+word], "http://")
		case i > 0 && fileLike.MatchString(word) && peerScales[words[i-1]] == "":
			scaled[i] = s.word(t, word)[0]
		}
	}
	place := filepath.Join(t.TempDir(), "out")
	if words[0] == "python" || words[0] == "guidellm" {
		place += ".json"
	}
	if slices.Contains(words, "sweep") && !*asPrinted {
		scaled = append(scaled, "--max-requests=20") // of 512 at once
	}
	return append(scaled, peerOutputs[words[0]]+place)
}
