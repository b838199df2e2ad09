package measure

import "context"

// Open finds the target of a plan, as Run does.
func Open(ctx context.Context, o Options) (*Target, error) {
	r := newRun(o)
	if err := r.loadTokenizer(); err != nil {
		return nil, err
	}
	err := r.untilStopped(ctx, func(ctx context.Context) (err error) {
		r.target, err = openTarget(ctx, r)
		return err
	})
	if err != nil && r.target != nil {
		r.target.Close()
	}
	if err != nil {
		return nil, err
	}
	return r.target, nil
}

// URL is where it is asked, without query and user.
func (t *Target) URL() string { return t.client.URL() }

// Model is the name that is asked for.
func (t *Target) Model() string { return t.model }
