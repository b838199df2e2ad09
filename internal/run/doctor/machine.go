package doctor

import (
	"context"
	"io/fs"
	"runtime"
	"time"

	"redline/internal/clock"
	"redline/internal/judge/validity"
	"redline/internal/observe/telemetry"
)

// examineMachine gathers everything there is to know. root is the root of the
// file system.
func examineMachine(ctx context.Context, root fs.FS, pace Pace) *validity.Machine {
	m := &validity.Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU()}
	files{root}.describe(m)
	m.Sync = clockSync()
	if m.Interface != nil {
		askDriver(m.Interface)
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
	if err := drive(ctx, m, k, pace); err != nil {
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
