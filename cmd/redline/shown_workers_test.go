package main

import (
	"context"
	"io"
	"sync"
	"testing"

	"redline/internal/must"
	"redline/internal/workers/bus"
)

// shownToken is the join token of everybody in the showcase.
const shownToken = "0123456789abcdef"

// serveWorkers is a NATS server at which so many workers wait.
func serveWorkers(t *testing.T, workers int) (url string) {
	hub := must.Get(bus.Open(t.Context(), bus.Options{Token: shownToken}))(t)
	t.Cleanup(hub.Close)
	var working sync.WaitGroup
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); working.Wait() })
	for range workers {
		p := &process{args: []string{"worker", "--nats", hub.URL()}, stdout: io.Discard, stderr: io.Discard, stop: stop, doctorPace: briefly, lookupEnv: shownEnv(hub.URL())}
		working.Go(func() { p.run(context.WithoutCancel(t.Context())) })
	}
	return hub.URL()
}

// shownEnv is the environment of the commands.
func shownEnv(nats string) func(string) (string, bool) {
	env := map[string]string{bus.TokenVariable: shownToken}
	if nats != "" {
		env["REDLINE_NATS"] = nats
	}
	return environment(env)
}
