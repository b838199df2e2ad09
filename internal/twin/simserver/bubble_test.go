package simserver

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/catalog"
	"redline/internal/clock"
	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/twin/sim"
)

// witness is a core that remembers its jobs.
type witness struct {
	sim.Core
	jobs []*sim.Job
}

func (w *witness) Submit(now int64, j *sim.Job) error {
	w.jobs = append(w.jobs, j)
	return w.Core.Submit(now, j)
}

// bubble is a server and a client inside a bubble of virtual time.
type bubble struct {
	t      *testing.T
	server *Server
	client *http.Client
	served chan error
}

func serveBubble(t *testing.T, spec sim.Spec, core sim.Core, truth io.Writer) *bubble {
	t.Helper()
	full := must.Get(spec.Resolve())(t)
	server := must.Get(NewServer(Options{Spec: full, Core: core, Clock: clock.Virtual(), Truth: truth}))(t)
	l := pipe.Listen("memory")
	b := &bubble{t, server, &http.Client{Transport: &http.Transport{DialContext: l.Dial}}, make(chan error, 1)}
	go func() { b.served <- server.Serve(t.Context(), l) }()
	return b
}

// close ends both sides.
func (b *bubble) close() {
	b.client.CloseIdleConnections()
	if err := b.server.Close(); err != nil {
		b.t.Error(err)
	}
	if err := <-b.served; err != nil {
		b.t.Error(err)
	}
}

// send asks for output tokens and returns once the head has arrived.
func (b *bubble) send(id string, d *wire.Dialect, output int, stream bool) *http.Response {
	asked := question(output)
	asked.Stream = stream
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, "http://sim"+d.Resolve("", stream),
		bytes.NewReader(d.Encode(nil, asked, wire.Quirks{})))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("X-Request-Id", id)
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp
}

func (b *bubble) open(id string, d *wire.Dialect, output int) *http.Response {
	return b.send(id, d, output, true)
}

func (b *bubble) ask(id string, d *wire.Dialect, output int, stream bool) {
	resp := b.send(id, d, output, stream)
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// arrivals gives the virtual time at which each output event of a stream
// arrived, up to a number of them.
func arrivals(t *testing.T, d *wire.Dialect, body io.Reader, limit int) []int64 {
	var times []int64
	events := d.Framing.NewReader()
	var delta wire.Delta
	buf := make([]byte, 4096)
	for {
		n, err := body.Read(buf)
		events.Push(buf[:n])
		for {
			frame, ok := events.Next()
			if !ok {
				break
			}
			expect.OK(t, d.Decode(frame.Name, frame.Data, &delta))
			if delta.HasOutput() {
				times = append(times, time.Now().UnixNano())
			}
		}
		if err != nil || len(times) >= limit {
			return times
		}
	}
}

// TestClientSeesTheCoresOwnTimes runs the batching engine under requests that
// arrive while others are in mid step: what a client measures is what the core
// decided, to the nanosecond.
func TestClientSeesTheCoresOwnTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batching := must.Get(sim.NewBatching(sim.Spec{Seed: 3}))(t)
		core := &witness{Core: batching}
		b := serveBubble(t, sim.Spec{Seed: 3}, core, nil)
		const requests, output = 40, 25
		type span struct{ First, Last int64 }
		seen := make([]span, requests)
		var all sync.WaitGroup
		for i := range requests {
			all.Go(func() {
				d := wire.Dialects[i%len(wire.Dialects)]
				sent := time.Now().UnixNano()
				resp := b.open("", d, output)
				defer resp.Body.Close()
				times := arrivals(t, d, resp.Body, output+1)
				if len(times) != output {
					t.Errorf("request %d: %d events, want %d", i, len(times), output)
					return
				}
				seen[i] = span{times[0] - sent, times[output-1] - sent}
			})
			time.Sleep(1234567)
		}
		all.Wait()
		late := b.server.lateness()
		b.close()

		want := make([]span, requests)
		for i, j := range core.jobs {
			want[i] = span{j.First - j.Arrived, j.Last - j.Arrived}
		}
		expect.NoDiff(t, cmp.Diff(want, seen), "times from sending (-core +client)")
		if late.Max != 0 || late.Steps == 0 {
			t.Errorf("lateness in virtual time: %+v", late)
		}
	})
}

