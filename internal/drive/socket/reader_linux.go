package socket

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readerSet is the threads that read a set's sockets. They begin with the first
// socket, and end once the set and its sockets are closed.
type readerSet struct {
	wanted bool // false leaves every connection to the runtime

	mu     sync.Mutex
	list   []*reader
	users  int  // sockets
	closed bool // the set is
}

// maxReaders leaves the other cores to the server; tests have more.
var maxReaders = max(1, runtime.NumCPU()/2)

// Readers is how many threads read, of each set, at most.
func Readers() int { return maxReaders }

// take gives a socket to the reader that has the fewest. There is one reader at
// first: one that serves many streams finds more of them ready when it wakes.
func (r *readerSet) take(s *socket) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		one, err := newReader(r)
		if err != nil {
			return err
		}
		r.list = append(r.list, one)
	}
	least := r.list[0]
	for _, one := range r.list {
		if one.users < least.users {
			least = one
		}
	}
	s.reader = least
	if err := least.add(s); err != nil {
		r.endUnused()
		return err
	}
	least.users++
	r.users++
	return nil
}

// split gives a reader beside one that has more to read than it should, or nil
// where there are as many as may be.
func (r *readerSet) split() *reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.list) >= Readers() {
		return nil
	}
	one, err := newReader(r)
	if err != nil {
		return nil
	}
	r.list = append(r.list, one)
	return one
}

// move says that a socket has another reader now.
func (r *readerSet) move(from, to *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from.users--
	to.users++
}

// release says that a socket of a reader is closed.
func (r *readerSet) release(of *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of.users--
	r.users--
	r.endUnused()
}

// close says that no more sockets come.
func (r *readerSet) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.endUnused()
}

func (r *readerSet) endUnused() {
	if !r.closed || r.users > 0 {
		return
	}
	for _, one := range r.list {
		one.stop()
	}
	r.list = nil
}

// reader waits for many sockets at a time, on a thread of its own.
type reader struct {
	all   *readerSet
	users int // sockets; guarded by all
	poll  int
	bell  int // an eventfd that ends the wait for the last time

	// spare says that the scheduler has places enough for a reader to wait in
	// one of them.
	spare bool

	mu      sync.Mutex
	sockets []*socket // by descriptor

	events [256]unix.EpollEvent
	due    [256]*socket
	gather gather
}

func newReader(all *readerSet) (*reader, error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, bell, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(bell)})
	}
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd", err), unix.Close(poll))
	}
	r := &reader{all: all, poll: poll, bell: bell, spare: runtime.GOMAXPROCS(0) > Readers()+1}
	go r.run()
	return r, nil
}

// add makes the reader wait for a socket. Edges are enough: who waits has found
// nothing to read before.
func (r *reader) add(s *socket) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.sockets) <= s.fd {
		r.sockets = append(r.sockets, make([]*socket, max(64, len(r.sockets)))...)
	}
	r.sockets[s.fd] = s
	err := r.watch(unix.EPOLL_CTL_ADD, s.fd)
	if err != nil {
		r.sockets[s.fd] = nil
	}
	return err
}

func (r *reader) watch(change, fd int) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(r.poll, change, fd, &unix.EpollEvent{Fd: int32(fd),
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLET}))
}

func (r *reader) forget(fd int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sockets[fd] = nil
}

func (r *reader) stop() {
	one := [8]byte{1}
	_, _ = unix.Write(r.bell, one[:])
}

// toEnd are the events after which a read that left room may have left bytes
// or an end behind: those of urgent data, at which every read stops, and those
// of a connection that has hung up.
const toEnd = unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR

// run serves the sockets until stop.
func (r *reader) run() {
	for {
		n := r.wait()
		if r.look(n) {
			_, _ = unix.Close(r.poll), unix.Close(r.bell)
			return
		}
		woke := false
		for i, s := range r.due[:n] {
			if s != nil && s.ready(r.events[i].Events&toEnd != 0, &r.gather) {
				woke = true
			}
		}
		if woke {
			// Who was woken runs here and now: another thread would first
			// have to be woken for it.
			runtime.Gosched()
		}
		if r.gather.heavy() {
			r.halve()
		}
		r.gather.sleep()
	}
}

// halve hands every second socket to a new reader. The reader does so itself,
// between two looks, so that no socket is served by both.
func (r *reader) halve() {
	to := r.all.split()
	if to == nil {
		return
	}
	r.mu.Lock()
	sockets := slices.DeleteFunc(slices.Clone(r.sockets), func(s *socket) bool { return s == nil })
	r.mu.Unlock()
	for i, s := range sockets {
		if i%2 == 0 {
			s.move(r, to)
		}
	}
}

// wait gives how many sockets are ready. It waits out of the scheduler's sight
// at first, because telling it of every short wait costs more than a token; who
// hears nothing for longer makes room for others.
func (r *reader) wait() int {
	const long = 2 // ms
	if r.spare {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(r.poll), uintptr(unsafe.Pointer(&r.events)),
			uintptr(len(r.events)), long, 0, 0)
		if errno == 0 && n > 0 {
			return int(n)
		}
	}
	for {
		n, err := unix.EpollWait(r.poll, r.events[:], -1)
		if err == nil {
			return n
		}
	}
}

// look finds the sockets of n events. It reports whether the reader is to end.
func (r *reader) look(n int) (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.events[:n] {
		fd := int(r.events[i].Fd)
		if fd == r.bell {
			return true
		}
		r.due[i] = r.sockets[fd]
	}
	return false
}
