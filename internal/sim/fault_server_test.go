package sim

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/wire"
)

// berth is where servers in memory listen one after another.
type berth struct{ present *pipes }

func (b *berth) open(context.Context, string) (net.Listener, error) {
	b.present = newPipes()
	return b.present, nil
}

// startInMemory serves a metronome in a bubble, and gives a client for it.
func startInMemory(t *testing.T, spec Spec, o ServeOptions) (*Running, *http.Client) {
	t.Helper()
	place := &berth{}
	o.Open, o.Clock = place.open, clock.Virtual()
	if o.Pace == 0 {
		o.Pace = 10 * time.Millisecond
	}
	r, err := Start(t.Context(), spec, o)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return place.present.dial(ctx, network, addr)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: dial}}
	t.Cleanup(c.CloseIdleConnections)
	return r, c
}

func closeBoth(t *testing.T, r *Running, c *http.Client) {
	t.Helper()
	c.CloseIdleConnections()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// reply is a reply as far as it came.
type reply struct {
	status int
	body   string
	err    error
}

func askFor(t *testing.T, c *http.Client, d *wire.Dialect, output int, stream bool) reply {
	t.Helper()
	asked := question(output)
	asked.Stream = stream
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sim"+d.Path,
		bytes.NewReader(d.Encode(nil, asked, wire.Quirks{})))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(body), err}
}

// Replies that are not streamed are struck too.
func TestFaultsOfWholeReplies(t *testing.T) {
	t.Parallel()
	readable := func(_ reply, d wire.Delta, unread error) bool { return unread == nil && d.HasOutput() }
	halfJSON := func(r reply, _ wire.Delta, unread error) bool { return r.err == nil && unread != nil && r.body != "" }
	for _, row := range []struct {
		fault string
		check func(got reply, delta wire.Delta, unread error) bool
	}{
		{"slow-head", readable},
		{"stall", readable},
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
				r, c := startInMemory(t, Spec{Faults: []string{row.fault}}, ServeOptions{})
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
		r, c := startInMemory(t, Spec{Faults: []string{"429(2s):#1"}}, ServeOptions{Truth: &truth})
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
		spec    Spec
		options ServeOptions
		ask     bool
	}{
		"before the restart": {Spec{}, ServeOptions{RestartAfter: time.Hour}, false},
		"while away":         {Spec{}, ServeOptions{RestartAfter: time.Second, Downtime: time.Hour}, false},
		"after the restart":  {Spec{}, ServeOptions{RestartAfter: time.Second, Downtime: time.Second}, false},
		"in a stall":         {Spec{Faults: []string{"stall(1h)"}}, ServeOptions{}, true},
		"before the head":    {Spec{Faults: []string{"slow-head(1h)"}}, ServeOptions{}, true},
		"before a refusal":   {Spec{Faults: []string{"slow-head(1h)", "500"}}, ServeOptions{}, true},
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
		r, c := startInMemory(t, Spec{}, ServeOptions{RestartAfter: time.Second, Truth: &truth, Pace: 300 * time.Millisecond})
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
		if r, err := Start(t.Context(), Spec{}, o); err == nil {
			r.Close()
			t.Errorf("%+v was taken", o)
		}
	}
}
