package measure

import (
	"context"
	"errors"
	"fmt"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// askWithImages sends a short request with the images of one of the workload's,
// where it has any: a model that takes none is found before the load. The images
// are not those of the run, so that no cache has them from here.
func (t *Target) askWithImages(ctx context.Context, r *run) error {
	if !r.hasImages {
		return nil
	}
	work, err := r.Config.Workload.New(r.text, r.Config.Seed+1, workload.Options{Model: t.model, Sampling: r.Config.Generation.Sampling(),
		Stream: r.Config.Streaming(), Salt: r.id})
	if err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	defer work.Close()
	request, n := firstWithImages(work)
	if request == nil {
		return work.Err()
	}
	request.ID, request.MaxTokens = llm.RequestID(r.id, preflightNumber-len(t.asked)), preflightTokens
	_, err = t.observe(ctx, request)
	var fault *llm.Fault
	if errors.As(err, &fault) && fault.Outcome == llm.HTTP {
		return fmt.Errorf("the server answers a request with %s by HTTP %d: %s (ask a model that takes images, fewer or smaller ones)", text.Plural(n, "image"), fault.Status, fault.Message)
	}
	return err
}

// firstWithImages is a request of the workload that has images, and how many; nil
// where none of the first has any.
func firstWithImages(work *workload.Workload) (*llm.Request, int) {
	for i := range 100 {
		turn := work.Session(i).Next(nil)
		if turn == nil {
			break
		}
		turn.Compose()
		if n, _, _ := turn.Request.Images(); n > 0 {
			return turn.Request, n
		}
	}
	return nil, 0
}
