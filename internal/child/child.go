// Package child starts programs that do not outlive this one, unless they are
// meant to. It takes a command and gives a process that can be asked to stop,
// and whose descendants are all gone when it has. Between the two stands a guard, this program
// itself in another role, which notices when its parent is gone, however that
// came about, and ends what was started. It knows nothing of what the
// programs do.
package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Spec is a command to start.
type Spec struct {
	// Command is a line for the shell; Args, where it is "", are a program and
	// its arguments.
	Command string
	Args    []string
	Dir     string
	// Env is the whole environment; nil is this program's own.
	Env []string
	// Input is a file that the command reads; "" for an empty input.
	Input string
	// Output takes what the command writes; nil drops it.
	Output io.Writer
	// Errors takes what it writes to its standard error; nil sends that to
	// Output too.
	Errors io.Writer
	// Leaves says what becomes of processes that the command leaves running in the
	// background when it ends by itself.
	Leaves Leaves
}

// Leaves is a way to treat what a command leaves running when it ends by itself.
type Leaves string

// The ways: to end it with the command, to take it for the command itself where that
// ended well, and to let it live on as the user's own.
const (
	EndsThem   Leaves = "end"
	IsThem     Leaves = "is"
	LetsThemBe Leaves = "let"
)

// role marks a process of this program as a guard, by how it treats what the command
// leaves, and input names the file that its command reads.
const role, input = "REDLINE_GUARD", "REDLINE_GUARD_INPUT"

// What a guard is told through its pipe. Its end means that the parent is gone.
const (
	sayInterrupt = 'i'
	sayTerminate = 't'
	sayKill      = 'k'
)

// Process is a command that was started.
type Process struct {
	cmd  *exec.Cmd
	wish io.WriteCloser
	done chan struct{}
	err  error
	once sync.Once
}

func (s Spec) words() ([]string, error) {
	switch {
	case s.Command != "" && runtime.GOOS == "windows":
		return []string{"cmd", "/C", s.Command}, nil
	case s.Command != "":
		return []string{"/bin/sh", "-c", s.Command}, nil
	case len(s.Args) > 0:
		return s.Args, nil
	}
	return nil, errors.New("no command is given")
}

// Start starts a command. Whoever starts one has to Stop it.
func Start(s Spec) (*Process, error) {
	words, err := s.words()
	if err != nil {
		return nil, err
	}
	if s.Command == "" {
		// Behind a guard it would only show as an exit code.
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, err
		}
	}
	cmd, err := guardCommand(words)
	if err != nil {
		return nil, err
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, s.Output, s.Output
	if s.Errors != nil {
		cmd.Stderr = s.Errors
	}
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	cmd.Env = append([]string{}, env...)
	// A descendant that keeps the output open must not delay the exit.
	cmd.WaitDelay = 2 * time.Second
	wish, err := attach(cmd, s)
	if err != nil {
		return nil, err
	}
	settle := func() {}
	if s.Leaves == LetsThemBe {
		settle, err = outlast(cmd)
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, wish.Close())
	}
	p := &Process{cmd: cmd, wish: wish, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		settle()
		close(p.done)
	}()
	return p, nil
}

// outlast has what a command writes read on after its end, because a program that it
// left would die of a pipe that nobody reads. settle, for after the command's end, waits
// a moment for what that wrote itself.
func outlast(cmd *exec.Cmd) (settle func(), err error) {
	var ends []*os.File
	var copies sync.WaitGroup
	for _, to := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		into := *to
		if _, isFile := into.(*os.File); isFile || into == nil {
			continue
		}
		read, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		copies.Go(func() {
			_, _ = io.Copy(into, read) // up to the end of the last that writes
			_ = read.Close()
		})
		*to, ends = write, append(ends, write)
	}
	return func() {
		for _, f := range ends {
			_ = f.Close() // what was left has its own
		}
		all := make(chan struct{})
		go func() {
			copies.Wait()
			close(all)
		}()
		select {
		case <-all:
		case <-time.After(100 * time.Millisecond):
		}
	}, nil
}

// Done is closed when the command and all that it started have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode is how the command ended, 128 and the signal's number where a
// signal ended it. It waits for that.
func (p *Process) ExitCode() int {
	<-p.done
	var exit *exec.ExitError
	switch {
	case p.err == nil, errors.Is(p.err, exec.ErrWaitDelay):
		return p.cmd.ProcessState.ExitCode()
	case errors.As(p.err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// Interrupt asks the command to stop, as Ctrl-C would.
func (p *Process) Interrupt() { p.tell(sayInterrupt) }

func (p *Process) tell(wish byte) { _, _ = p.wish.Write([]byte{wish}) } // it may be gone already

// Stop asks the command to end, makes it after grace, and returns when nothing
// of it is left. It may be called more than once.
func (p *Process) Stop(grace time.Duration) {
	p.once.Do(func() {
		p.tell(sayTerminate)
		select {
		case <-p.done:
		case <-time.After(grace):
			p.tell(sayKill)
		}
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
			_ = p.cmd.Process.Kill() // a guard that does not answer
		}
		_ = p.wish.Close()
	})
	<-p.done
}

// Tail keeps the last bytes that are written to it, for error messages. It is
// safe for concurrent use.
type Tail struct {
	Max  int
	mu   sync.Mutex
	tail []byte
}

// Write keeps the end of what was written so far.
func (t *Tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tail = append(t.tail, text...)
	if over := len(t.tail) - t.Max; over > 0 {
		t.tail = append(t.tail[:0], t.tail[over:]...)
	}
	return len(text), nil
}

// Lines gives the last n lines that are not empty.
func (t *Tail) Lines(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for line := range strings.Lines(string(t.tail)) {
		if line = strings.TrimRight(line, "\r\n "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(len(lines)-n, 0):]
}

// A guard is this very program again, started with role in its environment. It
// does nothing else, whatever main is: a test binary that ran its tests in the
// place of a guard would start the next one, and so on.
func init() {
	if os.Getenv(role) != "" {
		os.Exit(guard())
	}
}

// guardFailed says in one line why a guard cannot do its work.
func guardFailed(err error) int {
	fmt.Fprintln(os.Stderr, "redline:", err)
	return 127
}
