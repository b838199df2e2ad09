// Command floor measures what one streamed token costs its reader: redline's
// client and net/http's against a bare epoll loop that does the same reads and
// nothing else. It writes the comparison to docs/measured/COST.md. It is run from the
// repository's root, by make floor.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const binary = "bin/redline"

var rounds = 3

// loads are what the readers read, with tokens spread evenly over time.
var loads = []streaming{
	{streams: 200, pace: 20 * time.Millisecond},
	{streams: 1000, pace: 25 * time.Millisecond},
	{streams: 4000, pace: 100 * time.Millisecond},
	{streams: 10000, pace: 250 * time.Millisecond},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run() error {
	reader := flag.String("read", "", "be this reader, and print what it cost")
	profile := flag.String("profile", "", "with -read: file for a CPU profile")
	out := flag.String("out", "docs/measured/COST.md", "file for the tables")
	server := flag.String("server", binary, "redline, to serve the streams")
	only := flag.String("loads", "", "measure these loads, such as 200x20ms,1000x25ms")
	flag.IntVar(&rounds, "rounds", rounds, "how often each reader has its turn")
	flag.DurationVar(&stretch, "stretch", stretch, "how long each is measured")
	count := flag.Int("readers", len(readers), "how many readers take turns, from the bare loop on")
	var l streaming
	flag.StringVar(&l.addr, "addr", "", "with -read: where the server is")
	flag.IntVar(&l.streams, "streams", 1000, "with -read: streams to read")
	flag.DurationVar(&l.pace, "pace", 20*time.Millisecond, "with -write: time between tokens")
	flag.IntVar(&l.server, "pid", 0, "with -read: the server's process")
	write := flag.Bool("write", false, "be the bare writer")
	flag.Parse()
	readers = readers[:min(max(2, *count), len(readers))]
	if *write {
		return serveBare(l)
	}
	if *reader != "" {
		return read(*reader, l, *profile)
	}
	if *only != "" {
		var err error
		if loads, err = parseLoads(*only); err != nil {
			return err
		}
	}
	var b strings.Builder
	introduce(&b)
	for _, l := range loads {
		costs, err := compare(*server, l)
		if err != nil {
			return err
		}
		table(&b, l, costs)
	}
	fmt.Print(b.String())
	return os.WriteFile(*out, []byte(b.String()), 0o644)
}

func parseLoads(list string) (loads []streaming, err error) {
	for one := range strings.SplitSeq(list, ",") {
		var l streaming
		streams, pace, _ := strings.Cut(one, "x")
		if l.streams, err = strconv.Atoi(streams); err != nil {
			return nil, err
		}
		if l.pace, err = time.ParseDuration(pace); err != nil {
			return nil, err
		}
		loads = append(loads, l)
	}
	return loads, nil
}

// bareWriter is the name of what is read from the bare writer.
const bareWriter = "bare writer"

// compare runs every reader against one server, in an order that changes from
// round to round, and the bare loop against the bare writer too.
func compare(binary string, l streaming) (map[string][]cost, error) {
	paced, end, err := l.serve(binary, "sim", "--pace", l.pace.String(), "--listen")
	if err != nil {
		return nil, err
	}
	defer end()
	bare, endBare, err := l.serve(os.Args[0], "-write", "-pace", l.pace.String(), "-addr")
	if err != nil {
		return nil, err
	}
	defer endBare()
	costs := map[string][]cost{}
	for round := range rounds {
		for i := range len(readers) + 1 {
			name, reads, from := bareWriter, readers[0].name, bare
			if k := (round + i) % (len(readers) + 1); k < len(readers) {
				name, reads, from = readers[k].name, readers[k].name, paced
			}
			c, err := measure(reads, from)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			fmt.Fprintf(os.Stderr, "%v: %s: %.2f µs per token, %.3f tokens per read; the server %.2f µs\n", l, name, c.micros(), c.perRead(), c.served())
			costs[name] = append(costs[name], c)
		}
	}
	return costs, nil
}

// serve starts a server at an address of its own, which is its last argument.
func (l streaming) serve(binary string, args ...string) (at streaming, end func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return l, nil, err
	}
	l.addr = listener.Addr().String()
	listener.Close()
	serving := exec.Command(binary, append(args, l.addr)...)
	if err := serving.Start(); err != nil {
		return l, nil, err
	}
	l.server = serving.Process.Pid
	end = func() {
		_ = serving.Process.Kill()
		_ = serving.Wait()
	}
	if err := await("http://" + l.addr); err != nil {
		end()
		return l, nil, err
	}
	return l, end, nil
}

func await(url string) error {
	for range 200 {
		if resp, err := http.Get(url + "/v1/models"); err == nil {
			return resp.Body.Close()
		}
		time.Sleep(25 * time.Millisecond)
	}
	return errors.New("the server does not answer")
}

// measure runs a reader as a process of its own, so that its CPU time is its
// alone.
func measure(name string, l streaming) (cost, error) {
	reading := exec.Command(os.Args[0], "-read", name, "-addr", l.addr, "-streams", fmt.Sprint(l.streams), "-pid", fmt.Sprint(l.server), "-stretch", stretch.String())
	reading.Stderr = os.Stderr
	printed, err := reading.Output()
	if err != nil {
		return cost{}, err
	}
	var c cost
	err = json.Unmarshal(printed, &c)
	// The server takes a moment to notice that its streams are gone.
	time.Sleep(500 * time.Millisecond)
	return c, err
}

func introduce(w io.Writer) {
	busy, _ := os.ReadFile("/proc/loadavg")
	minute, _, _ := strings.Cut(string(busy), " ")
	fmt.Fprintf(w, "# What a streamed token costs\n\nWritten by `make floor` on a machine with %d cores (%s/%s), server and reader on it, over loopback. Load average\n"+
		"as it began: %s: other work on the machine makes every figure larger.\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, minute)
	fmt.Fprintf(w, `
CPU time, user and system, of the reading process alone over %v, divided by the tokens that it received; median of %d rounds,
lowest and highest in brackets. The server is one `+"`redline sim --pace`"+` process, the readers take turns. Its own cost is compared with
a bare writer: one thread that sleeps until the next token is due and writes the same bytes again and again.

`, stretch, rounds)
	for _, r := range readers {
		fmt.Fprintf(w, "- **%s**: %s\n", r.name, r.about)
	}
}

func table(w io.Writer, l streaming, costs map[string][]cost) {
	fmt.Fprintf(w, "\n## %v\n\n| reader | µs per token | × the floor | of it system | tokens per read | tokens/s |\n|---|---|---|---|---|---|\n", l)
	floor := median(costs[readers[0].name], cost.micros)
	for _, r := range readers {
		list := costs[r.name]
		m := median(list, cost.micros)
		fmt.Fprintf(w, "| %s | %.2f (%.2f–%.2f) | %.2f | %.2f | %.3f | %.0f |\n", r.name, m, lowest(list, cost.micros), highest(list, cost.micros), m/floor,
			median(list, cost.system), median(list, cost.perRead), median(list, cost.rate))
	}
	fmt.Fprint(w, "\n| server, read by the bare loop | µs per token | × the floor |\n|---|---|---|\n")
	floor = median(costs[bareWriter], cost.served)
	for _, s := range [...]struct{ name, read string }{{"bare writer", bareWriter}, {"redline sim --pace", readers[0].name}} {
		list := costs[s.read]
		m := median(list, cost.served)
		fmt.Fprintf(w, "| %s | %.2f (%.2f–%.2f) | %.2f |\n", s.name, m, lowest(list, cost.served), highest(list, cost.served), m/floor)
	}
}
