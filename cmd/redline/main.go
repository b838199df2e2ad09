// Command redline finds how much load an LLM inference engine takes before it
// misses its latency objectives.
package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"redline/internal/clock"
	"redline/internal/drive/socket"
	"redline/internal/observe/telemetry"
	"redline/internal/run/doctor"
	"redline/internal/run/measure"
	"redline/internal/show/live"
	"redline/internal/store"
	"redline/internal/text"
)

// version is set at build time.
var version = "dev"

// pacers is how many goroutines sleep in system calls of their own: the one
// that sends, the embedded engine's, those that read, and those that watch for hold-ups. Such a
// sleep holds a slot of the scheduler until the runtime notices, milliseconds later, that others wait for
// it, so there must be slots to spare.
var pacers = 2 + socket.Readers() + telemetry.Pulses()

func main() {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + pacers)
	interrupts := make(chan os.Signal, 4)
	endings := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		// A terminal that goes away ends the run, unless nohup says otherwise.
		endings = append(endings, syscall.SIGHUP)
	}
	signal.Notify(interrupts, endings...)
	// A run whose progress nobody reads any longer keeps its result.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop, cancel := interruptible(interrupts)
	// Whoever interrupts a third time means it.
	context.AfterFunc(ctx, func() { signal.Reset(endings...) })
	p := &process{
		args: os.Args[1:], stdout: answer{os.Stdout}, stderr: os.Stderr, lookupEnv: os.LookupEnv,
		stop:     stop,
		terminal: term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb" && live.Foreground(os.Stderr),
		color:    term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		takeOver: func() live.Terminal { return live.OpenTerminal(os.Stdin, os.Stderr) },
		interrupt: func() {
			select {
			case interrupts <- os.Interrupt:
			default: // it was pressed often enough
			}
		},
		width: func() int { return columns(os.Stderr) },
		page:  func() int { return columns(os.Stdout) },
		hurry: func() { clock.Prefer() },
	}
	code := p.run(ctx)
	cancel()
	os.Exit(code)
}

// answer is where results are printed. Once nobody reads it, as behind head,
// the process ends as any other does: what was measured is kept by then. The
// file is a field, so that nothing is written to it but by Write.
type answer struct{ file *os.File }

func (a answer) Write(b []byte) (int, error) {
	n, err := a.file.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		signal.Reset(syscall.SIGPIPE)
		return a.file.Write(b[n:])
	}
	return n, err
}

// columns is how wide a terminal is, 0 for anything else. One that does not know its
// width is taken for a usual one.
func columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return cmp.Or(width, usualColumns)
}

const usualColumns = 80

// interruptible gives a channel that the first signal closes and a context
// that the second one ends.
func interruptible(signals <-chan os.Signal) (ctx context.Context, stop <-chan struct{}, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(context.Background())
	first := make(chan struct{})
	go func() {
		<-signals
		close(first)
		<-signals
		cancel()
	}()
	return ctx, first, cancel
}

// stoppable gives a context that the first interrupt ends, for commands that
// have nothing to keep.
func (p *process) stoppable(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// hold is what this command will have locked. The locks are released with it,
// or with the process.
func (p *process) hold(say func(string, ...any)) *store.Hold {
	words := slices.DeleteFunc(slices.Clone(p.args), func(a string) bool { return strings.HasPrefix(a, "-") })
	return &store.Hold{Command: strings.Join(append([]string{"redline"}, words[:min(1, len(words))]...), " "), Say: say}
}

// process is everything that a command may know of the process it runs in, so
// that a test can be one.
type process struct {
	args      []string
	stdout    io.Writer
	stderr    io.Writer
	lookupEnv func(string) (string, bool)
	stop      <-chan struct{} // closed by the first interrupt
	terminal  bool            // stderr is one, and in the foreground
	color     bool            // stdout may be colored
	interrupt func()          // does what Ctrl-C does
	// takeOver takes the terminal for a full screen.
	takeOver func() live.Terminal
	width    func() int // of stderr
	page     func() int // columns of stdout, now; 0 where it is no terminal
	// hurry asks for a priority above ordinary work; nil leaves it as it is.
	hurry func()
	// sides are the addresses of two servers that are compared.
	sides [2]string
	// reports are files to write a result to, by format.
	reports map[string]*string
	// mask hides the secrets of the plans that were resolved.
	mask *text.Mask
	// failOn are the endings that give an exit code, where --fail-on names some.
	failOn []string
	// doctorPace is how long redline doctor looks; its own default if zero.
	doctorPace doctor.Pace
	// helpAll shows every flag in a command's help.
	helpAll bool
	// virtual puts a run into virtual time; nil leaves it in the real one.
	virtual func(*measure.Options)
}
