package simserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// truthLine is a line as a reader sees it.
type truthLine struct {
	ID      string  `json:"id"`
	Conn    string  `json:"conn"`
	Arrived int64   `json:"arrived_ns"`
	Before  []int64 `json:"before_ns"`
	After   []int64 `json:"after_ns"`
}

func readTruth(t *testing.T, log io.Reader) map[string]truthLine {
	t.Helper()
	lines := map[string]truthLine{}
	for d := json.NewDecoder(log); d.More(); {
		var line truthLine
		must.Do(t, d.Decode(&line))
		lines[line.ID] = line
	}
	return lines
}

// TestTruthInVirtualTime knows every stamp in advance: the metronome's beats.
func TestTruthInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		const pace = 7 * time.Millisecond
		b := serveBubble(t, sim.Spec{ReasoningTokens: 2, TokensPerChunk: 3}, sim.NewMetronome(pace), &log)
		began := time.Now().UnixNano()
		beat := func(n int) int64 { return began + int64(n)*int64(pace) }

		b.ask("streamed", dialect(t, "anthropic-messages"), 9, true)
		b.ask("whole \"quoted\"", dialect(t, "openai-chat"), 4, false)
		b.close()

		// Events of the stream: two tokens of reasoning, then 3, 3 and 1.
		streamed := []int64{beat(2), beat(5), beat(8), beat(9)}
		whole := []int64{beat(9 + 4)}
		want := map[string]truthLine{
			"streamed":         {"streamed", "pipe", began, streamed, streamed},
			"whole \"quoted\"": {"whole \"quoted\"", "pipe", beat(9), whole, whole},
		}
		expect.NoDiff(t, cmp.Diff(want, readTruth(t, &log)), "truth (-want +got)")
	})
}

func TestTruthOfCutRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := serveBubble(t, sim.Spec{}, sim.NewMetronome(time.Second), &log)
		began := time.Now().UnixNano()
		resp := b.open("left", dialect(t, "openai-chat"), 100)
		arrivals(t, dialect(t, "openai-chat"), resp.Body, 2)
		resp.Body.Close()
		early := b.open("left at once", dialect(t, "openai-chat"), 100)
		early.Body.Close()
		refused := must.Get(b.client.Post("http://sim/v1/chat/completions", "", strings.NewReader("{")))(t)
		refused.Body.Close()
		synctest.Wait()
		b.close()

		two := []int64{began + 1e9, began + 2e9}
		want := map[string]truthLine{
			"left":         {"left", "pipe", began, two, two},
			"left at once": {"left at once", "pipe", began + 2e9, []int64{}, []int64{}},
		}
		expect.NoDiff(t, cmp.Diff(want, readTruth(t, &log)), "truth (-want +got)")
	})
}

// TestTruthOverSockets joins the log with what a client saw.
func TestTruthOverSockets(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := must.Get(Start(t.Context(), sim.Spec{}, ServeOptions{Pace: time.Millisecond, Truth: &log}))(t)
	before := time.Now().UnixNano()
	client := caller(t)
	for _, d := range wire.Dialects {
		ask(t, client, r.URL(), d, question(5))
	}
	after := time.Now().UnixNano()
	must.Do(t, r.Close())
	lines := readTruth(t, &log)
	if len(lines) != len(wire.Dialects) {
		t.Fatalf("%d lines with ids of their own for %d requests", len(lines), len(wire.Dialects))
	}
	for _, line := range lines {
		stamps := []int64{before, line.Arrived}
		for i := range line.Before {
			stamps = append(stamps, line.Before[i], line.After[i])
		}
		stamps = append(stamps, after)
		for i := 1; i < len(stamps); i++ {
			if stamps[i] < stamps[i-1] {
				t.Errorf("stamps go back in %+v", line)
			}
		}
		if len(line.Before) != 5 || !strings.HasPrefix(line.Conn, "127.0.0.1:") {
			t.Errorf("want five events from a loopback address, got %+v", line)
		}
	}
}

// TestTruthOutlivesAKill reads the file while the engine still runs: a kill can
// take nothing from it that stands there.
func TestTruthOutlivesAKill(t *testing.T) {
	t.Parallel()
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "truth.jsonl")))(t)
	defer file.Close()
	r := must.Get(Start(t.Context(), sim.Spec{}, ServeOptions{Pace: time.Millisecond, Truth: file}))(t)
	defer r.Close()
	client := caller(t)
	for n := 1; n <= 3; n++ {
		ask(t, client, r.URL(), wire.Dialects[0], question(5))
		kept := must.Get(os.Open(file.Name()))(t)
		if got := len(readTruth(t, kept)); got != n {
			t.Errorf("%d lines after %d answers were read", got, n)
		}
		kept.Close()
	}
}

// brokenDisk takes nothing.
type brokenDisk struct{}

func (brokenDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTruthThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	r := must.Get(Start(t.Context(), sim.Spec{}, ServeOptions{Pace: time.Microsecond, Truth: brokenDisk{}}))(t)
	ask(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, r.URL(), wire.Dialects[0], question(3))
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("closing gave %v; want the disk's error", err)
	}
}
