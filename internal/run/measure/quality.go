package measure

import (
	"context"
	"fmt"
	"sync/atomic"

	"redline/internal/drive/record"
	"redline/internal/judge/quality"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/traffic/golden"
)

// goldenNumber is below the numbers of the preflight and beyond those of any
// stage; golden requests count down from it.
const goldenNumber = preflightNumber - 1_000_000

// examine prepares the golden set, nil where the plan has none.
func (r *run) examine() (*quality.Exam, error) {
	spec := r.Config.Quality
	if !spec.IsAsked() {
		return nil, nil
	}
	set, err := golden.Open(spec.Golden)
	if err != nil {
		return nil, err
	}
	var asked atomic.Int64
	var x *quality.Exam
	// How many requests the window will have, 0 where only the server decides.
	bounds := r.Config.Load.Bounds
	n := int(r.peakRate() * bounds.Duration.Seconds())
	if t := bounds.TotalRequests; t > 0 && (n == 0 || t < n) {
		n = t
	}
	x = quality.New(quality.Options{Spec: spec, Set: set, Target: r.target.client,
		Requests: n, Seed: r.Config.Seed,
		Schemas: r.target.client.SendsSchemas,
		Count:   func(text string) int { return r.text.Count(text) },
		Judge:   quality.Asker(spec.Judge),
		Afford:  func() error { return r.affords(x) },
		Request: func() *llm.Request {
			return &llm.Request{ID: llm.RequestID(r.id, goldenNumber-int(asked.Add(1))), Model: r.target.model, Stream: r.Config.Streaming()}
		}})
	return x, nil
}

// affords gives an error where a golden set has used up what the plan's limits
// leave for the run.
func (r *run) affords(x *quality.Exam) error {
	for _, b := range r.stage.Budgets {
		if b.Cost(r.unbookedTokens(x)) >= b.Limit {
			return fmt.Errorf("the golden set uses up %s before the load: raise it, or ask fewer questions (quality.golden, quality.repeats)", b.Name)
		}
	}
	return nil
}

// unbookedTokens is what an exam has used since it was booked last.
func (r *run) unbookedTokens(x *quality.Exam) (prompt, output int) {
	prompt, output = x.TokensUsed()
	return prompt - r.booked.prompt, output - r.booked.output
}

// book charges what the exam has used as the preflight's requests are: to this
// run and to those that follow on its target.
func (r *run) book() {
	prompt, output := r.unbookedTokens(r.exam)
	r.target.asked = append(r.target.asked, tokenUse{prompt, output})
	r.booked = tokenUse{r.booked.prompt + prompt, r.booked.output + output}
}

// askAlone asks the golden set before the load. Of runs that share a target
// the first one asks.
func (r *run) askAlone(ctx context.Context) (err error) {
	if r.exam, err = r.examine(); r.exam == nil || err != nil {
		return err
	}
	if r.Target != nil && r.exam.Adopt(r.target.exam) {
		return nil
	}
	later := ""
	if n, needed := r.exam.AskedUnderLoad(); needed > 0 {
		later = fmt.Sprintf("; about %d of them under it, all from %d requests on", n, needed)
	}
	r.say("asking the %d questions of the golden set before the load%s", len(r.exam.Set.Items), later)
	r.target.exam = r.exam
	err = r.exam.Whole(ctx, result.Alone)
	r.book()
	r.stage.Budgets = r.budgets()
	return err
}

// askUnderLoad asks golden questions while the load goes on. They are requests of
// the server's, so they count where its own count is laid beside ours; and
// nowhere else.
func (r *run) askUnderLoad(ctx context.Context) (tick func(*record.Record), stop func(byUser bool)) {
	if r.exam == nil || r.Config.Quality.UnderLoadShare < 0 {
		return func(*record.Record) {}, func(bool) {}
	}
	r.stage.Beside = func() (prompt, output int) { return r.unbookedTokens(r.exam) }
	end := r.exam.AskUnderLoad(ctx, func() { r.watched.sent.Add(1) })
	stop = func(byUser bool) {
		end(byUser)
		r.book()
	}
	return func(rec *record.Record) {
		if rec.Phase == record.Measure {
			r.exam.Tick()
		}
	}, stop
}

// askAfter asks the golden set once more, unless another run on the same
// target follows.
func (r *run) askAfter(ctx context.Context) {
	if r.exam == nil || r.Target != nil || r.outcome.Stopped != "" {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-r.Stop:
			cancel()
		case <-ended:
		}
	}()
	// What was asked until then stands.
	_ = r.exam.Whole(ctx, result.After)
}

// worstKept is how many wrong answers are kept for review.
const worstKept = 100

// keepAnswers writes the worst answers with their text, where the plan allows
// it.
func (r *run) keepAnswers() error {
	if r.exam == nil || !r.Config.Quality.KeepText {
		return nil
	}
	worst := r.exam.Worst(worstKept)
	r.Config.Mask().Tidy(&worst)
	return r.dir.WriteAnswers(worst)
}
