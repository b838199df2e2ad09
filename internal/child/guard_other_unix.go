//go:build unix && !linux

package child

import "syscall"

// adopt does nothing: this system has no such role, a group has to do.
func adopt() {}

func underGuard() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// sweepUp ends what the command left behind in its group.
func sweepUp(pid int) { signalGroup(pid, syscall.SIGKILL) }

// signalAdopted has none to reach.
func signalAdopted(int, syscall.Signal) {}

// leftAny reports whether anything of the command's group is left.
func leftAny(pid int) bool { return syscall.Kill(-pid, 0) == nil }
