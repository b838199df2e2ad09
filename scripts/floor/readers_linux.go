package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/drive/frame"
	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/drive/wire"
	"redline/internal/llm"
)

// readRedline reads as redline run does: the load engine, the client, and a
// record of every token.
func readRedline(l streaming) (counter, error) { return l.readWith(client.Options{}) }

// readByRuntime reads as redline does where it has no reader of its own.
func readByRuntime(l streaming) (counter, error) { return l.readWith(client.Options{NoReader: true}) }

func (l streaming) readWith(o client.Options) (counter, error) {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2 + client.Readers()) // as redline does
	k := clock.New()
	o.Clock = k
	c, err := client.New(client.Spec{URLs: []string{"http://" + l.addr}}, o)
	if err != nil {
		return nil, err
	}
	var progress load.Progress
	stage := load.Stage{Run: "floor", Cap: l.streams, Stagger: l.ramp(), Warmup: new(time.Duration), Duration: time.Hour,
		Session: func(int) llm.Session { return llm.Single(l.request()) }}
	go func() {
		_, err := load.Run(context.Background(), k, c, stage, &progress, func(r *record.Record) { lost(errors.New(r.Error)) })
		lost(err)
	}()
	time.Sleep(l.ramp() + settle)
	return func() (float64, int64) {
		kernel, user := c.Timestamps()
		return float64(progress.Events.Load()), kernel + user
	}, nil
}

// readNetHTTP reads with the standard library's client and redline's own event
// reader, and keeps the same records; arrival is the clock after the read.
func readNetHTTP(l streaming) (counter, error) {
	var tokens, reads atomic.Int64
	transport := &http.Transport{MaxIdleConnsPerHost: l.streams, DisableCompression: true, ReadBufferSize: 16 << 10}
	asks := &http.Client{Transport: transport}
	for range l.streams {
		go func() { lost(l.follow(asks, &tokens, &reads)) }()
		time.Sleep(l.ramp() / time.Duration(l.streams))
	}
	time.Sleep(settle)
	return func() (float64, int64) { return float64(tokens.Load()), reads.Load() }, nil
}

// follow reads one stream for ever.
func (l streaming) follow(asks *http.Client, tokens, reads *atomic.Int64) error {
	k := clock.New()
	reply, err := asks.Post("http://"+l.addr+chat.Path, "application/json", bytes.NewReader(l.body()))
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	rec := &record.Record{Streamed: true}
	rec.Expect(endless)
	var sse frame.Reader
	var delta wire.Delta
	body := bufio.NewReaderSize(reply.Body, 16<<10)
	for {
		if _, err := body.Peek(1); err != nil {
			return err
		}
		at := k.Now()
		reads.Add(1)
		data, _ := body.Peek(body.Buffered())
		sse.Push(data)
		for frame, ok := sse.Next(); ok; frame, ok = sse.Next() {
			if err := chat.Decode(frame.Name, frame.Data, &delta); err != nil {
				return err
			}
			if delta.HasOutput() {
				rec.Observe(llm.Event{Kind: llm.Output, At: at, Text: delta.Text})
				tokens.Add(1)
			}
		}
		_, _ = body.Discard(len(data))
	}
}

// lost ends the process: a stream that ends spoils the measurement.
func lost(err error) {
	os.Stderr.WriteString("floor: a stream ended: " + err.Error() + "\n")
	os.Exit(1)
}
