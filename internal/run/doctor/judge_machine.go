package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/validity"
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

const moreCores = "run on a machine with more idle cores"

func judgeCores(m *Machine) judgement {
	figure := text.Plural(m.Cores, "core")
	if m.Online > m.Cores {
		figure = fmt.Sprintf("%d of %d cores may be used", m.Cores, m.Online)
	}
	if m.Cores < 2 {
		return warn(figure, "allow at least 2, so that reading and pacing do not wait for each other")
	}
	return ok(figure)
}

func judgeQuota(m *Machine) judgement {
	switch {
	case m.QuotaCores == nil:
		return ok("none")
	case *m.QuotaCores >= float64(m.Cores):
		return ok(text.Number(*m.QuotaCores) + " cores, more than there are")
	}
	return warn(text.Number(*m.QuotaCores)+" cores",
		"a process over its quota is stopped for up to 0.1 s: raise the limit, or give whole cores (cpuset)")
}

// judgeGovernor takes for slow what lowers the frequency of a core that idles
// between tokens.
func judgeGovernor(m *Machine) judgement {
	if len(m.Governors) == 0 {
		return notReadable
	}
	figure := strings.Join(m.Governors, ", ")
	for _, g := range m.Governors {
		if slices.Contains([]string{"powersave", "ondemand", "conservative"}, g) {
			return warn(figure, "cores are slow to wake: cpupower frequency-set -g performance")
		}
	}
	return ok(figure)
}

func judgeLoad(m *Machine) judgement {
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
	if m.Others != nil && *m.Others > 0.25*float64(m.Cores) {
		return warn(figure, "stop what else runs here")
	}
	return ok(figure)
}

// judgeTaken looks at time that a hypervisor, a quota or heat took away.
func judgeTaken(m *Machine) judgement {
	h := m.Host
	if h.StealShare == nil && h.QuotaThrottles == nil && h.ThermalThrottles == nil {
		return notReadable
	}
	var taken, cures []string
	if h.StealShare != nil && *h.StealShare > validity.MaxSteal {
		taken = append(taken, text.Percent(*h.StealShare)+" stolen by the hypervisor")
		cures = append(cures, "use a machine with cores of its own")
	}
	if h.QuotaThrottles != nil && *h.QuotaThrottles > 0 {
		held := ""
		if h.QuotaHeld != nil {
			held = ", " + span(int64(*h.QuotaHeld))
		}
		taken = append(taken, "quota hit "+text.Plural(*h.QuotaThrottles, "time")+held)
		cures = append(cures, "raise the CPU quota")
	}
	if h.ThermalThrottles != nil && *h.ThermalThrottles > 0 {
		taken = append(taken, "slowed for heat "+text.Plural(*h.ThermalThrottles, "time"))
		cures = append(cures, "cool the machine")
	}
	if len(taken) > 0 {
		return warn(strings.Join(taken, ", "), strings.Join(cures, "; "))
	}
	return ok("none")
}

func judgeFiles(m *Machine) judgement {
	if m.Files == nil {
		return notReadable
	}
	figure := fmt.Sprintf("%s soft, %s hard", limit(m.Files.Soft), limit(m.Files.Hard))
	// The program raises its own soft limit as far as the hard one.
	if most := m.Files.Hard; most != nil && *most < fewFiles {
		return warn(figure, fmt.Sprintf("each connection takes one: ulimit -Hn %d, or LimitNOFILE of the service", 4*fewFiles))
	}
	return ok(figure)
}

func limit(n *int64) string {
	if n == nil {
		return "no limit"
	}
	return text.Count(*n)
}

func judgePorts(m *Machine) judgement {
	if m.Ports == nil {
		return notReadable
	}
	free := m.Ports.High - m.Ports.Low + 1
	figure := fmt.Sprintf("%s for one address (%d to %d), %s in TIME_WAIT",
		text.Count(int64(free)), m.Ports.Low, m.Ports.High, text.Count(int64(m.Ports.Waiting)))
	if free-m.Ports.Waiting < fewPorts {
		return warn(figure, "sysctl net.ipv4.ip_local_port_range='10000 65000', or give several --url")
	}
	return ok(figure)
}

func judgeClockSource(m *Machine) judgement {
	name := cmp.Or(m.ClockSource, "source not readable")
	figure := fmt.Sprintf("%s, %s a look", name, span(int64(m.ClockRead)))
	if m.ClockRead > slowClock {
		return warn(figure, "every stamp costs that: boot with clocksource=tsc where the processor has a steady one")
	}
	return ok(figure)
}

