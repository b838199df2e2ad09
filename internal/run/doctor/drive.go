package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// Spread is a distribution of nanoseconds.
type Spread struct {
	N   int   `json:"n"`
	P50 int64 `json:"p50_ns"`
	P99 int64 `json:"p99_ns"`
}

func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	return Spread{N: len(values), P50: int64(stats.Quantile(values, 0.5)), P99: int64(stats.Quantile(values, 0.99))}
}

// maxTrips ends the round trips of a machine that is slow at them.
const maxTrips = 2 * time.Second

// roundTrips sends a byte to and fro over loopback, at most n times.
func roundTrips(ctx context.Context, n int) (Spread, error) {
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return Spread{}, err
	}
	defer l.Close()
	go echo(l)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return Spread{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	one := []byte{1}
	var took []float64
	began := time.Now()
	for len(took) < n && time.Since(began) < maxTrips {
		start := time.Now()
		if _, err := conn.Write(one); err != nil {
			return Spread{}, err
		}
		if _, err := io.ReadFull(conn, one); err != nil {
			return Spread{}, err
		}
		took = append(took, float64(time.Since(start)))
	}
	return spreadOf(took), nil
}

// echo gives one connection back what it sends.
func echo(l net.Listener) {
	conn, err := l.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.Copy(conn, conn)
}

// sleeps paces as a run does and gives how late each waking was.
func sleeps(ctx context.Context, k *clock.Clock, n int, each time.Duration) Spread {
	late := make(chan []float64)
	go func() {
		var all []float64
		start := k.Now()
		for i := range n {
			due := start + int64(i+1)*int64(each)
			if k.SleepUntil(due, ctx.Done()) {
				break
			}
			all = append(all, float64(k.Now()-due))
		}
		late <- all
	}()
	return spreadOf(<-late)
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

// rate is how many tokens per second can be driven, 0 if not even the first
// steps could be.
func (d TokenDrive) rate() float64 {
	best, _ := d.limits()
	return best.Got
}

// next is the load to offer after these steps, 0 when the limit is found: twice
// as much until it is too much, and then the middle. A first step that fails
// may be bad luck and is tried again before the load is halved.
func (d TokenDrive) next() float64 {
	best, tooMuch := d.limits()
	switch {
	case len(d) < 2 && best.Offered == 0:
		return firstRate
	case best.Offered == 0 && len(d) < chances:
		return d.least() / 2
	case best.Offered == 0:
		return 0
	case tooMuch == 0:
		return 2 * best.Offered
	case tooMuch < closeEnough*best.Offered:
		return 0
	}
	return math.Sqrt(best.Offered * tooMuch)
}

func (d TokenDrive) least() float64 {
	least := float64(firstRate)
	for _, s := range d {
		least = min(least, s.Offered)
	}
	return least
}

// RequestDrive is a load of short requests, one after another on each
// connection.
type RequestDrive struct {
	Rate   float64 `json:"requests_per_s"`
	OK     int64   `json:"ok"`
	Failed int64   `json:"failed"`
}

const (
	// streams is how many replies are read at a time while tokens are counted.
	streams = 64
	// settling is left out at the start of a step.
	settling = 100 * time.Millisecond
	// callers is how many connections ask for short replies.
	callers = 32
)

// drive finds how many tokens and requests per second this machine can drive,
// against a metronome in this process.
func (m *Machine) drive(ctx context.Context, k *clock.Clock, pace Pace) error {
	for rate := m.Tokens.next(); rate > 0 && len(m.Tokens) < pace.Steps; rate = m.Tokens.next() {
		step, err := m.step(ctx, k, rate, pace.Step)
		if err != nil {
			return err
		}
		m.Tokens = append(m.Tokens, step)
	}
	return m.ask(ctx, k, pace.Requests)
}

type bench struct {
	client *client.Client
	engine *simserver.Running
	model  string
}

func newBench(ctx context.Context, k *clock.Clock, interval time.Duration) (*bench, error) {
	engine, err := simserver.Start(ctx, sim.Spec{}, simserver.ServeOptions{Pace: interval, Clock: k})
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Spec{URLs: []string{engine.URL()}}, client.Options{Clock: k})
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return &bench{client: c, engine: engine, model: sim.DefaultModel}, nil
}

