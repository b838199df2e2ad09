package accelerator

import (
	"os/exec"
	"syscall"
)

// apart puts a command into a process group of its own, so that all that it
// starts can be ended with it, and has the kernel end it with this program,
// whatever ends that.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func end(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
