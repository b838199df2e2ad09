package measure

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"redline/internal/drive/client"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
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

// resettable is the engine whose way to empty a cache is tried: the one that the
// server names, else the one whose metrics it has, as behind a gateway.
func (r *run) resettable(ctx context.Context) *engine.Engine {
	if r.target.engine != nil {
		return engine.ByName("vllm")
	}
	if known := engine.Recognize(r.target.facts.Engine); known != nil && known.Reset.Path != "" {
		return known
	}
	for _, path := range engine.MetricsPaths() {
		if text, err := r.target.page(ctx, path, nil); err == nil {
			if reading, ok := telemetry.ParsePage(text).Read(); ok {
				return engine.ByName(reading.Engine)
			}
		}
	}
	return nil
}

// tryReset says why the cache could not be emptied, "" where it was.
func (r *run) tryReset(ctx context.Context) string {
	const anyway = "the server's prefix cache was not emptied before the load: "
	if len(r.Config.Provider.URLs) > 1 {
		return anyway + "several servers are asked in turn"
	}
	known := r.resettable(ctx)
	if known == nil || known.Reset.Path == "" {
		return anyway + "how is not known of this engine"
	}
	ctx, cancel := context.WithTimeout(ctx, resetLimit)
	defer cancel()
	for {
		done, err := known.Reset.Run(ctx, r.target.page, r.target.facts.Flags)
		switch status, _ := client.Refusal(err); {
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
