//go:build unix

// Package truth starts servers that write down when they really sent each
// token, and lays what they wrote beside the records of a run. It takes a
// command line and gives lines of times; it judges no client.
package truth

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Line is the truth about one answer: the real-time clock when its request had
// been read, and just before and just after the write of each of its tokens, in
// ns.
type Line struct {
	ID      string  `json:"id"`
	Conn    string  `json:"conn"`       // the client's address, where the server tells
	Arrived int64   `json:"arrived_ns"` // 0 where the server does not tell
	Before  []int64 `json:"before_ns"`
	After   []int64 `json:"after_ns"`
}

// Gaps gives the times between tokens, in ms.
func (l Line) Gaps() []float64 {
	var gaps []float64
	for i := 1; i < len(l.Before); i++ {
		gaps = append(gaps, float64(l.Before[i]-l.Before[i-1])/1e6)
	}
	return gaps
}

// TPOT gives the mean time between tokens, in ms. It is 0 for fewer than two.
func (l Line) TPOT() float64 {
	last := len(l.Before) - 1
	if last < 1 {
		return 0
	}
	return float64(l.Before[last]-l.Before[0]) / 1e6 / float64(last)
}

// Read gives the lines of a truth file.
func Read(path string) ([]Line, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(f)
}

func parse(r io.Reader) ([]Line, error) {
	var lines []Line
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 64<<20)
	for scan.Scan() {
		var l Line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("truth, line %d: %w", len(lines)+1, err)
		}
		if len(l.Before) != len(l.After) {
			return nil, fmt.Errorf("truth, line %d: %d times before a write and %d after", len(lines)+1, len(l.Before), len(l.After))
		}
		lines = append(lines, l)
	}
	return lines, scan.Err()
}

// Server is a running server that keeps a truth file.
type Server struct {
	URL  string
	file string
	cmd  *exec.Cmd
}

// Start runs the command that is given for a port and a truth file in dir, and
// waits until it answers.
func Start(dir string, command func(port, file string) *exec.Cmd) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://127.0.0.1:" + port, file: filepath.Join(dir, "truth.jsonl")}
	s.cmd = command(port, s.file)
	if s.cmd.Stderr == nil {
		s.cmd.Stderr = os.Stderr
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := s.await(); err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// CPU is what the server took, once it has ended.
func (s *Server) CPU() time.Duration {
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

// Stop ends the server in order and gives what it wrote.
func (s *Server) Stop() ([]Line, error) {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return nil, err
	}
	// How it exits is its own affair: an incomplete file shows by its content.
	s.cmd.Wait()
	return Read(s.file)
}

// Kill ends a server whose truth is of no more use. It may be called after
// Stop.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

func (s *Server) await() error {
	for range 400 {
		if resp, err := http.Get(s.URL + "/v1/models"); err == nil {
			return resp.Body.Close()
		}
		time.Sleep(25 * time.Millisecond)
	}
	return errors.New("the server does not answer")
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
