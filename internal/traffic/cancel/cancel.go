// Package cancel says which requests of a load redline closes before they end, and
// when: as users do who close the page. It takes a share and a moment as text and
// gives draws. It knows nothing of connections.
package cancel

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/dist"
)

const examples = "expected a moment such as 'tokens(20)', 'tokens(uniform(1,200))', 2s, 'exponential(5s)', queue, prefill or decode"

// usual is when requests are closed where nothing is said.
const usual = inDecode

// The phases of a request in which it can be closed.
const (
	inQueue   = "queue"
	inPrefill = "prefill"
	inDecode  = "decode"
)

// Moment is when a request is closed: after a number of tokens, after a time, or in
// a phase.
type Moment struct {
	phase  string
	tokens *dist.Tokens
	delay  dist.Delay
}

// Parse reads a moment.
func Parse(given string) (m Moment, err error) {
	given = cmp.Or(strings.TrimSpace(given), usual)
	inner, isTokens := strings.CutPrefix(given, "tokens(")
	switch {
	case given == inQueue, given == inPrefill, given == inDecode:
		return Moment{phase: given}, nil
	case isTokens && strings.HasSuffix(inner, ")"):
		inner = strings.TrimSuffix(inner, ")")
		if !strings.Contains(inner, "(") {
			inner = "fixed(" + inner + ")"
		}
		m.tokens = new(dist.Tokens)
		if *m.tokens, err = dist.ParseTokens(inner); err != nil {
			return Moment{}, fmt.Errorf("%s: in %q: %w", examples, text.Brief(given), err)
		}
		return m, nil
	}
	if m.delay, err = dist.ParseDelay(given); err != nil {
		return Moment{}, fmt.Errorf("%s, got %q", examples, text.Brief(given))
	}
	return m, nil
}

// NeedsStream reports whether it can only be found in a reply that is streamed.
func (m Moment) NeedsStream() bool {
	return m.tokens != nil || m.phase == inPrefill || m.phase == inDecode
}

// Validate says what is wrong with additions, their share and moment included.
func Validate(a llm.Additions) error { return cmp.Or(a.Validate(), Check(a, true)) }

// Check says what is wrong with the share and the moment alone.
func Check(a llm.Additions, streams bool) error {
	if a.Cancel == nil && a.CancelAfter == "" {
		return nil
	}
	if s := a.Cancel; s != nil && !(*s >= 0 && *s <= 1) {
		return fmt.Errorf("cancel: expected a share of the requests from 0 to 1 such as 0.1 or 10%%, got %v", text.Plain(*s))
	}
	m, err := Parse(a.CancelAfter)
	switch {
	case err != nil:
		return fmt.Errorf("cancel_after: %w", err)
	case !streams && m.NeedsStream():
		return errors.New("cancel_after: tokens, prefill and decode are only seen in replies that are streamed: give a time such as 2s, or queue")
	}
	return nil
}

// Draw gives when a request of these additions is closed, nil for never. Additions
// that Check refuses close nothing.
func Draw(r *rand.Rand, a llm.Additions, output int) *llm.Cancel {
	if a.Cancel == nil && a.CancelAfter == "" || a.Cancel != nil && r.Float64() >= *a.Cancel {
		return nil
	}
	m, err := Parse(a.CancelAfter)
	if err != nil {
		return nil
	}
	switch {
	case m.tokens != nil:
		return &llm.Cancel{Tokens: m.tokens.Sample(r)}
	case m.phase == inPrefill:
		return &llm.Cancel{Prefill: 1 - r.Float64()}
	case m.phase == inDecode:
		return &llm.Cancel{Tokens: 1 + r.IntN(max(1, output-1))}
	}
	return &llm.Cancel{After: m.delay.Sample(r)}
}
