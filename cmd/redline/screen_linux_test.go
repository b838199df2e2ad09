package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"redline/internal/must"
	"redline/internal/workers/bus"
)

// session is redline on a terminal of its own.
type session struct {
	cmd   *exec.Cmd
	tty   *os.File // the side of whoever sits before it
	inner *os.File
	shown *buffer
	out   string // the run directory
	found unix.Termios
}

// onTerminal runs a long load on a terminal of 80 × 24.
func onTerminal(t *testing.T, env []string, keyboard bool, args ...string) *session {
	t.Helper()
	return onTerminalBy(t, nil, env, keyboard, args...)
}

// onTerminalBy has another command run it, which gets redline's as arguments.
func onTerminalBy(t *testing.T, shell, env []string, keyboard bool, args ...string) *session {
	t.Helper()
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	number, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPTLCK, 0)
	}
	must.Do(t, err)
	inner := must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	s := &session{tty: tty, inner: inner, shown: new(buffer), out: filepath.Join(t.TempDir(), "run")}
	s.resize(t, 80, 24)
	s.found = s.termios(t)
	s.cmd, _, _ = program(t, append([]string{"run", "--concurrency", "4", "--duration", "10m", "--warmup", "100ms", "--workload", "fixed(16,20)",
		"--slo", "ttft:p99<10s", "--out", s.out}, args...)...)
	s.cmd.Env = append(s.cmd.Env, append([]string{"TERM=xterm-256color", "CI=", "NO_COLOR="}, env...)...)
	s.cmd.Stdout, s.cmd.Stderr = inner, inner
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	if keyboard {
		s.cmd.Stdin = inner
	}
	if shell != nil {
		s.cmd.Path, s.cmd.Args = shell[0], append(shell, s.cmd.Args...)
	}
	must.Do(t, s.cmd.Start())
	go func() {
		part := make([]byte, 4096)
		for {
			n, err := tty.Read(part)
			s.shown.Write(part[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { s.cmd.Process.Kill(); tty.Close(); inner.Close() })
	return s
}

func (s *session) resize(t *testing.T, width, height uint16) {
	t.Helper()
	must.Do(t, unix.IoctlSetWinsize(int(s.inner.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}))
}

func (s *session) termios(t *testing.T) unix.Termios {
	t.Helper()
	now := must.Get(unix.IoctlGetTermios(int(s.inner.Fd()), unix.TCGETS))(t)
	return *now
}

func (s *session) shows(t *testing.T, text string) {
	t.Helper()
	await(t, fmt.Sprintf("%q on the screen", text), func() bool { return strings.Contains(s.shown.String(), text) })
}

func (s *session) press(t *testing.T, keys string) {
	t.Helper()
	must.Get(s.tty.WriteString(keys))(t)
}

const entered, left = "\x1b[?1049h", "\x1b[?1049l"

// ends waits for the end of the run and checks that the terminal is as it was
// found, with the report on it.
func (s *session) ends(t *testing.T) (after string) {
	t.Helper()
	_ = s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	if now := s.termios(t); now != s.found {
		t.Errorf("the terminal was left as %+v, found as %+v", now, s.found)
	}
	s.shows(t, "Kept in")
	_, after, ok := strings.Cut(s.shown.String(), left)
	if !ok || strings.Contains(after, entered) {
		t.Errorf("the screen was not given back: %q", after)
	}
	if !strings.Contains(after, "Kept in") || !strings.Contains(after, "INTERRUPTED") {
		t.Errorf("the report is not on the terminal: %q", after)
	}
	if !strings.Contains(s.shown.String(), "\x1b[?25l") || !strings.Contains(s.shown.String(), "\x1b[?25h"+left) {
		t.Error("the cursor was not given back")
	}
	return after
}

// A run on a terminal is a full screen with keys: help, freeze, another size, and
// an end in order.
func TestScreenKeys(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, nil, true, "--url", metronome(t, 2*time.Millisecond))
	s.shows(t, "within limits so far")
	if s.termios(t) == s.found {
		t.Error("keys would be echoed")
	}
	s.resize(t, 120, 40)
	s.shows(t, "\x1b[40;1H")
	s.press(t, "?")
	s.shows(t, "freeze the screen; the run continues")
	s.press(t, "?p")
	s.shows(t, "FROZEN")
	frozen := len(s.shown.String())
	time.Sleep(4 * 250 * time.Millisecond)
	if more := s.shown.String()[frozen:]; strings.Contains(more, "ok") {
		t.Errorf("a frozen screen went on: %q", more)
	}
	s.press(t, "p")
	s.press(t, "q")
	s.shows(t, "stopping")
	s.ends(t)
}

// Whatever ends a run gives the terminal back: Ctrl-C, which the terminal makes a
// signal of, and a signal from elsewhere.
func TestScreenIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*session, *testing.T){
		"Ctrl-C":  func(s *session, t *testing.T) { s.press(t, "\x03") },
		"SIGTERM": func(s *session, t *testing.T) { s.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onTerminal(t, nil, true, "--url", metronome(t, 2*time.Millisecond))
			s.shows(t, "within limits so far")
			end(s, t)
			s.ends(t)
		})
	}
}

