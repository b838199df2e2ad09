package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"redline/internal/drive/client"
	"redline/internal/llm"
	"redline/internal/store"
)

const askedTokens = 16

// Reply is what came of one request. Times are nanoseconds.
type Reply struct {
	// Fault is why it failed; "" where it did not.
	Fault   string      `json:"fault,omitempty"`
	Outcome llm.Outcome `json:"outcome"`
	Status  int         `json:"status,omitempty"`

	TTFT int64 `json:"ttft_ns"`
	E2E  int64 `json:"e2e_ns"`
	// Events carried output; Arrivals is how many different times they have.
	Events   int `json:"events"`
	Arrivals int `json:"arrivals"`

	// Usage says that the server counted tokens.
	Usage  bool `json:"usage"`
	Prompt int  `json:"prompt_tokens,omitempty"`
	Cached int  `json:"cached_tokens,omitempty"`
	Output int  `json:"output_tokens,omitempty"`

	text string
}

// newPrompt begins with something that no server has seen, so that no cache
// knows it, and wants an answer that would be shorter than asked for.
func newPrompt() string {
	const filler = "The lamp is lit, the door is open, the road is dry and the evening is long. "
	return "Note " + rand.Text() + ". " + strings.Repeat(filler, 4) + "Answer with the single word yes."
}

func ask(ctx context.Context, c *client.Client, model, prompt string, stream bool) Reply {
	request := &llm.Request{ID: llm.RequestID(store.NewID(), 1), Model: model, Stream: stream, MaxTokens: askedTokens,
		Messages: []llm.Message{{Role: "user", Content: prompt}}, Sampling: llm.Sampling{Temperature: new(0.0)}}
	r := Reply{Outcome: llm.OK}
	var text strings.Builder
	var sent, last int64
	for ev, err := range c.Stream(ctx, request) {
		if err != nil {
			r.fail(ctx, err)
			break
		}
		switch ev.Kind {
		case llm.Sent:
			sent = ev.At
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
	r.text = text.String()
	return r
}

// fail keeps the fault. The end of the time that an endpoint gets shows as a
// cancelled request, which the user did not ask for.
func (r *Reply) fail(ctx context.Context, err error) {
	var f *llm.Fault
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f = &llm.Fault{Outcome: llm.Timeout, Message: "no whole reply in the time that doctor takes"}
	} else if !errors.As(err, &f) {
		f = &llm.Fault{Outcome: llm.Malformed, Message: err.Error()}
	}
	r.Outcome, r.Status, r.Fault = f.Outcome, f.Status, f.Message
}
