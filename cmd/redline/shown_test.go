package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/effort"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/peer"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
	"redline/internal/workers/bus"
)

// shownTogether is how many of the commands run at a time: they wait far more
// than they compute.
const shownTogether = 6

// shownLimit is what one scaled command may take, on a busy machine too.
const shownLimit = 3 * time.Minute

// TestShownCommandsRun runs every command of the README, of docs/ and of every
// --help against servers and files of its own, in seconds in place of minutes, and
// looks at how it ends. The tables below say what takes the place of what: a
// command, a server or a file that they do not know fails.
func TestShownCommandsRun(t *testing.T) {
	t.Parallel()
	s := newShowcase(t)
	var wait sync.WaitGroup
	free := make(chan struct{}, shownTogether)
	for _, group := range shownGroups(t) {
		wait.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			kept := map[string]string{}
			for _, c := range group {
				t.Run(c.where+": "+c.line, func(t *testing.T) { s.check(t, c, kept) })
			}
		})
	}
	wait.Wait()
}

// shownCommand is a command line that a user is shown, and where.
type shownCommand struct {
	where, line string
	says        string // the first line that the page shows of its output
	ends        int    // the exit code that a comment behind it says
	mention     bool   // a sentence names it
	dry         bool   // make long runs it; else --dry-run shows that it is understood
}

// shownIn are the commands of a text: lines that begin with redline, or with
// what go run makes of it. Comments, continued lines, &&, pipes, variables and
// redirections are read as a shell does.
func shownIn(where, text string) (commands []shownCommand) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	prompts := strings.HasPrefix(text, "$ ") || strings.Contains(text, "\n$ ")
	printed := false // the line is what the command above prints
	for line := range strings.Lines(text) {
		prompted := strings.HasPrefix(line, "$ ")
		line, comment, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "$ ")), " #")
		ends := 0
		if said := exitSaid.FindStringSubmatch(comment); said != nil {
			ends, _ = strconv.Atoi(said[1]) // digits
		}
		if n := len(commands); n > 0 && printed {
			commands[n-1].says, printed = line, false
		}
		for part := range strings.SplitSeq(line, " && ") {
			part = strings.Replace(part, "go run ./cmd/redline", "redline", 1)
			part, _, _ = strings.Cut(variable.ReplaceAllString(part, ""), " > ")
			part, _, _ = strings.Cut(part, " | ")
			if prompted == prompts && (part == "redline" || strings.HasPrefix(part, "redline ")) {
				commands = append(commands, shownCommand{where: where, line: strings.Join(strings.Fields(part), " "), ends: ends})
				printed = prompted
			}
		}
	}
	return commands
}

var indentedLine = regexp.MustCompile(`(?m)^  redline.*$`)

// shownGroups are all commands, each once. Those of a group run one after
// another, since --resume needs what an earlier one kept; the long ones that
// nothing waits for have groups of their own. Commands of docs/ that measure, and
// long ones of a kind that --help has shown, are run by make long alone.
func shownGroups(t *testing.T) (groups [][]shownCommand) {
	seen := map[string]bool{}
	add := func(commands []shownCommand) {
		var together []shownCommand
		first := true
		for _, c := range commands {
			long := "" // which kind of them
			if longCommand.MatchString(c.line) && !strings.Contains(c.line, "--resume") && !c.elsewhere() {
				long = strings.Fields(c.line)[1]
			}
			c.dry = !effort.Of(*asPrinted, true) && (seen[long] || strings.HasPrefix(c.where, "docs/"))
			switch {
			case seen[c.line]:
				continue
			case long != "" && !first && !c.dry:
				groups = append(groups, []shownCommand{c})
			default:
				together = append(together, c)
			}
			first, seen[c.line], seen[long] = first && long == "", true, long != ""
		}
		if len(together) > 0 {
			groups = append(groups, together)
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		where := c.CommandPath() + " --help"
		commands := append(shownIn(where, c.Example), shownIn(where, strings.Join(indentedLine.FindAllString(c.Long, -1), "\n"))...)
		if c.Example != "" && len(commands) == 0 {
			t.Errorf("%s has examples without a command:\n%s", where, c.Example)
		}
		add(commands)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&process{}).root())
	for _, page := range shownPages(t) {
		add(page)
	}
	return groups
}

