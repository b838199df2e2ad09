//go:build unix

package child

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// orphanGrace is how long a command whose parent is gone has to end by itself.
const orphanGrace = 3 * time.Second

// guardCommand is the command that starts a guard for words. It stands in a group
// of its own: an interrupt from the keyboard is for the parent to pass on.
func guardCommand(words []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, words...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nil
}

// attach gives the pipe through which the guard is told what to do, and tells
// it that it is one.
func attach(cmd *exec.Cmd, s Spec) (io.WriteCloser, error) {
	cmd.Env = append(cmd.Env, role+"="+string(cmp.Or(s.Leaves, EndsThem)), input+"="+s.Input)
	return cmd.StdinPipe()
}

// guard runs the program that the arguments name until it ends, or until the
// parent asks for its end or is gone itself, and gives the exit code.
func guard() int {
	if len(os.Args) < 2 {
		return guardFailed(errors.New(role + " is set, which is for redline itself to do: unset it"))
	}
	file, leaves := os.Getenv(input), Leaves(os.Getenv(role))
	if err := errors.Join(os.Unsetenv(role), os.Unsetenv(input)); err != nil {
		return guardFailed(err)
	}
	// Only the parent decides, and a closed output is no reason to leave. What
	// is caught, unlike what is ignored, the command does not inherit.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	adopt()
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = underGuard()
	if file != "" {
		in, err := os.Open(file)
		if err != nil {
			return guardFailed(err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	if err := cmd.Start(); err != nil {
		return guardFailed(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state tells
		for leaves == IsThem && cmd.ProcessState.Success() && leftAny(cmd.Process.Pid) {
			time.Sleep(20 * time.Millisecond)
		}
		close(done)
	}()
	wishes := make(chan byte)
	go listen(wishes)
	if asked := obey(cmd.Process.Pid, wishes, done); asked || leaves != LetsThemBe {
		sweepUp(cmd.Process.Pid)
	}
	state := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if state.Signaled() {
		return 128 + int(state.Signal())
	}
	return state.ExitStatus()
}

// listen passes on what the parent wishes, and its end as a last wish.
func listen(wishes chan<- byte) {
	var one [1]byte
	for {
		if _, err := io.ReadFull(os.Stdin, one[:]); err != nil {
			close(wishes)
			return
		}
		wishes <- one[0]
	}
}

// obey waits for the command's end and passes on what is wished meanwhile. asked says
// that its end was.
func obey(pid int, wishes <-chan byte, done <-chan struct{}) (asked bool) {
	var deadline <-chan time.Time
	for {
		select {
		case <-done:
			return asked
		case <-deadline:
			signalGroup(pid, syscall.SIGKILL)
		case wish, ok := <-wishes:
			asked = true
			switch {
			case !ok:
				signalGroup(pid, syscall.SIGTERM)
				wishes, deadline = nil, time.After(orphanGrace)
			case wish == sayInterrupt:
				signalGroup(pid, syscall.SIGINT)
			case wish == sayTerminate:
				signalGroup(pid, syscall.SIGTERM)
			case wish == sayKill:
				signalGroup(pid, syscall.SIGKILL)
			}
		}
	}
}

// signalGroup reaches the command's group, and what has left it and was adopted.
func signalGroup(pid int, sig syscall.Signal) {
	signalAdopted(pid, sig)
	if err := syscall.Kill(-pid, sig); errors.Is(err, syscall.ESRCH) {
		_ = syscall.Kill(pid, sig) // its group is not made yet, or it has left it
	}
}
