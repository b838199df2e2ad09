package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"
	"time"

	"redline/internal/drive/client"
	"redline/internal/judge/metric"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/observe/accelerator"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// What is made of accelerators' readings.
const (
	// settleWithin is how long the load waits for a look at idle devices.
	settleWithin = 5 * time.Second
	// foreignLoad is the utilization before the load above which somebody else
	// is at work.
	foreignLoad = 0.1
	// heldBack is the share of time from which on a lowered clock is told.
	heldBack = 0.05
)

// boards watches the server's accelerators during a run.
type boards struct {
	watch  *accelerator.Watch // nil where there is nothing to watch
	pages  *Pages             // of an exporter
	unread string             // why what the plan asks for is not read
}

// watchAccelerators begins to read what the plan names, or this machine's own
// tool where the server is here too. It is nil where nothing is to be read.
func (r *run) watchAccelerators(ctx context.Context, log *telemetry.Log) *boards {
	source, asked := r.acceleratorSource()
	if source.Kind == telemetry.AcceleratorOff {
		return nil
	}
	b := &boards{}
	options := accelerator.Options{Source: source, Every: r.Config.Telemetry.Interval, Log: log}
	var err error
	if source.Kind == telemetry.AcceleratorPage {
		spec := telemetry.Spec{MetricsURLs: []string{source.URL}}
		if b.pages, err = OpenPages(r.target.client, r.Config.Provider, spec, client.Options{Clock: r.clock, Dial: r.Dial}); err == nil {
			options.Fetch = b.pages.Fetch
		}
	}
	if err == nil {
		b.watch = accelerator.Start(r.clock, options)
		settled, cancel := context.WithTimeout(ctx, settleWithin)
		defer cancel()
		err = b.watch.Settle(settled)
		b.watch.Loaded()
	}
	switch {
	case err == nil || errors.Is(err, accelerator.ErrLate):
	case !asked:
		// A tool without a device is what many machines have.
		b.stop()
		return nil
	default:
		b.unread = fmt.Sprintf("the accelerators cannot be read: %v", err)
		r.say("%s; the run goes on without them", b.unread)
	}
	return b
}

// acceleratorSource decides what is read, and says whether the plan asks for
// it. Of itself redline reads only a tool of the machine that it shares with
// the server; a simulated engine uses none.
func (r *run) acceleratorSource() (source telemetry.AcceleratorSource, asked bool) {
	off := telemetry.AcceleratorSource{Kind: telemetry.AcceleratorOff}
	source, err := telemetry.ParseAccelerator(r.Config.Telemetry.Accelerator)
	if err != nil || source.Kind != telemetry.AcceleratorAuto {
		return source, err == nil
	}
	ours := r.sharesHost()
	if !ours || simulated(r.target.about) || !r.Config.Telemetry.Scrapes() {
		return off, false
	}
	for _, tool := range []string{telemetry.AcceleratorNvidia, telemetry.AcceleratorAMD} {
		if path, err := exec.LookPath(tool); err == nil {
			return telemetry.AcceleratorSource{Kind: tool, Command: []string{path}}, false
		}
	}
	return off, false
}

func (b *boards) stop() {
	if b == nil {
		return
	}
	if b.watch != nil {
		b.watch.Stop()
	}
	if b.pages != nil {
		b.pages.Close()
	}
}

// readings is what was seen so far.
func (b *boards) readings() []telemetry.AcceleratorReading {
	if b == nil || b.watch == nil {
		return nil
	}
	return b.watch.Readings()
}

// simulated reports whether an engine computes on no device: the embedded one,
// and redline sim on its own.
func simulated(e result.Engine) bool { return e.Embedded || e.Name == simName || e.Name == simOwner }

// simOwner is who owns the models of redline sim, by their list.
const simOwner = "redline"

// nameHardware fills in what the devices' tool tells and the plan does not. A
// simulated engine's hardware is what it simulates.
func nameHardware(res *result.Result, readings []telemetry.AcceleratorReading) {
	board := telemetry.BoardBy(readings, math.MaxInt64)
	if board == nil || simulated(res.Engine) {
		return
	}
	h := &res.Hardware
	if h.Accelerator == "" {
		h.Accelerator = strings.Join(slices.Compact(slices.Sorted(slices.Values(board.Names))), ", ")
	}
	if h.Count == 0 {
		for _, r := range readings {
			h.Count = max(h.Count, len(r.Devices))
		}
	}
	if h.MemoryMB == 0 {
		h.MemoryMB = int(board.MemoryMB)
	}
	if h.Driver == "" {
		h.Driver = board.Driver
	}
	if h.CUDA == "" {
		h.CUDA = board.CUDA
	}
}

// unwatched is what a reader misses where nobody watched the devices.
const unwatched = "accelerator utilisation and power"

// useAccelerators adds what the devices did over the window to a point, and
// says what of it weakens the figures beside it.
func useAccelerators(res *result.Result, point *result.Point, readings []telemetry.AcceleratorReading, start, end int64) {
	if len(readings) == 0 {
		if !simulated(res.Engine) {
			res.Unknown = append(res.Unknown, unwatched)
		}
		return
	}
	use := telemetry.AcceleratorOver(readings, start, end)
	use.JoulesPerOutputToken = joulesPerToken(use.Joules, point.Summary)
	point.Accelerator = &use
	price.Energy(point, use.Joules)
	res.Warnings = append(res.Warnings, acceleratorWarnings(&use, simulated(res.Engine))...)
}

// joulesPerToken spreads the energy of a window over the output tokens that
// arrived in it.
func joulesPerToken(joules *float64, s metric.Summary) *float64 {
	tokens := s.Throughput.Output * s.Window.Seconds()
	if joules == nil || tokens <= 0 {
		return nil
	}
	return new(*joules / tokens)
}

func acceleratorWarnings(use *telemetry.AcceleratorUse, simulated bool) []result.Warning {
	var all []result.Warning
	add := func(figure, text string, arguments ...any) {
		all = append(all, result.Warning{Figure: figure, Text: fmt.Sprintf(text, arguments...)})
	}
	if simulated {
		add("accelerator", "the simulated engine computes on no accelerator: these devices work for somebody else, or for nobody")
	}
	if idle := use.IdleUtilization; idle != nil && *idle > foreignLoad && !simulated {
		add("accelerator", "an accelerator was %s busy before the load began: it works for somebody else too, and latencies hold that load", text.RoughPercent(*idle))
	}
	for _, reason := range slices.Sorted(maps.Keys(use.Throttled)) {
		if share := use.Throttled[reason]; share >= heldBack && !simulated {
			add("accelerator", "latencies are those of accelerators whose clock was held back by %s (%s) %s of the time",
				telemetry.ThrottleCause(reason), reason, text.RoughPercent(share))
		}
	}
	if use.Samples == 0 && use.Failure != "" {
		add("accelerator", "no reading of the accelerators in the window: %s", use.Failure)
	} else if use.Watts != nil && use.Joules == nil {
		add("accelerator", "only %.0f s of the window lie between readings of the accelerators: too few for an energy", use.CoveredS)
	}
	return all
}
