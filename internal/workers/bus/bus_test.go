package bus

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/run/measure"
	"redline/internal/workers/crew"
)

// everywhere runs a test with an embedded server and with a process.
func everywhere(t *testing.T, test func(t *testing.T, hub *Hub)) {
	t.Run("embedded", func(t *testing.T) { test(t, openHub(t, Options{})) })
	t.Run("process", func(t *testing.T) {
		s := startNATS(t, "--auth", testProof(t))
		test(t, openHub(t, Options{URL: s.url()}))
	})
}

func TestAskAndCollect(t *testing.T) {
	everywhere(t, func(t *testing.T, hub *Hub) {
		w := serve(t, Options{URL: hub.URL()}, helloOf("a"))
		links := must.Get(hub.gather(background(t), 1, "conductor", "1"))(t)
		if got := links[0].Hello(); got.Name != "a" || got.UnixNS == 0 {
			t.Errorf("hello %+v", got)
		}
		answer, err := links[0].Ask(background(t), crew.Question{Clock: true})
		if err != nil || answer.Now != 42 {
			t.Errorf("answer %+v, %v", answer, err)
		}
		plan := &measure.Assignment{Run: "r", Plan: []byte("api_key: secret")}
		if _, err := links[0].Ask(background(t), crew.Question{Prepare: plan}); err != nil {
			t.Error(err)
		}
		if last := w.asked[len(w.asked)-1]; last.Prepare == nil || string(last.Prepare.Plan) != string(plan.Plan) {
			t.Errorf("asked %+v", last)
		}

		got := newBasket(t)
		must.Do(t, hub.Collect(t.Context(), "run 1.x", got.take))
		m := join(t, Options{URL: hub.URL()})
		for worker := range 3 {
			out := m.Outlet("run 1.x", worker)
			for seq := 1; seq <= 50; seq++ {
				must.Do(t, out.Publish(batch("run 1.x", worker, seq, 2000)))
			}
			expect.OK(t, out.Flush(background(t)))
			eventually(t, "last batch", got.has(worker, 50))
		}
		hub.Forget("run 1.x")
		if _, err := hub.stream.Stream(background(t), streamName("run 1.x")); err == nil {
			t.Error("the stream is still there")
		}
	})
}

// A conductor that comes back sees everything again.
func TestCollectTwice(t *testing.T) {
	s := startNATS(t, "--auth", testProof(t))
	hub := openHub(t, Options{URL: s.url()})
	ctx, cancel := context.WithCancel(t.Context())
	first := newBasket(t)
	must.Do(t, hub.Collect(ctx, "r", first.take))
	out := join(t, Options{URL: hub.URL()}).Outlet("r", 0)
	for seq := 1; seq <= 20; seq++ {
		must.Do(t, out.Publish(batch("r", 0, seq, 100)))
	}
	must.Do(t, out.Flush(background(t)))
	eventually(t, "batch", first.has(0, 20))
	cancel()
	second := newBasket(t)
	must.Do(t, hub.Collect(t.Context(), "r", second.take))
	eventually(t, "batch again", second.has(0, 20))
	hub.Close()
	s.kill()
	s.start()

	third := newBasket(t)
	must.Do(t, openHub(t, Options{URL: s.url()}).Collect(t.Context(), "r", third.take))
	eventually(t, "batch after a restart", third.has(0, 20))
}

// Batches can be found while a run is collected or was left, and no longer.
func TestFind(t *testing.T) {
	hub := openHub(t, Options{})
	missing := func() bool {
		err := hub.Find(t.Context(), "r")
		return err != nil && strings.Contains(err.Error(), "has no records of run r")
	}
	if !missing() {
		t.Error("a run that nobody has collected was found")
	}
	ctx, cancel := context.WithCancel(t.Context())
	must.Do(t, hub.Collect(ctx, "r", func(*crew.Batch) {}))
	expect.OK(t, hub.Find(t.Context(), "r"))
	cancel()
	// A stream stays when its age has taken the first batches, or all of them.
	for _, kept := range []uint64{1, 0} {
		out := join(t, Options{URL: hub.URL()}).Outlet("r", int(kept))
		for seq := 1; seq <= 3; seq++ {
			must.Do(t, out.Publish(batch("r", int(kept), seq, 100)))
		}
		must.Do(t, out.Flush(background(t)))
		stream, err := hub.stream.Stream(t.Context(), streamName("r"))
		if err == nil {
			err = stream.Purge(t.Context(), jetstream.WithPurgeKeep(kept))
		}
		must.Do(t, err)
		if err := hub.Find(t.Context(), "r"); err == nil || !strings.Contains(err.Error(), "has dropped records of run r") {
			t.Errorf("with the last %d batches: error %v", kept, err)
		}
	}
	if hub.Forget("r"); !missing() {
		t.Error("a run that was forgotten was found")
	}
}

