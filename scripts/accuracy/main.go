//go:build unix

// Command accuracy measures redline against servers that write down when each
// token was really sent, and writes the comparison to docs/measured/ACCURACY.md. It is
// run from the repository's root, by make accuracy.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"redline/scripts/truth"
)

const (
	binary = "bin/redline"
	pace   = 20 * time.Millisecond
)

// trial is one load on one server.
type trial struct {
	title    string
	server   func(port, file string) *exec.Cmd
	streams  int
	output   int // tokens of a reply
	duration time.Duration
	busy     bool // a busy loop on every core beside it
}

// loads are the trials whose figures stand in one table. A window of 24 s
// holds twelve batches of twice a reply's second, which is what it takes for a
// figure to be firm at all.
func loads() []trial {
	var all []trial
	for _, l := range []struct {
		title   string
		streams int
	}{{"1k", 20}, {"10k", 200}, {"45k", 900}} {
		for _, busy := range []bool{false, true} {
			all = append(all, trial{title: l.title, server: simulator, streams: l.streams, output: 50, duration: 24 * time.Second, busy: busy})
		}
	}
	return all
}

// metronomes are two servers that share no code with each other.
var metronomes = []trial{
	{title: "redline sim --pace 20ms", server: simulator, streams: 50, output: 100, duration: 10 * time.Second},
	{title: "scripts/accuracy/testdata/metronome.py", server: independent, streams: 50, output: 100, duration: 10 * time.Second},
}

func simulator(port, file string) *exec.Cmd {
	return exec.Command(binary, "sim", "--listen", "127.0.0.1:"+port, "--pace", pace.String(), "--truth", file)
}

func independent(port, file string) *exec.Cmd {
	return exec.Command("python3", "scripts/accuracy/testdata/metronome.py", port, fmt.Sprint(pace.Seconds()), file)
}

func main() {
	short := flag.Bool("short", false, "a few seconds of the smallest load, to try the script")
	page := flag.String("out", "docs/measured/ACCURACY.md", "file to write")
	flag.Parse()
	loaded := loads()
	if *short {
		loaded = loaded[:2]
		for i := range loaded {
			loaded[i].duration = 4 * time.Second
		}
	}
	if err := run(loaded, *page); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run(trials []trial, page string) error {
	idle := truth.LoadAverage()
	loaded, err := measure(trials)
	if err != nil {
		return err
	}
	compared, err := measure(metronomes)
	if err != nil {
		return err
	}
	text := document(loaded, compared, idle)
	fmt.Print(text)
	return os.WriteFile(page, []byte(text), 0o644)
}

func measure(trials []trial) ([]*comparison, error) {
	var all []*comparison
	for _, t := range trials {
		fmt.Fprintf(os.Stderr, "%s, %d streams, %s\n", t.title, t.streams, t.cores())
		c, err := t.compare()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.title, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func (t trial) cores() string {
	if t.busy {
		return "busy"
	}
	return "idle"
}

// arguments are those of redline run, but for the server and the directory.
func (t trial) arguments() []string {
	return []string{"run", "--concurrency", strconv.Itoa(t.streams), "--workload", fmt.Sprintf("fixed(64,%d)", t.output),
		"--duration", t.duration.String(), "--warmup", "2s"}
}

func (t trial) compare() (*comparison, error) {
	dir, err := os.MkdirTemp("", "accuracy")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bystanders := truth.WatchBystanders()
	server, err := truth.Start(dir, t.server)
	if err != nil {
		return nil, err
	}
	defer server.Kill()
	out := filepath.Join(dir, "run")
	if err := t.drive(server.URL, out); err != nil {
		return nil, err
	}
	lines, err := server.Stop()
	if err != nil {
		return nil, err
	}
	others := bystanders.Share()
	c, err := join(out, lines)
	if err != nil {
		return nil, err
	}
	c.trial, c.others = t, others
	return c, nil
}

// drive runs redline, beside busy loops where the trial wants them.
func (t trial) drive(url, out string) error {
	if t.busy {
		stop, err := occupy(runtime.NumCPU())
		if err != nil {
			return err
		}
		defer stop()
	}
	load := exec.Command(binary, append(t.arguments(), "--url", url, "--quiet", "--out", out)...)
	load.Stderr = os.Stderr
	err := load.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 5 {
		return nil // a run that calls itself invalid is still a run to compare
	}
	return err
}

// occupy keeps cores busy at low priority until it is told to stop. The loops
// end by themselves should this process not live to stop them.
func occupy(cores int) (stop func(), err error) {
	var loops []*exec.Cmd
	stop = func() {
		for _, l := range loops {
			l.Process.Signal(syscall.SIGTERM)
			l.Wait()
		}
	}
	for range cores {
		l := exec.Command("timeout", "120", "nice", "-n", "10", "sh", "-c", "while :; do :; done")
		if err := l.Start(); err != nil {
			stop()
			return nil, err
		}
		loops = append(loops, l)
	}
	return stop, nil
}

func document(loaded, compared []*comparison, loadAverage string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Accuracy\n\nWritten by `make accuracy` on %s; server and client on it, over\n"+
		"loopback. The machine's load average at the start was %s.\n", truth.Machine(), loadAverage)
	fmt.Fprintf(&b, "\nA server that brings a token every %v, as a process of its own, writes down its clock just before and just after each\n"+
		"write. A stamp's error is its distance outside that interval; of events that came in one read only the last one's time\n"+
		"is known, the others are coalesced and say so. Figures are in ms, ± is the distance to the truth; true TTFT is counted\n"+
		"from redline's own sending. A figure is firm where redline itself says that it can be relied on. Others: what programs\n"+
		"that have no part in this took of all cores during a run, good to about 5 points: it is the difference of two accounts.\n", pace)
	fmt.Fprintf(&b, "\n## Under load\n\n`redline %s` and so on\nagainst `redline sim --pace %v --truth`; busy: beside one busy loop per core at nice 10.\n",
		quoted(loaded[0].trial.arguments()), pace)
	stampTable(&b, loaded)
	figureTable(&b, loaded)
	wrong := wrongAndFirm(loaded, 5)
	if len(wrong) == 0 {
		wrong = []string{"none"}
	}
	fmt.Fprintf(&b, "\nOff by more than 5 %% and yet called firm: %s.\n", strings.Join(wrong, "; "))
	fmt.Fprintf(&b, "\n## Two servers that share no code\n\n`redline %s`\n", quoted(compared[0].trial.arguments()))
	for _, c := range compared {
		c.table(&b)
	}
	return b.String()
}

// quoted is a command line as a shell would take it.
func quoted(arguments []string) string {
	var words []string
	for _, a := range arguments {
		if strings.ContainsAny(a, "() ") {
			a = "'" + a + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