// longCommand is one that takes more than a few seconds, scaled as it may be.
var longCommand = regexp.MustCompile(`^redline (bench|matrix|tune|sweep .*--find-limit)`)

// shownScale says how a command becomes one of seconds.
type shownScale struct {
	instead map[string]string // values in place of those that a flag has
	add     []string          // flags and values, where the flag is not given
}

// shownScales are by command. One that is not here only has its servers and
// files replaced.
var shownScales = map[string]shownScale{
	"run": {map[string]string{"requests": "40", "repeat": "2", "speedup": "300"},
		[]string{"duration", "10s", "workload", "fixed(50,5)"}},
	"sweep": {map[string]string{"duration": "5s", "budget": "1m", "working-set": "4..16"},
		[]string{"duration", "5s", "warmup", "1s", "drain", "2s", "workload", "fixed(100,20)"}},
	"compare": {map[string]string{"rounds": "2", "duration": "5s"},
		[]string{"duration", "5s", "warmup", "0s", "rounds", "2", "workload", "fixed(50,5)"}},
	"bench": {map[string]string{"scale": "0.005"},
		[]string{"scale", "0.005", "warmup", "0s", "budget", "1s", "rate", "20"}},
	"matrix": {map[string]string{"scale": "0.001"},
		[]string{"scale", "0.001", "warmup", "0s", "rate", "20"}},
	"tune": {map[string]string{"rate": "20", "duration": "1s", "rounds": "1", "budget": "1m"},
		[]string{"duration", "1s", "rounds", "1", "repeat", "1", "warmup", "0s", "budget", "1m", "workload", "fixed(50,5)"}},
	"consistency": {map[string]string{"prompts": "10", "tokens": "4", "batch": "4"}, []string{"prompts", "10", "tokens", "4"}},
	"startup":     {map[string]string{"starts": "1"}, []string{"starts", "1"}},
	"sim":         {instead: map[string]string{"listen": "127.0.0.1:0"}, add: []string{"listen", "127.0.0.1:0"}},
	"ui":          {instead: map[string]string{"listen": "127.0.0.1:0"}, add: []string{"listen", "127.0.0.1:0"}},
}

// scaleOf is how a command becomes shorter; as printed it keeps its times, and only
// serves elsewhere.
func scaleOf(name string) shownScale {
	if *asPrinted && name != "sim" && name != "ui" {
		return shownScale{}
	}
	return shownScales[name]
}

// shownEndings are commands whose text or whose files say how they end.
var shownEndings = map[string]int{
	"redline compare runs/monday runs/tuesday":                                     exitRegression,
	"redline compare runs/monday runs/tuesday --history runs/w1 --history runs/w2": exitRegression,
	"redline history drift":                                                        exitRegression,
	"redline history drift --label nightly":                                        exitRegression,
	"redline history drift 7b2272 --json":                                          exitRegression,
}

// showcase is what takes the place of the servers and files of the commands.
type showcase struct {
	words map[string]string
	dir   string
	outs  atomic.Int64 // directories of experiments so far
	// engines are the models of the servers, by their addresses.
	engines map[string]string
}