// The stream drops what it has; what it has forgotten the collector drops; and
// what came too early waits.
func TestOrderAndDuplicates(t *testing.T) {
	hub := openHub(t, Options{})
	got := newBasket(t)
	must.Do(t, hub.Collect(t.Context(), "r", got.take))
	m := join(t, Options{URL: hub.URL()})
	for _, seq := range []int{2, 1, 1, 3, 2} {
		out := m.Outlet("r", 0)
		must.Do(t, out.Publish(batch("r", 0, seq, 100)))
		must.Do(t, out.Flush(background(t)))
	}
	eventually(t, "third batch", got.has(0, 3))
	stream := must.Get(hub.stream.Stream(background(t), streamName("r")))(t)
	if n := stream.CachedInfo().State.Msgs; n != 3 {
		t.Errorf("the stream has %d batches, expected each once", n)
	}
	// As if the window of deduplication were over.
	sealed := m.keys.box("redline.batch.r.0")
	data, _ := batch("r", 0, 2, 100).Encode()
	must.Get(hub.stream.Publish(background(t), "redline.batch.r.0", sealed.seal(data, "")))(t)
	out := m.Outlet("r", 0)
	must.Do(t, out.Publish(batch("r", 0, 4, 100)))
	eventually(t, "fourth batch", got.has(0, 4))
}

// Two conductors on one cluster both find workers, and never the same.
func TestTwoConductors(t *testing.T) {
	s := startNATS(t, "--auth", testProof(t))
	hands := map[string]*hand{}
	for _, name := range []string{"a", "b", "c", "d"} {
		hands[name] = serve(t, Options{URL: s.url()}, helloOf(name))
	}
	type found struct {
		links []crew.Link
		err   error
	}
	results := map[string]chan found{"one": make(chan found, 1), "two": make(chan found, 1)}
	for claim, result := range results {
		hub := openHub(t, Options{URL: s.url()})
		go func() {
			links, err := hub.gather(background(t), 2, claim, "1")
			result <- found{links, err}
		}()
	}
	for claim, result := range results {
		got := <-result
		if got.err != nil || len(got.links) != 2 {
			t.Fatalf("%s: %d workers, %v", claim, len(got.links), got.err)
		}
		for _, l := range got.links {
			h := hands[l.Hello().Name]
			h.mu.Lock()
			if h.owner != claim {
				t.Errorf("%s has worker %s, which works for %q", claim, l.Hello().Name, h.owner)
			}
			h.mu.Unlock()
		}
	}
	// A third finds none, and says how to start one.
	short, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	_, err := openHub(t, Options{URL: s.url()}).gather(short, 1, "three", "1")
	if err == nil || !strings.Contains(err.Error(), "no worker came") || !strings.Contains(err.Error(), "redline worker --nats "+s.url()) ||
		!strings.Contains(err.Error(), "; 2 workers taken by one; 2 workers taken by two") {
		t.Errorf("error %v", err)
	}
}

