//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// readme runs the commands of the README and of the guide's first page whose
// output they show, against a simulated server, and writes what they print in
// place of it. The block below a
// line <!-- output --> is that of the last command above it. The block below a
// line <!-- screen 40s: COMMAND --> is what a terminal of 80 × 24 shows that long
// after the command began, where tmux is there to be one. With the argument screen
// it makes those pictures alone.
func readme(h *harness) func() error {
	return func() error {
		// Without the flags of make, so that no version of the day is shown.
		h.redline = filepath.Join(h.work, "redline")
		if out, err := exec.Command("go", "build", "-o", h.redline, "./cmd/redline").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		for _, page := range []string{h.page, "docs/guide/START.md"} {
			if err := h.rewrite(page); err != nil {
				return fmt.Errorf("%s: %w", page, err)
			}
		}
		return nil
	}
}

func (h *harness) rewrite(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	// A server for each: requests of the pictures may end a while after them.
	changes := []func([]byte, string) ([]byte, error){h.terminals, h.outputs}
	if h.Arg(0) == "screen" {
		changes = changes[:1]
	}
	for _, change := range changes {
		s, err := h.simulate(place{})
		if err != nil {
			return err
		}
		text, err = change(text, s.url)
		s.kill()
		if err != nil {
			return err
		}
	}
	return os.WriteFile(page, text, 0o644)
}

const shownURL = "http://localhost:8000" // as the pages write it

var (
	outputBlock = regexp.MustCompile("(?s)<!-- output -->\n```\n.*?\n```\n")
	commandLine = regexp.MustCompile(`(?m)^redline .*$`)
	screenBlock = regexp.MustCompile("(?s)(<!-- screen (\\w+): ([^\n]*) -->\n```\n).*?\n```\n")
)

// outputs puts what commands print in place of what they printed.
func (h *harness) outputs(text []byte, url string) ([]byte, error) {
	blocks := outputBlock.FindAllIndex(text, -1)
	for i := len(blocks) - 1; i >= 0; i-- { // from the end, so that places above stay
		at := blocks[i]
		lines := commandLine.FindAll(text[:at[0]], -1)
		if len(lines) == 0 {
			return nil, errors.New("an output without a command above it")
		}
		printed, err := h.outputOf(url, string(lines[len(lines)-1]))
		if err != nil {
			return nil, err
		}
		text = bytes.Join([][]byte{text[:at[0]], text[at[1]:]}, []byte("<!-- output -->\n```\n"+strings.TrimSpace(printed)+"\n```\n"))
	}
	return text, nil
}

// terminals shows each command on a terminal, and takes down what is on it.
func (h *harness) terminals(text []byte, url string) ([]byte, error) {
	if _, err := exec.LookPath("tmux"); err != nil {
		fmt.Fprintln(os.Stderr, "no tmux: the pictures of the screen stay as they are")
		return text, nil
	}
	var failed error
	text = screenBlock.ReplaceAllFunc(text, func(block []byte) []byte {
		part := screenBlock.FindSubmatch(block)
		after, err := time.ParseDuration(string(part[2]))
		if err != nil {
			failed = err
			return block
		}
		shown, err := h.terminal(url, string(part[3]), after)
		if err != nil {
			failed = err
			return block
		}
		return []byte(string(part[1]) + shown + "\n```\n")
	})
	return text, failed
}

// terminal is what a terminal shows some time after a command began.
func (h *harness) terminal(url, line string, after time.Duration) (string, error) {
	fmt.Fprintf(os.Stderr, "%s, after %s\n", line, after)
	socket := fmt.Sprintf("readme-%d", os.Getpid())
	tmux := func(args ...string) (string, error) {
		out, err := exec.Command("tmux", append([]string{"-L", socket}, args...)...).CombinedOutput()
		return string(out), err
	}
	called := strings.Replace(strings.ReplaceAll(line, shownURL, url), "redline", "CI= exec "+h.redline, 1)
	if output, err := tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", h.work, called); err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	defer func() { _, _ = tmux("kill-server") }() // its own, with the one session
	time.Sleep(after)
	shown, err := tmux("capture-pane", "-p")
	return strings.TrimSpace(strings.ReplaceAll(shown, url, shownURL)), err
}

// outputOf is what a command prints for results, whatever its exit code says of
// them.
func (h *harness) outputOf(url, line string) (string, error) {
	fmt.Fprintln(os.Stderr, line)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", strings.Replace(strings.ReplaceAll(line, shownURL, url), "redline", h.redline, 1))
	c.Dir = h.work
	var output strings.Builder
	c.Stderr = &output
	out, err := c.Output()
	if len(out) == 0 {
		return "", fmt.Errorf("%s: %v: %s", line, err, output.String())
	}
	return strings.ReplaceAll(string(out), url, shownURL), nil
}
