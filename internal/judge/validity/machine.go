package validity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// Machine is the evidence about this machine. What it does not tell is nil or
// empty.
type Machine struct {
	System string `json:"system"`
	// Cores is how many this process may use; Online how many there are.
	Cores  int `json:"cores"`
	Online int `json:"online_cores,omitempty"`
	// QuotaCores is the smallest CPU quota over this process, in cores.
	QuotaCores *float64 `json:"quota_cores,omitempty"`
	// Governors are the different frequency governors of the cores.
	Governors []string `json:"governors,omitempty"`
	// Load is the mean number of tasks that wanted to run in the last minute,
	// before anything was measured.
	Load *float64 `json:"load_average,omitempty"`
	// Others is how many cores other processes kept busy meanwhile.
	Others *float64 `json:"other_busy_cores,omitempty"`

	Files *Limit     `json:"files,omitempty"`
	Ports *PortRange `json:"ports,omitempty"`

	ClockSource string `json:"clock_source,omitempty"`
	// ClockRead is the cost of one look at the clock, in nanoseconds.
	ClockRead float64 `json:"clock_read_ns"`
	Sync      *Sync   `json:"sync,omitempty"`

	Interface *Interface `json:"interface,omitempty"`

	Stamps   Stamps `json:"stamps"`
	Loopback Spread `json:"loopback_round_trip"`
	Pacing   Spread `json:"pacing_error"`

	Tokens   TokenDrive   `json:"tokens"`
	Requests RequestDrive `json:"requests"`
	// Fault is what kept the load from being driven.
	Fault string `json:"fault,omitempty"`

	// Host is what was used, and taken away, while all this was measured.
	Host telemetry.HostUse `json:"host"`
}

// Limit is a resource limit; a nil one does not bound.
type Limit struct {
	Soft *int64 `json:"soft,omitempty"`
	Hard *int64 `json:"hard,omitempty"`
}

// PortRange is the ports that outgoing connections come from.
type PortRange struct {
	Low  int `json:"low"`
	High int `json:"high"`
	// Waiting is how many connections of the machine linger after their end.
	Waiting int `json:"time_wait"`
}

// Sync is what the kernel says of how its clock is kept.
type Sync struct {
	Kept bool `json:"kept"`
	// MaxError bounds the clock's error, in nanoseconds.
	MaxError int64 `json:"max_error_ns"`
}

// Interface is the network interface of the default route.
type Interface struct {
	Name string `json:"name"`
	// RxUsecs is how long the card gathers packets before it interrupts.
	RxUsecs  *uint32 `json:"rx_usecs,omitempty"`
	Adaptive *bool   `json:"adaptive_rx,omitempty"`
	GRO      *bool   `json:"gro,omitempty"`
	// GROFlush is how long packets are held to be joined, in nanoseconds.
	GROFlush *int64 `json:"gro_flush_ns,omitempty"`
}

// Stamps counts the reads that the kernel stamped, and those that had to be
// stamped by the clock after them.
type Stamps struct {
	Kernel int64 `json:"kernel"`
	User   int64 `json:"user"`
}

// Spread is a distribution of nanoseconds.
type Spread struct {
	N   int   `json:"n"`
	P50 int64 `json:"p50_ns"`
	P99 int64 `json:"p99_ns"`
}

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
	if m.Cores < 2 {
		return warn(figure, "")
	}
	return ok(figure)
}

func judgeQuota(m *Machine) outcome {
	switch {
	case m.QuotaCores == nil:
		return ok("none")
	case *m.QuotaCores >= float64(m.Cores):
		return ok(text.Number(*m.QuotaCores) + " cores, more than there are")
	}
	return warn(text.Number(*m.QuotaCores)+" cores", "")
}

// judgeGovernor takes for slow what lowers the frequency of a core that idles
// between tokens.
func judgeGovernor(m *Machine) outcome {
	if len(m.Governors) == 0 {
		return notReadable
	}
	figure := strings.Join(m.Governors, ", ")
	for _, g := range m.Governors {
		if slices.Contains([]string{"powersave", "ondemand", "conservative"}, g) {
			return warn(figure, "")
		}
	}
	return ok(figure)
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
	if m.Others != nil && *m.Others > 0.25*float64(m.Cores) {
		return warn(figure, "")
	}
	return ok(figure)
}

func judgeTaken(m *Machine) outcome {
	lost, known := lossesOf(m.Host.MachineUse, m.Cores, m.Host.Wall.Seconds())
	found, cures := lost.list()
	switch {
	case !known:
		return notReadable
	case found != nil:
		return warn(strings.Join(found, ", "), strings.Join(cures, "; "))
	}
	return ok("none")
}

func judgeFiles(m *Machine) outcome {
	if m.Files == nil {
		return notReadable
	}
	figure := fmt.Sprintf("%s soft, %s hard", limit(m.Files.Soft), limit(m.Files.Hard))
	// The program raises its own soft limit as far as the hard one.
	if most := m.Files.Hard; most != nil && *most < fewFiles {
		return warn(figure, "")
	}
	return ok(figure)
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
	if free-m.Ports.Waiting < fewPorts {
		return warn(figure, "")
	}
	return ok(figure)
}