// TestClientGoesAway leaves in mid stream and looks at what the engine does.
func TestClientGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := must.Get(sim.NewBatching(sim.Spec{}))(t)
		b := serveBubble(t, sim.Spec{}, core, nil)
		d := dialect(t, "openai-chat")
		resp := b.open("", d, 5000)
		must.Get(resp.Body.Read(make([]byte, 1)))(t)
		running := b.server.snapshot(0).Running
		resp.Body.Close()
		time.Sleep(time.Second)
		after := b.server.snapshot(0)
		b.ask("", d, 3, true)
		aborts := series(t, gather(t, b.server))["vllm:request_success_total abort"]
		b.close()
		if running != 1 || after.Running != 0 || after.KVUsage != 0 || aborts != 1 {
			t.Errorf("%d running before, %d after, cache use %v, %v aborted; want 1, 0, 0, 1",
				running, after.Running, after.KVUsage, aborts)
		}
	})
}

// TestSlowReaderHoldsNobodyUp has one client that never reads, over pipes that
// buffer nothing.
func TestSlowReaderHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pace = time.Millisecond
		b := serveBubble(t, sim.Spec{}, sim.NewMetronome(pace), nil)
		d := dialect(t, "openai-chat")
		slow := b.open("slow", d, 500)
		began := time.Now()
		b.ask("prompt", d, 100, true)
		if took := time.Since(began); took != 100*pace {
			t.Errorf("beside a slow reader 100 tokens took %v, want %v", took, 100*pace)
		}
		time.Sleep(time.Second)
		if left := b.server.snapshot(0).Running; left != 0 {
			t.Errorf("%d requests still run in the engine, want none", left)
		}
		if n := len(arrivals(t, d, slow.Body, 501)); n != 500 {
			t.Errorf("the slow reader got %d events in the end, want 500", n)
		}
		slow.Body.Close()
		b.close()
	})
}

// TestCloseCutsStreams closes under running streams, one of them blocked in a
// write.
func TestCloseCutsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serveBubble(t, sim.Spec{}, sim.NewMetronome(time.Second), nil)
		d := dialect(t, "openai-completions")
		waiting, blocked := b.open("", d, 10), b.open("", d, 10)
		time.Sleep(5 * time.Second)
		b.close()
		for _, resp := range []*http.Response{waiting, blocked} {
			if _, err := io.ReadAll(resp.Body); err == nil {
				t.Error("a stream ended in order though its server was closed")
			}
			resp.Body.Close()
		}
		w := &sink{header: http.Header{}}
		b.server.ServeHTTP(w, &http.Request{Method: http.MethodGet})
		if w.status != http.StatusServiceUnavailable {
			t.Errorf("a closed server answers with status %d", w.status)
		}
	})
}

// Over HTTP the tokens of a step share an event, and the page tells of them.
func TestSpeculationOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := must.Get(sim.Spec{Jitter: new(0.0), Speculation: sim.Speculation{Tokens: 4, Acceptance: 1}, Law: &catalog.Law{WeightsUS: 10_000, Corner: 1}}.Resolve())(t)
		spec.ServedModelName = sim.DefaultModel
		core := must.Get(sim.NewBatching(spec))(t)
		b := serveBubble(t, spec, core, nil)
		a := ask(t, b.client, "http://sim", dialect(t, "openai-chat"), question(11))
		synctest.Wait() // the last token is out before its step is counted
		got := series(t, gather(t, b.server))
		b.close()
		if a.Outputs != 3 || a.Usage.OutputTokens != 11 {
			t.Errorf("%d events of %d tokens, want 3 of 11", a.Outputs, a.Usage.OutputTokens)
		}
		for name, want := range map[string]float64{
			"vllm:spec_decode_num_drafts_total": 2, "vllm:spec_decode_num_draft_tokens_total": 8,
			"vllm:spec_decode_num_accepted_tokens_total": 8, "vllm:inter_token_latency_seconds count": 2,
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	})
}
