package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"redline/internal/drive/wire"
	"redline/internal/llm"
	"redline/internal/stats"
)

var stretch = 4 * time.Second

const (
	settle = time.Second // what passes after the last stream has begun
	// endless is more tokens than any stream sends in the time.
	endless = 1000
)

// ramp is how long the streams take to begin, so that their tokens spread evenly
// over time.
func (l streaming) ramp() time.Duration {
	return max(time.Second, time.Duration(l.streams)*time.Millisecond/2)
}

// streaming is what a reader reads.
type streaming struct {
	addr    string
	streams int
	pace    time.Duration
	server  int // its process
}

func (l streaming) String() string {
	return fmt.Sprintf("%d streams, a token every %v on each", l.streams, l.pace)
}

// model is the one that the server serves by default.
const model = "llama-3.1-8b"

var chat = wire.Dialects[0]

func (l streaming) request() *llm.Request {
	return &llm.Request{Model: model, Stream: true, MaxTokens: endless, Messages: []llm.Message{{Role: "user", Content: "go on"}}}
}

func (l streaming) body() []byte { return chat.Encode(nil, l.request(), wire.Quirks{}) }

// counter tells how many tokens have arrived, and in how many reads.
type counter func() (tokens float64, reads int64)

// readers are what is compared, the floor first. Each begins to read and gives
// its counter once every stream flows.
var readers = []struct {
	name  string
	about string
	begin func(streaming) (counter, error)
}{
	{"bare loop", "the floor: one thread, `epoll_wait` and one `recvmsg` with `SO_TIMESTAMPNS` per readable socket; nothing is parsed", readBare},
	{"redline", "as in `redline run`: the load engine, HTTP and event framing, JSON, a record of every token with its kernel stamp", readRedline},
	{"redline, runtime's poller", "the same, with a goroutine that Go's runtime wakes for every token: how TLS and other systems are read", readByRuntime},
	{"net/http", "the standard library's client, with redline's event framing, JSON and records; a token's time is the clock after the read", readNetHTTP},
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

func (c cost) micros() float64  { return float64(c.UserNS+c.SystemNS) / 1e3 / c.Tokens }
func (c cost) system() float64  { return float64(c.SystemNS) / 1e3 / c.Tokens }
func (c cost) served() float64  { return float64(c.ServerNS) / 1e3 / c.Tokens }
func (c cost) perRead() float64 { return c.Tokens / float64(c.Reads) }
func (c cost) rate() float64    { return c.Tokens / float64(c.WallNS) * 1e9 }

func median(list []cost, figure func(cost) float64) float64 {
	return stats.Quantile(sorted(list, figure), 0.5)
}

func lowest(list []cost, figure func(cost) float64) float64 { return sorted(list, figure)[0] }

func highest(list []cost, figure func(cost) float64) float64 {
	return sorted(list, figure)[len(list)-1]
}

func sorted(list []cost, figure func(cost) float64) []float64 {
	var figures []float64
	for _, c := range list {
		figures = append(figures, figure(c))
	}
	slices.Sort(figures)
	return figures
}

// read is the reading process: it prints what it used over the stretch.
func read(name string, l streaming, profile string) error {
	for _, r := range readers {
		if r.name != name {
			continue
		}
		count, err := r.begin(l)
		if err != nil {
			return err
		}
		if profile != "" {
			file, err := os.Create(profile)
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
		time.Sleep(stretch)
		return json.NewEncoder(os.Stdout).Encode(l.snapshot(count).since(before))
	}
	return fmt.Errorf("no reader %q", name)
}

func (l streaming) snapshot(count counter) (c cost) {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
	c.Tokens, c.Reads = count()
	c.UserNS, c.SystemNS, c.WallNS = used.Utime.Nano(), used.Stime.Nano(), time.Now().UnixNano()
	c.ServerNS = cpuOf(l.server)
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