func judgeSync(m *Machine) judgement {
	switch {
	case m.Sync == nil:
		return notReadable
	case !m.Sync.Kept:
		return warn("no", "what sets it later makes it step in mid run: start chrony or systemd-timesyncd now")
	case m.Sync.MaxError > int64(maxError):
		return warn("yes, but up to "+span(m.Sync.MaxError)+" off", "wait until chrony or systemd-timesyncd has it in step")
	}
	return ok("yes, at most " + span(m.Sync.MaxError) + " off")
}

func judgeStep(m *Machine) judgement {
	figure := fmt.Sprintf("largest %s in %s", span(int64(m.Host.ClockStep)), span(int64(m.Host.Wall)))
	if m.Host.ClockStep > validity.MaxClockStep {
		return bad(figure, "")
	}
	return ok(figure)
}

func judgeStamps(m *Machine) judgement {
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

func judgeModeration(m *Machine) judgement {
	if m.Interface == nil || m.Interface.RxUsecs == nil {
		return unread(m.Interface)
	}
	held := time.Duration(*m.Interface.RxUsecs) * time.Microsecond
	figure := m.Interface.Name + ": " + span(int64(held))
	if m.Interface.Adaptive != nil && *m.Interface.Adaptive {
		figure += ", adaptive"
	}
	if held > maxHeld {
		return warn(figure, fmt.Sprintf("stamps are late by as much: ethtool -C %s adaptive-rx off rx-usecs 0", m.Interface.Name))
	}
	return ok(figure)
}

func judgeGRO(m *Machine) judgement {
	if m.Interface == nil || m.Interface.GRO == nil && m.Interface.GROFlush == nil {
		return unread(m.Interface)
	}
	i, figure := m.Interface, m.Interface.Name+":"
	if i.GRO != nil {
		figure += map[bool]string{true: " on", false: " off"}[*i.GRO]
	}
	if i.GROFlush == nil || *i.GROFlush == 0 {
		return ok(figure + " without waiting")
	}
	figure += " holding packets for " + span(*i.GROFlush)
	if *i.GROFlush > int64(maxHeld) && (i.GRO == nil || *i.GRO) {
		return warn(figure, fmt.Sprintf("stamps are late by as much: echo 0 > /sys/class/net/%s/gro_flush_timeout", i.Name))
	}
	return ok(figure)
}

func unread(i *Interface) judgement {
	if i == nil {
		return judgement{Unread, "no default route found", ""}
	}
	return judgement{Unread, i.Name + " does not tell", ""}
}

func judgeLoopback(m *Machine) judgement {
	if m.Loopback.N == 0 {
		return silent
	}
	figure := fmt.Sprintf("p50 %s, p99 %s", span(m.Loopback.P50), span(m.Loopback.P99))
	if m.Loopback.P99 > int64(slowLoopback) {
		return warn(figure, "this process waits for a core: stop what else runs here")
	}
	return ok(figure)
}

func judgePacing(m *Machine) judgement {
	if m.Pacing.N == 0 {
		return silent
	}
	figure := fmt.Sprintf("p50 %s, p99 %s late", span(m.Pacing.P50), span(m.Pacing.P99))
	const cure = "requests would be sent late, and figures have wide ends: stop what else runs here, or "
	if m.Pacing.P99 > int64(validity.MaxLag) {
		return warn(figure, cure+moreCores)
	}
	return ok(figure)
}

func judgeTokens(m *Machine) judgement {
	if m.Fault != "" {
		return bad("not measured", m.Fault)
	}
	rate := m.Tokens.rate()
	figure := fmt.Sprintf("%s/s, each with a time of its own (%s)", text.Short(rate), shared)
	switch {
	case rate == 0:
		return warn(fmt.Sprintf("fewer than %s/s, if each is to have a time of its own (%s)", text.Short(m.Tokens.least()), shared), moreCores)
	case rate < fewTokens:
		return warn(figure, moreCores)
	}
	return ok(figure)
}

func judgeRequests(m *Machine) judgement {
	if m.Fault != "" {
		return silent
	}
	figure := text.Short(m.Requests.Rate) + "/s of one token (" + shared + ")"
	switch {
	case m.Requests.Failed > 0:
		return bad(fmt.Sprintf("%d of %d failed on loopback", m.Requests.Failed, m.Requests.OK+m.Requests.Failed),
			"raise the limits of open files and source ports above")
	case m.Requests.Rate < fewRequests:
		return warn(figure, moreCores)
	}
	return ok(figure)
}
