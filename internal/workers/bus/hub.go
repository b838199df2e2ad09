package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redline/internal/text"
	"redline/internal/workers/crew"
)

// Hub is a conductor's end of the bus.
type Hub struct {
	options   Options
	token     string
	keys      keys
	server    *embeddedServer // nil for a given cluster
	conn      *nats.Conn
	stream    jetstream.JetStream
	strangers strangers
	ctx       context.Context
	cancel    context.CancelFunc
}

// Open starts a server or connects to the given one.
func Open(ctx context.Context, o Options) (*Hub, error) {
	token, err := o.token()
	if err != nil {
		return nil, err
	}
	if token == "" {
		token = randomToken()
	}
	h := &Hub{options: o, token: token, strangers: strangers{say: o.say}}
	if h.keys, err = newKeys(token); err != nil {
		return nil, err
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	if err := h.connect(ctx); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *Hub) connect(ctx context.Context) (err error) {
	if h.options.URL == "" {
		h.options.Auth = "" // it is for servers of others
		if h.server, err = embed(h.options, h.keys); err != nil {
			return err
		}
	}
	var open atomic.Bool // before, a refusal is given to the caller
	var once sync.Once
	refuse := func(err error) {
		if open.Load() {
			once.Do(func() { h.options.say("%v", err) })
		}
	}
	// The credentials may be renewed while the workers go on.
	options := append(h.options.dialOptions(h.keys, refuse, h.URL()), nats.IgnoreAuthErrorAbort())
	if h.server != nil {
		options = append(options, nats.InProcessServer(h.server))
	}
	if h.conn, err = nats.Connect(h.options.URL, options...); err != nil {
		if r := h.options.refusalOf(err, h.URL()); r != nil {
			return r
		}
		return fmt.Errorf("no NATS server answers at %s: %s", h.URL(), cause(err))
	}
	open.Store(true)
	if h.stream, err = jetstream.New(h.conn); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := h.stream.AccountInfo(ctx); errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return fmt.Errorf("%s has no JetStream, which keeps the records: start nats-server with -js", h.URL())
	}
	return nil
}

// URL is where workers connect, without secrets.
func (h *Hub) URL() string {
	if h.server != nil {
		return h.server.url
	}
	return safeURLs(h.options.URL)
}

// Token is what workers join with.
func (h *Hub) Token() string { return h.token }

// Mark tells whether another hub had the same token.
func (h *Hub) Mark() string { return h.keys.mark() }

// droppedMessages is how many messages of strangers came.
func (h *Hub) droppedMessages() int64 { return h.strangers.count.Load() }

// Close ends the connection and the server.
func (h *Hub) Close() {
	h.cancel()
	if h.conn != nil {
		h.conn.Close()
	}
	if h.server != nil {
		h.server.stop()
	}
}

