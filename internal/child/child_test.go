//go:build unix

package child

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"redline/internal/must"
)

// asParent makes the test binary start a command and wait for ever.
const asParent = "CHILD_TEST_PARENT"

func TestMain(m *testing.M) {
	if line := os.Getenv(asParent); line != "" {
		os.Unsetenv(asParent)
		p, err := Start(Spec{Command: line, Output: os.Stdout})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		<-p.Done()
		os.Exit(p.ExitCode())
	}
	os.Exit(m.Run())
}

// alive reports whether a process is there and no corpse.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// waitGone waits for the end of processes.
func waitGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		for n := 0; alive(pid); n++ {
			if n == 2000 {
				t.Fatalf("process %d is still there", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// family starts a process that has a child in its group, one outside of it,
// and one that ignores requests to end, and prints their numbers.
const family = `sleep 1000 & a=$!
setsid sleep 1000 & b=$!
(trap '' TERM INT; while :; do sleep 0.1; done) & c=$!
echo $$ $a $b $c
wait`

func numbers(t *testing.T, line string) (pids []int) {
	t.Helper()
	for _, word := range strings.Fields(line) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 4 {
		t.Fatalf("four processes wanted, got %q", line)
	}
	return pids
}

func TestStopLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	read, write := must.Get2(os.Pipe())(t)
	p := must.Get(Start(Spec{Command: family, Output: write}))(t)
	line := must.Get(bufio.NewReader(read).ReadString('\n'))(t)
	p.Stop(50 * time.Millisecond)
	p.Stop(0) // again does no harm
	waitGone(t, numbers(t, line)...)
}

// TestNothingOutlivesAKilledParent kills the parent as the kernel would for
// want of memory: it cannot clean up.
func TestNothingOutlivesAKilledParent(t *testing.T) {
	t.Parallel()
	// A caught signal is at its default again in what is started, also where the
	// tests ignore it as nohup has them do.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			signalFamily(t, exec.Command(os.Args[0]), sig)
		})
	}
	t.Run("a hangup that is ignored, then killed", func(t *testing.T) {
		t.Parallel()
		signalFamily(t, exec.Command("/bin/sh", "-c", `trap "" HUP; exec "$0"`, os.Args[0]), syscall.SIGHUP, syscall.SIGKILL)
	})
}

// signalFamily starts a parent with its family and sends it signals, of which the
// last one ends it.
func signalFamily(t *testing.T, cmd *exec.Cmd, signals ...syscall.Signal) {
	t.Helper()
	cmd.Env = append(os.Environ(), asParent+"="+family)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	for _, sig := range signals {
		must.Do(t, cmd.Process.Signal(sig))
	}
	_ = cmd.Wait()
	if by := cmd.ProcessState.Sys().(syscall.WaitStatus); signals[0] == syscall.SIGHUP && by.Signal() != signals[len(signals)-1] {
		t.Errorf("the parent ended by %s", cmd.ProcessState)
	}
	waitGone(t, numbers(t, line)...)
}

func TestACommandEndsByItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		spec Spec
		code int
		last string
	}{
		{"well", Spec{Command: "echo fine"}, 0, "fine"},
		{"with a code", Spec{Command: "echo bad >&2; exit 7"}, 7, "bad"},
		{"by a signal", Spec{Command: "kill -9 $$"}, 137, ""},
		{"without a shell", Spec{Args: []string{"echo", "a b"}}, 0, "a b"},
		{"unknown to the shell", Spec{Command: "no-such-program-anywhere"}, 127, "not found"},
		{"with an input", Spec{Command: "read word; echo got $word", Input: "testdata/word.txt"}, 0, "got a word"},
		{"in a directory", Spec{Command: "pwd", Dir: "/"}, 0, "/"},
		{"with an environment", Spec{Command: "echo $COLOUR", Env: []string{"COLOUR=red", "PATH=/usr/bin:/bin"}}, 0, "red"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tail := &Tail{Max: 1000}
			c.spec.Output = tail
			p := must.Get(Start(c.spec))(t)
			if code := p.ExitCode(); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			if got := strings.Join(tail.Lines(1), ""); !strings.HasSuffix(got, c.last) {
				t.Errorf("it said %q, want %q", got, c.last)
			}
		})
	}
}

// TestWhatACommandLeaves: a server that a command puts into the background lives on
// where it is the user's, and stands for the command where that is to run it.
func TestWhatACommandLeaves(t *testing.T) {
	t.Parallel()
	for _, leave := range []string{"sleep 1000 & echo $!", "setsid sleep 1000 & echo $!"} {
		for _, way := range []Leaves{EndsThem, IsThem, LetsThemBe} {
			t.Run(string(way)+" "+leave, func(t *testing.T) {
				t.Parallel()
				read, write := must.Get2(os.Pipe())(t)
				p := must.Get(Start(Spec{Command: leave, Output: write, Leaves: way}))(t)
				pid := must.Get(strconv.Atoi(strings.TrimSpace(must.Get(bufio.NewReader(read).ReadString('\n'))(t))))(t)
				t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
				if way != IsThem {
					if code := p.ExitCode(); code != 0 {
						t.Fatalf("exit %d", code)
					}
				}
				if way != EndsThem && !alive(pid) {
					t.Fatal("it was ended")
				}
				if p.Stop(10 * time.Second); way != LetsThemBe {
					waitGone(t, pid)
				} else if !alive(pid) {
					t.Fatal("it was ended by the stop of what had ended")
				}
			})
		}
	}
}

func TestWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	for _, s := range []Spec{{}, {Args: []string{"no-such-program-anywhere"}}} {
		if p, err := Start(s); err == nil {
			p.Stop(0)
			t.Errorf("%+v: started", s)
		}
	}
}

// Whoever sets the guard's variable by mistake is told so.
func TestAGuardOfNothing(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 127 || string(out) != "redline: REDLINE_GUARD is set, which is for redline itself to do: unset it\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestErrorsApart(t *testing.T) {
	t.Parallel()
	said, complained := &Tail{Max: 100}, &Tail{Max: 100}
	p := must.Get(Start(Spec{Command: "echo fine; echo bad >&2", Output: said, Errors: complained}))(t)
	p.ExitCode()
	if got := fmt.Sprint(said.Lines(9), complained.Lines(9)); got != "[fine] [bad]" {
		t.Errorf("said %s", got)
	}
}

func TestAnInterruptIsPassedOn(t *testing.T) {
	t.Parallel()
	read, write := must.Get2(os.Pipe())(t)
	p := must.Get(Start(Spec{Command: `trap 'exit 42' INT; echo ready; while :; do sleep 0.05; done`, Output: write}))(t)
	defer p.Stop(0)
	must.Get(bufio.NewReader(read).ReadString('\n'))(t)
	p.Interrupt()
	if code := p.ExitCode(); code != 42 {
		t.Errorf("exit %d, want 42", code)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	tail := &Tail{Max: 20}
	for i := range 100 {
		fmt.Fprintf(tail, "line %d\n\n", i)
	}
	if got := strings.Join(tail.Lines(2), ","); got != "line 98,line 99" {
		t.Errorf("%q", got)
	}
}
