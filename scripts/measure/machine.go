//go:build linux

package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

var modelName = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

// machine names this machine as far as it tells.
func machine() string {
	name := fmt.Sprintf("%d cores", runtime.NumCPU())
	about, _ := os.ReadFile("/proc/cpuinfo") // some processors have no name
	if m := modelName.FindSubmatch(about); m != nil {
		name += " of " + string(m[1])
	}
	return name + ", Linux " + lineOf("/proc/sys/kernel/osrelease")
}

// loadAverage is the mean number of runnable tasks over the last minute.
func loadAverage() string {
	minute, _, _ := strings.Cut(lineOf("/proc/loadavg"), " ")
	return minute
}

func lineOf(path string) string {
	b, _ := os.ReadFile(path) // "" where the system has no such file
	return firstLine(b)
}

// bystanders measures what other programs took of this machine, so that a
// disturbed run can be told.
type bystanders struct {
	began time.Time
	busy  time.Duration // of all cores
	ours  time.Duration // of this process and the children it has waited for
}

// watchBystanders begins to measure.
func watchBystanders() bystanders {
	return bystanders{time.Now(), busyTime(lineOf("/proc/stat")), ownTime()}
}

// share tells what part of all cores others took since, as text. All children
// must have ended. It is "unknown" where the system does not tell, and below 0
// where the two accounts of the time disagree: that is shown, not hidden.
func (b bystanders) share() string {
	busy := busyTime(lineOf("/proc/stat"))
	if busy == 0 {
		return "unknown"
	}
	others := busy - b.busy - (ownTime() - b.ours)
	all := time.Since(b.began) * time.Duration(runtime.NumCPU())
	return fmt.Sprintf("%.1f %%", 100*others.Seconds()/all.Seconds())
}

// busyTime reads the first line of /proc/stat: user, nice, system, idle, iowait,
// irq and softirq, in hundredths of a second. It is 0 where that is not there.
func busyTime(line string) time.Duration {
	var user, nice, system, idle, wait, irq, soft time.Duration
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft); err != nil {
		return 0
	}
	return (user + nice + system + irq + soft) * 10 * time.Millisecond
}

func ownTime() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err == nil {
			sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return sum
}
