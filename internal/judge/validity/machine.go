package validity

import (
	"math"

	"redline/internal/observe/telemetry"
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
