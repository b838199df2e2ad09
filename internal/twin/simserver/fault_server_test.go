package simserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/twin/sim"
)

// berth is where servers in memory listen one after another.
type berth struct{ present atomic.Pointer[pipe.Listener] }

func (b *berth) open(context.Context, string) (net.Listener, error) {
	l := pipe.Listen("memory")
	b.present.Store(l)
	return l, nil
}

// startInMemory serves a metronome in a bubble, and gives a client for it.
func startInMemory(t *testing.T, spec sim.Spec, o ServeOptions) (*Running, *http.Client) {
	t.Helper()
	place := &berth{}
	o.Open, o.Clock = place.open, clock.Virtual()
	if o.Pace == 0 {
		o.Pace = 10 * time.Millisecond
	}
	r := must.Get(Start(t.Context(), spec, o))(t)
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return place.present.Load().Dial(ctx, network, addr)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: dial}}
	t.Cleanup(c.CloseIdleConnections)
	return r, c
}

func closeBoth(t *testing.T, r *Running, c *http.Client) {
	t.Helper()
	c.CloseIdleConnections()
	expect.OK(t, r.Close())
}

// reply is a reply as far as it came.
type reply struct {
	status int
	body   string
	err    error
	took   time.Duration
}

func askFor(t *testing.T, c *http.Client, d *wire.Dialect, output int, stream bool) reply {
	t.Helper()
	asked := question(output)
	asked.Stream = stream
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sim"+d.Resolve("", stream),
		bytes.NewReader(d.Encode(nil, asked, wire.Quirks{}))))(t)
	begin := time.Now()
	resp, err := c.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(body), err, time.Since(begin)}
}

// Replies that are not streamed are struck too.
func TestFaultsOfWholeReplies(t *testing.T) {
	t.Parallel()
	const generation = 80 * time.Millisecond // eight tokens at the metronome's pace
	readable := func(_ reply, d wire.Delta, unread error) bool { return unread == nil && d.HasOutput() }
	halfJSON := func(r reply, _ wire.Delta, unread error) bool { return r.err == nil && unread != nil && r.body != "" }
	for _, row := range []struct {
		fault string
		check func(got reply, delta wire.Delta, unread error) bool
	}{
		{"slow-head(3s)", func(r reply, d wire.Delta, unread error) bool {
			return readable(r, d, unread) && r.took == generation+3*time.Second
		}},
		{"stall(3s)", func(r reply, d wire.Delta, unread error) bool {
			return readable(r, d, unread) && r.took == generation+3*time.Second
		}},
		{"halved", readable},
		{"bytewise", readable},
		{"crlf", readable},
		{"huge", func(r reply, d wire.Delta, unread error) bool {
			return readable(r, d, unread) && len(r.body) > hugeEvent
		}},
		{"no-usage", func(r reply, d wire.Delta, unread error) bool {
			return readable(r, d, unread) && d.Usage.OutputTokens == 0
		}},
		{"wrong-usage", func(r reply, d wire.Delta, unread error) bool {
			return readable(r, d, unread) && d.Usage.OutputTokens == 16
		}},
		{"error-event", func(_ reply, d wire.Delta, _ error) bool { return d.HasErr }},
		{"truncated", halfJSON},
		{"malformed", halfJSON},
		{"empty", func(r reply, _ wire.Delta, _ error) bool { return r.err == nil && r.body == "" }},
		{"reset", func(r reply, _ wire.Delta, _ error) bool { return r.err != nil && r.body != "" }},
	} {
		t.Run(row.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, c := startInMemory(t, sim.Spec{Faults: []string{row.fault}}, ServeOptions{})
				for _, d := range wire.Dialects {
					got := askFor(t, c, d, 8, false)
					var delta wire.Delta
					unread := d.DecodeWhole([]byte(got.body), &delta)
					if got.status != http.StatusOK || !row.check(got, delta, unread) {
						t.Errorf("%s: status %d, %d bytes, %v: %.200s", d.Name, got.status, len(got.body), got.err, got.body)
					}
				}
				closeBoth(t, r, c)
			})
		})
	}
}

// A refusal is no generation: the truth has nothing of it.
func TestRefusalsHaveNoTruth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var truth bytes.Buffer
		r, c := startInMemory(t, sim.Spec{Faults: []string{"429(2s):#1"}}, ServeOptions{Truth: &truth})
		first := askFor(t, c, wire.Dialects[0], 8, true)
		second := askFor(t, c, wire.Dialects[0], 8, true)
		if first.status != http.StatusTooManyRequests || second.status != http.StatusOK {
			t.Errorf("statuses %d and %d", first.status, second.status)
		}
		closeBoth(t, r, c)
		if lines := readTruth(t, &truth); len(lines) != 1 {
			t.Errorf("truth of %d generations, want the one that was begun: %v", len(lines), lines)
		}
	})
}

// A server can be closed while it is away, and while it stalls.
func TestCloseAtBadMoments(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		spec    sim.Spec
		options ServeOptions
		ask     bool
	}{
		"before the restart": {sim.Spec{}, ServeOptions{RestartAfter: time.Hour}, false},
		"while away":         {sim.Spec{}, ServeOptions{RestartAfter: time.Second, Downtime: time.Hour}, false},
		"after the restart":  {sim.Spec{}, ServeOptions{RestartAfter: time.Second, Downtime: time.Second}, false},
		"in a stall":         {sim.Spec{Faults: []string{"stall(1h)"}}, ServeOptions{}, true},
		"before the head":    {sim.Spec{Faults: []string{"slow-head(1h)"}}, ServeOptions{}, true},
		"before a refusal":   {sim.Spec{Faults: []string{"slow-head(1h)", "500"}}, ServeOptions{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				r, c := startInMemory(t, row.spec, row.options)
				done := make(chan reply, 1)
				if row.ask {
					go func() { done <- askFor(t, c, wire.Dialects[0], 8, true) }()
				}
				time.Sleep(10 * time.Second)
				closeBoth(t, r, c)
				if row.ask && (<-done).err == nil {
					t.Error("the request ended in order")
				}
				if took := time.Since(begin); took != 10*time.Second {
					t.Errorf("closed after %v, want at once after 10s", took)
				}
			})
		})
	}
}

