package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
		l.addr, len(body), body)
	for i := range l.streams {
		if err := b.open(l.addr, request); err != nil {
			return nil, fmt.Errorf("stream %d: %w", i, err)
		}
		time.Sleep(l.ramp() / time.Duration(l.streams))
	}
	b.weighing.Store(true)
	time.Sleep(settle)
	b.weighing.Store(false)
	each := float64(b.weighedBytes.Load()) / float64(b.weighed.Load())
	return func() (tokens float64, reads int64) { return float64(b.bytes.Load()) / each, b.reads.Load() }, nil
}
