package bus

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/workers/crew"
)

// publishBatches sends batches in the background, some while there is no server.
func publishBatches(t *testing.T, out crew.Outlet, worker, n, size int) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seq := 1; seq <= n; seq++ {
			if err := out.Publish(batch("r", worker, seq, size)); err != nil {
				t.Errorf("worker %d: batch %d: %v", worker, seq, err)
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := out.Flush(ctx); err != nil {
			t.Errorf("worker %d: %v", worker, err)
		}
	}()
	return done
}

// The server is killed twice in the middle of publishing, and comes back with its
// directory: every batch arrives once, in order, at a conductor that was there
// all the time.
func TestServerKilled(t *testing.T) {
	s := startNATS(t, "--auth", testProof(t))
	hub := openHub(t, Options{URL: s.url()})
	got := newBasket(t)
	must.Do(t, hub.Collect(t.Context(), "r", got.take))
	const n = 600
	var said said
	var sent []<-chan struct{}
	for worker := range 2 {
		sent = append(sent, publishBatches(t, join(t, Options{URL: s.url(), Say: said.say}).Outlet("r", worker), worker, n, 3000))
	}
	for _, after := range []uint64{100, 300} {
		eventually(t, "batches", func() bool {
			got.mu.Lock()
			defer got.mu.Unlock()
			return got.last[0] > after
		})
		s.kill()
		time.Sleep(300 * time.Millisecond)
		s.start()
	}
	for worker := range 2 {
		<-sent[worker]
		eventually(t, "last batch", got.has(worker, n))
	}
	if said.count("is lost: trying again") == 0 || said.count("connected to "+s.url()+" again") == 0 {
		t.Errorf("said %q", said.lines)
	}
}

// A conductor whose credentials are no longer taken says so, once, and is back when
// they are.
func TestCredentialsExpire(t *testing.T) {
	s := startNATS(t, "--auth", "simple")
	var said said
	hub := openHub(t, Options{URL: s.url(), Auth: "simple", Say: said.say})
	args := s.args
	s.kill()
	s.args = append(slices.Clone(args[:len(args)-1]), "another")
	s.start()
	const refused = "does not take REDLINE_NATS_AUTH"
	eventually(t, "refusal", func() bool { return said.count(refused) > 0 })
	time.Sleep(time.Second) // it is refused a few times more
	s.kill()
	s.args = args
	s.start()
	eventually(t, "connection", hub.conn.IsConnected)
	if n := said.count(refused); n != 1 {
		t.Errorf("it was said %d times: %q", n, said.lines)
	}
}

// cable is a TCP proxy that can be cut.
type cable struct {
	listener net.Listener
	to       string
	mu       sync.Mutex
	cut      bool
	stalled  map[net.Conn]bool // whose bytes nobody takes any more
	conns    []net.Conn
	running  sync.WaitGroup
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	c := &cable{listener: l, to: to, stalled: map[net.Conn]bool{}}
	c.running.Go(c.accept)
	t.Cleanup(func() {
		l.Close()
		c.set(true)
		c.running.Wait()
	})
	return c
}

func (c *cable) accept() {
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", c.to)
		c.mu.Lock()
		if err != nil || c.cut {
			in.Close()
			if err == nil {
				out.Close()
			}
			c.mu.Unlock()
			continue
		}
		c.conns = append(c.conns, in, out)
		c.mu.Unlock()
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			c.running.Go(func() {
				c.carry(pair[0], pair[1])
				pair[0].Close()
				pair[1].Close()
			})
		}
	}
}

func (c *cable) carry(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		for c.stalls(from) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (c *cable) stalls(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stalled[conn] && !c.cut
}

// stall leaves the connections open, but nothing comes through them any more.
func (c *cable) stall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		c.stalled[conn] = true
	}
}

// set cuts the cable, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut = cut; cut {
		for _, conn := range c.conns {
			conn.Close()
		}
		c.conns = nil
	}
}

// A worker's network is cut in the middle: nothing is lost, and it can be asked
// again afterwards.
func TestNetworkCut(t *testing.T) {
	hub := openHub(t, Options{})
	line := newCable(t, strings.TrimPrefix(hub.URL(), "nats://"))
	url := "nats://" + line.listener.Addr().String()
	got := newBasket(t)
	must.Do(t, hub.Collect(t.Context(), "r", got.take))
	serve(t, Options{URL: url}, helloOf("a"))
	links := must.Get(hub.gather(background(t), 1, "one", "1"))(t)
	const n = 600
	sent := publishBatches(t, join(t, Options{URL: url}).Outlet("r", 0), 0, n, 3000)
	for _, after := range []uint64{100, 250, 400} {
		eventually(t, "batches", func() bool {
			got.mu.Lock()
			defer got.mu.Unlock()
			return got.last[0] > after
		})
		line.set(true)
		time.Sleep(200 * time.Millisecond)
		line.set(false)
	}
	<-sent
	eventually(t, "last batch", got.has(0, n))
	eventually(t, "answer", func() bool {
		_, err := links[0].Ask(background(t), crew.Question{Clock: true})
		return err == nil
	})
}