// The truth of both lives of a server is in one log.
func TestTruthAcrossARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var truth bytes.Buffer
		r, c := startInMemory(t, sim.Spec{}, ServeOptions{RestartAfter: time.Second, Truth: &truth, Pace: 300 * time.Millisecond})
		cut := askFor(t, c, wire.Dialects[0], 8, true)
		away := askFor(t, c, wire.Dialects[0], 8, true)
		time.Sleep(2 * time.Second)
		back := askFor(t, c, wire.Dialects[0], 2, true)
		if cut.err == nil || away.err == nil || back.err != nil || !strings.Contains(back.body, "[DONE]") {
			t.Errorf("cut: %v, away: %v, back: %v %s", cut.err, away.err, back.err, back.body)
		}
		closeBoth(t, r, c)
		// Both servers call their first generation sim-1.
		if n := strings.Count(truth.String(), `"id":"sim-1"`); n != 2 {
			t.Errorf("%d lines, want one of each life:\n%s", n, truth.String())
		}
	})
}

func TestStartRefusesNegativeTimes(t *testing.T) {
	t.Parallel()
	for _, o := range []ServeOptions{{RestartAfter: -1}, {Downtime: -1}} {
		if r, err := Start(t.Context(), sim.Spec{}, o); err == nil {
			r.Close()
			t.Errorf("%+v was taken", o)
		}
	}
}

// A reply that nobody waits for is not ended as if it were whole.
func TestAbandonedRepliesAreCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, c := startInMemory(t, sim.Spec{Faults: []string{"slow-head(1h)"}}, ServeOptions{})
		d := wire.Dialects[0]
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		request := httptest.NewRequestWithContext(gone, http.MethodPost, d.Path, bytes.NewReader(d.Encode(nil, question(8), wire.Quirks{})))
		func() {
			defer func() {
				if cause := recover(); cause != http.ErrAbortHandler {
					t.Errorf("the handler ended with %v, want %v", cause, http.ErrAbortHandler)
				}
			}()
			r.present().ServeHTTP(httptest.NewRecorder(), request)
		}()
		closeBoth(t, r, c)
	})
}

// Each write of the server is one chunk of the body.
func TestFramingFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	events := func(chunk string) int { return strings.Count(chunk, `"content":"`) }
	for _, row := range []struct {
		fault string
		right func(chunks []string) bool
	}{
		{"no-usage", func(chunks []string) bool { // nothing but usage differs
			return !slices.ContainsFunc(chunks, func(c string) bool { return events(c) > 1 || !strings.HasSuffix(c, "\n\n") })
		}},
		{"crlf", func(chunks []string) bool {
			all := strings.Join(chunks, "")
			return strings.Count(all, "\n") == strings.Count(all, "\r\n") && strings.HasSuffix(all, "\r\n\r\n")
		}},
		{"paired", func(chunks []string) bool {
			return !slices.ContainsFunc(chunks, func(c string) bool { return events(c) == 1 && !strings.Contains(c, `""`) })
		}},
		{"halved", func(chunks []string) bool {
			for i, c := range chunks {
				if strings.HasSuffix(c, "\n\n") == (i%2 == 0) {
					return false
				}
			}
			return len(chunks)%2 == 0
		}},
		{"bytewise", func(chunks []string) bool {
			return !slices.ContainsFunc(chunks, func(c string) bool { return len(c) != 1 })
		}},
		{"huge", func(chunks []string) bool {
			huge := slices.DeleteFunc(chunks, func(c string) bool { return len(c) < hugeEvent })
			return len(huge) == 1 && events(huge[0]) == 1
		}},
	} {
		t.Run(row.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chunks := chunksOf(t, row.fault)
				if len(chunks) < 5 || !row.right(chunks) {
					t.Errorf("%d chunks: %.2000q", len(chunks), chunks)
				}
			})
		})
	}
}

// chunksOf streams eight tokens and gives the chunks of the body.
func chunksOf(t *testing.T, fault string) (chunks []string) {
	t.Helper()
	r, c := startInMemory(t, sim.Spec{Faults: []string{fault}}, ServeOptions{})
	defer closeBoth(t, r, c)
	conn := must.Get(c.Transport.(*http.Transport).DialContext(t.Context(), "", ""))(t)
	defer conn.Close()
	d := wire.Dialects[0]
	body := d.Encode(nil, question(8), wire.Quirks{})
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: sim\r\nContent-Length: %d\r\n\r\n%s", d.Path, len(body), body)
	in := bufio.NewReader(conn)
	for line := "head"; line != "\r\n"; { // the blank line ends the head
		line = must.Get(in.ReadString('\n'))(t)
	}
	for {
		var size int
		must.Get(fmt.Fscanf(in, "%x\r\n", &size))(t)
		if size == 0 {
			return chunks
		}
		chunk := make([]byte, size+len("\r\n"))
		must.Get(io.ReadFull(in, chunk))(t)
		chunks = append(chunks, string(chunk[:size]))
	}
}
