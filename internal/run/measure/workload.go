package measure

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"time"

	"redline/internal/drive/client"
	"redline/internal/drive/load"
	"redline/internal/llm"
	"redline/internal/observe/engine"
	"redline/internal/plan/config"
	"redline/internal/traffic/token"
	"redline/internal/traffic/workload"
)

// loadTokenizer finds the tokenizer that makes and counts text, but for the
// server's own, which has to be asked first. With it the files of the workload
// are read through, so that nothing is asked for the sake of one that is bad.
func (r *run) loadTokenizer() error {
	var err error
	if r.Config.Tokenizer == config.ByServer {
		r.text = token.O200k()
	} else if r.text, err = Tokenizer(r.Config.Tokenizer); err != nil {
		return err
	}
	// Another seed than the run's: what the preflight sends is in no cache later.
	work, err := r.Config.Workload.New(r.text, r.Config.Seed+1, workload.Options{Sampling: r.Config.Generation.Sampling(), Salt: r.id})
	if err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	r.kinds, r.allKinds = work.Kinds(maxKinds)
	return errors.Join(checkSayable(work, r.Config), work.Close())
}

// checkSayable refuses what asks for something that the API has no word for: a figure of
// requests without it would be one of other requests.
func checkSayable(work *workload.Workload, c *config.Config) error {
	d, err := c.Provider.Dialect()
	if err != nil {
		return err
	}
	for _, ask := range work.Asks() {
		if !d.Has(ask.Need) {
			other := "openai-chat"
			if ask.Need == llm.NeedTokenIDs {
				other = "openai-completions"
			}
			return fmt.Errorf("workload: %s: asks for %s, which the API %s cannot be asked for: use --api %s, or take it out",
				ask.Place, ask.Need, d.Name, other)
		}
	}
	return nil
}

// Tokenizer gives the embedded vocabulary of a name, or loads a tokenizer.json.
func Tokenizer(name string) (token.Text, error) {
	if v, ok := token.EmbeddedVocabulary(name); ok {
		return v, nil
	}
	v, err := token.Load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tokenizer: %w; expected the path of a tokenizer.json, a Hugging Face repository (org/name), or one of %s, %s",
			err, strings.Join(token.EmbeddedNames(), ", "), config.ByServer)
	}
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return v, nil
}

// learnContext asks how long the model's context is and, where it is to be
// used, what the server's own tokenizer makes of everyday words.
func (t *Target) learnContext(ctx context.Context, r *run, served []client.ServedModel) error {
	if t.engine != nil {
		t.context = t.spec.MaxModelLen
	}
	for _, m := range served {
		if m.ID == t.model && m.MaxModelLen > 0 {
			t.context = m.MaxModelLen
		}
	}
	if t.engine == nil && t.context > 0 {
		if err := r.fits(t.context); err != nil {
			return err
		}
	}
	if r.Config.Tokenizer != config.ByServer {
		return nil
	}
	var err error
	r.text, err = t.probe(ctx)
	return err
}

// probe asks the server's own tokenizer about everyday words.
func (t *Target) probe(ctx context.Context) (token.Text, error) {
	count, err := t.client.Tokenizer(ctx, t.model, engine.TokenizeBodies())
	if err != nil {
		return nil, fmt.Errorf("--tokenizer server: %w", err)
	}
	probed, err := token.Probe(config.ByServer, count)
	if err != nil {
		return nil, fmt.Errorf("--tokenizer server: %w", err)
	}
	return quietTokenizer{probed}, nil
}

// quietTokenizer makes text in the server's own tokens, but counts by another
// vocabulary: the server under test is not to be asked meanwhile.
type quietTokenizer struct{ *token.ProbedTokenizer }

func (quietTokenizer) Count(text string) int { return token.O200k().Count(text) }

// fits refuses what the model cannot take before a server is asked anything.
func (r *run) fits(context int) error {
	work, err := r.Config.Workload.New(r.text, r.Config.Seed, workload.Options{MaxContext: context, Pooling: r.Config.Pools()})
	if err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	defer work.Close()
	return work.CheckContext(0)
}

// lanesOf is how many agents of a closed loop are met in the middle of a job, 0 where
// all begin at its start, as they do where nothing but the measured is to be sent.
func lanesOf(c *config.Config) int {
	from := ""
	if j := c.Workload.Jobs; j != nil {
		from = j.AgentsFrom
	}
	if c.Load.Open() || c.Recorded() || !c.Workload.HoldsJobs() || from == "start" || c.Load.Bounds.Plain && from == "" {
		return 0
	}
	return c.Load.Bounds.MaxConcurrency
}

// Await gives what a reading of files gives, which may be long, or context.Canceled
// once stop is closed: the rest is read for nobody.
func Await[T any](stop <-chan struct{}, read func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := read()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-stop:
		var none T
		return none, context.Canceled
	}
}

// openWorkload reads what is to be sent, and refuses what the model cannot
// take, before anything is.
func (r *run) openWorkload() error {
	c := r.Config
	options := workload.Options{Model: r.target.model, Sampling: c.Generation.Sampling(),
		Stream: c.Streaming(), Salt: r.id, MaxContext: r.target.context, Pooling: c.Pools(), Ranking: c.Provider.API == "rerank", Lanes: lanesOf(c), Adds: c.Load.Adds()}
	work, err := Await(r.Stop, func() (*workload.Workload, error) { return c.Workload.New(r.text, c.Seed, options) })
	if err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	r.work = work
	if err := work.CheckContext(0); err != nil {
		return err
	}
	r.Config = settleReplay(c, work)
	return checkTimes(c, work)
}

