package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redline/internal/workers/crew"
)

// Member is a worker's end of the bus.
type Member struct {
	options      Options
	keys         keys
	conn         *nats.Conn
	stream       jetstream.JetStream
	strangers    strangers
	ctx          context.Context // until Close
	cancel       context.CancelCauseFunc
	senders      sync.WaitGroup
	unackedBytes atomic.Int64 // bytes that are not acknowledged
	maxUnacked   int64        // of them
}

// maxUnackedBytes bounds what a worker keeps while nobody takes its batches.
const maxUnackedBytes = 256 << 20

// Join connects a worker, and tries until ctx ends. Only a refusal, by a wrong
// token say, ends it before.
func Join(ctx context.Context, o Options) (*Member, error) {
	token, err := o.token()
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, errors.New("a worker needs the conductor's join token: give it as REDLINE_JOIN_TOKEN")
	}
	m := &Member{options: o, strangers: strangers{say: o.say}, maxUnacked: maxUnackedBytes}
	if m.keys, err = newKeys(token); err != nil {
		return nil, err
	}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	if m.conn, err = m.connect(ctx); err == nil {
		m.stream, err = jetstream.New(m.conn, jetstream.WithPublishAsyncTimeout(10*time.Second))
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Member) connect(ctx context.Context) (*nats.Conn, error) {
	refuse := func(err error) { m.cancel(err) }
	options := append(m.options.dialOptions(m.keys, refuse, safeURLs(m.options.URL)),
		// What cannot be sent now is sent again by the outlets.
		nats.ReconnectBufSize(-1))
	for told := false; ; {
		conn, err := nats.Connect(m.options.URL, options...)
		if err == nil {
			return conn, nil
		}
		if r := m.options.refusalOf(err, safeURLs(m.options.URL)); r != nil {
			return nil, r
		}
		if !told {
			told = true
			m.options.say("waiting for a conductor or NATS at %s: %s", safeURLs(m.options.URL), cause(err))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// Close leaves the bus. Batches that are not acknowledged are lost: see Flush.
func (m *Member) Close() {
	m.cancel(context.Canceled)
	m.senders.Wait()
	if m.conn != nil {
		m.conn.Close()
	}
}

// Serve introduces the worker once a second while nobody owns it, and whenever a
// conductor calls. It has answer called with every question, each in a goroutine
// of its own. It returns when ctx ends, or with an error when the bus refuses the
// worker.
func (m *Member) Serve(ctx context.Context, hello crew.Hello, owner func() string, answer func(context.Context, crew.Question) crew.Answer) error {
	if !plain.MatchString(hello.ID) {
		return fmt.Errorf("a worker's id is made of letters, digits, - and _")
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &desk{member: m, ctx: ctx, answer: answer, box: m.keys.box(askSubject(hello.ID)), called: make(chan struct{}, 1)}
	defer d.answering.Wait()
	defer cancel()
	for subject, handle := range map[string]nats.MsgHandler{askSubject(hello.ID): d.answerQuestion, callSubject: d.call} {
		sub, err := m.conn.Subscribe(subject, handle)
		if err != nil {
			return fmt.Errorf("%s: %s", safeURLs(m.options.URL), cause(err))
		}
		defer sub.Unsubscribe()
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	box := m.keys.box(helloSubject)
	for called := false; ; {
		hello.Owner = owner()
		// A hello that waits for a connection would tell an old time.
		if (called || hello.Owner == "") && m.conn.IsConnected() {
			hello.UnixNS = time.Now().UnixNano()
			data, err := json.Marshal(hello)
			if err != nil {
				return err
			}
			_ = m.conn.Publish(helloSubject, box.seal(data, "")) // comes again in a second
		}
		called = false
		select {
		case <-second.C:
		case <-d.called:
			called = true
		case <-ctx.Done():
			return nil
		case <-m.ctx.Done():
			return context.Cause(m.ctx)
		}
	}
}

// desk takes the questions of one worker.
type desk struct {
	member     *Member
	ctx        context.Context
	answer     func(context.Context, crew.Question) crew.Answer
	box        box
	called     chan struct{}
	answering  sync.WaitGroup
	seenNonces recent
}

func (d *desk) call(msg *nats.Msg) {
	if _, err := d.member.keys.box(callSubject).open(msg.Data, ""); err != nil {
		d.member.strangers.drop("conductor's call")
		return
	}
	select {
	case d.called <- struct{}{}:
	default:
	}
}

func (d *desk) answerQuestion(msg *nats.Msg) {
	var q crew.Question
	data, err := d.box.open(msg.Data, "question")
	if err != nil || json.Unmarshal(data, &q) != nil || msg.Reply == "" {
		d.member.strangers.drop("question")
		return
	}
	// Somebody who hears it can say it again, but not anything else.
	if !d.seenNonces.add(nonceOf(msg.Data)) || d.ctx.Err() != nil {
		return
	}
	d.answering.Go(func() {
		reply, err := json.Marshal(d.answer(d.ctx, q))
		if err == nil {
			_ = msg.Respond(d.box.seal(reply, nonceOf(msg.Data))) // who asked asks again
		}
	})
}

// recent remembers the last 64,000 names or more.
type recent struct{ now, before map[string]bool }

func (r *recent) add(name string) bool {
	if r.now[name] || r.before[name] {
		return false
	}
	if r.now == nil || len(r.now) >= 64_000 {
		r.now, r.before = map[string]bool{}, r.now
	}
	r.now[name] = true
	return true
}
