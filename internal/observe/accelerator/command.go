package accelerator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"redline/internal/child"
)

// Bounds of what a tool may write.
const (
	maxLine      = 64 << 10
	maxReply     = 4 << 20
	maxComplaint = 1 << 10
)

// Why a tool that was understood so far is given up.
var (
	errSilent  = errors.New("says nothing more")
	errEndless = fmt.Errorf("writes a line of more than %d KiB", maxLine>>10)
	errMuch    = fmt.Errorf("writes more than %d MiB", maxReply>>20)
)

// lines runs a command for as long as ctx lasts and hands over each line of
// its output. It ends with the command, with take's error, or when no line
// that take approves of came for as long as patience allows; the command and
// all that it started are gone by then.
func lines(ctx context.Context, words []string, patience func(first bool) time.Duration, take func(string) (good bool, err error)) error {
	read, write := io.Pipe()
	complaints := &child.Tail{Max: maxComplaint}
	process, err := child.Start(child.Spec{Args: words, Output: write, Errors: complaints})
	if err != nil {
		return startError(err)
	}
	said, stop := make(chan string), make(chan struct{})
	var cut error
	var reading sync.WaitGroup
	reading.Go(func() { cut = scan(read, said, stop) })
	reading.Go(func() {
		<-process.Done()
		_ = write.Close() // of a pipe in memory
	})
	err = listen(ctx, said, patience, take)
	close(stop)
	_ = read.Close() // likewise: nobody waits for a listener any more
	process.Stop(0)
	reading.Wait()
	switch {
	case err != nil || ctx.Err() != nil:
		return err
	case errors.Is(cut, bufio.ErrTooLong):
		return errEndless
	}
	return exitErrorOf(process.ExitCode(), complaints)
}

// scan cuts output into lines until it ends or nobody listens.
func scan(out io.Reader, said chan<- string, stop <-chan struct{}) error {
	defer close(said)
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	for lines.Scan() {
		select {
		case said <- lines.Text():
		case <-stop:
			return nil
		}
	}
	return lines.Err()
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
	out, complaints := &cappedBuffer{max: maxReply}, &child.Tail{Max: maxComplaint}
	process, err := child.Start(child.Spec{Args: words, Output: out, Errors: complaints})
	if err != nil {
		return nil, startError(err)
	}
	select {
	case <-process.Done():
	case <-ctx.Done():
	}
	process.Stop(0)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.truncated:
		return nil, errMuch
	case process.ExitCode() != 0:
		return nil, exitErrorOf(process.ExitCode(), complaints)
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

// exitErrorOf words how a command came to its end.
func exitErrorOf(code int, complaints *child.Tail) error {
	text := "ended"
	if code != 0 {
		text = fmt.Sprintf("ended with exit status %d", code)
	}
	if last := complaints.Lines(1); len(last) > 0 {
		text += ": " + strings.ToValidUTF8(last[0], "?")
	}
	return errors.New(text)
}

// cappedBuffer keeps what is written to it and refuses more than it may hold.
type cappedBuffer struct {
	bytes.Buffer
	max       int
	truncated bool
}

func (c *cappedBuffer) Write(p []byte) (int, error) {
	if c.truncated = c.truncated || c.Len()+len(p) > c.max; c.truncated {
		return 0, errMuch
	}
	return c.Buffer.Write(p)
}
