package main

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/run/measure"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// world is a network in memory and the virtual time of a bubble: what is measured
// in it is the same on every machine, however busy.
type world struct {
	*testing.T
	network pipe.Network
	env     func(string) (string, bool)
}

// virtually runs a test in a world of its own.
func virtually(t *testing.T, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(&world{T: t, env: seeded}) })
}

// seeded has the same requests sent each time.
var seeded = environment(map[string]string{"REDLINE_SEED": "1"})

// redline runs a command in this process and in this world.
func (w *world) redline(args ...string) (code int, stdout, stderr string) {
	w.Helper()
	var out, err buffer
	p := &process{args: args, stdout: &out, stderr: &err, stop: make(chan struct{}), lookupEnv: w.env,
		virtual: func(o *measure.Options) {
			o.Clock, o.Dial, o.Open = clock.Virtual(), w.network.Dial, w.network.Open
			time.Sleep(time.Millisecond) // a time of 0 stands for none
		}}
	code = p.run(w.Context())
	return code, out.String(), err.String()
}

// engine serves a simulated engine and gives its URL; a pace replaces it by a
// metronome.
func (w *world) engine(spec sim.Spec, pace time.Duration) (url string) {
	w.Helper()
	return w.engineAt("127.0.0.1:0", spec, pace)
}

func (w *world) engineAt(address string, spec sim.Spec, pace time.Duration) (url string) {
	w.Helper()
	running := must.Get(simserver.Start(context.WithoutCancel(w.Context()), spec, simserver.ServeOptions{Listen: address, Pace: pace, Clock: clock.Virtual(), Open: w.network.Open}))(w)
	w.Cleanup(func() { running.Close() })
	return running.URL()
}

// serve serves what a handler answers and gives its URL.
func (w *world) serve(handler http.HandlerFunc) (url string) {
	w.Helper()
	l := must.Get(w.network.Open(w.Context(), "127.0.0.1:0"))(w)
	server := &http.Server{Handler: handler}
	go server.Serve(l)
	w.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}
