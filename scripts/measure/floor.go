//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"redline/internal/stats"
	"redline/internal/text"
)

// streaming is what a process of its own reads or writes.
type streaming struct {
	Reader  string // its name
	Addr    string
	Streams int
	Pace    time.Duration // between the tokens of a stream
	Stretch time.Duration // for which the reading is measured
	Server  int           // its process
	Profile string        // file for a CPU profile of the reading
}

func (l streaming) String() string {
	return fmt.Sprintf("%d streams, a token every %v on each", l.Streams, l.Pace)
}

// readRole and writeRole as the first argument make this program a reader of
// streams, or the bare writer.
const readRole, writeRole = "-read", "-write"

// process is this program in such a role.
func (l streaming) process(role string) *exec.Cmd {
	about, _ := json.Marshal(l) // it has nothing that JSON cannot hold
	return place{}.command("/proc/self/exe", role, string(about))
}

// playRole takes the role that the arguments name, and returns if they name none.
func playRole(args []string) {
	var l streaming
	if len(args) != 2 || args[0] != readRole && args[0] != writeRole {
		return
	}
	err := json.Unmarshal([]byte(args[1]), &l)
	if err == nil && args[0] == writeRole {
		err = serveBare(l)
	} else if err == nil {
		err = l.read()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// floor measures what one streamed token costs its reader: redline's client and
// net/http's against a bare epoll loop that does the same reads and nothing else.
func floor(h *harness) func() error {
	only := h.String("loads", "200x20ms,1000x25ms,4000x100ms,10000x250ms", "streams and the time between the tokens of each")
	n := h.Int("rounds", 3, "how often each reader has its turn")
	count := h.Int("readers", len(readers), "how many readers take turns, from the bare loop on")
	var asked streaming
	h.DurationVar(&asked.Stretch, "stretch", 4*time.Second, "how long each is measured")
	h.StringVar(&asked.Profile, "profile", "", "file for a CPU profile of redline's reading")
	return func() error {
		readers = readers[:min(max(2, *count), len(readers))]
		loads, err := parseLoads(*only)
		if err != nil {
			return err
		}
		var b strings.Builder
		fmt.Fprintf(&b, floorAbout, asked.Stretch, text.Plural(*n, "round"))
		for _, r := range readers {
			fmt.Fprintf(&b, "- **%s**: %s\n", r.name, r.about)
		}
		for _, l := range loads {
			l.Stretch, l.Profile = asked.Stretch, asked.Profile
			costs, err := h.compareReaders(l, *n)
			if err != nil {
				return fmt.Errorf("%v: %w", l, err)
			}
			floorTable(&b, l, costs)
		}
		return h.writePage("What a streamed token costs", b.String())
	}
}

const floorAbout = `Server and reader are on this machine, over loopback: other work on it makes every figure larger.

CPU time, user and system, of the reading process alone over %v, divided by the tokens that it received; median of %s,
lowest and highest in brackets. The server is one ` + "`redline sim --pace`" + ` process, the readers take turns. Its own cost is compared with
a bare writer: one thread that sleeps until the next token is due and writes the same bytes again and again.

`

func parseLoads(list string) (loads []streaming, err error) {
	for one := range strings.SplitSeq(list, ",") {
		var l streaming
		streams, pace, _ := strings.Cut(one, "x")
		if l.Streams, err = strconv.Atoi(streams); err != nil {
			return nil, err
		}
		if l.Pace, err = time.ParseDuration(pace); err != nil {
			return nil, err
		}
		loads = append(loads, l)
	}
	return loads, nil
}

// compareReaders runs every reader against one server, and the bare loop, which
// is the first of them, against the bare writer too: the last of what it gives.
func (h *harness) compareReaders(l streaming, n int) ([][]cost, error) {
	paced, err := h.simulate(place{}, "--pace", l.Pace.String())
	if err != nil {
		return nil, err
	}
	defer paced.kill()
	bare, err := h.serve(func(port, _ string) *exec.Cmd {
		l := l
		l.Addr = "127.0.0.1:" + port
		return l.process(writeRole)
	})
	if err != nil {
		return nil, err
	}
	defer bare.kill()
	var variants []streaming
	add := func(reader string, from *server) {
		l := l
		if l.Reader = reader; reader != "redline" {
			l.Profile = ""
		}
		l.Addr, l.Server = strings.TrimPrefix(from.url, "http://"), from.cmd.Process.Pid
		variants = append(variants, l)
	}
	for _, r := range readers {
		add(r.name, paced)
	}
	add(readers[0].name, bare)
	return rounds(n, variants, func(l streaming) (c cost, err error) {
		// As a process of its own, so that its CPU time is its alone.
		reading := l.process(readRole)
		reading.Stderr = os.Stderr
		printed, err := reading.Output()
		if err == nil {
			err = json.Unmarshal(printed, &c)
		}
		fmt.Fprintf(os.Stderr, "%v: %s: %.2f µs per token, %.3f tokens per read; the server %.2f µs\n", l, l.Reader, c.micros(), c.perRead(), c.serverMicros())
		// The server takes a moment to notice that its streams are gone.
		time.Sleep(500 * time.Millisecond)
		return c, err
	})
}

func floorTable(w io.Writer, l streaming, costs [][]cost) {
	median := func(list []cost, figure func(cost) float64) float64 { return stats.Median(valuesOf(list, figure)) }
	fmt.Fprintf(w, "\n## %v\n\n| reader | µs per token | × the floor | of it system | tokens per read | tokens/s |\n|---|---|---|---|---|---|\n", l)
	for i, r := range readers {
		fmt.Fprintf(w, "| %s | %s | %.2f | %.2f | %.3f | %.0f |\n", r.name, spread(costs[i], 2, cost.micros), median(costs[i], cost.micros)/median(costs[0], cost.micros),
			median(costs[i], cost.system), median(costs[i], cost.perRead), median(costs[i], cost.rate))
	}
	fmt.Fprint(w, "\n| server, read by the bare loop | µs per token | × the floor |\n|---|---|---|\n")
	bare := costs[len(costs)-1]
	fmt.Fprintf(w, "| bare writer | %s | 1.00 |\n| redline sim --pace | %s | %.2f |\n", spread(bare, 2, cost.serverMicros), spread(costs[0], 2, cost.serverMicros),
		median(costs[0], cost.serverMicros)/median(bare, cost.serverMicros))
}

// cost is what a reader used over the stretch.
type cost struct {
	Tokens   float64
	Reads    int64
	UserNS   int64
	SystemNS int64
	WallNS   int64
	ServerNS int64 // CPU time of the server
}

func (c cost) micros() float64       { return float64(c.UserNS+c.SystemNS) / 1e3 / c.Tokens }
func (c cost) system() float64       { return float64(c.SystemNS) / 1e3 / c.Tokens }
func (c cost) serverMicros() float64 { return float64(c.ServerNS) / 1e3 / c.Tokens }
func (c cost) perRead() float64      { return c.Tokens / float64(c.Reads) }
func (c cost) rate() float64         { return c.Tokens / float64(c.WallNS) * 1e9 }

func (l streaming) snapshot(count counter) (c cost) {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
	c.Tokens, c.Reads = count()
	c.UserNS, c.SystemNS, c.WallNS = used.Utime.Nano(), used.Stime.Nano(), time.Now().UnixNano()
	c.ServerNS = cpuOf(l.Server)
	return c
}

// cpuOf is the CPU time of another process.
func cpuOf(pid int) int64 {
	const scheduled = 2 // by the scheduler's own account, which is exact
	var used unix.Timespec
	_ = unix.ClockGettime(int32(^pid<<3|scheduled), &used)
	return used.Nano()
}

func (c cost) since(b cost) cost {
	return cost{Tokens: c.Tokens - b.Tokens, Reads: c.Reads - b.Reads, UserNS: c.UserNS - b.UserNS,
		SystemNS: c.SystemNS - b.SystemNS, WallNS: c.WallNS - b.WallNS, ServerNS: c.ServerNS - b.ServerNS}
}
