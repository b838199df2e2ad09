package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"redline/internal/text"
	"redline/internal/workers/crew"
)

type link struct {
	hub   *Hub
	hello crew.Hello
	box   box
}

// Link is the way to a worker that was met before.
func (h *Hub) Link(hello crew.Hello) crew.Link {
	return h.link(hello)
}

func (h *Hub) link(hello crew.Hello) *link {
	return &link{hub: h, hello: hello, box: h.keys.box(askSubject(hello.ID))}
}

func (l *link) Hello() crew.Hello { return l.hello }

// Ask gives the worker's answer. A worker that is not there gets a few seconds to
// connect again.
func (l *link) Ask(ctx context.Context, q crew.Question) (crew.Answer, error) {
	var answer crew.Answer
	data, err := json.Marshal(q)
	if err != nil {
		return answer, err
	}
	sealed := l.box.seal(data, "question")
	reply, err := l.request(ctx, sealed)
	if err != nil {
		return answer, fmt.Errorf("no answer: %s", shortReason(err))
	}
	if data, err = l.box.open(reply.Data, nonceOf(sealed)); err != nil || json.Unmarshal(data, &answer) != nil {
		l.hub.strangers.drop("worker's answer")
		return crew.Answer{}, errors.New("its answer cannot be read")
	}
	answer.Refused = text.Line(answer.Refused)
	return answer, nil
}

func (l *link) request(ctx context.Context, sealed []byte) (*nats.Msg, error) {
	const grace = 3 * time.Second
	for begun := time.Now(); ; {
		reply, err := l.hub.conn.RequestWithContext(ctx, askSubject(l.hello.ID), sealed)
		if !errors.Is(err, nats.ErrNoResponders) || time.Since(begun) > grace {
			return reply, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func shortReason(err error) string {
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return "it is not connected"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return "the time for it is over"
	case errors.Is(err, context.Canceled):
		return "the run was stopped"
	case errors.Is(err, nats.ErrMaxPayload):
		return "the plan is larger than a message of this NATS may be: raise its max_payload"
	}
	return cause(err)
}
