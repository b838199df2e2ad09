package clock

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// prompt is the nice value of a process that must be on time: above ordinary
// work, below what the system itself hurries.
const prompt = -10

// Prefer asks the kernel to run this process before ordinary work, so that it
// wakes when a request is due although a server or a neighbour keeps every core
// busy. It reports whether the kernel allowed it, which takes a privilege.
func Prefer() bool {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false
	}
	// Threads that come later inherit the value of the one that makes them.
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil || unix.Setpriority(unix.PRIO_PROCESS, id, prompt) != nil {
			return false
		}
	}
	return true
}
