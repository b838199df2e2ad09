package validity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"redline/internal/text"
)

const (
	// fewFiles leaves room for ten thousand connections.
	fewFiles = 10_240
	// fewPorts is the same for one address.
	fewPorts = 10_240
	// slowClock is a look at the clock that went through the kernel: one that
	// does not costs some tens of nanoseconds.
	slowClock = 500
	// maxError is as far as a kept clock may be off before it is likely to be
	// set right in mid run.
	maxError = 500 * time.Millisecond
	// maxHeld is how long a card may hold a packet back before stamps are
	// visibly late.
	maxHeld = 50 * time.Microsecond
	// slowLoopback is ten times what an idle machine takes.
	slowLoopback = time.Millisecond
	// fewTokens and fewRequests are below what one busy server can produce.
	fewTokens   = 10_000
	fewRequests = 1_000
	// shared is said of every load that was driven here.
	shared = "server and client on these same cores"
)

// notReadable is what this system does not tell.
var notReadable = unread("not readable here")

func judgeCores(m *Machine) outcome {
	figure := text.Plural(m.Cores, "core")
	if m.Online > m.Cores {
		figure = fmt.Sprintf("%d of %d cores may be used", m.Cores, m.Online)
	}
	return warnIf(m.Cores < 2, figure)
}

func judgeQuota(m *Machine) outcome {
	switch {
	case m.QuotaCores == nil:
		return ok("none")
	case *m.QuotaCores >= float64(m.Cores):
		return ok(text.Number(*m.QuotaCores) + " cores, more than there are")
	}
	return warn(text.Number(*m.QuotaCores) + " cores")
}

// judgeGovernor takes for slow what lowers the frequency of a core that idles
// between tokens.
func judgeGovernor(m *Machine) outcome {
	if len(m.Governors) == 0 {
		return notReadable
	}
	figure := strings.Join(m.Governors, ", ")
	return warnIf(slices.ContainsFunc(m.Governors, func(g string) bool {
		return slices.Contains([]string{"powersave", "ondemand", "conservative"}, g)
	}), figure, "")
}

func judgeLoad(m *Machine) outcome {
	if m.Load == nil && m.Others == nil {
		return notReadable
	}
	var parts []string
	if m.Others != nil {
		parts = append(parts, fmt.Sprintf("%s of %d cores busy", text.Number(*m.Others), m.Cores))
	}
	if m.Load != nil {
		parts = append(parts, "load average "+text.Number(*m.Load))
	}
	figure := strings.Join(parts, ", ")
	return warnIf(m.Others != nil && *m.Others > 0.25*float64(m.Cores), figure)
}

func judgeTaken(m *Machine) outcome {
	lost, known := lossesOf(m.Host.MachineUse, m.Cores, m.Host.Wall.Seconds())
	found, cures := lost.list()
	switch {
	case !known:
		return notReadable
	case found != nil:
		return warn(strings.Join(found, ", "), cures...)
	}
	return ok("none")
}

func judgeFiles(m *Machine) outcome {
	if m.Files == nil {
		return notReadable
	}
	figure := fmt.Sprintf("%s soft, %s hard", limit(m.Files.Soft), limit(m.Files.Hard))
	// The program raises its own soft limit as far as the hard one.
	return warnIf(m.Files.Hard != nil && *m.Files.Hard < fewFiles, figure)
}

func limit(n *int64) string {
	if n == nil {
		return "no limit"
	}
	return text.Count(*n)
}

func judgePorts(m *Machine) outcome {
	if m.Ports == nil {
		return notReadable
	}
	free := m.Ports.High - m.Ports.Low + 1
	figure := fmt.Sprintf("%s for one address (%d to %d), %s in TIME_WAIT",
		text.Count(int64(free)), m.Ports.Low, m.Ports.High, text.Count(int64(m.Ports.Waiting)))
	return warnIf(free-m.Ports.Waiting < fewPorts, figure)
}

func judgeClockSource(m *Machine) outcome {
	name := cmp.Or(m.ClockSource, "source not readable")
	figure := fmt.Sprintf("%s, %s a look", name, text.Span(int64(m.ClockRead)))
	return warnIf(m.ClockRead > slowClock, figure)
}

func judgeSync(m *Machine) outcome {
	switch {
	case m.Sync == nil:
		return notReadable
	case !m.Sync.Kept:
		return warn("no", "what sets it later makes it step in mid run: start chrony or systemd-timesyncd now")
	case m.Sync.MaxError > int64(maxError):
		return warn("yes, but up to "+text.Span(m.Sync.MaxError)+" off", "wait until chrony or systemd-timesyncd has it in step")
	}
	return ok("yes, at most " + text.Span(m.Sync.MaxError) + " off")
}