func judgeClockSource(m *Machine) outcome {
	name := cmp.Or(m.ClockSource, "source not readable")
	figure := fmt.Sprintf("%s, %s a look", name, text.Span(int64(m.ClockRead)))
	if m.ClockRead > slowClock {
		return warn(figure, "")
	}
	return ok(figure)
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
		return bad(figure, "")
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
		return untold(m.Interface)
	}
	held := time.Duration(*m.Interface.RxUsecs) * time.Microsecond
	figure := m.Interface.Name + ": " + text.Span(int64(held))
	if m.Interface.Adaptive != nil && *m.Interface.Adaptive {
		figure += ", adaptive"
	}
	if held > maxHeld {
		return warn(figure, fmt.Sprintf("stamps are late by as much: ethtool -C %s adaptive-rx off rx-usecs 0", m.Interface.Name))
	}
	return ok(figure)
}

func judgeGRO(m *Machine) outcome {
	if m.Interface == nil || m.Interface.GRO == nil && m.Interface.GROFlush == nil {
		return untold(m.Interface)
	}
	i, figure := m.Interface, m.Interface.Name+":"
	if i.GRO != nil {
		figure += map[bool]string{true: " on", false: " off"}[*i.GRO]
	}
	if i.GROFlush == nil || *i.GROFlush == 0 {
		return ok(figure + " without waiting")
	}
	figure += " holding packets for " + text.Span(*i.GROFlush)
	if *i.GROFlush > int64(maxHeld) && (i.GRO == nil || *i.GRO) {
		return warn(figure, fmt.Sprintf("stamps are late by as much: echo 0 > /sys/class/net/%s/gro_flush_timeout", i.Name))
	}
	return ok(figure)
}

func untold(i *Interface) outcome {
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
	if m.Loopback.P99 > int64(slowLoopback) {
		return warn(figure, "")
	}
	return ok(figure)
}

func judgePacing(m *Machine) outcome {
	if m.Pacing.N == 0 {
		return silent
	}
	figure := fmt.Sprintf("p50 %s, p99 %s late", text.Span(m.Pacing.P50), text.Span(m.Pacing.P99))
	if m.Pacing.P99 > int64(maxLag) {
		return warn(figure, "")
	}
	return ok(figure)
}

func judgeTokens(m *Machine) outcome {
	if m.Fault != "" {
		return bad("not measured", m.Fault)
	}
	rate := m.Tokens.Rate()
	figure := fmt.Sprintf("%s/s, each with a time of its own (%s)", text.Short(rate), shared)
	switch {
	case rate == 0:
		return warn(fmt.Sprintf("fewer than %s/s, if each is to have a time of its own (%s)", text.Short(m.Tokens.Min()), shared), "")
	case rate < fewTokens:
		return warn(figure, "")
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
		return warn(figure, "")
	}
	return ok(figure)
}

// TokenDrive is a search for the load of streams that server and client, on the
// same cores, just keep up with, step by step.
type TokenDrive []Step

// Step is one load and what came of it.
type Step struct {
	Offered float64 `json:"offered_tokens_per_s"`
	Got     float64 `json:"got_tokens_per_s"`
	// Coalesced is the share of events that came with another one in a read,
	// so that their own time is not known.
	Coalesced float64 `json:"coalesced_share"`
}

const (
	// keptUp is the share of the offered load that a step must get.
	keptUp = 0.97
	// ownTimes is the share of coalesced events up to which a p99 of gaps is
	// firm.
	ownTimes = 0.005
	// firstRate is the load of the first step, in tokens per second.
	firstRate = 5000
	// closeEnough is the ratio between what is driven and what is not at
	// which the search for the limit ends.
	closeEnough = 1.15
	// chances is how many steps may fail before the first that does not.
	chances = 4
)

// clean reports whether all of the load arrived, and nearly every event with a
// time of its own.
func (s Step) clean() bool { return s.Got >= keptUp*s.Offered && s.Coalesced <= ownTimes }

// limits gives the best clean step, and the lowest offered load above it that
// was too much, 0 if none was.
func (d TokenDrive) limits() (best Step, tooMuch float64) {
	for _, s := range d {
		if s.clean() && s.Offered > best.Offered {
			best = s
		}
	}
	for _, s := range d {
		if s.Offered > best.Offered && (tooMuch == 0 || s.Offered < tooMuch) {
			tooMuch = s.Offered
		}
	}
	return best, tooMuch
}

// Rate is how many tokens per second can be driven, 0 if not even the first
// steps could be.
func (d TokenDrive) Rate() float64 {
	best, _ := d.limits()
	return best.Got
}

// Next is the load to offer after these steps, 0 when the limit is found: twice
// as much until it is too much, and then the middle. A first step that fails
// may be bad luck and is tried again before the load is halved.
func (d TokenDrive) Next() float64 {
	best, tooMuch := d.limits()
	switch {
	case len(d) < 2 && best.Offered == 0:
		return firstRate
	case best.Offered == 0 && len(d) < chances:
		return d.Min() / 2
	case best.Offered == 0:
		return 0
	case tooMuch == 0:
		return 2 * best.Offered
	case tooMuch < closeEnough*best.Offered:
		return 0
	}
	return math.Sqrt(best.Offered * tooMuch)
}

// Min is the lowest load that was offered.
func (d TokenDrive) Min() float64 {
	lowest := float64(firstRate)
	for _, s := range d {
		lowest = min(lowest, s.Offered)
	}
	return lowest
}

// RequestDrive is a load of short requests, one after another on each
// connection.
type RequestDrive struct {
	Rate   float64 `json:"requests_per_s"`
	OK     int64   `json:"ok"`
	Failed int64   `json:"failed"`
}
