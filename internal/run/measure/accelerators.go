package measure

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"redline/internal/drive/client"
	"redline/internal/observe/accelerator"
	"redline/internal/observe/telemetry"
	"redline/internal/run/assemble"
)

// settleWithin is how long the load waits for a look at idle devices.
const settleWithin = 5 * time.Second

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
		b.watch.StartLoad()
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
	if !ours || assemble.IsSimulated(r.target.about) || !r.Config.Telemetry.Scrapes() {
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

func (b *boards) readings() []telemetry.AcceleratorReading {
	if b == nil || b.watch == nil {
		return nil
	}
	return b.watch.Readings()
}
