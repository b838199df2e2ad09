//go:build linux

// Command peers drives one server with redline and with other load testers,
// turn about, and writes what each cost and how near the truth each came to
// docs/measured/PEERS.md. The server writes down when it really sent each token. It is
// run from the repository's root, by make peers; what it installs goes into
// the user's cache.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"redline/scripts/truth"
)

const (
	ours   = "bin/redline"
	model  = "sim"
	pace   = 20 * time.Millisecond
	prompt = 64  // tokens
	output = 100 // tokens
)

// load is a closed loop of so many streams.
type load struct {
	streams  int
	requests int
}

// possible is the tokens per second of the load when no client is late.
func (l load) possible() float64 { return float64(l.streams) / pace.Seconds() }

var loads = []load{{50, 400}, {200, 1600}}

func main() {
	rounds := flag.Int("rounds", 2, "runs of every tool at every load")
	short := flag.Bool("short", false, "a small load, to try the script")
	page := flag.String("out", "docs/measured/PEERS.md", "file to write")
	flag.Parse()
	if *short {
		loads = []load{{50, 150}}
	}
	if err := run(*rounds, *page); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(rounds int, page string) error {
	home, err := cache()
	if err != nil {
		return err
	}
	tokenizer, err := fetchTokenizer(home)
	if err != nil {
		return err
	}
	if err := adoptOrphans(); err != nil {
		return err
	}
	d := &document{}
	present := d.prepare(home)
	for _, l := range loads {
		for round := range rounds {
			for _, t := range present {
				fmt.Fprintf(os.Stderr, "%s, %d streams, round %d\n", t.name, l.streams, round+1)
				o, err := drive(t, setting{load: l, home: home, tokenizer: tokenizer})
				d.add(t, l, round, o, err)
			}
		}
	}
	text := d.render()
	fmt.Print(text)
	return os.WriteFile(page, []byte(text), 0o644)
}

// setting is what a tool is to do.
type setting struct {
	load
	home      string // of the virtual environments
	tokenizer string // a directory
	url       string
	out       string // a directory of its own for this run
}

// outcome is what became of one run.
type outcome struct {
	reported reported
	truth    figures
	served   service
	use      use
	others   string // share of the machine that bystanders took
}

// drive runs one tool against a server of its own.
func drive(t tool, s setting) (*outcome, error) {
	var err error
	if s.out, err = os.MkdirTemp("", "peers"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(s.out)
	bystanders := truth.WatchBystanders()
	server, err := truth.Start(s.out, func(port, file string) *exec.Cmd {
		return exec.Command(ours, "sim", "--listen", "127.0.0.1:"+port, "--served-model-name", model,
			"--pace", pace.String(), "--truth", file)
	})
	if err != nil {
		return nil, err
	}
	defer server.Kill()
	s.url = server.URL
	seen, err := listen(s.url)
	if err != nil {
		return nil, err
	}
	o := &outcome{}
	watched, err := watch(t.start(s), server.PID(), filepath.Join(s.out, "log"))
	sent := seen.close()
	if err != nil {
		return nil, err
	}
	lines, err := server.Stop()
	if err != nil {
		return nil, err
	}
	o.others = bystanders.Share()
	if o.reported, err = t.read(s); err != nil {
		return nil, err
	}
	if o.served, err = account(lines); err != nil {
		return nil, err
	}
	o.use = watched.over(o.served)
	o.truth, err = t.judge(s, evidence{lines, starts(lines, sent)})
	return o, err
}
