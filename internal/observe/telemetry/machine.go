package telemetry

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MachineUse is what happened on the whole machine, or to this process by the
// machine's doing, over a stretch of time. What this system does not tell is
// nil.
type MachineUse struct {
	// Cores is the busy share of each core, whoever used it.
	Cores []float64 `json:"cores,omitempty"`
	// MachineShare is the busy share of all cores together.
	MachineShare *float64 `json:"machine_share,omitempty"`
	// StealShare is the share of all cores' time that a hypervisor gave to
	// other machines.
	StealShare *float64 `json:"steal_share,omitempty"`
	// ThermalThrottles is how often a core or its package was slowed down for
	// its heat; cores that share a sensor each count.
	ThermalThrottles *uint64 `json:"thermal_throttles,omitempty"`
	// QuotaThrottles is in how many periods a CPU quota held processes of this
	// process's control group back.
	QuotaThrottles *uint64 `json:"quota_throttles,omitempty"`
	// QuotaHeld is how long it held them back, all cores added up.
	QuotaHeld *time.Duration `json:"quota_held_ns,omitempty"`
	// OpenFiles is the largest number of files that this process had open.
	OpenFiles *int `json:"open_files,omitempty"`
	// FileLimit is how many it may have open.
	FileLimit *int `json:"file_limit,omitempty"`
}

// machine reads what Linux tells under /proc and /sys; elsewhere there is
// nothing there, and everything is absent.
type machine struct {
	root fs.FS
	// thermal and quota are the files that were there at the start.
	thermal, quota []string
}

type machineSample struct {
	at          int64
	cores       []coreTime
	thermal     *uint64
	quota       *uint64
	held        *time.Duration
	open, limit *int
}

// coreTime is a core's time in ticks since the machine's start.
type coreTime struct{ busy, steal, total uint64 }

func newMachine(root fs.FS) *machine {
	m := &machine{root: root}
	// The pattern is well formed, which is all that Glob can object to.
	m.thermal, _ = fs.Glob(root, "sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count")
	for _, dir := range ControlGroups(m.text("proc/self/cgroup")) {
		if file := path.Join(dir, "cpu.stat"); strings.Contains(m.text(file), "nr_throttled") {
			m.quota = append(m.quota, file)
		}
	}
	return m
}

func (m *machine) read(at int64) machineSample {
	s := machineSample{at: at, cores: cores(m.text("proc/stat")), open: m.openFiles()}
	if soft, _, _ := FileLimits(m.text("proc/self/limits")); soft != nil {
		s.limit = new(int(*soft))
	}
	for _, file := range m.thermal {
		if n, err := strconv.ParseUint(strings.TrimSpace(m.text(file)), 10, 64); err == nil {
			s.thermal = plus(s.thermal, n)
		}
	}
	for _, file := range m.quota {
		for line := range strings.Lines(m.text(file)) {
			s.addQuota(line)
		}
	}
	return s
}

// addQuota reads a line of cpu.stat; the older kind of control groups has the
// time in nanoseconds, the newer in microseconds.
func (s *machineSample) addQuota(line string) {
	key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		return
	}
	switch key {
	case "nr_throttled":
		s.quota = plus(s.quota, n)
	case "throttled_time":
		s.held = plus(s.held, time.Duration(n))
	case "throttled_usec":
		s.held = plus(s.held, time.Duration(n)*time.Microsecond)
	}
}

// plus adds to what may not be there yet.
func plus[T uint64 | time.Duration](sum *T, n T) *T {
	if sum != nil {
		n += *sum
	}
	return &n
}

// text gives a file's text, "" where there is none.
func (m *machine) text(file string) string {
	text, err := fs.ReadFile(m.root, file)
	if err != nil {
		return ""
	}
	return string(bytes.TrimRight(text, "\x00"))
}

// openFiles counts this process's descriptors. Newer kernels tell the number
// as the directory's size, which spares listing ten thousand of them.
func (m *machine) openFiles() *int {
	const dir = "proc/self/fd"
	about, err := fs.Stat(m.root, dir)
	if err != nil {
		return nil
	}
	if n := int(about.Size()); n > 0 {
		return &n
	}
	entries, err := fs.ReadDir(m.root, dir)
	if err != nil {
		return nil
	}
	return new(len(entries))
}

// cores reads the lines cpu0, cpu1 and so on of /proc/stat: user, nice,
// system, idle, iowait, irq, softirq and steal; guests are part of user.
func cores(stat string) []coreTime {
	var all []coreTime
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") || fields[0] == "cpu" {
			continue
		}
		var c coreTime
		for i, field := range fields[1:9] {
			ticks, err := strconv.ParseUint(field, 10, 64)
			if err != nil {
				return nil
			}
			c.total += ticks
			switch i {
			case 3, 4: // idle, iowait
			case 7:
				c.steal += ticks
			default:
				c.busy += ticks
			}
		}
		all = append(all, c)
	}
	return all
}

// FileLimits finds how many files a process may have open by its
// /proc/self/limits, which may not say: the soft and the hard limit, nil where
// there is none.
func FileLimits(limits string) (soft, hard *int64, told bool) {
	const row = "Max open files"
	for line := range strings.Lines(limits) {
		fields := strings.Fields(strings.TrimPrefix(line, row))
		if !strings.HasPrefix(line, row) || len(fields) < 2 {
			continue
		}
		for i, bound := range []**int64{&soft, &hard} {
			if n, err := strconv.ParseInt(fields[i], 10, 64); err == nil {
				*bound = &n
			}
		}
		return soft, hard, true
	}
	return nil, nil, false
}

// ControlGroups are the directories of the groups that bound the CPU time of a
// process, by its /proc/self/cgroup: its own and all groups above, since a limit on
// any of them holds it back.
func ControlGroups(cgroup string) (dirs []string) {
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || parts[1] != "" && !slices.Contains(strings.Split(parts[1], ","), "cpu") {
			continue
		}
		mount := path.Join("sys/fs/cgroup", parts[1])
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			dirs = append(dirs, path.Join(mount, dir))
			if dir == "/" {
				break
			}
		}
	}
	return dirs
}
