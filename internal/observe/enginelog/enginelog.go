// Package enginelog follows an engine's log while a run goes on. It takes the
// name of a file or a command that prints one, and gives a bounded copy of
// what is added and a count of the lines that report errors. Whatever goes
// wrong with it is data: it ends no run, and leaves no process behind.
package enginelog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"redline/internal/child"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// maxBytes bounds how much of a log is kept.
const maxBytes = 16 << 20

// errorWords are words of any program's log by which lines are told apart, in the
// order in which they are looked for: a line is of one kind. Engines have words
// of their own for some.
var errorWords = []struct {
	kind  string
	words []string
}{
	{"preemption", nil},
	{"out of memory", []string{"out of memory", "outofmemory", "cuda oom", "oom-kill", "oom kill", "cannot allocate memory"}},
	{"error", []string{"error", "exception", "traceback", "fatal", "panic:"}},
}

// errorKind names the kind of a line, "" for none. A report that counts none of
// something is none.
func errorKind(line string) string {
	line = strings.ToLower(line)
	for _, harmless := range []string{"0 errors", "no error", "errors: 0", "errors=0", "preemptions: 0"} {
		line = strings.ReplaceAll(line, harmless, "")
	}
	for _, t := range errorWords {
		in := func(word string) bool { return strings.Contains(line, word) }
		if slices.ContainsFunc(t.words, in) || slices.ContainsFunc(engine.All(), func(e *engine.Engine) bool {
			return slices.ContainsFunc(e.Log[t.kind], in)
		}) {
			return t.kind
		}
	}
	return ""
}

// Follower copies a log until Stop.
type Follower struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	hide   *text.Mask
	into   io.Writer

	mu        sync.Mutex
	keptBytes int64
	use       telemetry.EngineLog
}

// Follow begins to copy what is added to a file, or what a command prints,
// to a writer. A source that names an existing file is one; anything with a
// blank in it is a command for the shell. Secrets are masked in what is kept.
func Follow(source string, into io.Writer, hide *text.Mask) (*Follower, error) {
	l := &Follower{hide: hide, into: into, use: telemetry.EngineLog{Source: hide.Hide(source)}}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	info, err := os.Stat(source)
	switch {
	case err == nil:
		file, err := openEnd(source, info)
		if err != nil {
			cancel()
			return nil, err
		}
		l.done.Go(func() { l.followFile(ctx, file) })
	case strings.ContainsAny(strings.TrimSpace(source), " \t"):
		if err := l.followCommand(ctx, source); err != nil {
			cancel()
			return nil, err
		}
	default:
		cancel()
		return nil, err
	}
	return l, nil
}

// openEnd opens a file at its end: only what the run adds is of interest. Of
// anything but a plain file an end may never come, and a pipe without a writer
// is not even opened.
func openEnd(source string, info os.FileInfo) (*os.File, error) {
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", source)
	}
	file, err := os.Open(source)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// logPause is how long a reader waits for a file to grow.
const logPause = 200 * time.Millisecond

// followFile copies what is added. A file that shrinks was started again.
func (l *Follower) followFile(ctx context.Context, file *os.File) {
	defer file.Close()
	lines := newLineReader(l.line)
	at, err := file.Seek(0, io.SeekCurrent)
	for err == nil {
		var n int64
		n, err = io.Copy(lines, file)
		at += n
		if info, statErr := file.Stat(); err == nil && statErr == nil && info.Size() < at {
			at, err = file.Seek(0, io.SeekStart)
			continue
		}
		if ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done(): // one more look at what was written until now
		case <-time.After(logPause):
		}
	}
	lines.flush()
	l.fail(err)
}

// grace is what a command gets to end by itself.
const grace = time.Second

// followCommand runs a command until the run is over.
func (l *Follower) followCommand(ctx context.Context, command string) error {
	lines := newLineReader(l.line)
	process, err := child.Start(child.Spec{Command: command, Output: lines})
	if err != nil {
		return err
	}
	l.done.Go(func() {
		defer lines.flush()
		select {
		case <-process.Done():
			l.fail(fmt.Errorf("the command ended before the run did, with exit code %d", process.ExitCode()))
		case <-ctx.Done():
		}
		process.Stop(grace)
	})
	return nil
}

func (l *Follower) fail(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.use.Failure = brief(err.Error())
}

// line takes one line of the log.
func (l *Follower) line(text string) {
	text = l.hide.HidePiece(text) // a very long line comes in pieces
	l.mu.Lock()
	defer l.mu.Unlock()
	u := &l.use
	u.Lines++
	u.Bytes += int64(len(text)) + 1
	if kind := errorKind(text); kind != "" {
		if u.Kinds == nil {
			u.Kinds = map[string]int64{}
		}
		if u.Kinds[kind]++; u.Kinds[kind] == 1 {
			u.Excerpt = append(u.Excerpt, brief(text))
		}
	}
	if u.Cut || l.keptBytes+int64(len(text))+1 > maxBytes {
		if !u.Cut {
			u.Cut = true
			_, _ = fmt.Fprintf(l.into, "… redline keeps no more than %d MB of this log\n", maxBytes>>20)
		}
		return
	}
	n, err := io.WriteString(l.into, text+"\n")
	l.keptBytes += int64(n)
	if err != nil {
		u.Cut, u.Failure = true, brief(err.Error())
	}
}

// Stop takes what is there, ends what was started for it, and gives the account.
func (l *Follower) Stop() telemetry.EngineLog {
	l.cancel()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.use
}

// maxLine is where a line that does not end is cut.
const maxLine = 16 << 10

// lineReader hands on whole lines of what is written to it. It is safe for
// concurrent use.
type lineReader struct {
	mu   sync.Mutex
	rest []byte
	each func(string)
}

func newLineReader(each func(string)) *lineReader { return &lineReader{each: each} }

func (r *lineReader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest = append(r.rest, p...)
	for {
		n, line, _ := bufio.ScanLines(r.rest, false)
		switch {
		case n > 0:
			r.each(string(line))
			r.rest = r.rest[n:]
		case len(r.rest) > maxLine:
			r.each(string(r.rest))
			r.rest = nil
		default:
			return len(p), nil
		}
	}
}

func (r *lineReader) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rest) > 0 {
		r.each(string(r.rest))
		r.rest = nil
	}
}

// brief keeps a document from growing with whatever an engine writes. Secrets
// are hidden before.
func brief(said string) string {
	const limit = 200
	return text.Cut(text.Line(strings.TrimSpace(said)), limit)
}
