package accelerator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Bounds of what a tool may write.
const (
	longestLine  = 64 << 10
	longestReply = 4 << 20
	// reapWithin is how long a pipe is waited for that some grandchild keeps
	// open.
	reapWithin = time.Second
)

// errSilent says that a tool went on without a word.
var errSilent = errors.New("says nothing more")

// lines runs a command for as long as ctx lasts and hands over each line of
// its output. It ends with the command, with take's error, or when no line
// that take approves of came for as long as patience allows; the command and
// all that it started are gone by then.
func lines(ctx context.Context, words []string, patience func(first bool) time.Duration, take func(string) (good bool, err error)) error {
	// The kernel ends the command with the thread that started it, so that
	// thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(words[0], words[1:]...)
	apart(cmd)
	complaints := &tail{}
	cmd.Stderr, cmd.WaitDelay = complaints, reapWithin
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return startError(err)
	}
	said, stop := make(chan string), make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() { scan(out, said, stop) })
	err = listen(ctx, said, patience, take)
	close(stop)
	_ = end(cmd) // it may be gone already
	_ = out.Close()
	reading.Wait()
	waited := cmd.Wait()
	if err == nil && ctx.Err() == nil {
		err = ended(waited, complaints.line())
	}
	return err
}

// scan cuts output into lines until it ends or nobody listens.
func scan(out io.Reader, said chan<- string, stop <-chan struct{}) {
	defer close(said)
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 4096), longestLine)
	for lines.Scan() {
		select {
		case said <- lines.Text():
		case <-stop:
			return
		}
	}
}

// listen takes lines until there are no more, or none for too long.
func listen(ctx context.Context, said <-chan string, patience func(first bool) time.Duration, take func(string) (bool, error)) error {
	silence := time.NewTimer(patience(true))
	defer silence.Stop()
	for {
		select {
		case line, more := <-said:
			if !more {
				return nil
			}
			good, err := take(line)
			if err != nil {
				return err
			}
			if good {
				silence.Reset(patience(false))
			}
		case <-silence.C:
			return errSilent
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask runs a command to its end and gives its output.
func ask(ctx context.Context, words []string) ([]byte, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	apart(cmd)
	cmd.Cancel = func() error { return end(cmd) }
	out, complaints := &capped{most: longestReply}, &tail{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, complaints, reapWithin
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && cmd.Process == nil:
		return nil, startError(err)
	case err != nil:
		return nil, ended(err, complaints.line())
	}
	return out.Bytes(), nil
}

// startError leaves out what the caller's message says anyway.
func startError(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("is not on the PATH")
	}
	return err
}

// ended words how a command came to its end.
func ended(err error, complaint string) error {
	text := "ended"
	if err != nil {
		text = "ended with " + err.Error()
	}
	if complaint != "" {
		text += ": " + complaint
	}
	return errors.New(text)
}

// tail keeps the last line that was written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 1 << 10
	t.text = append(t.text, p...)
	if extra := len(t.text) - most; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(p), nil
}

func (t *tail) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?"))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// capped keeps what is written to it and refuses more than it may hold.
type capped struct {
	bytes.Buffer
	most int
}

func (c *capped) Write(p []byte) (int, error) {
	if c.Len()+len(p) > c.most {
		return 0, fmt.Errorf("writes more than %d bytes", c.most)
	}
	return c.Buffer.Write(p)
}