// checkTimes refuses a load that is to come when its requests were recorded, where
// no times were.
func checkTimes(c *config.Config, work *workload.Workload) error {
	if c.Recorded() && work.Times(c.Seed) == nil {
		return fmt.Errorf("workload: %s has no times at which its requests came: give --rate or --concurrency", c.Workload.File)
	}
	return nil
}

// MeanLengths is how many tokens the prompts and replies of a plan's workload
// have in the mean, 0 where that cannot be told.
func (t *Target) MeanLengths(c *config.Config) (prompt, output float64) {
	work, err := c.Workload.New(t.text, c.Seed, workload.Options{})
	if err != nil {
		return 0, 0
	}
	defer work.Close()
	return work.Mean()
}

// Residence is the mean of the tokens that a request of a plan's workload holds in
// a server's memory while its reply is generated, times the tokens of the reply;
// 0 where that cannot be told.
func (t *Target) Residence(c *config.Config) float64 {
	work, err := c.Workload.New(t.text, c.Seed, workload.Options{})
	if err != nil {
		return 0
	}
	defer work.Close()
	return work.Residence()
}

// Sessions is how many turns the sessions of a plan's workload have in the mean,
// and how long a load of them takes until later turns come as often as they ever
// will, where each reply takes e2e; 0 where each session is one request.
func (t *Target) Sessions(c *config.Config, e2e time.Duration) (turns float64, settled time.Duration) {
	work, err := c.Workload.New(t.text, c.Seed, workload.Options{})
	if err != nil {
		return 0, 0
	}
	defer work.Close()
	talk := work.Conversation()
	if talk == nil {
		return 0, 0
	}
	return talk.Turns, talk.SettleTime(e2e)
}

// designedCache is the share of prompt tokens that the first sessions of the
// plan's workload repeat, and what a live job of it comes back to; nil where its
// file is gone or no longer says so.
func designedCache(c *config.Config, sessions int) (share, live *float64) {
	work, err := c.Workload.New(token.O200k(), c.Seed, workload.Options{Lanes: lanesOf(c)})
	if err != nil {
		return nil, nil
	}
	defer work.Close()
	designed, err := work.DesignedSharing(max(1, sessions))
	if err != nil {
		return nil, nil
	}
	return &designed, work.LiveTokens()
}

// templateHash is that of the chat template which the server puts around
// prompts, as far as it shows it or the tokenizer's directory holds one.
func (r *run) templateHash() string {
	for _, template := range []string{r.target.chatTemplate, token.ChatTemplate(r.Config.Tokenizer)} {
		if template != "" {
			return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(template)))
		}
	}
	return ""
}

// settleReplay gives a plan that measures all of a trace, where nothing else is
// said: it is as long as it is, and its beginning is part of it.
func settleReplay(c *config.Config, work *workload.Workload) *config.Config {
	if !c.Recorded() || work.Times(c.Seed) == nil {
		return c
	}
	settled := *c
	b := &settled.Load.Bounds
	span := work.Span()
	switch {
	case span == 0 && b.Duration == 0 && b.TotalRequests == 0:
		b.Duration = endlessWindow
	case span > 0 && b.Warmup == nil:
		b.Warmup = new(time.Duration)
	}
	if span > 0 && b.Duration == 0 && b.TotalRequests == 0 {
		b.Duration = windowOfAll(*b, span)
	}
	return &settled
}

// windowOfAll is the window that measures all of a trace that lasts so long.
func windowOfAll(b load.Spec, span time.Duration) time.Duration {
	return max(span-*b.Warmup, time.Second)
}

// coversWindow reports whether a trace that lasts so long, 0 for one without an end,
// goes on for as long as its window.
func coversWindow(b load.Spec, span time.Duration) bool {
	return span > 0 && b.Warmup != nil && b.TotalRequests == 0 && b.Duration <= windowOfAll(b, span)
}

// endlessWindow is how much of a load without an end is measured by default.
const endlessWindow = time.Minute

// meanRate is how many sessions come in a second, 0 in a closed loop.
func (r *run) meanRate() float64 {
	switch {
	case r.Config.Mode() == config.Closed:
		return 0
	case !r.Config.Recorded():
		return r.Config.Load.Mean()
	}
	return r.recordedRate(0, int64(r.Config.Load.Bounds.Duration))
}

// recordedRate is the mean rate of a workload with times of its own over a
// stretch of the stage; 0 where it has none.
func (r *run) recordedRate(start, end int64) float64 {
	if !r.Config.Recorded() || end <= start {
		return 0
	}
	return float64(countTimes(r.work.Times(r.Config.Seed), start, end)) / time.Duration(end-start).Seconds()
}

// countTimes is how many of rising times lie in a stretch.
func countTimes(times iter.Seq[int64], start, end int64) (n int) {
	for at := range times {
		if at >= end {
			break
		}
		if at >= start {
			n++
		}
	}
	return n
}

// dueTime is when the nth request is due, or the last where there are fewer.
func dueTime(times iter.Seq[int64], n int) (due time.Duration) {
	for at := range times {
		if n--; n < 0 {
			break
		}
		due = time.Duration(at)
	}
	return due
}

// peakRate is the highest rate that is planned: of recorded times that of their
// fullest second.
func (r *run) peakRate() float64 {
	switch {
	case r.Config.Mode() == config.Closed:
		return 0
	case !r.Config.Recorded():
		return r.Config.Load.Peak()
	}
	const looked = 100_000
	seconds, n := map[int64]int{}, 0
	most := 0
	for at := range r.work.Times(r.Config.Seed) {
		second := at / int64(time.Second)
		seconds[second]++
		most = max(most, seconds[second])
		if n++; n == looked {
			break
		}
	}
	return float64(most)
}
