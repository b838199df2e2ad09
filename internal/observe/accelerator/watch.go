// Package accelerator watches the devices that a server computes on: it takes
// a vendor's tool, run here or through any command, or an exporter's page, and
// gives readings in telemetry's one vocabulary. Whatever goes wrong there is
// data, and no process outlives the watch. It must not know of requests, nor
// judge what it sees.
package accelerator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"redline/internal/clock"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// What a watch does unless told otherwise.
const (
	defaultEvery = time.Second
	// minAMDInterval is the time between two calls of amd-smi, which takes about a
	// second of a core each.
	minAMDInterval = 2 * time.Second
	// startWithin is how long a tool may take for its first word: without a
	// resident driver, or through ssh, that is seconds.
	startWithin = 15 * time.Second
	// minSilence is how long a tool that has begun may pause.
	minSilence = 5 * time.Second
	// maxStarts is how often a tool that dies is started.
	maxStarts = 4
	// pauseBetween is the time between its end and the next start.
	pauseBetween = time.Second
	// busy is the utilization before the load from which on another look is
	// worth its time: the first may still show the requests that found the
	// server.
	busy = 0.1
)

// Options says how devices are watched.
type Options struct {
	Source telemetry.AcceleratorSource
	// Fetch gets an exporter's page.
	Fetch telemetry.Fetch
	// Every is the time between two readings.
	Every time.Duration
	// Log receives a line for each; nil for none.
	Log *telemetry.Log

	// Bounds, which tests shorten.
	startWithin, minSilence, pauseBetween time.Duration
}

// Watch reads devices until it is stopped. Its methods are safe for concurrent
// use.
type Watch struct {
	Options
	clock  *clock.Clock
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	loaded   bool
	cuda     string
	board    *telemetry.AcceleratorBoard
	readings []telemetry.AcceleratorReading
	// news is closed at the next reading.
	news chan struct{}
	// stopped says that there will be no more of them.
	stopped bool
}

// Start begins to read.
func Start(c *clock.Clock, o Options) *Watch {
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	if o.startWithin == 0 {
		o.startWithin, o.minSilence, o.pauseBetween = startWithin, minSilence, pauseBetween
	}
	w := &Watch{Options: o, clock: c, news: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.done.Go(func() {
		defer w.finish()
		switch o.Source.Kind {
		case telemetry.AcceleratorNvidia:
			w.stream()
		case telemetry.AcceleratorAMD:
			w.poll(max(o.Every, minAMDInterval), w.askAMD())
		case telemetry.AcceleratorPage:
			w.poll(o.Every, w.askPage)
		}
	})
	if o.Source.Kind == telemetry.AcceleratorNvidia {
		w.done.Go(w.findCUDA)
	}
	return w
}

// Stop ends the watch at once, and every process with it.
func (w *Watch) Stop() {
	w.cancel()
	w.done.Wait()
}

// StartLoad says that the load begins: from here on devices are busy for us.
func (w *Watch) StartLoad() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loaded = true
}

// ErrLate says that no reading has come yet, and one may still.
var ErrLate = errors.New("no answer yet")

// Settle waits for a reading before the load, and where that shows busy
// devices for one more. It gives the reason where there is none to come.
func (w *Watch) Settle(ctx context.Context) error {
	for looks := 0; looks < 2; {
		w.mu.Lock()
		news, over := w.news, w.stopped
		var last *telemetry.AcceleratorReading
		if n := len(w.readings); n > 0 {
			last = &w.readings[n-1]
		}
		w.mu.Unlock()
		isBusy := func(d telemetry.DeviceReading) bool { return d.Utilization != nil && *d.Utilization > busy }
		switch {
		case last != nil && last.Failed == "" && (looks > 0 || !slices.ContainsFunc(last.Devices, isBusy)):
			return nil
		case last != nil && last.Failed == "":
			looks++
		case last != nil:
			return errors.New(last.Failed)
		case over:
			return fmt.Errorf("%s: ended without a word", w.name())
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ErrLate
		}
	}
	return nil
}

// Readings gives all so far.
func (w *Watch) Readings() []telemetry.AcceleratorReading {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.readings)
}

// Last gives the last one, that of nothing where there is none.
func (w *Watch) Last() (r telemetry.AcceleratorReading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.readings); n > 0 {
		r = w.readings[n-1]
	}
	return r
}

// keep adds a reading. What the devices are is kept once.
func (w *Watch) keep(r telemetry.AcceleratorReading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Board != nil {
		r.Board.CUDA = w.cuda
		if reflect.DeepEqual(r.Board, w.board) {
			r.Board = nil
		} else {
			w.board = r.Board
		}
	}
	r.Idle = !w.loaded
	w.readings = append(w.readings, r)
	w.Log.Add(telemetry.Line{At: r.At, Accelerator: &r})
	close(w.news)
	w.news = make(chan struct{})
}

