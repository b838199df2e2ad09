// Package peer knows the other benchmarks of inference servers: their commands,
// flags, closing tables and result files. It takes a command line of one of them
// and gives the plan that says the same here; it takes what redline measured and
// gives the table and the file that the peer would have written, by the peer's own
// formulas. It sends nothing and writes no file.
package peer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"redline/internal/drive/table"
	"redline/internal/text"
)

// Takes is how many values a flag has.
type Takes int

// The kinds of flags.
const (
	None Takes = iota // a switch
	One               // the last one counts
	Each              // may be given several times
	Many              // all that follows up to the next flag
)

// Flag is one flag of a peer.
type Flag struct {
	// Names are its spellings without dashes, the usual one first.
	Names   []string
	Takes   Takes
	Default string
	// Positive wants numbers above 0, as the peer does.
	Positive bool
	// Ours is our flag that means the same, "" where there is none.
	Ours string
	// Idle says why the flag changes nothing here; it is accepted, and named. Unused
	// says it of one that is honored, where nothing on the command line uses it.
	Idle, Unused string
	// Cannot says what to do instead of the flag, which is refused.
	Cannot string
}

// flag declares one that is honored.
func flag(takes Takes, names, value, ours string) Flag {
	return Flag{Names: strings.Fields(names), Takes: takes, Default: value, Ours: ours}
}

// amount declares one that is honored and takes numbers above 0.
func amount(takes Takes, names, value, ours string) Flag {
	f := flag(takes, names, value, ours)
	f.Positive = true
	return f
}

// idle declares flags that are accepted and change nothing.
func idle(takes Takes, why string, names ...string) []Flag {
	var list []Flag
	for _, name := range names {
		list = append(list, Flag{Names: strings.Fields(name), Takes: takes, Idle: why})
	}
	return list
}

// cannot declares flags that are refused.
func cannot(takes Takes, cure string, names ...string) []Flag {
	var list []Flag
	for _, name := range names {
		list = append(list, Flag{Names: strings.Fields(name), Takes: takes, Cannot: cure})
	}
	return list
}

// Peer is another benchmark.
type Peer struct {
	Name string
	// Version is the one whose flags and files were read.
	Version string
	// Commands are the ways to call it, the usual one first.
	Commands []string
	Flags    []Flag
	// PassThrough says why arguments after -- change nothing here; "" where the peer
	// takes none.
	PassThrough string
	// Plans are the loads that a command line asks for, in their order.
	Plans func(*Values) ([]Plan, error)
	// Next gives the loads that follow from what the runs so far have measured; nil
	// for a peer that has none.
	Next func(*Values, []*Run) []Plan
	// Close is the closing table of the runs of those plans.
	Close func(*Values, []*Run) string
	// Files are what the peer would have written.
	Files func(*Values, []*Run) ([]File, error)
}

// Ask gives the plans of a command line. What only the table and the files use is
// tried on a run without an answer, so that a mistake in it shows before the load.
func (p *Peer) Ask(v *Values) ([]Plan, error) {
	plans, err := p.Plans(v)
	if err != nil {
		return nil, err
	}
	inPlan := maps.Clone(v.read)
	var none []*Run
	for _, plan := range plans {
		none = append(none, &Run{&table.Run{Requests: []table.Request{{Outcome: "none"}}}, plan})
	}
	p.Close(v, none)
	files, err := p.Files(v, none)
	for _, f := range p.Flags {
		if name := f.Names[0]; !one(f.Ours, afterTheRun...) {
			v.read[name] = inPlan[name]
		}
	}
	if err = cmp.Or(err, v.err); err == nil {
		v.Files = files
	}
	return plans, err
}

// afterTheRun are our flags whose like at a peer need not be in the plan, "" for
// those that have none here.
var afterTheRun = []string{"", "out", "percentiles", "slo", "note", "label"}

