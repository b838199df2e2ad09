package measure

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"redline/internal/drive/client"
	"redline/internal/observe/engine"
)

// How long a server is asked to empty its prefix cache, and how often.
const (
	resetLimit = 10 * time.Second
	resetEvery = 500 * time.Millisecond
)

// resetCache empties the server's prefix cache before the load, where the plan
// asks for it. What a server does not offer is no error: prompts of every run are
// its own, so that what is left in a cache only takes room in it.
func (r *run) resetCache(ctx context.Context) {
	if !r.Config.Workload.ResetCache || r.Resume != "" {
		return
	}
	r.cacheNote = r.tryReset(ctx)
}

// tryReset says why the cache could not be emptied, "" where it was.
func (r *run) tryReset(ctx context.Context) string {
	const anyway = "the server's prefix cache was not emptied before the load: "
	if len(r.Config.Provider.URLs) > 1 {
		return anyway + "several servers are asked in turn"
	}
	known := engine.Recognize(r.target.facts.Engine)
	if r.target.engine != nil {
		known = engine.ByName("vllm")
	}
	if known == nil || known.Reset.Path == "" {
		return anyway + "how is not known of this engine"
	}
	ctx, cancel := context.WithTimeout(ctx, resetLimit)
	defer cancel()
	for {
		done, err := known.Reset.Run(ctx, r.target.page, r.target.facts.Flags)
		switch status := client.StatusOf(err); {
		case done:
			return ""
		case slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusUnauthorized, http.StatusForbidden}, status):
			return fmt.Sprintf("%s%v; start it with %s", anyway, err, known.Reset.Note)
		}
		select {
		case <-ctx.Done():
			return fmt.Sprintf("%sit still held requests %v after it was asked to", anyway, resetLimit)
		case <-time.After(resetEvery):
		}
	}
}
