//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/store"
	"redline/internal/workers/bus"
)

const crewToken = "4f1c9a7be02d583611c0aa9e7d35f248"

// cluster is a NATS server, a simulated engine and workers, each a process.
type cluster struct {
	t      *testing.T
	nats   string // its URL
	store  string // where it keeps streams
	args   []string
	server *exec.Cmd
	engine string
	sim    *exec.Cmd
}

// newCluster starts all but the workers; flags are the simulated engine's.
func newCluster(t *testing.T, flags ...string) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a dozen processes")
	}
	port := freePort(t)
	c := &cluster{t: t, nats: "nats://127.0.0.1:" + port, store: t.TempDir()}
	c.args = []string{os.Args[0], asNATS, "-a", "127.0.0.1", "-p", port, "-js", "-sd", c.store}
	c.startNATS()
	c.sim, c.engine = startSim(t, flags...)
	return c
}

func (c *cluster) startNATS() {
	c.t.Helper()
	c.server = exec.Command(c.args[0], c.args[1:]...)
	startedProcess(c.t, c.server)
	await(c.t, "nats-server", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.nats, "nats://"))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// startSim starts a simulated engine and gives its URL.
func startSim(t *testing.T, flags ...string) (cmd *exec.Cmd, url string) {
	t.Helper()
	cmd, _, said := program(t, append([]string{"sim", "--listen", "127.0.0.1:0", "--pace", "3ms"}, flags...)...)
	startedProcess(t, cmd)
	const at = "serving at "
	await(t, "the engine", func() bool { return strings.Contains(said.String(), at) })
	_, rest, _ := strings.Cut(said.String(), at)
	return cmd, strings.Fields(rest)[0]
}

// startedProcess starts a process that ends with the test.
func startedProcess(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

func freePort(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// hand is a worker.
type hand struct {
	*exec.Cmd
	said *buffer
}

// joins starts a worker, at another address where one is given.
func (c *cluster) joins(name string, at ...string) *hand {
	c.t.Helper()
	cmd, _, said := program(c.t, "worker", "--nats", append(at, c.nats)[0], "--name", name)
	cmd.Env = append(cmd.Env, bus.TokenVariable+"="+crewToken)
	startedProcess(c.t, cmd)
	return &hand{cmd, said}
}

func (h *hand) says(t *testing.T, text string) {
	t.Helper()
	await(t, text, func() bool { return strings.Contains(h.said.String(), text) })
}

// crew starts workers w1 to wn.
func (c *cluster) crew(n int) (hands []*hand) {
	c.t.Helper()
	for i := range n {
		hands = append(hands, c.joins(fmt.Sprintf("w%d", i+1)))
	}
	return hands
}

// conductor is a command that measures with workers.
type conductor struct {
	*exec.Cmd
	t         *testing.T
	dir       string
	out, said *buffer
}

// conducts starts a command with n workers of the cluster. A load that is not
// given is 20 requests/s over two seconds.
func (c *cluster) conducts(n int, command string, flags ...string) *conductor {
	c.t.Helper()
	dir := filepath.Join(c.t.TempDir(), command)
	args := append([]string{command}, flags...)
	args = append(args, "--workers", fmt.Sprint(n), "--nats", c.nats, "--out", dir, "--quiet")
	for flag, value := range map[string]string{"--url": c.engine, "--warmup": "0s", "--workload": "fixed(20,10)", "--seed": "3"} {
		if !strings.Contains(strings.Join(args, " "), flag) && !(flag == "--url" && command == "compare") {
			args = append(args, flag, value)
		}
	}
	return c.start(dir, args...)
}

// start starts a command that has the join token.
func (c *cluster) start(dir string, args ...string) *conductor {
	c.t.Helper()
	cmd, out, said := program(c.t, args...)
	cmd.Env = append(cmd.Env, bus.TokenVariable+"="+crewToken)
	startedProcess(c.t, cmd)
	return &conductor{Cmd: cmd, t: c.t, dir: dir, out: out, said: said}
}

// under waits until the conductor has records of so many requests.
func (c *conductor) under(requests int) {
	c.t.Helper()
	path := filepath.Join(c.dir, "records.jsonl")
	await(c.t, fmt.Sprintf("%d requests (%s)", requests, c.said), func() bool { return lines(path) > requests })
}

// code waits for the conductor and gives its exit code.
func (c *conductor) code() int {
	c.Wait()
	return c.ProcessState.ExitCode()
}

// result waits for the conductor and gives its result, in which every request is
// accounted for.
func (c *conductor) result() *result.Result {
	c.t.Helper()
	code := c.code()
	if !exists(c.dir, "result.json") {
		c.t.Fatalf("exit %d\n%s%s", code, c.out, c.said)
	}
	res := readResultOf(c.t, c.dir)
	if code != resultCode(res) {
		c.t.Errorf("exit %d of a result that is %s\n%s%s", code, res.Verdict.Valid, c.out, c.said)
	}
	for i := range res.Points {
		n := res.Points[i].Requests
		if sum := n.OK + n.Rejected + n.Failed + n.Cancelled + n.Censored + n.Unsent; sum != n.Due || n.Due == 0 {
			c.t.Errorf("%d due, but %d have an outcome: %+v", n.Due, sum, n)
		}
	}
	if exists(c.dir, "records.jsonl") {
		readRecords(c.t, c.dir)
	}
	return res
}

// readRecords gives what became of every request of a run: each has a number of its
// own and an outcome.
func readRecords(t *testing.T, path string) (list []record.Record) {
	t.Helper()
	dir := must.Get(store.Open(path))(t)
	seen := map[int]bool{}
	for r, err := range dir.Records() {
		must.Do(t, err)
		if r.Outcome == "" || seen[r.ID] {
			t.Errorf("%s: record %d comes twice, or has no outcome", path, r.ID)
		}
		seen[r.ID] = true
		list = append(list, *r)
	}
	return list
}

// cable is the network between a worker and its NATS server.
type cable struct {
	listener net.Listener
	to       string
	mu       sync.Mutex
	severed  bool
	conns    []net.Conn
}

func (c *cluster) cable() *cable {
	c.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	line := &cable{listener: l, to: strings.TrimPrefix(c.nats, "nats://")}
	go line.accept()
	c.t.Cleanup(func() {
		l.Close()
		line.cut(true)
	})
	return line
}

func (l *cable) url() string { return "nats://" + l.listener.Addr().String() }

func (l *cable) accept() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", l.to)
		l.mu.Lock()
		if err == nil && l.severed {
			out.Close()
		}
		if err != nil || l.severed {
			in.Close()
			l.mu.Unlock()
			continue
		}
		l.conns = append(l.conns, in, out)
		l.mu.Unlock()
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = pair[0].(*net.TCPConn).ReadFrom(pair[1]) // until one side is closed
				pair[0].Close()
				pair[1].Close()
			}()
		}
	}
}

// cut severs the cable, or mends it.
func (l *cable) cut(severed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.severed = severed; severed {
		for _, conn := range l.conns {
			conn.Close()
		}
		l.conns = nil
	}
}
