//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/drive/frame"
	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/drive/socket"
	"redline/internal/drive/wire"
	"redline/internal/llm"
)

const (
	settle = time.Second // what passes after the last stream has begun
	// endless is more tokens than any stream sends in the time.
	endless = 1000
)

// ramp is how long the streams take to begin, so that their tokens spread evenly
// over time.
func (l streaming) ramp() time.Duration {
	return max(time.Second, time.Duration(l.Streams)*time.Millisecond/2)
}

var chat = wire.Dialects[0]

// request asks for the model that the server serves by default.
func (l streaming) request() *llm.Request {
	return &llm.Request{Model: "llama-3.1-8b", Stream: true, MaxTokens: endless, Messages: []llm.Message{{Role: "user", Content: "go on"}}}
}

func (l streaming) body() []byte { return chat.Encode(nil, l.request(), wire.Quirks{}) }

// counter tells how many tokens have arrived, and in how many reads.
type counter func() (tokens float64, reads int64)

type reader struct {
	name, about string
	begin       func(streaming) (counter, error)
}

// readers are what is compared, the floor first. Each begins to read and gives
// its counter once every stream flows.
var readers = []reader{
	{"bare loop", "the floor: one thread, `epoll_wait` and one `recvmsg` with `SO_TIMESTAMPNS` per readable socket; nothing is parsed", readBare},
	{"redline", "as in `redline run`: the load engine, HTTP and event framing, JSON, a record of every token with its kernel stamp", readRedline},
	{"redline, runtime's poller", "the same, with a goroutine that Go's runtime wakes for every token: how TLS and other systems are read", readByRuntime},
	{"net/http", "the standard library's client, with redline's event framing, JSON and records; a token's time is the clock after the read", readNetHTTP},
}

// read is the reading process: it prints what it used over the stretch.
func (l streaming) read() error {
	i := slices.IndexFunc(readers, func(r reader) bool { return r.name == l.Reader })
	if i < 0 {
		return fmt.Errorf("no reader %q", l.Reader)
	}
	count, err := readers[i].begin(l)
	if err != nil {
		return err
	}
	if l.Profile != "" {
		file, err := os.Create(l.Profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	before := l.snapshot(count)
	time.Sleep(l.Stretch)
	return json.NewEncoder(os.Stdout).Encode(l.snapshot(count).since(before))
}

// readRedline reads as redline run does: the load engine, the client, and a
// record of every token.
func readRedline(l streaming) (counter, error) { return l.readWith(client.Options{}) }

// readByRuntime reads as redline does where it has no reader of its own.
func readByRuntime(l streaming) (counter, error) { return l.readWith(client.Options{NoReader: true}) }

func (l streaming) readWith(o client.Options) (counter, error) {
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2 + socket.Readers()) // as redline does
	k := clock.New()
	o.Clock = k
	c, err := client.New(client.Spec{URLs: []string{"http://" + l.Addr}}, o)
	if err != nil {
		return nil, err
	}
	var progress load.Progress
	stage := load.Stage{Run: "floor", Cap: l.Streams, Stagger: l.ramp(), Warmup: new(time.Duration), Duration: time.Hour,
		Session: func(int) llm.Session { return llm.Single(l.request()) }}
	go func() {
		_, err := load.Run(context.Background(), k, c, stage, &progress, func(r *record.Record) { endLost(errors.New(r.Error)) })
		endLost(err)
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
	transport := &http.Transport{MaxIdleConnsPerHost: l.Streams, DisableCompression: true, ReadBufferSize: 16 << 10}
	asks := &http.Client{Transport: transport}
	for range l.Streams {
		go func() { endLost(l.follow(asks, &tokens, &reads)) }()
		time.Sleep(l.ramp() / time.Duration(l.Streams))
	}
	time.Sleep(settle)
	return func() (float64, int64) { return float64(tokens.Load()), reads.Load() }, nil
}

// follow reads one stream for ever.
func (l streaming) follow(asks *http.Client, tokens, reads *atomic.Int64) error {
	k := clock.New()
	reply, err := asks.Post("http://"+l.Addr+chat.Path, "application/json", bytes.NewReader(l.body()))
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
		for event, ok := sse.Next(); ok; event, ok = sse.Next() {
			if err := chat.Decode(event.Name, event.Data, &delta); err != nil {
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

// endLost ends the process: a stream that ends spoils the measurement.
func endLost(err error) {
	os.Stderr.WriteString("floor: a stream ended: " + err.Error() + "\n")
	os.Exit(1)
}

// bare is the floor: one thread that waits for readable sockets and reads each
// of them once, with the kernel's receive stamp, and does nothing with it. Its
// system calls are made without telling Go's scheduler, as C would make them.
type bare struct {
	poll   int
	events [512]unix.EpollEvent
	buf    [16 << 10]byte
	oob    [64]byte
	iov    unix.Iovec
	msg    unix.Msghdr

	reads, bytes atomic.Int64
	// While weighing, events are counted too, so that the bytes of one are
	// known; later its bytes stand for an event.
	weighing              atomic.Bool
	weighed, weighedBytes atomic.Int64
}

func newBare() (*bare, error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &bare{poll: poll}, err
}

// loop never ends: the process does.
func (b *bare) loop() {
	runtime.LockOSThread()
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(b.poll), uintptr(unsafe.Pointer(&b.events)),
			uintptr(len(b.events)), ^uintptr(0), 0, 0)
		if errno != 0 {
			continue
		}
		for i := range b.events[:n] {
			b.read(int(b.events[i].Fd))
		}
	}
}

func (b *bare) read(fd int) {
	b.iov.Base = &b.buf[0]
	b.iov.SetLen(len(b.buf))
	b.msg = unix.Msghdr{Iov: &b.iov, Control: &b.oob[0]}
	b.msg.SetIovlen(1)
	b.msg.SetControllen(len(b.oob))
	n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.msg)), unix.MSG_DONTWAIT)
	if errno != 0 || n == 0 {
		_ = unix.EpollCtl(b.poll, unix.EPOLL_CTL_DEL, fd, nil)
		return
	}
	b.reads.Add(1)
	b.bytes.Add(int64(n))
	if b.weighing.Load() {
		b.weighed.Add(int64(bytes.Count(b.buf[:n], []byte("data:"))))
		b.weighedBytes.Add(int64(n))
	}
}

// open connects, asks for a stream and has the loop read it.
func (b *bare) open(addr string, request []byte) error {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return err
	}
	if _, err := unix.Write(fd, request); err != nil {
		return err
	}
	return unix.EpollCtl(b.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// readBare is the reader of a process of its own.
func readBare(l streaming) (counter, error) {
	b, err := newBare()
	if err != nil {
		return nil, err
	}
	go b.loop()
	body := l.body()
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		l.Addr, len(body), body)
	for i := range l.Streams {
		if err := b.open(l.Addr, request); err != nil {
			return nil, fmt.Errorf("stream %d: %w", i, err)
		}
		time.Sleep(l.ramp() / time.Duration(l.Streams))
	}
	b.weighing.Store(true)
	time.Sleep(settle)
	b.weighing.Store(false)
	each := float64(b.weighedBytes.Load()) / float64(b.weighed.Load())
	return func() (tokens float64, reads int64) { return float64(b.bytes.Load()) / each, b.reads.Load() }, nil
}
