//go:build unix && !linux

package accelerator

import (
	"os/exec"
	"syscall"
)

// apart puts a command into a process group of its own, so that all that it
// starts can be ended with it. Where this program is killed, the command ends
// at its next write.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func end(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
