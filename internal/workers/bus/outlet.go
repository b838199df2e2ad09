package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redline/internal/text"
	"redline/internal/workers/crew"
)

const (
	// window is how many batches, and windowBytes how much of them, may be under
	// way without an acknowledgment.
	window, windowBytes = 256, 2 * maxPayload
	// streamWait is how long batches wait for a stream that is not there, where the
	// server is.
	streamWait = 10 * time.Minute
)

// outlet sends the batches of one worker in one run.
type outlet struct {
	member  *Member
	subject string
	box     box

	mu    sync.Mutex
	queue []*parcel     // not acknowledged, in order
	more  chan struct{} // something was added
	done  chan struct{} // closed when the queue is empty; nil while it is
}

type parcel struct {
	msg *nats.Msg
	ack jetstream.PubAckFuture // nil while it is not under way
}

// Outlet takes the batches of a worker's share of a run.
func (m *Member) Outlet(run string, worker int) crew.Outlet {
	subject := fmt.Sprintf("%s.%d", batchSubject(run), worker)
	return &outlet{member: m, subject: subject, box: m.keys.box(subject), more: make(chan struct{}, 1)}
}

// Publish keeps a batch until the stream has it. It does not wait.
func (o *outlet) Publish(b *crew.Batch) error {
	data, err := b.Encode()
	if err != nil {
		return err
	}
	msg := nats.NewMsg(o.subject)
	msg.Data = o.box.seal(data, "")
	msg.Header.Set(jetstream.MsgIDHeader, o.member.keys.name(fmt.Sprint(o.subject, " ", b.Seq)))
	size := int64(len(msg.Data))
	const header = 1024
	if limit := o.member.conn.MaxPayload(); limit > 0 && size > limit-header {
		return fmt.Errorf("a batch of %s is larger than a message of this NATS may be (%s): raise its max_payload", text.Bytes(float64(size)), text.Bytes(float64(limit)))
	}
	if o.member.unackedBytes.Add(size) > o.member.maxUnacked {
		o.member.unackedBytes.Add(-size)
		return fmt.Errorf("%s of records wait for %s, which does not take them: no more are kept", text.Bytes(float64(o.member.maxUnacked)), safeURLs(o.member.options.URL))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, &parcel{msg: msg})
	if o.done == nil {
		o.done = make(chan struct{})
		o.member.senders.Go(o.send)
	}
	select {
	case o.more <- struct{}{}:
	default:
	}
	return nil
}

// Flush waits until the stream has all batches.
func (o *outlet) Flush(ctx context.Context) error {
	o.mu.Lock()
	done := o.done
	o.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	case <-o.member.ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Errorf("%s with records were not taken by %s", text.Plural(len(o.queue), "batch", "batches"), safeURLs(o.member.options.URL))
}

// send publishes the queue until it is empty. After a failure it begins again
// with the oldest batch: the stream drops what it has already.
func (o *outlet) send() {
	var missing time.Time // since when there has been no stream
	told := false
	for {
		head, err := o.fill()
		if head == nil {
			return
		}
		if err == nil {
			select {
			case <-head.ack.Ok():
				o.pop()
				missing = time.Time{}
				continue
			case <-o.more:
				continue
			case err = <-head.ack.Err():
			case <-o.member.ctx.Done():
				return
			}
		}
		if !errors.Is(err, jetstream.ErrNoStreamResponse) {
			missing = time.Time{}
		} else if missing.IsZero() {
			missing = time.Now()
		} else if time.Since(missing) > streamWait {
			o.abandon()
			return
		}
		var refused *jetstream.APIError
		if errors.As(err, &refused) && !told {
			told = true
			o.member.options.say("NATS does not take records: %s; trying again", cause(err))
		}
		o.rewind()
		select {
		case <-o.member.ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// fill sends what the window takes and gives the oldest batch, nil where there is
// none. A network that takes nothing may hold it up, but not Publish.
func (o *outlet) fill() (*parcel, error) {
	size := 0
	open := o.open()
	for i, p := range open {
		if size += len(p.msg.Data); i > 0 && size > windowBytes {
			break
		}
		if p.ack != nil {
			continue
		}
		ack, err := o.member.stream.PublishMsgAsync(p.msg, jetstream.WithRetryAttempts(0))
		if err != nil && i == 0 {
			return p, err
		} else if err != nil {
			break
		}
		p.ack = ack
	}
	if len(open) == 0 {
		return nil, nil
	}
	return open[0], nil
}

// open is the oldest part of the queue; where there is none the sender ends.
func (o *outlet) open() []*parcel {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		close(o.done)
		o.done = nil
	}
	return o.queue[:min(window, len(o.queue))]
}

func (o *outlet) pop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.member.unackedBytes.Add(-int64(len(o.queue[0].msg.Data)))
	o.queue[0] = nil
	o.queue = o.queue[1:]
}

func (o *outlet) rewind() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		p.ack = nil
	}
}

// abandon gives up on a run that nobody collects any more.
func (o *outlet) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		o.member.unackedBytes.Add(-int64(len(p.msg.Data)))
	}
	o.member.options.say("%s with records were dropped: their run has had no stream for %s", text.Plural(len(o.queue), "batch", "batches"), streamWait)
	o.queue = nil
	close(o.done)
	o.done = nil
}
