//go:build unix

package truth

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bystanders measures what other programs took of this machine, so that a
// disturbed run can be told.
type Bystanders struct {
	began time.Time
	busy  time.Duration // of all cores
	ours  time.Duration // of this process and the children it has waited for
}

// WatchBystanders begins to measure.
func WatchBystanders() Bystanders {
	return Bystanders{time.Now(), busyTime(firstLine("/proc/stat")), ownTime()}
}

// Share tells what part of all cores others took since, as text. All children
// must have ended. It is "unknown" where the system does not tell, and below 0
// where the two accounts of the time disagree: that is shown, not hidden.
func (b Bystanders) Share() string {
	busy := busyTime(firstLine("/proc/stat"))
	if busy == 0 {
		return "unknown"
	}
	others := busy - b.busy - (ownTime() - b.ours)
	all := time.Since(b.began) * time.Duration(runtime.NumCPU())
	return fmt.Sprintf("%.1f %%", 100*others.Seconds()/all.Seconds())
}

// busyTime reads the first line of /proc/stat: user, nice, system, idle,
// iowait, irq, softirq and more, in hundredths of a second.
func busyTime(line string) time.Duration {
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[0] != "cpu" {
		return 0
	}
	var busy time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} {
		ticks, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0
		}
		busy += time.Duration(ticks) * 10 * time.Millisecond
	}
	return busy
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