// gather claims n free workers. Those that other conductors have are passed
// over; those that would spoil the run are refused by name.
func (h *Hub) gather(ctx context.Context, n int, claim, version string) ([]crew.Link, error) {
	hellos := make(chan crew.Hello, 1024)
	open := h.keys.box(helloSubject)
	sub, err := h.conn.Subscribe(helloSubject, func(m *nats.Msg) {
		var hello crew.Hello
		if data, err := open.open(m.Data, ""); err != nil || json.Unmarshal(data, &hello) != nil || !plain.MatchString(hello.ID) {
			h.strangers.drop("worker's hello")
			return
		}
		hello.Name, hello.Host, hello.Version, hello.Owner = word(hello.Name), word(hello.Host), word(hello.Version), word(hello.Owner)
		select {
		case hellos <- hello:
		default: // it comes again in a second
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %s", h.URL(), cause(err))
	}
	defer sub.Unsubscribe()
	if err := h.conn.Publish(callSubject, h.keys.box(callSubject).seal(nil, "")); err != nil {
		return nil, fmt.Errorf("%s: %s", h.URL(), cause(err))
	}
	g := &gathering{hub: h, want: n, version: version, claim: claim, answers: make(chan claimResult), known: map[string]bool{}, owners: map[string]string{}}
	defer g.awaitClaims()
	for len(g.links) < n {
		select {
		case hello := <-hellos:
			g.owners[hello.ID] = hello.Owner
			if hello.Owner == "" && len(g.links)+g.asked < n && time.Now().After(g.rest) {
				g.consider(ctx, hello)
			}
		case <-g.yielding:
			g.yield()
		case c := <-g.answers:
			g.take(c)
		case <-ctx.Done():
			g.awaitClaims()
			if len(g.links) == n {
				return g.links, nil
			}
			g.release()
			return nil, g.tooFew(ctx, n)
		}
	}
	return g.links, nil
}

// gathering is one call of gather.
type gathering struct {
	hub            *Hub
	want           int
	claim, version string
	answers        chan claimResult
	asked          int
	known          map[string]bool   // by id: asked, claimed or refused
	owners         map[string]string // by id: who had them when they last said so
	links          []crew.Link
	refused        []string
	yielding       <-chan time.Time // when to let others go first, nil where there are none
	rest           time.Time        // until when to do so
}

type claimResult struct {
	link  *link
	ok    bool
	taken bool // by another conductor
}

func (g *gathering) consider(ctx context.Context, hello crew.Hello) {
	if g.known[hello.ID] {
		return
	}
	g.known[hello.ID] = true
	if why := unfit(hello, g.version, time.Now()); why != "" {
		g.refused = append(g.refused, why)
		g.hub.options.say("%s", why)
		return
	}
	g.asked++
	l := g.hub.link(hello)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		answer, err := l.Ask(ctx, crew.Question{Claim: g.claim})
		g.answers <- claimResult{l, err == nil && answer.Refused == "", err == nil && answer.Refused != ""}
	}()
}

func (g *gathering) take(c claimResult) {
	g.asked--
	if c.ok {
		g.links = append(g.links, c.link)
		g.came()
		return
	}
	delete(g.known, c.link.hello.ID) // it may be free again later
	if c.taken && g.yielding == nil {
		g.yielding = time.After(2*time.Second + rand.N(4*time.Second))
	}
}

// yield lets go of what was claimed for a moment: two conductors that each hold a
// part of the workers would else wait for each other until both give up.
func (g *gathering) yield() {
	g.yielding = nil
	if g.awaitClaims(); len(g.links) == 0 || len(g.links) == g.want {
		return
	}
	g.release()
	for _, l := range g.links {
		delete(g.known, l.Hello().ID)
	}
	g.links = nil
	g.came()
	g.rest = time.Now().Add(2*time.Second + rand.N(2*time.Second))
}

func (g *gathering) came() {
	if g.hub.options.Came != nil {
		g.hub.options.Came(len(g.links), g.want)
	}
}

func (g *gathering) awaitClaims() {
	for g.asked > 0 {
		g.take(<-g.answers)
	}
}

// release lets go of workers that were too few.
func (g *gathering) release() {
	ctx, cancel := context.WithTimeout(g.hub.ctx, 2*time.Second)
	defer cancel()
	for _, l := range g.links {
		_, _ = l.Ask(ctx, crew.Question{From: g.claim, Release: true}) // else it goes by itself, after a silence
	}
}

func (g *gathering) tooFew(ctx context.Context, n int) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	came := "no worker"
	if len(g.links) > 0 {
		came = fmt.Sprintf("%d of %d workers", len(g.links), n)
	}
	line := fmt.Sprintf("%s came in the time allowed (--workers-wait): start one with `redline worker --nats %s` and REDLINE_JOIN_TOKEN", came, g.hub.URL())
	taken := map[string]int{}
	for _, owner := range g.owners {
		taken[owner]++
	}
	delete(taken, "")
	delete(taken, g.claim)
	for _, owner := range slices.Sorted(maps.Keys(taken)) {
		line += fmt.Sprintf("; %s taken by %s", text.Plural(taken[owner], "worker"), owner)
	}
	for _, why := range g.refused {
		line += "; " + why
	}
	if dropped := g.hub.droppedMessages(); dropped > 0 {
		line += fmt.Sprintf("; %s could not be opened: is there a worker with another join token?", text.Plural(dropped, "message"))
	}
	return errors.New(line)
}

// unfit says why a worker cannot be used, "" where it can.
func unfit(hello crew.Hello, version string, now time.Time) string {
	const limit = time.Minute
	off := time.Duration(hello.UnixNS - now.UnixNano())
	switch {
	case hello.Version != version:
		return fmt.Sprintf("%s is refused: it is redline %s and this is %s: install the same version there", workerName(hello), hello.Version, version)
	case off.Abs() > limit:
		side := "ahead of"
		if off < 0 {
			side = "behind"
		}
		return fmt.Sprintf("%s is refused: its clock is %s %s the conductor's: synchronize both with NTP", workerName(hello), off.Abs().Round(time.Second), side)
	}
	return ""
}

// workerName is a worker as people know it.
func workerName(hello crew.Hello) string {
	switch hello.Host {
	case "", hello.Name:
		return "worker " + hello.Name
	}
	return "worker " + hello.Name + " on " + hello.Host
}

// word is a name from outside, fit to be shown.
func word(s string) string { return text.Line(text.Brief(s)) }