func newShowcase(t *testing.T) *showcase {
	engines := map[string]string{}
	quick := func(model string) string {
		running := must.Get(simserver.Start(context.WithoutCancel(t.Context()), sim.Spec{GPU: "B200", TP: 8, ServedModelName: model}, simserver.ServeOptions{}))(t)
		t.Cleanup(func() { running.Close() })
		engines[strings.TrimPrefix(running.URL(), "http://")] = model
		return running.URL()
	}
	s := &showcase{dir: t.TempDir(), engines: engines, words: map[string]string{
		"http://localhost:8000": quick(""), "http://old:8000": quick(""), "http://new:8000": quick(""),
		"http://a:8000": quick(""), "http://b:8000": quick(""), "https://api.openai.com": quick("gpt-4o-mini"),
		"nats://nats:4222": serveWorkers(t, 4), "nats://10.0.0.7:4222": serveWorkers(t, 0), "tls://conductor:4222": serveWorkers(t, 0),
		"http://balancer:8000": quick(""), "http://pod-0:8000/metrics": quick("") + "/metrics", "http://pod-1:8000/metrics": quick("") + "/metrics",
		"7b2272": "00000011", "my-model": "tiny", "my-gpu": "brick", "/data/runs": keptSeries(t, slowed...), "examples/runs": t.TempDir(), "~/.local/share/man/man1": t.TempDir(), "slides": t.TempDir(), "charts": t.TempDir(), "runs": keptSeries(t, slowed...), "/data/records": t.TempDir(),
	}}
	for name, at := range map[string]string{"replica=": "http://b:8000", "speculation=": "http://new:8000"} {
		s.words[name+at] = name + s.words[at]
	}
	for _, word := range shownAsIs {
		s.words[word] = word
	}
	for _, out := range []string{"runs/guidellm", "runs/aiperf"} {
		s.words[out] = filepath.Join(s.dir, "imported", filepath.Base(out))
	}
	for name, file := range map[string]string{"benchmarks.json": "guidellm-0.8.1.json", "profile_export.jsonl": "aiperf-0.13.0.jsonl"} {
		s.words[name] = filepath.Join("..", "..", "internal", "peer", "testdata", "files", file)
	}
	for name, text := range shownFiles(s.words["http://localhost:8000"], s.dir) {
		s.words[name] = filepath.Join(s.dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(s.words[name]), 0o755))
		must.Write(t, s.words[name], text)
	}
	s.keep(t)
	return s
}

// shownAsIs are words that manifests of Kubernetes hold: nothing asks for them
// here.
var shownAsIs = []string{"registry.example.org/redline:v1", "OPENAI_API_KEY=llm/api-key", "http://vllm:8000", "http://gateway:8000", "/etc/redline/plan.yaml", "lora-*"}

// shownFiles are the files that the commands read, by name.
func shownFiles(url, dir string) map[string]string {
	var access, gateway, trace, mooncake strings.Builder
	gateway.WriteString("time,in_tok,out_tok\n")
	trace.WriteString(azureHead)
	for i := range 400 {
		fmt.Fprintf(&access, `{"timestamp":%d,"prompt_tokens":%d,"completion_tokens":%d}`+"\n", 1_700_000_000+i/20, 40+i%21, 4+i%5)
		fmt.Fprintf(&gateway, "%d,%d,%d\n", i, 40+i%21, 4+i%5)
	}
	for i := range 100 { // twenty minutes
		fmt.Fprintf(&trace, "2023-11-16 18:%02d:%02d.0000000,%d,5\n", 15+i/5, 12*(i%5), 40+i%21)
		fmt.Fprintf(&mooncake, `{"timestamp":%d,"input_length":600,"output_length":5,"hash_ids":[1,2]}`+"\n", i*12_000)
	}
	const second = "load_profile: {rate: 20, duration: 1s, warmup: 0s}\nworkload: fixed(50,5)\n"
	plan := fmt.Sprintf("provider: {api_endpoint: %q}\n", url) + second
	rows := "server: {sim: {max_num_seqs: 4}}\nworkload: fixed(50,5)\nload_profile: {rate: 20, warmup: 0s, drain: 5s}\n" +
		"experiment:\n  scale: 0.002\n  rows: [{name: short, workload: 'fixed(20,4)', concurrency: 1}]\n"
	return map[string]string{
		"access.jsonl": access.String(), "access.csv": trace.String(), "gateway-1.csv": gateway.String(), "gateway-2.csv": gateway.String(),
		"trace.csv": trace.String(), "azure.csv": trace.String(), "mooncake.jsonl": mooncake.String(), "session.json": twoAgents, "sessions/1.json": twoAgents, "small.json": strings.Replace(twoAgents, "140000", "192", 1),
		"prompts.jsonl":         `{"prompt": "good day"}` + "\n" + `{"prompt": "good night"}` + "\n",
		"mine.yaml":             mineYAML,
		"Qwen3-14B/config.json": publishedModel,
		"config.yml": "api: {type: chat, streaming: true}\nserver: {base_url: '" + url + "', model_name: llama-3.1-8b}\nload: {stages: [{rate: 10, duration: 2}]}\n" +
			"data: {type: random, input_distribution: {min: 20, max: 20}, output_distribution: {min: 5, max: 5}}\n",
		"benchmark.yaml": plan, "plan.yaml": plan, "nightly.yaml": plan,
		"rows.yaml": rows, "variants.yaml": rows + "  variants: [{name: tp4, sim: {tp: 4}}, {name: tp8}]\n",
		"tune.yaml": "server: {command: '" + launchedSim + " --max-num-seqs {n}'}\n" + second +
			"tune: {knobs: [{name: n, baseline: 4, values: [8]}]}\n",
		"watch.yaml": "runs: " + filepath.Join(dir, "watched") + "\nschedules: [{name: nightly, cron: '0 3 * * *', plan: nightly.yaml}]\n",
	}
}

