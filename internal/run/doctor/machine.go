package doctor

import (
	"context"
	"io/fs"
	"runtime"
	"time"

	"redline/internal/clock"
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

// examineMachine gathers everything there is to know. root is the root of the
// file system.
func examineMachine(ctx context.Context, root fs.FS, pace Pace) *Machine {
	m := &Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU()}
	m.read(files{root})
	m.Sync = clockSync()
	if m.Interface != nil {
		m.Interface.ask()
	}
	k := clock.New()
	watch := telemetry.WatchHost(k)
	m.ClockRead = timeClock()
	var err error
	if m.Loopback, err = roundTrips(ctx, pace.RoundTrips); err != nil {
		m.Fault = "loopback: " + err.Error()
	}
	asleep := k.Now()
	m.Pacing = sleeps(ctx, k, pace.Sleeps, pace.Sleep)
	awake := k.Now()
	if err := m.drive(ctx, k, pace); err != nil {
		m.Fault = err.Error()
	}
	watch.Stop()
	m.Host = watch.Over(0, k.Now())
	m.Others = others(watch.Over(asleep, awake))
	return m
}

// others is how many cores were busy with something else while this process
// slept.
func others(use telemetry.HostUse) *float64 {
	if use.MachineShare == nil || use.Wall <= 0 {
		return nil
	}
	busy := *use.MachineShare*float64(len(use.Cores)) - float64(use.CPU)/float64(use.Wall)
	return new(max(0, busy))
}

func timeClock() float64 {
	const looks = 10_000
	start := time.Now()
	for range looks {
		_ = time.Now()
	}
	return float64(time.Since(start)) / looks
}