// A connection that stays open and carries nothing is given up, and what was
// written into it is sent again over another. Publish does not wait for that.
func TestNetworkStalls(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	hub := openHub(t, Options{})
	line := newCable(t, strings.TrimPrefix(hub.URL(), "nats://"))
	got := newBasket(t)
	must.Do(t, hub.Collect(t.Context(), "r", got.take))
	out := join(t, Options{URL: "nats://" + line.listener.Addr().String()}).Outlet("r", 0)
	must.Do(t, out.Publish(batch("r", 0, 1, 1000)))
	must.Do(t, out.Flush(background(t)))
	line.stall()
	const n = 40
	for seq := 2; seq <= n; seq++ {
		must.Do(t, out.Publish(batch("r", 0, seq, 500_000)))
	}
	must.Do(t, out.Flush(background(t)))
	eventually(t, "last batch", got.has(0, n))
}

// A worker keeps so much and no more while nobody takes it, and what it has is
// still sent.
func TestBoundedMemory(t *testing.T) {
	hub := openHub(t, Options{})
	m := join(t, Options{URL: hub.URL()})
	m.maxUnacked = 10_000
	out := m.Outlet("r", 0)
	kept := 0
	for out.Publish(batch("r", 0, kept+1, 1000)) == nil {
		kept++
	}
	if kept < 8 || kept > 9 {
		t.Errorf("%d batches of 1,000 bytes kept in 10,000", kept)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := out.Flush(short); err == nil || !strings.Contains(err.Error(), "batches with records were not taken") {
		t.Errorf("error %v", err)
	}
	got := newBasket(t)
	must.Do(t, hub.Collect(t.Context(), "r", got.take))
	eventually(t, "batches", got.has(0, kept))
	expect.OK(t, out.Flush(background(t)))
	if held := m.unackedBytes.Load(); held != 0 {
		t.Errorf("%d bytes held after all were taken", held)
	}
	if err := out.Publish(batch("r", 0, kept+1, maxPayload)); err == nil || !strings.Contains(err.Error(), "larger than a message") {
		t.Errorf("error %v", err)
	}
}

// Both sides say in one line that the token is wrong, and the worker does not
// hang.
func TestWrongToken(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		var said said
		hub := openHub(t, Options{Listen: listen, Say: said.say})
		for range 2 {
			_, err := Join(background(t), Options{URL: hub.URL(), Token: "another token of that length"})
			if err == nil || !strings.HasPrefix(err.Error(), "the join token is not the conductor's: ") {
				t.Errorf("%s: error %v", listen, err)
			}
		}
		eventually(t, "line of the conductor", func() bool { return said.count("the join token is not the conductor's") > 0 })
		if len(said.lines) != 1 {
			t.Errorf("%s: said %q, expected one line", listen, said.lines)
		}
	}
}

// A worker whose conductor comes back with another token ends at once.
func TestTokenChanged(t *testing.T) {
	address := freeAddress(t)
	hub := openHub(t, Options{Listen: address})
	m := join(t, Options{URL: hub.URL()})
	ended := make(chan error, 1)
	go func() {
		h := &hand{}
		ended <- m.Serve(context.Background(), helloOf("a"), h.ownedBy, h.answer)
	}()
	hub.Close()
	openHub(t, Options{Listen: address, Token: "another token of that length"})
	if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), "the join token is not the conductor's: ") {
		t.Errorf("error %v", err)
	}
}

func TestTLSByToken(t *testing.T) {
	hub := openHub(t, Options{Listen: "0.0.0.0:0"})
	if !strings.HasPrefix(hub.URL(), "tls://") {
		t.Fatalf("workers connect to %s", hub.URL())
	}
	serve(t, Options{URL: hub.URL()}, helloOf("a"))
	if _, err := hub.gather(background(t), 1, "one", "1"); err != nil {
		t.Error(err)
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(hub.URL(), "tls://"))
	if conn, err := nats.Connect("nats://127.0.0.1:"+port, nats.Token(testToken)); err == nil {
		conn.Close()
		t.Error("a client that does not know the key was content")
	}
}