// Two conductors that each hold a part of what both want do not wait for each
// other for ever: one lets the other go first.
func TestConductorsYield(t *testing.T) {
	hub := openHub(t, Options{})
	second := must.Get(Open(background(t), Options{URL: hub.URL(), Token: testToken}))(t)
	t.Cleanup(second.Close)
	for name, owner := range map[string]string{"a": "one", "b": "two"} {
		h := serve(t, Options{URL: hub.URL()}, helloOf(name))
		h.mu.Lock()
		h.owner, h.eager = owner, true
		h.mu.Unlock()
	}
	var both sync.WaitGroup
	for claim, hub := range map[string]*Hub{"one": hub, "two": second} {
		both.Go(func() {
			links, err := hub.gather(background(t), 2, claim, "1")
			if err != nil {
				t.Errorf("%s: %v", claim, err)
			}
			for _, l := range links {
				if _, err := l.Ask(background(t), crew.Question{From: claim, Release: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
}

// Workers that came but were too few are free for others.
func TestTooFewAreReleased(t *testing.T) {
	hub := openHub(t, Options{})
	w := serve(t, Options{URL: hub.URL()}, helloOf("a"))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := hub.gather(ctx, 2, "one", "1")
	if err == nil || !strings.HasPrefix(err.Error(), "1 of 2 workers came") {
		t.Fatalf("error %v", err)
	}
	eventually(t, "free worker", w.free)
	if _, err := hub.gather(background(t), 1, "two", "1"); err != nil {
		t.Error(err)
	}
}

func TestUnfitWorkers(t *testing.T) {
	now := time.Now()
	at := func(off time.Duration) crew.Hello {
		h := helloOf("a")
		h.Name += "\x1b[31m"
		h.UnixNS = now.Add(off).UnixNano()
		return h
	}
	older := at(0)
	older.Version = "0.9"
	for _, c := range []struct {
		hello crew.Hello
		want  []string
	}{
		{at(0), nil},
		{at(59 * time.Second), nil},
		{at(-59 * time.Second), nil},
		{at(2 * time.Minute), []string{"2m0s ahead of", "NTP"}},
		{at(-90 * time.Second), []string{"1m30s behind", "NTP"}},
		{older, []string{"it is redline 0.9 and this is 1", "install the same version"}},
	} {
		got := unfit(c.hello, "1", now)
		if (got == "") != (c.want == nil) {
			t.Errorf("said %q, expected %q", got, c.want)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("said %q without %q", got, part)
			}
		}
	}
	// By name, and with the others' line at the end.
	hub := openHub(t, Options{})
	serve(t, Options{URL: hub.URL()}, older)
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if _, err := hub.gather(ctx, 1, "one", "1"); err == nil || !strings.Contains(err.Error(), `worker a\x1b[31m on here is refused: it is redline 0.9`) {
		t.Errorf("error %v", err)
	}
}

func TestPortInUse(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	_, err := Open(t.Context(), Options{Listen: l.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()+" is in use") {
		t.Errorf("error %v", err)
	}
}

func TestMistakes(t *testing.T) {
	s := startNATS(t)
	plain := strings.Replace(s.url(), "nats://", "tls://", 1)
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Token: "short"}, "5 characters: at least 16"},
		{Options{Listen: "127.0.0.1:port"}, "is not an address to listen on"},
		{Options{Listen: "127.0.0.1:99999"}, "is not an address to listen on"},
		{Options{URL: "nats://a:secretsecretsecret@127.0.0.1:1"}, "no NATS server answers at nats://127.0.0.1:1: "},
		{Options{URL: plain}, "does not speak TLS"},
	} {
		_, err := Open(t.Context(), c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: error %v, expected %q", c.options, err, c.want)
		}
	}
	if _, err := Join(t.Context(), Options{URL: "nats://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "needs the conductor's join token") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var said said
	if _, err := Join(ctx, Options{URL: "nats://127.0.0.1:1", Token: testToken, Say: said.say}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if said.count("waiting for a conductor or NATS at nats://127.0.0.1:1") != 1 {
		t.Errorf("said %q", said.lines)
	}
}

func TestWithoutJetStream(t *testing.T) {
	s := startNATS(t)
	s.kill()
	s.args = s.args[:4]
	s.start()
	if _, err := Open(t.Context(), Options{URL: s.url()}); err == nil || !strings.Contains(err.Error(), "start nats-server with -js") {
		t.Errorf("error %v", err)
	}
}

// A NATS server of one's own has its own ways to ask who comes, and never sees
// the join token.
func TestOwnAuth(t *testing.T) {
	creds := must.File(t, "not.creds", "nothing of use")
	named := startNATS(t, "--user", "ann", "--pass", "pass:word")
	simple := startNATS(t, "--auth", "simple")
	for _, c := range []struct {
		url, auth string
		ok        bool
	}{
		{named.url(), "ann:pass:word", true}, {named.url(), "ann:other", false}, {named.url(), "", false},
		{simple.url(), "simple", true}, {simple.url(), testToken, false}, {simple.url(), creds, false},
	} {
		h, err := Open(t.Context(), Options{URL: c.url, Token: testToken, Auth: c.auth})
		if (err == nil) != c.ok {
			t.Errorf("%+v: error %v", c, err)
		}
		if err == nil {
			h.Close()
		} else if strings.Contains(err.Error(), testToken) || strings.Contains(err.Error(), "other") {
			t.Errorf("%+v: a secret in %v", c, err)
		}
	}
}

// What killed processes leave behind is removed; what others use is not.
func TestScratchOfTheKilled(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left := filepath.Join(os.TempDir(), "redline-nats-1", "jetstream")
	must.Do(t, os.MkdirAll(left, 0o700))
	first := openHub(t, Options{Auth: "of another server"})
	dir, held := must.Get2(scratch())(t)
	defer held.Release()
	if _, err := os.Stat(left); err == nil {
		t.Error("what was left is there yet")
	}
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "redline-nats-*"))
	if len(dirs) != 2 || !slices.Contains(dirs, dir) || !slices.Contains(dirs, first.server.dir) {
		t.Errorf("there are %v", dirs)
	}
	other, more := must.Get2(scratch())(t)
	defer more.Release()
	if _, err := os.Stat(dir); err != nil || other == dir {
		t.Errorf("a directory in use: %v", err)
	}
}

// What others can write to may lead anywhere: it is left alone.
func TestScratchLeavesOthersAlone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	precious := must.File(t, "precious", "keep")
	for name, mode := range map[string]os.FileMode{"redline-nats-own": 0o700, "redline-nats-open": 0o755} {
		dir := filepath.Join(os.TempDir(), name)
		must.Do(t, os.Mkdir(dir, mode))
		must.Do(t, os.Symlink(precious, filepath.Join(dir, "lock")))
	}
	open := filepath.Join(os.TempDir(), "redline-nats-empty")
	must.Do(t, os.Mkdir(open, 0o755))
	_, held := must.Get2(scratch())(t)
	defer held.Release()
	if got, err := os.ReadFile(precious); err != nil || string(got) != "keep" {
		t.Errorf("the file has become %q, %v", got, err)
	}
	if _, err := os.Stat(open); err != nil {
		t.Errorf("a directory that others can read was taken for one of a killed process: %v", err)
	}
}

// An embedded server does not keep what its conductor has read.
func TestAnEmbeddedServerKeepsLittle(t *testing.T) {
	hub := openHub(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := newBasket(t)
	must.Do(t, hub.Collect(ctx, "r", got.take))
	out := join(t, Options{URL: hub.URL()}).Outlet("r", 0)
	const n, size = 40, 1 << 20
	for seq := 1; seq <= n; seq++ {
		must.Do(t, out.Publish(batch("r", 0, seq, size)))
	}
	eventually(t, "last batch", got.has(0, n))
	stream := must.Get(hub.stream.Stream(t.Context(), streamName("r")))(t)
	if kept := stream.CachedInfo().State.Bytes; kept > purgeEvery+size {
		t.Errorf("%d bytes of %d are kept", kept, n*size)
	}
}

// Of a cluster's servers one may be dead, for conductors and workers.
func TestOneOfSeveralServersIsDead(t *testing.T) {
	s := startNATS(t, "--auth", testProof(t))
	list := "nats://" + freeAddress(t) + ", " + s.url()
	hub := openHub(t, Options{URL: list})
	serve(t, Options{URL: list}, helloOf("a"))
	if _, err := hub.gather(background(t), 1, "one", "1"); err != nil {
		t.Error(err)
	}
}

// A server that complains without end is neither repeated nor remembered so.
func TestComplaintsAreBounded(t *testing.T) {
	var said said
	log := &serverLog{reported: map[string]bool{}, gate: gate{say: said.say}}
	for n := range 1000 {
		log.Errorf("complaint %d", n)
	}
	if len(said.lines) != len(log.reported) || len(log.reported) > 10 || said.count("complaint 0") != 1 {
		t.Errorf("%d lines were said, and %d are remembered", len(said.lines), len(log.reported))
	}
}
