package bus

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"redline/internal/must"
	"redline/internal/workers/crew"
)

// asNATS makes the test binary be the server that clusters run.
const asNATS = "nats-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asNATS {
		serveNATS(os.Args[2:])
	}
	dir, err := os.MkdirTemp("", "redline-bus-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("TMPDIR", dir) // embedded servers keep streams there
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

const testToken = "a token for tests, long enough"

// testProof is what a server sees of it.
func testProof(t *testing.T) string {
	t.Helper()
	k := must.Get(newKeys(testToken))(t)
	return k.proof()
}

type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *said) count(part string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// eventually waits for what must come, however busy the machine is.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("in a minute there was no %s", what)
}

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func openHub(t *testing.T, o Options) *Hub {
	t.Helper()
	if o.Token == "" {
		o.Token = testToken
	}
	h := must.Get(Open(background(t), o))(t)
	t.Cleanup(h.Close)
	return h
}

func join(t *testing.T, o Options) *Member {
	t.Helper()
	if o.Token == "" {
		o.Token = testToken
	}
	m := must.Get(Join(background(t), o))(t)
	t.Cleanup(m.Close)
	return m
}

// hand is a worker that can be claimed, and answers with the plan it was given.
type hand struct {
	crew.Hello
	mu    sync.Mutex
	owner string
	eager bool // it says hello although somebody has it
	asked []crew.Question
}

func (h *hand) ownedBy() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.eager {
		return ""
	}
	return h.owner
}

func (h *hand) free() bool { return h.ownedBy() == "" }

func (h *hand) answer(_ context.Context, q crew.Question) crew.Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, q)
	switch {
	case q.Claim != "" && h.owner != "" && h.owner != q.Claim:
		return crew.Answer{Refused: "it works for " + h.owner}
	case q.Claim != "":
		h.owner = q.Claim
	case q.Release:
		h.owner = ""
	case q.Clock:
		return crew.Answer{Now: 42}
	}
	return crew.Answer{}
}

func serve(t *testing.T, o Options, hello crew.Hello) *hand {
	t.Helper()
	m := join(t, o)
	h := &hand{Hello: hello}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Serve(ctx, hello, h.ownedBy, h.answer) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("worker %s: %v", hello.Name, err)
		}
	})
	return h
}

func helloOf(name string) crew.Hello {
	return crew.Hello{ID: "id-" + name, Name: name, Host: "here", Version: "1"}
}

// batches are what a worker would publish: n of them with size bytes of lines.
func batch(run string, worker, seq, size int) *crew.Batch {
	line := fmt.Sprintf("worker %d batch %d ", worker, seq)
	return &crew.Batch{Run: run, Worker: worker, Seq: uint64(seq), Known: int64(seq) * 1000,
		Lines: []byte(line + strings.Repeat("x", max(0, size-len(line)-1)) + "\n")}
}

// basket takes batches and holds them to their order.
type basket struct {
	t    *testing.T
	mu   sync.Mutex
	last map[int]uint64
}

func newBasket(t *testing.T) *basket { return &basket{t: t, last: map[int]uint64{}} }

func (b *basket) take(got *crew.Batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if got.Seq != b.last[got.Worker]+1 {
		b.t.Errorf("worker %d: batch %d after %d", got.Worker, got.Seq, b.last[got.Worker])
	}
	b.last[got.Worker] = got.Seq
	want := batch(got.Run, got.Worker, int(got.Seq), len(got.Lines))
	if string(got.Lines) != string(want.Lines) || got.Known != want.Known {
		b.t.Errorf("worker %d: batch %d came with %d other bytes", got.Worker, got.Seq, len(got.Lines))
	}
}

func (b *basket) has(worker, n int) func() bool {
	return func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.last[worker] == uint64(n)
	}
}

// serveNATS is what the main of nats-server does.
func serveNATS(args []string) {
	usage := func() {}
	options, err := server.ConfigureOptions(flag.NewFlagSet(asNATS, flag.ContinueOnError), args, usage, usage, usage)
	if err == nil {
		var s *server.Server
		if s, err = server.NewServer(options); err == nil {
			err = server.Run(s)
			s.WaitForShutdown()
		}
	}
	if err != nil {
		server.PrintAndDie(err.Error())
	}
	os.Exit(0)
}

// natsServer is a process of its own, as clusters run it.
type natsServer struct {
	t       *testing.T
	address string
	args    []string
	process *exec.Cmd
}

func startNATS(t *testing.T, args ...string) *natsServer {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a process")
	}
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	s := &natsServer{t: t, address: address, args: append([]string{"-a", host, "-p", port, "-js", "-sd", t.TempDir()}, args...)}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *natsServer) url() string { return "nats://" + s.address }

func (s *natsServer) start() {
	s.t.Helper()
	s.process = exec.Command(os.Args[0], append([]string{asNATS}, s.args...)...)
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "answer from nats-server", func() bool {
		conn, err := net.DialTimeout("tcp", s.address, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func (s *natsServer) kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
		s.process = nil
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// raw is a stranger's connection, who has the token of NATS but sends what he
// likes.
func raw(t *testing.T, url, token string) *nats.Conn {
	t.Helper()
	conn := must.Get(nats.Connect(url, nats.Token(token)))(t)
	t.Cleanup(conn.Close)
	return conn
}