// Somebody between a worker and its conductor, with a key of his own, is
// refused before he hears the token.
func TestManInTheMiddle(t *testing.T) {
	other := must.Get(newKeys("some other token of his own"))(t)
	own := must.Get(other.certificate())(t)
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	heard := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, `INFO {"server_id":"x","version":"2.15.2","proto":1,"auth_required":true,"tls_required":true,"max_payload":1048576}`+"\r\n")
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{own}})
		data, _ := io.ReadAll(secure)
		heard <- string(data)
	}()
	defer l.Close()
	_, err := Join(background(t), Options{URL: "tls://" + l.Addr().String(), Token: testToken})
	if err == nil || !strings.Contains(err.Error(), "has another key") {
		t.Errorf("error %v", err)
	}
	if got := <-heard; got != "" {
		t.Errorf("he heard %q", got)
	}
}

// What strangers send is dropped and counted; names that try to move the cursor
// are escaped.
func TestStrangers(t *testing.T) {
	s := startNATS(t) // open to anybody
	var said said
	hub := openHub(t, Options{URL: s.url(), Say: said.say})
	got := newBasket(t)
	must.Do(t, hub.Collect(t.Context(), "r", got.take))
	m := join(t, Options{URL: s.url()})
	w := &hand{}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- m.Serve(ctx, helloOf("a"), w.ownedBy, w.answer) }()
	defer func() { cancel(); <-served }()

	stranger := raw(t, s.url(), "")
	eventually(t, "worker that listens", func() bool {
		_, err := stranger.Request(askSubject("id-a"), nil, 50*time.Millisecond)
		return err == nats.ErrTimeout // it is there, and says nothing
	})
	box := hub.keys.box
	// With the token too: what is sealed may still be nonsense.
	short, _ := batch("r", 0, 1, 10).Encode()
	elsewhere, _ := batch("other", 0, 1, 10).Encode()
	messages := map[string][][]byte{
		"redline.batch.r.0":   {nil, []byte("garbage"), box("redline.batch.r.0").seal([]byte("no line"), ""), box("redline.batch.r.0").seal(elsewhere, ""), box("redline.batch.r.1").seal(short, "")},
		"redline.batch.r.1":   {box("redline.batch.r.1").seal(short, "")},
		"redline.batch.r.x":   {box("redline.batch.r.x").seal(short, "")},
		askSubject("id-a"):    {nil, []byte("garbage"), box(askSubject("id-a")).seal([]byte("{"), "question"), box(askSubject("id-a")).seal([]byte("{}"), "")},
		callSubject:           {nil, []byte("garbage")},
		"redline.unheard.of.": {nil},
	}
	for subject, bodies := range messages {
		for _, body := range bodies {
			must.Do(t, stranger.PublishRequest(strings.TrimSuffix(subject, "."), "inbox", body))
		}
	}
	out := m.Outlet("r", 0)
	must.Do(t, stranger.Flush())
	must.Do(t, out.Publish(batch("r", 0, 1, 100)))
	eventually(t, "true batch", got.has(0, 1))
	eventually(t, "count of batches", func() bool { return hub.droppedMessages() == 7 })
	eventually(t, "count of questions", func() bool { return m.strangers.count.Load() >= 7 })
	if len(w.asked) != 0 {
		t.Errorf("the worker was asked %+v", w.asked)
	}

	// Hellos: of garbage, of an id that is a subject of its own, and a true one.
	hellos := [][]byte{nil, []byte("{}"), box(helloSubject).seal([]byte(`{"id":">","version":"1"}`), ""), box(helloSubject).seal([]byte(`[]`), "")}
	go func() {
		for ctx.Err() == nil {
			for _, body := range hellos {
				_ = stranger.Publish(helloSubject, body)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	links, err := hub.gather(background(t), 1, "one", "1")
	if err != nil || links[0].Hello().Name != "a" {
		t.Fatalf("links %v, %v", links, err)
	}
	if said.count("dropped a ") != 1 {
		t.Errorf("said %q", said.lines)
	}
}

// Who hears a question can neither read it nor ask it again.
func TestQuestionsAreSealed(t *testing.T) {
	s := startNATS(t)
	hub := openHub(t, Options{URL: s.url()})
	w := serve(t, Options{URL: s.url()}, helloOf("a"))
	stranger := raw(t, s.url(), "")
	overheard := must.Get(stranger.SubscribeSync("redline.ask.>"))(t)
	must.Do(t, stranger.Flush())
	must.Get(hub.gather(background(t), 1, "one", "1"))(t)
	msg := must.Get(overheard.NextMsg(time.Minute))(t)
	if strings.Contains(string(msg.Data), "claim") {
		t.Errorf("read %q", msg.Data)
	}
	w.mu.Lock()
	before := len(w.asked)
	w.mu.Unlock()
	if _, err := stranger.Request(msg.Subject, msg.Data, 300*time.Millisecond); err != nats.ErrTimeout {
		t.Errorf("asked again: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asked) != before {
		t.Error("the worker did it again")
	}
}
