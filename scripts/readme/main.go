// Command readme runs the commands of the README and of the guide's first page
// whose output they show, against a simulated server, and writes what they print in
// place of it. The block below a line <!-- output --> is that of the last command
// above it. The block below a line <!-- screen 40s: COMMAND --> is what a terminal of
// 80 × 24 shows that long after the command began, where tmux is there to be one.
// With the argument screen it makes those pictures alone.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const server = "http://localhost:8000" // as the pages write it

var (
	pages   = []string{"README.md", "docs/guide/START.md"}
	output  = regexp.MustCompile("(?s)<!-- output -->\n```\n.*?\n```\n")
	command = regexp.MustCompile(`(?m)^redline .*$`)
	screen  = regexp.MustCompile("(?s)(<!-- screen (\\w+): ([^\n]*) -->\n```\n).*?\n```\n")
)

func main() {
	log.SetFlags(0)
	if err := rewriteAll(); err != nil {
		log.Fatal("readme: ", err)
	}
}

func rewriteAll() error {
	dir, err := os.MkdirTemp("", "readme")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// Without the flags of make, so that no version of the day is shown.
	binary := filepath.Join(dir, "redline")
	if said, err := exec.Command("go", "build", "-o", binary, "./cmd/redline").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	for _, page := range pages {
		if err := rewrite(page, binary); err != nil {
			return err
		}
	}
	return nil
}

func rewrite(page, binary string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	url, stop, err := serve(binary)
	if err != nil {
		return err
	}
	text, err = pictures(text, binary, url)
	stop()
	if err != nil {
		return err
	}
	// Another server: requests of the pictures may end a while after them.
	if url, stop, err = serve(binary); err != nil {
		return err
	}
	defer stop()
	blocks := output.FindAllIndex(text, -1)
	if len(os.Args) > 1 && os.Args[1] == "screen" {
		blocks = nil
	}
	for i := len(blocks) - 1; i >= 0; i-- { // from the end, so that places above stay
		at := blocks[i]
		shown := command.FindAll(text[:at[0]], -1)
		if len(shown) == 0 {
			return fmt.Errorf("%s has an output without a command above it", page)
		}
		printed, err := run(binary, url, string(shown[len(shown)-1]))
		if err != nil {
			return err
		}
		text = bytes.Join([][]byte{text[:at[0]], text[at[1]:]}, []byte("<!-- output -->\n```\n"+strings.TrimSpace(printed)+"\n```\n"))
	}
	return os.WriteFile(page, text, 0o644)
}

// pictures shows each command on a terminal, and takes down what is on it.
func pictures(text []byte, binary, url string) ([]byte, error) {
	if _, err := exec.LookPath("tmux"); err != nil {
		log.Print("no tmux: the pictures of the screen stay as they are")
		return text, nil
	}
	var failed error
	text = screen.ReplaceAllFunc(text, func(block []byte) []byte {
		part := screen.FindSubmatch(block)
		after, err := time.ParseDuration(string(part[2]))
		if err != nil {
			failed = err
			return block
		}
		shown, err := picture(binary, url, string(part[3]), after)
		if err != nil {
			failed = err
			return block
		}
		return []byte(string(part[1]) + shown + "\n```\n")
	})
	return text, failed
}

// picture is what a terminal shows some time after a command began.
func picture(binary, url, line string, after time.Duration) (string, error) {
	log.Printf("%s, after %s", line, after)
	socket := fmt.Sprintf("readme-%d", os.Getpid())
	tmux := func(args ...string) (string, error) {
		out, err := exec.Command("tmux", append([]string{"-L", socket}, args...)...).CombinedOutput()
		return string(out), err
	}
	called := strings.Replace(strings.ReplaceAll(line, server, url), "redline", "CI= exec "+binary, 1)
	if said, err := tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", filepath.Dir(binary), called); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	defer func() { _, _ = tmux("kill-server") }() // its own, with the one session
	time.Sleep(after)
	shown, err := tmux("capture-pane", "-p")
	return strings.TrimSpace(strings.ReplaceAll(shown, url, server)), err
}

// serve starts a simulated server on a free port and says where it is.
func serve(binary string) (url string, stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	sim := exec.CommandContext(ctx, binary, "sim", "--listen", "127.0.0.1:0")
	said, err := sim.StderrPipe()
	if err == nil {
		err = sim.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	stop = func() {
		cancel()
		_ = sim.Wait() // it was killed
	}
	line := make([]byte, 4096)
	n, err := said.Read(line)
	if found := regexp.MustCompile(`http://[\d.]+:\d+`).Find(line[:n]); found != nil {
		return string(found), stop, nil
	}
	stop()
	return "", nil, fmt.Errorf("redline sim does not serve: %s %v", line[:n], err)
}

// run gives what a command prints for results, whatever its exit code says of
// them.
func run(binary, url, line string) (string, error) {
	log.Printf("%s", line)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", strings.Replace(strings.ReplaceAll(line, server, url), "redline", binary, 1))
	c.Dir = filepath.Dir(binary)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if len(out) == 0 {
		return "", fmt.Errorf("%s: %v: %s", line, err, said.String())
	}
	return strings.ReplaceAll(string(out), url, server), nil
}
