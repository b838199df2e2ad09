//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// writer is the floor of servers: one thread that sleeps until the next token
// is due and writes the same bytes to its stream, without composing anything.
// Like the bare loop it makes its system calls as C would.
type writer struct {
	pace time.Duration
	// Every stream has the same pace, so that the order of the queue is that of
	// due times.
	queue chan writing
}

type writing struct {
	fd  int
	due int64
}

// tokenEvent is an event of the size that redline sim writes.
var tokenEvent = func() []byte {
	event := `data: {"id":"chatcmpl-sim-1000","object":"chat.completion.chunk","created":1700000000,"model":"llama-3.1-8b",` +
		`"choices":[{"index":0,"delta":{"content":" some"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
}()

// serveBare serves on addr for ever.
func serveBare(l streaming) error {
	listener, err := net.Listen("tcp", l.Addr)
	if err != nil {
		return err
	}
	w := &writer{l.Pace, make(chan writing, 1<<16)}
	go w.loop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go w.accept(conn.(*net.TCPConn))
	}
}

// accept reads a request and hands its connection, out of the runtime's sight,
// to the loop.
func (w *writer) accept(conn *net.TCPConn) {
	defer conn.Close()
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	if strings.HasPrefix(r.URL.Path, "/v1/models") {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if own, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			w.queue <- writing{own, now() + int64(w.pace)}
		}
	})
}

func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// loop writes each token when it is due.
func (w *writer) loop() {
	runtime.LockOSThread()
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0)
	for next := range w.queue {
		if next.due > now() {
			until := unix.NsecToTimespec(next.due)
			_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&until)), 0, 0, 0)
		}
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(next.fd), uintptr(unsafe.Pointer(&tokenEvent[0])), uintptr(len(tokenEvent)))
		if errno != 0 && errno != unix.EAGAIN {
			_ = unix.Close(next.fd)
			continue
		}
		w.queue <- writing{next.fd, next.due + int64(w.pace)}
	}
}