// fail keeps the reason why there is no reading, unless the watch is stopped.
func (w *Watch) fail(err error) {
	if w.ctx.Err() != nil {
		return
	}
	const limit = 200
	text := text.Cut(strings.ToValidUTF8(err.Error(), "?"), limit)
	w.keep(telemetry.AcceleratorReading{At: w.clock.Now(), Source: w.Source.Kind, Failed: w.name() + ": " + text})
}

func (w *Watch) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	close(w.news)
	w.news = make(chan struct{})
}

// name is what is read, for people: a command without its options, which may
// hold what is nobody's business.
func (w *Watch) name() string {
	if w.Source.Kind == telemetry.AcceleratorPage {
		return "the exporter"
	}
	return w.Source.Kind
}

// stream keeps one nvidia-smi running and reads its lines.
func (w *Watch) stream() {
	query := &nvidiaQuery{fields: nvidiaFields}
	for starts := 1; w.ctx.Err() == nil; {
		err := w.streamOnce(query)
		if errors.Is(err, errRefused) {
			continue // there are only so many columns to refuse
		}
		w.fail(err)
		if starts++; starts > maxStarts {
			return
		}
		select {
		case <-time.After(w.pauseBetween):
		case <-w.ctx.Done():
		}
	}
}

func (w *Watch) streamOnce(query *nvidiaQuery) error {
	var all round
	var last string
	words := slices.Concat(w.Source.Command, w.Source.Options, query.arguments(w.Every.Milliseconds()))
	err := lines(w.ctx, words, w.patience, func(line string) (bool, error) {
		at := w.clock.Now()
		one, ok := query.parse(line)
		if !ok {
			if line = strings.TrimSpace(line); line != "" {
				last = line
			}
			return false, query.refuse(line)
		}
		if all.devices == 0 && len(w.Source.Options) == 0 {
			all.devices = one.count
		}
		if reading := all.add(at, one); reading != nil {
			w.keep(*reading)
		}
		return true, nil
	})
	if last != "" && err != nil && !errors.Is(err, errRefused) {
		err = fmt.Errorf("%w, its last word: %s", err, last)
	}
	return err
}

// patience is how long a tool may be silent.
func (w *Watch) patience(first bool) time.Duration {
	if first {
		return w.startWithin
	}
	return max(5*w.Every, w.minSilence)
}

// findCUDA asks once for the version that the driver serves. Older tools do
// not know the option, and have it at the head of their page.
func (w *Watch) findCUDA() {
	ctx, cancel := context.WithTimeout(w.ctx, w.startWithin)
	defer cancel()
	for _, arguments := range [][]string{{"--version"}, nil} {
		text, err := ask(ctx, slices.Concat(w.Source.Command, arguments))
		if err != nil {
			continue
		}
		if version := cudaOf(text); version != "" {
			w.mu.Lock()
			w.cuda = version
			w.mu.Unlock()
			return
		}
	}
}

// poll asks again and again. A source that has never answered is given up.
func (w *Watch) poll(every time.Duration, ask func(context.Context) (telemetry.AcceleratorReading, error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failures, answered := 0, false
	for {
		begin := w.clock.Now()
		ctx, cancel := context.WithTimeout(w.ctx, w.limit(answered))
		reading, err := ask(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v", w.limit(answered))
		}
		cancel()
		if err != nil {
			w.fail(err)
			if failures++; failures >= maxStarts && !answered {
				return
			}
		} else {
			answered = true
			reading.At = begin + (w.clock.Now()-begin)/2
			w.keep(reading)
		}
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
	}
}

// limit is how long one answer may take.
func (w *Watch) limit(answered bool) time.Duration {
	if answered {
		return w.minSilence
	}
	return w.startWithin
}

// askAMD calls amd-smi, the first time also for what the devices are.
func (w *Watch) askAMD() func(context.Context) (telemetry.AcceleratorReading, error) {
	var static []byte
	return func(ctx context.Context) (telemetry.AcceleratorReading, error) {
		if static == nil {
			static, _ = ask(ctx, slices.Concat(w.Source.Command, []string{"static", "--asic", "--driver"}, w.Source.Options, []string{"--json"}))
			if static == nil {
				static = []byte{}
			}
		}
		metric, err := ask(ctx, slices.Concat(w.Source.Command, []string{"metric"}, w.Source.Options, []string{"--json"}))
		if err != nil {
			return telemetry.AcceleratorReading{}, err
		}
		return amdReading(metric, static)
	}
}

func (w *Watch) askPage(ctx context.Context) (telemetry.AcceleratorReading, error) {
	text, err := w.Fetch(ctx)
	if err != nil {
		return telemetry.AcceleratorReading{}, err
	}
	return readPage(text)
}