// launchedSim is the server that is started in place of vLLM.
const launchedSim = "{redline} sim --listen 127.0.0.1:{port} --gpu B200 --tp 8"

// keep makes the runs, engines and workloads that the commands read: a sweep,
// what becomes of it, and results of known figures.
func (s *showcase) keep(t *testing.T) {
	made := func(args ...string) {
		t.Helper()
		virtually(t, func(w *world) {
			if code, _, stderr := w.redline(args...); code != exitOK {
				t.Fatalf("%v: exit %d, %s", args, code, stderr)
			}
		})
	}
	sweep := filepath.Join(s.dir, "runs", "sweep")
	for name, path := range map[string]string{"engine.yaml": filepath.Join(s.dir, "engine.yaml"), "tuesday.yaml": filepath.Join(s.dir, "tuesday.yaml"),
		"runs/sweep": sweep, "runs/20261115-091500": sweep, "DIR": sweep, "runs/…": sweep} {
		s.words[name] = path
	}
	made("sweep", "--rates", "10,20", "--duration", "2s", "--warmup", "1s", "--workload", "fixed(100,20)", "--slo", "e2e:p50<30s",
		"--price-per-gpu-hour", "2.50", "--label", "nightly", "--out", sweep, "--quiet")
	s.words["sessions/"], s.words["agents.yaml"], s.words["runs/agents"] = filepath.Join(s.dir, "sessions"), filepath.Join(s.dir, "agents.yaml"), filepath.Join(s.dir, "runs", "agents")
	made("workload", "fit", s.words["sessions/"], "-o", s.words["agents.yaml"])
	made("run", "--workload", s.words["small.json"], "--agents", "2", "--idle-cap", "1s", "--duration", "30s", "--warmup", "1s", "--slo", "ttft:p50<30s", "--out", s.words["runs/agents"], "--quiet")
	made("calibrate", sweep, "-o", s.words["engine.yaml"])
	made("workload", "fit", s.words["access.jsonl"], "-o", s.words["tuesday.yaml"])
	s.words["runs/bench"] = sweep
	for _, name := range []string{"fp8", "bf16", "fp8-1", "fp8-2", "bf16-1", "bf16-2"} {
		s.words["runs/"+name] = filepath.Join(s.dir, "runs", name)
		must.Do(t, os.CopyFS(s.words["runs/"+name], os.DirFS(sweep)))
	}
	for name, path := range map[string]string{"h100": "h100", "l40s": "l40s"} {
		s.words["runs/"+name] = filepath.Join(measuredRuns(t), path)
	}
	for name, ttft := range map[string]float64{"monday": 100, "tuesday": 150, "w1": 100, "w2": 101,
		"a1": 100, "a2": 101, "a3": 99, "b1": 100, "b2": 99, "b3": 101} {
		s.words["runs/"+name] = storeRun(t, name, ttft, func(*result.Result) {})
	}
}

