package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redline/internal/text"
	"redline/internal/workers/crew"
)

// noRoom is what a server says whose disk is full.
const noRoom jetstream.ErrorCode = 10047

// keptFor is how long a server keeps batches that nobody has taken away; their
// stream stays, without any.
const keptFor = 24 * time.Hour

// purgeEvery is how many bytes an embedded server keeps of what has been read.
const purgeEvery = 2 * maxPayload

func streamName(run string) string { return "redline-" + runName(run) }

// Collect makes the run's stream, or finds it again, and reads it from its first
// message.
func (h *Hub) Collect(ctx context.Context, run string, take func(*crew.Batch)) error {
	subject := batchSubject(run)
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	stream, err := h.stream.CreateOrUpdateStream(within, jetstream.StreamConfig{
		Name: streamName(run), Subjects: []string{subject + ".*"}, Storage: jetstream.FileStorage,
		Discard: jetstream.DiscardNew, MaxAge: keptFor, Duplicates: 2 * time.Minute,
		Description: "batches of a redline run",
	})
	if full := (&jetstream.APIError{}); errors.As(err, &full) && full.ErrorCode == noRoom && h.server != nil {
		return fmt.Errorf("there is no room for the records of run %s in %s: free some, or name another place by TMPDIR", text.Line(run), h.server.dir)
	}
	if err != nil {
		return fmt.Errorf("%s cannot keep the records of run %s: %s", h.URL(), text.Line(run), cause(err))
	}
	// Ordered by itself it is: gaps are found, and a consumer that the server
	// lost is made again behind the last message.
	consumer, err := stream.OrderedConsumer(within, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return fmt.Errorf("%s cannot read the records of run %s: %s", h.URL(), text.Line(run), cause(err))
	}
	c := &collector{ctx: ctx, hub: h, stream: stream, run: run, subject: subject, take: take, lanes: map[int]*lane{}}
	reading, err := consumer.Consume(c.handle, jetstream.PullMaxBytes(4*maxPayload))
	if err != nil {
		return fmt.Errorf("%s cannot read the records of run %s: %s", h.URL(), text.Line(run), cause(err))
	}
	context.AfterFunc(ctx, reading.Stop)
	return nil
}

// Find looks for the run's stream, with all that was ever in it.
func (h *Hub) Find(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	stream, err := h.stream.Stream(ctx, streamName(run))
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("%s has no records of run %s, which it keeps for a day: was it started with another -sd directory since?", h.URL(), text.Line(run))
	case err != nil:
		return fmt.Errorf("%s: %s", h.URL(), cause(err))
	case stream.CachedInfo().State.FirstSeq > 1: // a stream outlives what was in it
		return fmt.Errorf("%s has dropped records of run %s, which it keeps for a day", h.URL(), text.Line(run))
	}
	return nil
}

// Forget deletes the run's stream.
func (h *Hub) Forget(run string) {
	ctx, cancel := context.WithTimeout(h.ctx, 10*time.Second)
	defer cancel()
	if err := h.stream.DeleteStream(ctx, streamName(run)); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		h.options.say("the stream %[1]s stays at %[2]s: %[3]s; remove it with `nats stream rm %[1]s`", streamName(run), h.URL(), cause(err))
	}
}

// collector puts the batches of each worker in their order: a batch that was sent
// again after a failure may stand in the stream behind later ones, and twice
// where the server had forgotten it.
type collector struct {
	ctx     context.Context
	hub     *Hub
	stream  jetstream.Stream
	read    int // bytes that have come since the last purge
	run     string
	subject string
	take    func(*crew.Batch)
	lanes   map[int]*lane // by worker
}

type lane struct {
	box  box
	next uint64
	held map[uint64]*crew.Batch
}

func (c *collector) handle(m jetstream.Msg) {
	if c.ctx.Err() != nil {
		return
	}
	c.purge(m)
	b, l := c.open(m)
	if b == nil {
		c.hub.strangers.drop("batch")
		return
	}
	if b.Seq < l.next {
		return
	}
	l.held[b.Seq] = b
	for b := l.held[l.next]; b != nil && c.ctx.Err() == nil; b = l.held[l.next] {
		delete(l.held, l.next)
		l.next++
		c.take(b)
	}
}

// purge has an embedded server drop what has come: it ends with this conductor, so
// nobody resumes from it, and its directory may lie in memory.
func (c *collector) purge(m jetstream.Msg) {
	if c.read += len(m.Data()); c.hub.server == nil || c.read < purgeEvery {
		return
	}
	at, err := m.Metadata()
	if err != nil {
		return
	}
	c.read = 0
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
	defer cancel()
	_ = c.stream.Purge(ctx, jetstream.WithPurgeSequence(at.Sequence.Stream+1)) // else with the next one
}

func (c *collector) open(m jetstream.Msg) (*crew.Batch, *lane) {
	worker, err := strconv.Atoi(strings.TrimPrefix(m.Subject(), c.subject+"."))
	if err != nil {
		return nil, nil
	}
	l := c.lanes[worker]
	if l == nil {
		l = &lane{box: c.hub.keys.box(m.Subject()), next: 1, held: map[uint64]*crew.Batch{}}
	}
	data, err := l.box.open(m.Data(), "")
	if err != nil {
		return nil, nil
	}
	b, err := crew.DecodeBatch(data)
	if err != nil || b.Run != c.run || b.Worker != worker || b.Seq == 0 {
		return nil, nil
	}
	if b.Done != nil {
		b.Done.Error = text.Line(b.Done.Error)
	}
	c.lanes[worker] = l
	return b, l
}
