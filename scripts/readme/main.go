// Command readme runs the commands of the README whose output it shows, against
// a simulated server, and writes what they print in place of it. The block below
// a line <!-- output --> is that of the last command above it.
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

const (
	page   = "README.md"
	server = "http://localhost:8000" // as the README writes it
)

var (
	output  = regexp.MustCompile("(?s)<!-- output -->\n```\n.*?\n```\n")
	command = regexp.MustCompile(`(?m)^redline .*$`)
)

func main() {
	log.SetFlags(0)
	if err := rewrite(); err != nil {
		log.Fatal("readme: ", err)
	}
}

func rewrite() error {
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
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	url, stop, err := serve(binary)
	if err != nil {
		return err
	}
	defer stop()
	blocks := output.FindAllIndex(text, -1)
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