// A screen that waits for workers says how many came.
func TestScreenCountsWorkersThatCame(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, []string{bus.TokenVariable + "=" + shownToken}, true, "--workers", "2", "--nats", serveWorkers(t, 1))
	s.shows(t, "waiting: 1 of 2 workers came")
	s.press(t, "q")
	_ = s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
}

// A second q ends at once what the first lets end in order.
func TestScreenStopsAtOnce(t *testing.T) {
	t.Parallel()
	url, _ := halfHanging(t)
	s := onTerminal(t, nil, true, "--url", url, "--api", "openai-chat", "--model", "m")
	s.shows(t, "4 in flight")
	s.press(t, "q")
	s.shows(t, "q again stops at once")
	s.press(t, "q")
	s.ends(t)
}

// Without a keyboard the screen is shown all the same, and NO_COLOR leaves it
// without colors.
func TestScreenWithoutKeyboardOrColor(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, []string{"NO_COLOR=1"}, false, "--url", metronome(t, 2*time.Millisecond))
	s.shows(t, "within limits so far")
	if s.termios(t) != s.found {
		t.Error("the terminal was changed for keys that cannot come")
	}
	s.cmd.Process.Signal(syscall.SIGINT)
	s.ends(t)
	if strings.Contains(s.shown.String(), "\x1b[32m") || strings.Contains(s.shown.String(), "\x1b[1m") {
		t.Error("it is colored")
	}
}

// Where a screen cannot be shown or is not wanted, the line is.
func TestScreenFallsBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env, args []string
		inPlace   bool
	}{
		"dumb":        {env: []string{"TERM=dumb"}},
		"CI":          {env: []string{"CI=true"}, inPlace: true},
		"flag":        {args: []string{"--progress", "line"}, inPlace: true},
		"environment": {env: []string{"REDLINE_PROGRESS=line"}, inPlace: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onTerminal(t, tt.env, true, append([]string{"--url", metronome(t, 2*time.Millisecond)}, tt.args...)...)
			s.shows(t, "4 in flight")
			s.cmd.Process.Signal(syscall.SIGINT)
			_ = s.cmd.Wait()
			s.shows(t, "Kept in")
			if strings.Contains(s.shown.String(), entered) {
				t.Error("there was a screen")
			}
			if got := strings.Contains(s.shown.String(), "\r\x1b[K"); got != tt.inPlace {
				t.Errorf("a line that is rewritten in place: %v", got)
			}
		})
	}
}

// A run in the background of a shell writes plain lines: the terminal is that of
// the shell's prompt.
func TestScreenStaysOffInTheBackground(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	s := onTerminalBy(t, []string{shell, "-c", `set -m; "$@" & wait`, "bash"}, nil, true, "--duration", "1s", "--url", metronome(t, 2*time.Millisecond))
	_ = s.cmd.Wait()
	s.shows(t, "Kept in")
	if shown := s.shown.String(); strings.Contains(shown, entered) || strings.Contains(shown, "\r\x1b[K") || !strings.Contains(shown, "4 in flight") {
		t.Errorf("it drew on a terminal that is not its own: %q", shown)
	}
}

// A screen that is asked for and cannot be shown is a mistake that names its cure.
func TestScreenNeedsATerminal(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"screen": "use --progress line",
		"scren":  "did you mean screen?",
	} {
		code, _, stderr := redline(t, nil, "run", "--progress", args)
		if code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", args, code, stderr)
		}
	}
}