// File is one file that a peer leaves behind.
type File struct {
	Path    string
	Content []byte
	// Append adds to a file that is there.
	Append bool
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Check reports whether the file can be written, and leaves nothing behind: before
// the run the path may lack what only the run tells.
func (f File) Check() error {
	var made []string // innermost first
	for dir := filepath.Dir(f.Path); !exists(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		made = append(made, dir)
	}
	defer func() {
		for _, dir := range made {
			_ = os.Remove(dir)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	_, missing := os.Lstat(f.Path)
	file, err := os.OpenFile(f.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err = file.Close(); missing != nil {
		err = errors.Join(err, os.Remove(f.Path))
	}
	return err
}

// Write writes the file, or adds to it.
func (f File) Write() error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	if !f.Append {
		return os.WriteFile(f.Path, f.Content, 0o644)
	}
	file, err := os.OpenFile(f.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Content)
	return errors.Join(err, file.Close())
}

// All lists the peers. A new one is a file and a name here.
var All = []*Peer{vllm, sglang, aiperf, genaiPerf, guidellm, inferencePerf, llmperf}

// Find gives the peer whose command words begin with, and what follows them.
// Words before it that only start Python are passed over.
func Find(words []string) (*Peer, []string) {
	rest := words
	for len(rest) > 0 && (python.MatchString(rest[0]) || rest[0] == "-m" || rest[0] == "-u" || rest[0] == "uvx") {
		rest = rest[1:]
	}
	for _, p := range All {
		for _, command := range p.Commands {
			name := strings.Fields(command)
			if len(rest) == 2 && sameCommand(rest[0], name[0]) && (rest[1] == "--help" || rest[1] == "-h") {
				return p, rest[1:]
			}
			if len(rest) >= len(name) && slices.EqualFunc(rest[:len(name)], name, sameCommand) {
				return p, rest[len(name):]
			}
		}
	}
	return nil, nil
}

// python is a Python of any version, wherever it lies.
var python = regexp.MustCompile(`^(.*[/\\])?python[0-9.]*(\.exe)?$`)

// sameCommand compares a word with that of a command, which may have a path before
// its name.
func sameCommand(given, name string) bool {
	return given == name || strings.HasSuffix(given, "/"+name) || strings.HasSuffix(given, `\`+name)
}

// Commands are the first words of all commands.
func Commands() []string {
	list := []string{"python", "python3"}
	for _, p := range All {
		for _, command := range p.Commands {
			if first, _, _ := strings.Cut(command, " "); !slices.Contains(list, first) {
				list = append(list, first)
			}
		}
	}
	return list
}

// generic are load testers of any HTTP server, whose scripts say what no plan does.
var generic = []string{"k6", "locust", "wrk", "wrk2", "vegeta", "hey", "oha", "bombardier", "jmeter", "gatling", "artillery", "siege", "autocannon"}

// Instead says what to do in place of a well-known tool that is no peer, "" where name is
// none.
func Instead(name string) string {
	switch {
	case slices.Contains(generic, name):
		return "redline does not run its scripts; redline run --url URL --rate 5 sends such a load to an LLM server"
	case name == "optimum-benchmark":
		return "redline does not run it; redline import reads its result files"
	}
	return ""
}

// OurFlag is our flag that means what a peer calls name, and the peer that does;
// "" where none has it.
func OurFlag(name string) (ours, by string) {
	name = canonical(name)
	for _, p := range All {
		for _, f := range p.Flags {
			if f.Ours != "" && slices.Contains(f.Names, name) {
				return f.Ours, p.Name
			}
		}
	}
	return "", ""
}

// canonical spells a flag as the tables do.
func canonical(name string) string { return strings.ReplaceAll(name, "_", "-") }

// find looks a flag up.
func (p *Peer) find(name string) *Flag {
	for i := range p.Flags {
		if slices.Contains(p.Flags[i].Names, canonical(name)) {
			return &p.Flags[i]
		}
	}
	return nil
}

// unknown is the error for a flag that the peer does not have.
func (p *Peer) unknown(name string) error {
	var names []string
	for _, f := range p.Flags {
		names = append(names, f.Names...)
	}
	cure := fmt.Sprintf("redline %s --help lists what is known of %s %s", p.Commands[0], p.Name, p.Version)
	if near := text.Nearest(name, names); near != "" {
		cure = "did you mean --" + near + "?"
	}
	return fmt.Errorf("%s: unknown flag --%s; %s", p.Commands[0], name, cure)
}
