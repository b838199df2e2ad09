package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/judge/validity"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

func spreadOf(values []float64) validity.Spread {
	if len(values) == 0 {
		return validity.Spread{}
	}
	slices.Sort(values)
	return validity.Spread{N: len(values), P50: int64(stats.Quantile(values, 0.5)), P99: int64(stats.Quantile(values, 0.99))}
}

// maxTrips ends the round trips of a machine that is slow at them.
const maxTrips = 2 * time.Second

// roundTrips sends a byte to and fro over loopback, at most n times.
func roundTrips(ctx context.Context, n int) (validity.Spread, error) {
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return validity.Spread{}, err
	}
	defer l.Close()
	go echo(l)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return validity.Spread{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	one := []byte{1}
	var took []float64
	began := time.Now()
	for len(took) < n && time.Since(began) < maxTrips {
		start := time.Now()
		if _, err := conn.Write(one); err != nil {
			return validity.Spread{}, err
		}
		if _, err := io.ReadFull(conn, one); err != nil {
			return validity.Spread{}, err
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
func sleeps(ctx context.Context, k *clock.Clock, n int, each time.Duration) validity.Spread {
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
func drive(ctx context.Context, m *validity.Machine, k *clock.Clock, pace Pace) error {
	for rate := m.Tokens.Next(); rate > 0 && len(m.Tokens) < pace.Steps; rate = m.Tokens.Next() {
		step, err := offer(ctx, m, k, rate, pace.Step)
		if err != nil {
			return err
		}
		m.Tokens = append(m.Tokens, step)
	}
	return askOften(ctx, m, k, pace.Requests)
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
func (b *bench) close(m *validity.Machine) {
	kernel, user := b.client.Timestamps()
	m.Stamps.Kernel += kernel
	m.Stamps.User += user
	b.client.Close()
	// What it served is counted already.
	_ = b.engine.Close()
}

// offer offers one load of streams and counts what arrives.
func offer(ctx context.Context, m *validity.Machine, k *clock.Clock, rate float64, length time.Duration) (validity.Step, error) {
	interval := time.Duration(streams / rate * float64(time.Second))
	b, err := newBench(ctx, k, interval)
	if err != nil {
		return validity.Step{}, err
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

func sumUp(tallies []tally, rate float64, length time.Duration) (validity.Step, error) {
	var all tally
	for _, t := range tallies {
		all.events += t.events
		all.coalesced += t.coalesced
		all.fault = cmp.Or(all.fault, t.fault)
	}
	s := validity.Step{Offered: rate, Got: float64(all.events) / length.Seconds()}
	if all.events > 0 {
		s.Coalesced = float64(all.coalesced) / float64(all.events)
	}
	if all.fault != nil {
		return s, fmt.Errorf("the embedded engine on loopback: %w", all.fault)
	}
	return s, nil
}

// askOften sends short requests without a pause.
func askOften(ctx context.Context, m *validity.Machine, k *clock.Clock, length time.Duration) error {
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
				if b.ask(ctx) {
					answered.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	took := time.Duration(k.Now() - start)
	m.Requests = validity.RequestDrive{Rate: float64(answered.Load()) / took.Seconds(), OK: answered.Load(), Failed: failed.Load()}
	return nil
}

// ask asks for one token and reports whether the reply came in order.
func (b *bench) ask(ctx context.Context) bool {
	for _, err := range b.client.Stream(ctx, b.request(1)) {
		if err != nil {
			return false
		}
	}
	return true
}