func (b *bench) request(tokens int) *llm.Request {
	return &llm.Request{Model: b.model, Stream: true, MaxTokens: tokens, Messages: []llm.Message{{Role: "user", Content: "go"}}}
}

// close adds the stamps to those of the machine.
func (b *bench) close(m *Machine) {
	kernel, user := b.client.Timestamps()
	m.Stamps.Kernel += kernel
	m.Stamps.User += user
	b.client.Close()
	// What it served is counted already.
	_ = b.engine.Close()
}

// step offers one load of streams and counts what arrives.
func (m *Machine) step(ctx context.Context, k *clock.Clock, rate float64, length time.Duration) (Step, error) {
	interval := time.Duration(streams / rate * float64(time.Second))
	b, err := newBench(ctx, k, interval)
	if err != nil {
		return Step{}, err
	}
	defer b.close(m)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := k.Now()
	window := window{start + int64(settling), start + int64(settling+length)}
	tokens := 2 * int((settling+length)/interval+1)
	tallies := make([]tally, streams)
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			// Streams that began together would bring their tokens together.
			k.SleepUntil(start+int64(interval)*int64(i)/streams, ctx.Done())
			tallies[i] = b.count(ctx, tokens, window)
		})
	}
	k.SleepUntil(window.end, ctx.Done())
	cancel()
	all.Wait()
	return sumUp(tallies, rate, length)
}

// window is a stretch of time, its end excluded.
type window struct{ start, end int64 }

// tally is what one stream brought inside the window.
type tally struct {
	events, coalesced int
	fault             error
}

// count reads one stream until it is cancelled.
func (b *bench) count(ctx context.Context, tokens int, w window) (t tally) {
	for ev, err := range b.client.Stream(ctx, b.request(tokens)) {
		if err != nil {
			if ctx.Err() == nil {
				t.fault = err
			}
			return t
		}
		if ev.Kind != llm.Output || ev.At < w.start || ev.At >= w.end {
			continue
		}
		t.events++
		if ev.Coalesced {
			t.coalesced++
		}
	}
	return t
}

func sumUp(tallies []tally, rate float64, length time.Duration) (Step, error) {
	var all tally
	for _, t := range tallies {
		all.events += t.events
		all.coalesced += t.coalesced
		all.fault = cmp.Or(all.fault, t.fault)
	}
	s := Step{Offered: rate, Got: float64(all.events) / length.Seconds()}
	if all.events > 0 {
		s.Coalesced = float64(all.coalesced) / float64(all.events)
	}
	if all.fault != nil {
		return s, fmt.Errorf("the embedded engine on loopback: %w", all.fault)
	}
	return s, nil
}

// ask sends short requests without a pause.
func (m *Machine) ask(ctx context.Context, k *clock.Clock, length time.Duration) error {
	b, err := newBench(ctx, k, time.Microsecond)
	if err != nil {
		return err
	}
	defer b.close(m)
	var answered, failed atomic.Int64
	start := k.Now()
	until := start + int64(length)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for k.Now() < until && ctx.Err() == nil {
				if b.answered(ctx) {
					answered.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	took := time.Duration(k.Now() - start)
	m.Requests = RequestDrive{Rate: float64(answered.Load()) / took.Seconds(), OK: answered.Load(), Failed: failed.Load()}
	return nil
}

// answered asks for one token and reports whether the reply came in order.
func (b *bench) answered(ctx context.Context) bool {
	for _, err := range b.client.Stream(ctx, b.request(1)) {
		if err != nil {
			return false
		}
	}
	return true
}
