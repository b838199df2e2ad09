package simserver

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"testing"
	"time"

	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/token"
	"redline/internal/twin/sim"
)

// start serves a metronome that is as fast as timers allow, unless changed.
func start(t testing.TB, spec sim.Spec, o ServeOptions) *Running {
	t.Helper()
	o.Pace = cmp.Or(o.Pace, 100*time.Microsecond)
	r := must.Get(Start(t.Context(), spec, o))(t)
	t.Cleanup(func() {
		expect.OK(t, r.Close())
	})
	return r
}

// caller is an HTTP client with connections of its own.
func caller(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// answer is what a client makes of a reply.
type answer struct {
	Text, Reasoning, Tool string
	Usage                 llm.Usage
	Finish                string
	Outputs               int // events that carried output
	Done                  bool
}

func (a *answer) add(d *wire.Delta) {
	a.Text += string(d.Text)
	a.Reasoning += string(d.Reasoning)
	a.Tool += string(d.Tool)
	wire.MergeUsage(&a.Usage, d.Usage)
	if len(d.Finish) > 0 {
		a.Finish = string(d.Finish)
	}
	if d.HasOutput() {
		a.Outputs++
	}
	a.Done = a.Done || d.Done
}

// ask sends one request and reads all of the reply.
func ask(t testing.TB, c *http.Client, base string, d *wire.Dialect, r *llm.Request) answer {
	t.Helper()
	resp := post(t, c, base+d.Resolve("", r.Stream), d.Encode(nil, r, wire.Quirks{}))
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", d.Name, resp.StatusCode, err, body)
	}
	a, err := read(d, r.Stream, body)
	if err != nil {
		t.Fatalf("%s: %v in %s", d.Name, err, body)
	}
	return a
}

func post(t testing.TB, c *http.Client, url string, body []byte) *http.Response {
	t.Helper()
	resp := must.Get(c.Post(url, "application/json", bytes.NewReader(body)))(t)
	return resp
}

// read decodes a whole reply, streamed or not.
func read(d *wire.Dialect, stream bool, body []byte) (answer, error) {
	var a answer
	var delta wire.Delta
	if !stream {
		err := d.DecodeWhole(body, &delta)
		a.add(&delta)
		return a, err
	}
	events := d.Framing.NewReader()
	events.Push(body)
	for {
		frame, ok := events.Next()
		if !ok {
			return a, events.Err()
		}
		if err := d.Decode(frame.Name, frame.Data, &delta); err != nil {
			return a, err
		}
		a.add(&delta)
	}
}

// dialect finds an entry of the table.
func dialect(t testing.TB, name string) *wire.Dialect {
	t.Helper()
	d, ok := wire.ByName(name)
	if !ok {
		t.Fatalf("no dialect %q", name)
	}
	return d
}

func question(output int) *llm.Request {
	return &llm.Request{
		Model: sim.DefaultModel, MaxTokens: output, Stream: true,
		Messages: []llm.Message{{Role: "user", Content: "How hard can an engine be driven?"}},
	}
}

// parts is an answer's shape: how many tokens each part has by an independent
// count of its text.
type parts struct {
	Text, Reasoning, Tool, Outputs int
	Usage                          llm.Usage
	Finish                         string
}

func shape(a answer) parts {
	v := token.O200k()
	return parts{v.Count(a.Text), v.Count(a.Reasoning), v.Count(a.Tool), a.Outputs, a.Usage, a.Finish}
}

// usageOf is the part of the usage that a dialect has words for.
func usageOf(d *wire.Dialect, u llm.Usage) llm.Usage {
	switch d.Name {
	case "tgi-generate", "ollama-chat", "ollama-generate":
		u.CachedTokens, u.ReasoningTokens = 0, 0
	case "sglang-generate", "llamacpp-completion":
		u.ReasoningTokens = 0
	}
	return u
}
