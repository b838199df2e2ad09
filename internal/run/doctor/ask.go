package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"redline/internal/drive/client"
	"redline/internal/judge/validity"
	"redline/internal/llm"
	"redline/internal/store"
)

// newPrompt begins with something that no server has seen, so that no cache
// knows it, and wants an answer that would be shorter than asked for.
func newPrompt() string {
	const filler = "The lamp is lit, the door is open, the road is dry and the evening is long. "
	return "Note " + rand.Text() + ". " + strings.Repeat(filler, 4) + "Answer with the single word yes."
}

func ask(ctx context.Context, c *client.Client, model, prompt string, stream bool) validity.Reply {
	request := &llm.Request{ID: llm.RequestID(store.NewID(), 1), Model: model, Stream: stream, MaxTokens: validity.AskedTokens,
		Messages: []llm.Message{{Role: "user", Content: prompt}}, Sampling: llm.Sampling{Temperature: new(0.0)}}
	r := validity.Reply{Outcome: llm.OK}
	var text strings.Builder
	var sent, last int64
	for ev, err := range c.Stream(ctx, request) {
		if err != nil {
			fail(ctx, &r, err)
			break
		}
		switch ev.Kind {
		case llm.Sent:
			sent = ev.At
		case llm.Head:
			r.Answered = true
		case llm.Output:
			if r.Events == 0 {
				r.TTFT = ev.At - sent
			}
			if r.Events == 0 || ev.At != last {
				r.Arrivals++
			}
			r.Events++
			last = ev.At
			text.Write(ev.Text)
		case llm.UsageSeen:
			r.Usage, r.Prompt, r.Cached, r.Output = true, ev.Usage.PromptTokens, ev.Usage.CachedTokens, ev.Usage.OutputTokens
		}
	}
	if r.Events > 0 {
		r.E2E = last - sent
	}
	r.Text = text.String()
	return r
}

// fail keeps the fault. The end of the time that an endpoint gets shows as a
// cancelled request, which the user did not ask for.
func fail(ctx context.Context, r *validity.Reply, err error) {
	var f *llm.Fault
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f = &llm.Fault{Outcome: llm.Timeout, Message: "no whole reply in the time that doctor takes"}
	} else if !errors.As(err, &f) {
		f = &llm.Fault{Outcome: llm.Malformed, Message: err.Error()}
	}
	r.Outcome, r.Status, r.Fault = f.Outcome, f.Status, f.Message
}
