package simserver

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/wire"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// flood is a core that gives every job a token at each tick.
type flood struct {
	jobs  []*sim.Job
	given []int
	tick  int64
}

func (f *flood) Submit(now int64, j *sim.Job) error {
	f.jobs, f.given = append(f.jobs, j), append(f.given, 0)
	return nil
}

func (f *flood) Cancel(int64, uint64) {}

func (f *flood) Step(now int64, emit func(sim.Token)) int64 {
	kept := 0
	for i, j := range f.jobs {
		n := f.given[i]
		emit(sim.Token{Job: j, Index: n, Last: n == j.Output-1, At: now})
		if n < j.Output-1 {
			f.jobs[kept], f.given[kept] = j, n+1
			kept++
		}
	}
	f.jobs, f.given = f.jobs[:kept], f.given[:kept]
	if kept == 0 {
		return sim.Idle
	}
	return now + f.tick
}

func (f *flood) Stats() sim.Stats { return sim.Stats{} }

// BenchmarkStream streams over loopback sockets on one core, which the server
// shares with clients that only read. Offered more than it can do, it shows
// what it can do; offered 45,000 tokens a second, that every one gets through
// although each wakes a reader of its own.
func BenchmarkStream(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range []struct {
		streams, offered int
		truth            io.Writer
	}{
		{1, 1_000_000, nil},
		{512, 1_000_000, nil},
		{512, 1_000_000, io.Discard},
		{512, 45_000, nil},
		{512, 45_000, io.Discard},
	} {
		b.Run(fmt.Sprintf("streams=%d/offered=%d/truth=%t", c.streams, c.offered, c.truth != nil), func(b *testing.B) {
			benchmarkStreams(b, c.streams, int64(c.streams)*int64(time.Second)/int64(c.offered), c.truth)
		})
	}
}

func benchmarkStreams(b *testing.B, streams int, tick int64, truth io.Writer) {
	spec := sim.Spec{ServedModelName: sim.DefaultModel, MaxModelLen: 1 << 30}
	s := must.Get(NewServer(Options{Spec: spec, Core: &flood{tick: tick}, Clock: clock.New(), Truth: truth}))(b)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(b)
	go s.Serve(b.Context(), l)
	defer s.Close()
	output := max(1, b.N/streams)
	b.ReportAllocs()
	began := time.Now()
	var all sync.WaitGroup
	for range streams {
		all.Go(func() {
			if err := readStream(l.Addr().String(), output); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(output*streams)/time.Since(began).Seconds(), "tokens/s")
}

// readStream asks for one stream over a bare connection and reads it to its end.
func readStream(addr string, output int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	d := wire.Dialects[0]
	body := d.Encode(nil, question(output), wire.Quirks{})
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: sim\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", d.Path, len(body), body)
	r := bufio.NewReader(conn)
	status, err := r.ReadString('\n')
	if err != nil || !strings.Contains(status, "200") {
		return fmt.Errorf("%q, %w", status, err)
	}
	var buf [4096]byte
	var tail []byte // the end of what was read so far
	for {
		n, err := r.Read(buf[:])
		tail = append(tail, buf[:n]...)
		tail = append(tail[:0], tail[max(0, len(tail)-64):]...)
		if err == io.EOF && bytes.Contains(tail, []byte("data: [DONE]")) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("stream ended early: %w after %q", err, tail)
		}
	}
}