// check runs one command, scaled, and looks at how it ended. kept are the
// directories of experiments that were run before it, by command.
func (s *showcase) check(t *testing.T, c shownCommand, kept map[string]string) {
	if s.onlyFlags(c) {
		checkFlags(t, c)
		return
	}
	if c.dry {
		kept = maps.Clone(kept) // it keeps nothing
	}
	for _, args := range alternatives(shellWords(c.line)[1:]) {
		command, rest := must.Get2((&process{args: args}).root().Find(args))(t)
		name := strings.TrimPrefix(strings.TrimPrefix(command.CommandPath(), "redline"), " ")
		if command.DisableFlagParsing {
			args = s.peerScaled(t, args)
		} else {
			args = append(strings.Fields(name), s.scaleArgs(t, command, rest, kept)...)
			if c.dry && command.Flags().Lookup("dry-run") != nil {
				args = append(args, "--dry-run")
			}
		}
		code, stdout, stderr := s.run(t, name, args)
		want, ok := shownEndings[c.line]
		if !ok {
			want = s.exitCode(t, name, args, stdout)
		}
		if code != want || strings.Contains(stderr, "no request succeeded") {
			t.Errorf("redline %s\nends with %d, want %d:\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
		}
		if *asPrinted && !ok && code != c.ends && !strings.Contains(c.line, ".yaml") { // plans are the reader's own
			t.Errorf("redline %s\nends with %d, and %s says %d:\n%s%s", strings.Join(args, " "), code, c.where, c.ends, stdout, stderr)
		}
		if said := headline.FindString(c.says); *asPrinted && !strings.HasPrefix(stdout, said) {
			t.Errorf("redline %s\n%s shows %q, and it prints\n%s", strings.Join(args, " "), c.where, said, stdout)
		}
		if _, measures := shownScales[name]; measures && stdout == "" && name != "sim" && name != "ui" {
			t.Errorf("redline %s\nshows no result, exit %d: %s", strings.Join(args, " "), code, stderr)
		}
	}
}

// exitCode is how a command ends: with the code of the result that it has kept, which
// is valid where nothing of this machine is in it; with 1 where redline doctor found
// a problem; and else with 0.
func (s *showcase) exitCode(t *testing.T, name string, args []string, stdout string) int {
	var dir string
	for i, a := range args[:len(args)-1] {
		if a == "--out" || a == "--resume" {
			dir = args[i+1]
		}
	}
	switch first, _, _ := strings.Cut(stdout, "\n"); {
	case name == "watch" && slices.Contains(args, "--once"):
		runs, _ := filepath.Glob(filepath.Join(s.dir, "watched", "*", "result.json")) // the pattern is sound
		if len(runs) == 0 {
			t.Fatal("the watch kept no run")
		}
		dir = filepath.Dir(runs[len(runs)-1])
	case name == "doctor" && strings.Contains(first, "problem"):
		return exitError
	case dir == "", slices.Contains(args, "--dry-run"):
		return exitOK
	}
	res := readResultOf(t, dir)
	if res.Verdict.Valid == result.Invalid && s.isVirtual(name, args) {
		t.Errorf("redline %s: invalid: %v", strings.Join(args, " "), res.Verdict.Reasons)
	}
	return resultCode(res)
}

// virtually runs a command in virtual time, with engines in memory at the addresses
// of the others.
func (s *showcase) virtually(t *testing.T, name string, args []string) (code int, stdout, stderr string) {
	virtually(t, func(w *world) {
		usual := strings.TrimPrefix(s.words["http://localhost:8000"], "http://")
		for address, model := range s.engines {
			if line := strings.Join(args, " "); address != usual && !strings.Contains(line, address) && !strings.Contains(line, "--resume") {
				continue
			}
			spec := sim.Spec{ServedModelName: model, Golden: "builtin"}
			if !*asPrinted {
				spec.MaxNumSeqs = shownBatch[name]
			}
			w.engineAt(address, spec, 0)
		}
		env := map[string]string{"REDLINE_SEED": "1", bus.TokenVariable: shownToken, "OPENAI_API_BASE": s.words["http://localhost:8000"] + "/v1"}
		if slices.Contains(peer.Commands(), name) {
			env["REDLINE_OUT"] = filepath.Join(t.TempDir(), "run")
		}
		w.env = environment(env)
		code, stdout, stderr = w.redline(args...)
	})
	return code, stdout, stderr
}

// shownBatch is how many requests the engines of a command take at a time: few where
// it looks for their limit.
var shownBatch = map[string]int{"sweep": 1, "bench": 4, "matrix": 4}

// isVirtual tells the commands that need nothing but servers: none that they start
// themselves, and no workers.
func (s *showcase) isVirtual(name string, args []string) bool {
	return slices.Contains(append(peer.Commands(), "run", "sweep", "compare", "bench", "matrix"), name) && !slices.Contains(args, "--workers")
}

// run runs a command until it ends, or one that serves until it does.
func (s *showcase) run(t *testing.T, name string, args []string) (code int, stdout, stderr string) {
	if s.isVirtual(name, args) {
		return s.virtually(t, name, args)
	}
	limit := shownLimit
	if *asPrinted {
		limit = time.Hour
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var out, said buffer
	stop := make(chan struct{})
	p := &process{args: args, stdout: &out, stderr: &said, stop: stop, doctorPace: briefly,
		lookupEnv: shownEnv("")}
	serving := map[string]string{"sim": "serving at ", "ui": "serving ", "watch": ": next at ", "worker": " waits for work at "}[name]
	if name == "worker" {
		p.lookupEnv = shownEnv(s.words["nats://10.0.0.7:4222"])
	}
	if serving == "" || name == "watch" && slices.Contains(args, "--once") || slices.Contains(args, "--check") {
		return p.run(ctx), out.String(), said.String()
	}
	ended := make(chan int, 1)
	go func() { ended <- p.run(ctx) }()
	await(t, name+" to begin", func() bool { return len(ended) > 0 || strings.Contains(said.String(), serving) })
	if !strings.Contains(said.String(), serving) {
		t.Errorf("redline %s ends by itself, exit %d: %s", strings.Join(args, " "), <-ended, said.String())
		return exitError, out.String(), said.String()
	}
	close(stop)
	return <-ended, out.String(), said.String()
}

// scaleArgs are the arguments of a command with other servers, files and lengths.
func (s *showcase) scaleArgs(t *testing.T, command *cobra.Command, args []string, kept map[string]string) []string {
	name, scale := command.Name(), scaleOf(command.Name())
	given := map[string]bool{}
	var scaled []string
	for i := 0; i < len(args); i++ {
		flag, isFlag := strings.CutPrefix(args[i], "-")
		flag = strings.TrimPrefix(flag, "-")
		if !isFlag {
			scaled = append(scaled, s.word(t, args[i])...)
			continue
		}
		given[flag] = true
		scaled = append(scaled, args[i])
		known := command.Flags().Lookup(flag)
		if len(flag) == 1 {
			known = command.Flags().ShorthandLookup(flag)
		}
		if known == nil || known.NoOptDefVal != "" || i+1 == len(args) {
			continue // the command itself says so
		}
		i++
		switch value, ok := scale.instead[flag]; {
		case ok:
			scaled = append(scaled, value)
		case flag == "profile" && !*asPrinted:
			scaled = append(scaled, strings.Replace(args[i], "24h", "10m", 1))
		case flag == "resume":
			if kept[name] == "" {
				t.Fatalf("no example of redline %s before it keeps what it resumes", name)
			}
			return append(scaled, kept[name])
		case flag == "o", flag == "out", flag == "truth":
			scaled = append(scaled, filepath.Join(t.TempDir(), filepath.FromSlash(args[i])))
		default:
			scaled = append(scaled, s.word(t, args[i])...)
		}
	}
	return append(scaled, s.extraArgs(t, command, given, kept, args)...)
}

// extraArgs are the arguments that a command is given beyond its own.
func (s *showcase) extraArgs(t *testing.T, command *cobra.Command, given map[string]bool, kept map[string]string, args []string) (added []string) {
	name := command.Name()
	stored := name == "compare" && !strings.HasPrefix(args[0], "http")
	add := func(flag, value string) {
		if !given[flag] && !stored && command.Flag(flag) != nil {
			added = append(added, "--"+flag, value)
		}
	}
	for i, list := 0, scaleOf(name).add; i < len(list); i += 2 {
		switch flag := list[i]; {
		case flag == "duration" && (given["requests"] || given["find-limit"] || given["toggle"] || given["plan"] || given["profile"]),
			flag == "warmup" && given["working-set"],
			flag == "workload" && (given["plan"] || given["find-limit"]):
		default:
			add(flag, list[i+1])
		}
	}
	switch {
	case *asPrinted:
	case given["find-limit"]:
		add("budget", "1m")
		add("workload", "fixed(100,20)")
	case given["toggle"]:
		add("requests", "10")
		add("rounds", "1")
		add("workload", "fixed(50,5)")
	case given["profile"] && name == "run":
		add("max-duration", "60s") // in less, a mixture finds more in the cache than it should
	case given["simulate"]:
		add("profile", "steps(30:1m,10:1m)")
	}
	if command.Parent() != nil && strings.HasPrefix(command.CommandPath(), "redline history") {
		add("runs", keptSeries(t, slowed...))
	}
	if _, experiment := shownScales[name]; experiment && command.Flags().Lookup("out") != nil && !stored {
		if !given["url"] && !given["engine"] && !given["on-url"] && !given["plan"] && name != "tune" && name != "compare" {
			if batch := shownBatch[name]; batch > 0 && !*asPrinted {
				add("max-num-seqs", strconv.Itoa(batch))
			}
		}
		out := filepath.Join(s.dir, "out", strconv.FormatInt(s.outs.Add(1), 10))
		if add("out", out); name != "run" || given["repeat"] {
			kept[name] = out
		}
	}
	if name == "ui" && (len(args) == 0 || strings.HasPrefix(args[0], "-")) {
		added = append(added, keptSeries(t, slowed...))
	}
	if given["label"] && name == "report" {
		add("runs", filepath.Dir(s.words["runs/sweep"]))
	}
	return added
}

// fileLike is a word that names a file or a server.
var fileLike = regexp.MustCompile(`^https?://|/|\.(ya?ml|csv|jsonl|json|html)$`)

// word is what takes the place of a word: another server or file, all of those
// of a pattern, or itself.
func (s *showcase) word(t *testing.T, word string) (words []string) {
	var list []string
	for part := range strings.SplitSeq(word, ",") {
		if instead, ok := s.words[strings.TrimPrefix(part, "./")]; ok {
			list = append(list, instead)
		}
	}
	switch {
	case len(list) == strings.Count(word, ",")+1:
		return []string{strings.Join(list, ",")}
	case strings.Contains(word, "*"):
		found, err := filepath.Glob(filepath.Join(s.dir, word))
		if err != nil || len(found) == 0 {
			t.Fatalf("nothing takes the place of %s", word)
		}
		return found
	case fileLike.MatchString(word):
		t.Fatalf("nothing takes the place of %s: add it to the showcase", word)
	}
	return []string{word}
}

// alternatives are the commands that a|b in one stands for.
func alternatives(args []string) [][]string {
	for i, a := range args {
		if strings.Contains(a, "|") && !strings.Contains(a, " ") {
			var all [][]string
			for one := range strings.SplitSeq(a, "|") {
				all = append(all, slices.Concat(args[:i], []string{one}, args[i+1:]))
			}
			return all
		}
	}
	return [][]string{args}
}