func judgeStep(m *Machine) outcome {
	figure := fmt.Sprintf("largest %s in %s", text.Span(int64(m.Host.ClockStep)), text.Span(int64(m.Host.Wall)))
	if m.Host.ClockStep > maxClockStep {
		return bad(figure)
	}
	return ok(figure)
}

func judgeStamps(m *Machine) outcome {
	all := m.Stamps.Kernel + m.Stamps.User
	if all == 0 {
		return silent
	}
	share := float64(m.Stamps.Kernel) / float64(all)
	figure := fmt.Sprintf("%s of %s reads", text.Percent(share), text.Count(all))
	switch {
	case m.Stamps.Kernel == 0:
		return warn(figure, "arrivals are timed after the read, up to milliseconds late under load: measure on Linux, outside sandboxes without SO_TIMESTAMPNS")
	case share < 0.99:
		return warn(figure, "the rest is timed after the read: less load on these cores")
	}
	return ok(figure)
}

func judgeModeration(m *Machine) outcome {
	if m.Interface == nil || m.Interface.RxUsecs == nil {
		return interfaceUnread(m.Interface)
	}
	held := time.Duration(*m.Interface.RxUsecs) * time.Microsecond
	figure := m.Interface.Name + ": " + text.Span(int64(held))
	if m.Interface.Adaptive != nil && *m.Interface.Adaptive {
		figure += ", adaptive"
	}
	return warnIf(held > maxHeld, figure, fmt.Sprintf("stamps are late by as much: ethtool -C %s adaptive-rx off rx-usecs 0", m.Interface.Name))
}

func judgeGRO(m *Machine) outcome {
	if m.Interface == nil || m.Interface.GRO == nil && m.Interface.GROFlush == nil {
		return interfaceUnread(m.Interface)
	}
	i, figure := m.Interface, m.Interface.Name+":"
	if i.GRO != nil {
		figure += map[bool]string{true: " on", false: " off"}[*i.GRO]
	}
	if i.GROFlush == nil || *i.GROFlush == 0 {
		return ok(figure + " without waiting")
	}
	figure += " holding packets for " + text.Span(*i.GROFlush)
	return warnIf(*i.GROFlush > int64(maxHeld) && (i.GRO == nil || *i.GRO), figure, fmt.Sprintf("stamps are late by as much: echo 0 > /sys/class/net/%s/gro_flush_timeout", i.Name))
}

func interfaceUnread(i *Interface) outcome {
	if i == nil {
		return unread("no default route found")
	}
	return unread(i.Name + " does not tell")
}

func judgeLoopback(m *Machine) outcome {
	if m.Loopback.N == 0 {
		return silent
	}
	figure := fmt.Sprintf("p50 %s, p99 %s", text.Span(m.Loopback.P50), text.Span(m.Loopback.P99))
	return warnIf(m.Loopback.P99 > int64(slowLoopback), figure)
}

func judgePacing(m *Machine) outcome {
	if m.Pacing.N == 0 {
		return silent
	}
	figure := fmt.Sprintf("p50 %s, p99 %s late", text.Span(m.Pacing.P50), text.Span(m.Pacing.P99))
	return warnIf(m.Pacing.P99 > int64(maxLag), figure)
}

func judgeTokens(m *Machine) outcome {
	if m.Fault != "" {
		return bad("not measured", m.Fault)
	}
	rate := m.Tokens.Rate()
	figure := fmt.Sprintf("%s/s, each with a time of its own (%s)", text.Short(rate), shared)
	switch {
	case rate == 0:
		return warn(fmt.Sprintf("fewer than %s/s, if each is to have a time of its own (%s)", text.Short(m.Tokens.Min()), shared))
	case rate < fewTokens:
		return warn(figure)
	}
	return ok(figure)
}

func judgeRequests(m *Machine) outcome {
	if m.Fault != "" {
		return silent
	}
	figure := text.Short(m.Requests.Rate) + "/s of one token (" + shared + ")"
	switch {
	case m.Requests.Failed > 0:
		return bad(fmt.Sprintf("%d of %d failed on loopback", m.Requests.Failed, m.Requests.OK+m.Requests.Failed),
			"raise the limits of open files and source ports above")
	case m.Requests.Rate < fewRequests:
		return warn(figure)
	}
	return ok(figure)
}
