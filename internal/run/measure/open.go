package measure

import (
	"context"

	"redline/internal/clock"
	"redline/internal/traffic/token"
)

// Target is a server that was found and has answered, with the tokenizer that
// fits it. Several runs can share it, one after another: the embedded engine,
// its caches and open connections are then the same for all.
type Target struct {
	found *target
	text  token.Text
	clock *clock.Clock
}

// Open finds the target of a plan, as Run does.
func Open(ctx context.Context, o Options) (*Target, error) {
	r := newRun(o)
	if err := r.loadTokenizer(); err != nil {
		return nil, err
	}
	err := r.promptly(ctx, func(ctx context.Context) (err error) {
		r.target, err = openTarget(ctx, r)
		return err
	})
	if err != nil {
		if r.target != nil {
			r.target.close()
		}
		return nil, err
	}
	return &Target{r.target, r.text, r.clock}, nil
}

// Close gives the target back.
func (t *Target) Close() { t.found.close() }

// URL is where it is asked, without query and user.
func (t *Target) URL() string { return t.found.client.URL() }

// Model is the name that is asked for.
func (t *Target) Model() string { return t.found.model }
