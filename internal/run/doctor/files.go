package doctor

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/validity"
	"redline/internal/observe/telemetry"
)

// files reads what Linux tells under /proc and /sys; elsewhere there is
// nothing there.
type files struct{ root fs.FS }

// text gives a file's text without the white space around it, "" where there
// is none.
func (f files) text(name string) string {
	content, err := fs.ReadFile(f.root, name)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(content))
}

// describe puts into a machine what its files tell.
func (f files) describe(m *validity.Machine) {
	m.Online = onlineCores(f.text("sys/devices/system/cpu/online"))
	m.QuotaCores = f.quota()
	m.Governors = f.governors()
	m.Load = firstNumber(f.text("proc/loadavg"))
	if soft, hard, told := telemetry.FileLimits(f.text("proc/self/limits")); told {
		m.Files = &validity.Limit{Soft: soft, Hard: hard}
	}
	m.Ports = portRange(f.text("proc/sys/net/ipv4/ip_local_port_range"))
	if m.Ports != nil {
		m.Ports.Waiting = timeWaitSockets(f.text("proc/net/sockstat"))
	}
	m.ClockSource = f.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
	if name := f.defaultInterface(); name != "" {
		m.Interface = &validity.Interface{Name: name, GROFlush: whole(f.text(path.Join("sys/class/net", name, "gro_flush_timeout")))}
	}
}

// onlineCores counts a list such as "0-3,8".
func onlineCores(list string) int {
	n := 0
	for part := range strings.SplitSeq(list, ",") {
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		from, err1 := strconv.ParseUint(low, 10, 16)
		to, err2 := strconv.ParseUint(high, 10, 16)
		if err1 != nil || err2 != nil || to < from {
			return 0
		}
		n += int(to-from) + 1
	}
	return n
}

// quota is the smallest CPU quota of this process's control group and of all
// groups above it, each of which holds it back.
func (f files) quota() *float64 {
	var least *float64
	for _, dir := range telemetry.ControlGroups(f.text("proc/self/cgroup")) {
		cores := quotaOf(f.text(path.Join(dir, "cpu.max")))
		if cores == nil {
			cores = quotaOf(f.text(path.Join(dir, "cpu.cfs_quota_us")) + " " + f.text(path.Join(dir, "cpu.cfs_period_us")))
		}
		if cores != nil && (least == nil || *cores < *least) {
			least = cores
		}
	}
	return least
}

// quotaOf reads "quota period" in microseconds; "max" and -1 do not bound.
func quotaOf(text string) *float64 {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return nil
	}
	quota, err1 := strconv.ParseInt(fields[0], 10, 64)
	period, err2 := strconv.ParseInt(fields[1], 10, 64)
	if err1 != nil || err2 != nil || quota <= 0 || period <= 0 {
		return nil
	}
	return new(float64(quota) / float64(period))
}

func (f files) governors() []string {
	// The pattern is well formed, which is all that Glob can object to.
	names, _ := fs.Glob(f.root, "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")
	var all []string
	for _, name := range names {
		if g := f.text(name); g != "" {
			all = append(all, g)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// defaultInterface is where packets to other networks leave.
func (f files) defaultInterface() string {
	for line := range strings.Lines(f.text("proc/net/route")) {
		if fields := strings.Fields(line); len(fields) > 7 && fields[1] == "00000000" && fields[7] == "00000000" {
			return interfaceName(fields[0])
		}
	}
	for line := range strings.Lines(f.text("proc/net/ipv6_route")) {
		fields := strings.Fields(line)
		if len(fields) == 10 && fields[0] == strings.Repeat("0", 32) && fields[1] == "00" && fields[9] != "lo" {
			return interfaceName(fields[9])
		}
	}
	return ""
}

// interfaceName refuses what is no name of a file.
func interfaceName(name string) string {
	if name == "." || name == ".." || strings.Contains(name, "/") {
		return ""
	}
	return name
}

func portRange(text string) *validity.PortRange {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return nil
	}
	low, err1 := strconv.ParseUint(fields[0], 10, 16)
	high, err2 := strconv.ParseUint(fields[1], 10, 16)
	if err1 != nil || err2 != nil || high < low {
		return nil
	}
	return &validity.PortRange{Low: int(low), High: int(high)}
}

// timeWaitSockets reads the row "TCP: inuse 5 orphan 0 tw 12 …" of sockstat.
func timeWaitSockets(sockstat string) int {
	for line := range strings.Lines(sockstat) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "TCP:" {
			continue
		}
		for i := 1; i+1 < len(fields); i += 2 {
			if n := whole(fields[i+1]); fields[i] == "tw" && n != nil {
				return int(*n)
			}
		}
	}
	return 0
}

func whole(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

func firstNumber(text string) *float64 {
	first, _, _ := strings.Cut(text, " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil
	}
	return &v
}
