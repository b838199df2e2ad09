package workload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/corpus"
	"redline/internal/traffic/trace"
)

// goldenOutput bounds the answer to a golden prompt, which ends by itself.
const goldenOutput = 512

// fromFile gives a class what its file holds.
func (w *Workload) fromFile(c *class, t Traffic) error {
	format, err := t.formatOf()
	if err != nil {
		return err
	}
	c.format = format
	if t.Preset != "" && format != string(corpus.Prose) {
		return fmt.Errorf("preset: %s has lengths of its own; give no preset beside it", t.File)
	}
	c.converses(t.Session)
	switch {
	case isJobs(format):
		return w.fromJobs(c, t)
	case t.Jobs != nil:
		return fmt.Errorf("jobs: %s holds no jobs of agents; leave them out", t.File)
	case format == Fitted:
		return w.fromFitted(c, t)
	case format == string(corpus.Prose):
		return w.fromProse(c, t)
	case isCorpus(format):
		return w.fromCorpus(c, t, corpus.Format(format))
	}
	return w.fromTrace(c, t, format)
}

// fromProse cuts prompts of drawn lengths out of a text.
func (w *Workload) fromProse(c *class, t Traffic) error {
	plain := t
	plain.File = ""
	shape, err := plain.shape()
	if err != nil {
		return err
	}
	if c.prose, err = corpus.OpenText(t.File); err != nil {
		return err
	}
	w.draw(c, t, shape)
	return nil
}

// fromCorpus sends the conversations of a file as they are.
func (w *Workload) fromCorpus(c *class, t Traffic, format corpus.Format) error {
	switch {
	case t.Prompt != nil:
		return fmt.Errorf("prompt: %s has prompts of its own; give no length for them", t.File)
	case t.Prefix != nil:
		return fmt.Errorf("prefix: %s has prompts of its own; give no prefix before them", t.File)
	case t.Session != nil && t.Session.Agent != nil:
		return fmt.Errorf("session.agent: %s says itself what is asked; give no agent", t.File)
	}
	file, err := corpus.Open(t.File, corpus.Options{Format: format, SkipBadRows: t.SkipBadRows})
	if err != nil {
		return err
	}
	if n := file.SkippedRows(); n > 0 {
		w.skipped += n
		w.notes = append(w.notes, fmt.Sprintf("bad rows left out of %s: %d", t.File, n))
	}
	w.notes = append(w.notes, file.Notes()...)
	needs := file.Needs()
	for _, need := range slices.SortedFunc(maps.Keys(needs), func(a, b llm.Need) int { return cmp.Or(needs[a]-needs[b], cmp.Compare(a, b)) }) {
		w.asks = append(w.asks, Ask{need, fmt.Sprintf("%s:%d", t.File, needs[need])})
	}
	c.rows = file.Samples()
	golden := format == corpus.Golden
	source := &dialogue{file: file, text: w.text, seed: w.seed, session: t.Session, output: t.Output,
		fallback: Dist{Fixed: defaultOutput}, breaks: t.Pairs == "break",
		turns: format != corpus.ShareGPT || t.Session != nil,
		order: order{seed: w.seed, shuffled: t.Order == "shuffled" || t.Order == "" && !golden && format != corpus.Batch}}
	if golden {
		source.fallback = Dist{Fixed: goldenOutput}
		c.natural = true
	} else if w.salt != "" {
		source.salt = w.saltWords
	}
	if first, err := file.At(0); err == nil && !source.turns && len(first.Turns) > 1 {
		w.notes = append(w.notes, t.File+" holds conversations, of each of which the first question alone is sent, as peers do: session: {} in a plan sends them whole")
	}
	c.source = source
	return nil
}

// fromTrace replays a trace's lengths, and its times where it has any.
func (w *Workload) fromTrace(c *class, t Traffic, format string) error {
	switch s := t.Session; {
	case t.Prefix != nil:
		return fmt.Errorf("prefix: %s says itself what is shared; give no prefix", t.File)
	case s != nil && (s.Turns != nil || s.Agent != nil):
		return errors.New("session: every row of a trace is one request; give no turns and no agent")
	}
	if format == anyTrace {
		format = ""
	}
	file, err := trace.Open(t.File, trace.Options{Format: format, Columns: t.Columns, SkipBadRows: t.SkipBadRows, Sort: t.Sort,
		Salt: w.seed | 1})
	if err != nil {
		return err
	}
	c.format = file.Format()
	c.named = false
	w.skipped += file.SkippedRows()
	w.notes = append(w.notes, file.Notes()...)
	played := replaySource{file: file, seed: w.seed, prompt: t.Prompt, output: t.Output, breaks: t.Pairs == "break",
		cold: t.Cache == "cold"}
	if r := t.Replay; r != nil {
		played.replay = *r
	}
	c.source = &played
	if file.HasTimes() {
		w.times = played.times
	}
	return played.replay.Check(file)
}

// fromFitted draws from what was fitted to a log.
func (w *Workload) fromFitted(c *class, t Traffic) error {
	if s := t.Session; t.Prefix != nil || s != nil && s.Agent != nil {
		return fmt.Errorf("%s says itself what is shared and how turns follow; give neither prefix nor agent", t.File)
	}
	if t.Replay != nil || t.Columns != nil || t.Sort {
		return fmt.Errorf("%s is fitted and draws fresh requests: replay, columns and sort are for the log itself; --rate sets another rate", t.File)
	}
	model, err := trace.ReadFile(t.File)
	if err != nil {
		return err
	}
	w.notes = append(w.notes, model.Source.Notes...)
	if s := model.Sessions; s != nil && !model.Converses() && (t.Session == nil || t.Session.Turns == nil) {
		w.notes = append(w.notes, fmt.Sprintf("the log had %s, whose turns are sent as single requests: session: {turns: …} in a plan makes conversations", text.Plural(s.Count, "session")))
	}
	c.source = newFittedSource(model, t, w.seed)
	c.named = c.named || model.Converses()
	if model.Times(w.seed) != nil {
		w.times = model.Times
	}
	if t.Session == nil || t.Session.Turns == nil {
		w.requestTimes = model.RequestTimes
	}
	return nil
}
