//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"redline/internal/child"
	"redline/internal/launch"
)

// server is a running server.
type server struct {
	url   string
	truth string // the file in which a simulator notes when it sent each token
	cmd   *exec.Cmd
	log   child.Tail
	ended chan struct{}
}

// serve starts the command that is given for a port and a truth file, and waits
// until it answers. It dies with this process.
func (h *harness) serve(command func(port, truth string) *exec.Cmd) (*server, error) {
	first, err := launch.FreePorts(1)
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(first)
	s := &server{url: "http://127.0.0.1:" + port, truth: filepath.Join(h.work, "truth-"+port+".jsonl"), log: child.Tail{Max: 4096}}
	s.cmd = command(port, s.truth)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.WaitDelay = time.Second
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.ended = make(chan struct{})
	go func() {
		_ = s.cmd.Wait() // an incomplete truth file shows by its content
		close(s.ended)
	}()
	for range 2400 {
		if reply, err := http.Get(s.url + "/v1/models"); err == nil {
			return s, reply.Body.Close()
		}
		select {
		case <-s.ended:
			return nil, fmt.Errorf("%s ended: %s", shellWords(s.cmd.Args), strings.Join(s.log.Lines(3), "; "))
		case <-time.After(25 * time.Millisecond):
		}
	}
	s.kill()
	return nil, fmt.Errorf("%s does not answer: %s", shellWords(s.cmd.Args), strings.Join(s.log.Lines(3), "; "))
}

// simulate starts redline sim.
func (h *harness) simulate(at place, flags ...string) (*server, error) {
	return h.serve(func(port, _ string) *exec.Cmd {
		return at.command(append([]string{h.redline, "sim", "--listen", "127.0.0.1:" + port}, flags...)...)
	})
}

// simulateTruth starts redline sim and has it note when it sent each token.
func (h *harness) simulateTruth(at place, flags ...string) (*server, error) {
	return h.serve(func(port, truth string) *exec.Cmd {
		return at.command(append([]string{h.redline, "sim", "--listen", "127.0.0.1:" + port, "--truth", truth}, flags...)...)
	})
}

// stop ends the server in order and gives the truth that it noted.
func (s *server) stop() ([]reply, error) {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return nil, err
	}
	<-s.ended
	return readTruth(s.truth)
}

// cpu is what the server took, once it has ended.
func (s *server) cpu() time.Duration {
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

// kill ends a server that is of no more use, and removes its truth, which may be
// large. It may be called after stop.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.ended
	_ = os.Remove(s.truth) // it may have written none
}
