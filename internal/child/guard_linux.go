package child

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adopt makes this process the parent of every descendant whose own parent
// ends, so that none can leave its sight.
func adopt() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } // old kernels: groups only

// underGuard puts the command into a group of its own, and has the kernel end
// it with its guard.
func underGuard() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// sweepUp ends what the command left behind, whatever group it is in.
func sweepUp(pid int) {
	signalGroup(pid, syscall.SIGKILL)
	for range 100 {
		left := children(os.Getpid())
		if len(left) == 0 {
			return
		}
		for _, one := range left {
			_ = syscall.Kill(one, syscall.SIGKILL) // it may be gone already
			_, _ = syscall.Wait4(one, nil, syscall.WNOHANG, nil)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// signalAdopted reaches descendants outside of the command's group whose parents have
// ended.
func signalAdopted(group int, sig syscall.Signal) {
	for _, one := range children(os.Getpid()) {
		if of, err := syscall.Getpgid(one); err == nil && of != group && one != group {
			_ = syscall.Kill(one, sig) // it may be gone already
		}
	}
}

// leftAny reports whether anything of the command is left, and takes leave of what has
// ended.
func leftAny(int) bool {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
			return err == nil
		}
	}
}

// children lists the processes whose parent is pid. Those of a process that
// ends become its own, so that looking again finds all.
func children(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		one, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name before the last parenthesis may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil && parent == pid {
			found = append(found, one)
		}
	}
	return found
}
