package startup

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"redline/internal/drive/client"
	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/store"
	"redline/internal/text"
)

// asker asks a server that has just become ready, one request at a time.
type asker struct {
	client *client.Client
	model  string
	stream bool
	begun  time.Time
	limit  time.Duration
}

// processStartTime is what client libraries of Prometheus show of their process.
var processStartTime = regexp.MustCompile(`(?m)^process_start_time_seconds(?:\{[^}]*\})? ([0-9.eE+]+)`)

// processStart is when the process of a server elsewhere began, by its own metrics and
// clock; it does not count where that lies outside of the start.
func (a asker) processStart(ctx context.Context, elsewhere bool, ready time.Duration) (since time.Duration, ok bool) {
	if !elsewhere {
		return 0, false
	}
	page, err := a.client.Get(ctx, "/metrics")
	if err != nil {
		return 0, false
	}
	found := processStartTime.FindSubmatch(page)
	if found == nil {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(string(found[1]), 64)
	since = time.Duration((seconds - float64(a.begun.UnixNano())/1e9) * 1e9)
	return since, err == nil && since > 0 && since < ready
}

// What decides that a server has its steady speed.
const (
	// replyTokens is the length of each reply.
	replyTokens = 16
	// steadyReplies is how many replies in a row have the speed of the last of them.
	steadyReplies = 8
	// steadyFactor is how much longer than those a reply may take.
	steadyFactor = 1.25
	// maxReplies and maxSteady bound the wait.
	maxReplies = 500
	maxSteady  = 2 * time.Minute
)

// converse asks until the speed is steady, and notes when the first token came and when
// the first reply began that was as fast as the last ones.
func (a asker) converse(ctx context.Context, s *Start) error {
	if err := a.findModel(ctx); err != nil {
		return err
	}
	var began, took []float64
	for len(took) < maxReplies && (len(took) == 0 || time.Since(a.begun).Seconds()-began[0] < maxSteady.Seconds()) {
		at := time.Since(a.begun)
		rec, first, err := a.ask(ctx, len(took))
		switch {
		case err != nil && len(took) == 0 && a.waits(ctx, err):
			continue
		case err != nil:
			return err
		}
		if len(took) == 0 {
			s.Marks[FirstToken] = first.Seconds()
		}
		began, took = append(began, at.Seconds()), append(took, (time.Since(a.begun)-at).Seconds()/float64(max(1, rec.OutputTokens)))
		if i, ok := steadyFrom(took); ok {
			// The first token of a reply at the steady speed came before the mark.
			s.Marks[Steady], s.TokensPerS = max(began[i], s.Marks[FirstToken]), 1/stats.Median(took[i:])
			return nil
		}
	}
	return nil
}

// waits reports whether a server that has said that it is ready may still come: a
// gateway says so before there is any instance behind it.
func (a asker) waits(ctx context.Context, err error) bool {
	var f *llm.Fault
	if ctx.Err() != nil || !errors.As(err, &f) || time.Since(a.begun) > a.limit {
		return false
	}
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
	return f.Status >= 500 || f.Status == 429 || f.Status == 0 || f.Status == 404
}

func (a *asker) findModel(ctx context.Context) error {
	for a.model == "" {
		served, err := a.client.Models(ctx)
		switch {
		case err == nil && len(served) > 0:
			a.model = served[0].ID
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(a.begun) > a.limit && err != nil:
			return fmt.Errorf("was ready, but did not list its models within %s (%w): name one with --model", text.Length(a.limit), err)
		case time.Since(a.begun) > a.limit:
			return errors.New("was ready, but lists no model: name one with --model")
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

// ask sends one request whose prompt no cache has, and gives when its first output came.
func (a asker) ask(ctx context.Context, n int) (rec *record.Record, first time.Duration, err error) {
	r := &llm.Request{ID: llm.RequestID(store.NewID(), n+1), Model: a.model, Stream: a.stream, MaxTokens: replyTokens,
		Messages: []llm.Message{{Role: "user", Content: fmt.Sprintf("Note %s-%d. Say something about the weather of the day before yesterday.", store.NewID(), n)}},
		Sampling: llm.Sampling{Temperature: new(0.0)}}
	rec = &record.Record{}
	for ev, err := range a.client.Stream(ctx, r) {
		if err != nil {
			return nil, 0, err
		}
		if ev.Kind == llm.Output && first == 0 {
			first = time.Since(a.begun)
		}
		rec.Observe(ev)
	}
	rec.Settle()
	if first == 0 {
		first = time.Since(a.begun)
	}
	return rec, first, nil
}

// steadyFrom finds the first of the replies from which on all take about as long per
// token as the last ones; the median of three neighbors counts, so that one slow reply
// between fast ones does not. It needs steadyReplies of them.
func steadyFrom(took []float64) (i int, ok bool) {
	if len(took) < steadyReplies {
		return 0, false
	}
	level := stats.Median(took[len(took)-steadyReplies:])
	i = len(took)
	for i > 0 {
		at := i - 1
		near := took[max(0, at-1):min(len(took), at+2)]
		if stats.Median(near) > steadyFactor*level && took[at] > steadyFactor*level {
			break
		}
		i--
	}
	return i, len(took)-i >= steadyReplies
}
