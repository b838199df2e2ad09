package quality

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/traffic/golden"
)

// Target is whatever answers requests.
type Target interface {
	Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error]
}

// Options is everything that an examination needs.
type Options struct {
	Spec   Spec
	Set    *golden.Set
	Target Target
	// Request makes the request that asks these messages: with the model, an
	// id of its own, and whether it streams.
	Request func() *llm.Request
	// Schemas reports whether a schema goes along with a request: the API may
	// have no word for it, and the server may have refused it.
	Schemas func() bool
	// Requests is how many requests the load will have, 0 where that is unknown.
	Requests int
	// Seed decides the order in which questions are asked beside a load.
	Seed uint64
	// Count counts the tokens of a text; nil where nobody can.
	Count func(text string) int
	// Afford gives an error where the plan's limits pay for no further
	// question of a whole set; nil where there are none.
	Afford func() error
	// Judge asks the judge model, nil where there is none: it is given what
	// was asked, what to look for and the answer, and gives a score from 0 to
	// 1, or an error where it did not judge.
	Judge func(ctx context.Context, question, criterion, answer string) (float64, error)
}

// Exam is a golden set on its way through the phases of a run.
type Exam struct {
	Options
	mu     sync.Mutex
	phases map[string]*phase
	order  []int  // beside a load, so that a part of the set is of all kinds
	unread string // why the judge did not judge, the last time
	silent string // the phase that was given up, for nothing answered

	prompt, output atomic.Int64 // tokens of every request so far

	// Asking beside a load.
	due       atomic.Int64 // millionths of golden requests that the load is worth so far
	want      chan int
	next      atomic.Int64
	loadEnded atomic.Bool // the load has ended
	busy      sync.WaitGroup
}

// New prepares an exam.
func New(o Options) *Exam {
	return &Exam{Options: o, phases: map[string]*phase{}, order: stats.Rand(o.Seed, "golden", 0).Perm(len(o.Set.Items))}
}

type answer struct {
	item    int
	text    string
	calls   []llm.Part
	outcome llm.Outcome
	usage   llm.Usage
	tokens  int // by the local tokenizer, 0 where nobody counted
	match   golden.Match
	score   float64
	judged  bool
}

// maxSilent is how many questions in a row may pass their time limit before a
// phase is given up: each may take minutes, and a set may be long.
const maxSilent = 3

// Whole asks the whole set once, or as often as the plan repeats it before the
// load. It gives ctx's error where that ended first, and that of Afford.
func (x *Exam) Whole(ctx context.Context, phaseName string) error {
	times := 1
	if phaseName == result.Alone {
		times = max(1, x.Spec.Repeats)
	}
	silent := 0
	for range times {
		for i := range x.Set.Items {
			if err := ctx.Err(); err != nil {
				return err
			}
			if x.Afford != nil {
				if err := x.Afford(); err != nil {
					return err
				}
			}
			a := x.ask(ctx, i)
			if a.outcome != llm.Cancelled {
				x.keep(phaseName, a)
			}
			if a.outcome != llm.Timeout {
				silent = 0
			} else if silent++; silent == maxSilent {
				x.mu.Lock()
				x.silent = phaseName
				x.mu.Unlock()
				return nil
			}
		}
	}
	return ctx.Err()
}

// ask puts one question and scores what comes back.
func (x *Exam) ask(ctx context.Context, i int) answer {
	it := &x.Set.Items[i]
	r := x.Request()
	r.Messages, r.MaxTokens, r.Natural = it.Messages, it.MaxTokens, true
	r.Sampling.Temperature = new(0.0)
	if it.Expect.Schema != nil {
		r.Format = &llm.Format{Schema: llm.JSON(it.Expect.Schema), Strict: true, Optional: true}
	}
	r.Tools = it.Tools
	a := answer{item: i, outcome: llm.OK}
	var text strings.Builder
	for ev, err := range x.Target.Stream(ctx, r) {
		if err != nil {
			a.outcome = llm.Malformed
			if f := (*llm.Fault)(nil); errors.As(err, &f) {
				a.outcome = f.Outcome
			}
			break
		}
		switch {
		case ev.Kind == llm.Output && ev.Part == llm.Text:
			text.Write(ev.Text)
		case ev.Kind == llm.End:
			a.calls = ev.Calls
		case ev.Kind == llm.UsageSeen && ev.Usage.OutputTokens > 0:
			a.usage = ev.Usage
		}
	}
	a.text = text.String()
	x.charge(it, &a)
	if a.outcome == llm.OK {
		x.score(ctx, it, &a)
	}
	return a
}

// charge counts what a request used, by the server's count, else by the local
// tokenizer: one that failed is paid for as far as it came.
func (x *Exam) charge(it *golden.Item, a *answer) {
	if x.Count != nil {
		a.tokens = x.Count(a.text)
	}
	if a.usage.PromptTokens == 0 && x.Count != nil {
		a.usage.PromptTokens = x.Count(golden.Key(it.Messages))
	}
	x.prompt.Add(int64(a.usage.PromptTokens))
	x.output.Add(int64(cmp.Or(a.usage.OutputTokens, a.tokens)))
}

// TokensUsed is how many tokens all requests so far had.
func (x *Exam) TokensUsed() (prompt, output int) { return int(x.prompt.Load()), int(x.output.Load()) }

func (x *Exam) score(ctx context.Context, it *golden.Item, a *answer) {
	a.match = it.Expect.MatchReply(a.text, a.calls)
	if it.Expect.Criterion == "" || !a.match.Right {
		a.judged = true
		if a.match.Right {
			a.score = 1
		}
		return
	}
	if x.Judge == nil {
		return
	}
	score, err := x.Judge(ctx, golden.Key(it.Messages), it.Expect.Criterion, a.text)
	if err != nil {
		x.mu.Lock()
		x.unread = err.Error()
		x.mu.Unlock()
		return
	}
	a.score, a.judged = score, true
}

func (x *Exam) keep(name string, a answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.phases[name]
	if p == nil {
		p = &phase{name: name, set: x.Set}
		x.phases[name] = p
	}
	p.answers = append(p.answers, a)
}

// atOnce is how many golden requests may be in flight beside a load.
const atOnce = 4

// lingering is how long the end of a load waits for the last of them, and hasty
// how long where the user ended it.
const lingering, hasty = 30 * time.Second, 2 * time.Second

// AskUnderLoad begins to ask beside a load: one question per so many requests that
// Tick hears of. sent is called for each before it is. The returned func
// ends it and waits for what is in flight, not long where the user ended the
// load.
func (x *Exam) AskUnderLoad(ctx context.Context, sent func()) (stop func(byUser bool)) {
	ctx, cancel := context.WithCancel(ctx)
	x.want = make(chan int, atOnce)
	for range atOnce {
		x.busy.Go(func() {
			for i := range x.want {
				if x.loadEnded.Load() {
					continue
				}
				sent()
				if a := x.ask(ctx, i); a.outcome != llm.Cancelled {
					x.keep(result.UnderLoad, a)
				}
			}
		})
	}
	return func(byUser bool) {
		x.loadEnded.Store(true)
		close(x.want)
		wait := lingering
		if byUser {
			wait = hasty
		}
		giveUp := time.AfterFunc(wait, cancel)
		x.busy.Wait()
		giveUp.Stop()
		cancel()
	}
}

// Tick hears of each request of the load that ended. It never waits: where
// the server is slower with golden questions than they come due, some are not
// asked.
func (x *Exam) Tick() {
	const whole = 1_000_000
	if x.due.Add(int64(whole*x.Spec.share(len(x.Set.Items), x.Requests))) < whole {
		return
	}
	x.due.Add(-whole)
	select {
	case x.want <- x.order[(x.next.Add(1)-1)%int64(len(x.order))]:
	default:
	}
}

// AskedUnderLoad is about how many different questions the load leaves time for, and how
// many requests it needs for all of them; both 0 where it asks all or that is unknown.
func (x *Exam) AskedUnderLoad() (questions, needed int) {
	items, share := float64(len(x.Set.Items)), x.Spec.share(len(x.Set.Items), x.Requests)
	if asked := share * float64(x.Requests); asked > 0 && asked < items {
		return int(asked), int(math.Ceil(items / share))
	}
	return 0, 0
}

// TokensIn is how many tokens the questions and answers of a phase had, by the
// server's count, else by the local tokenizer.
func (x *Exam) TokensIn(phaseName string) (prompt, output int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.phases[phaseName]; p != nil {
		for i := range p.answers {
			prompt += p.answers[i].usage.PromptTokens
			output += cmp.Or(p.answers[i].usage.OutputTokens, p.answers[i].tokens)
		}
	}
	return prompt, output
}

// Adopt takes over what another exam of the same set was told before the load,
// and reports whether there was any.
func (x *Exam) Adopt(other *Exam) bool {
	if other == nil || other.Set.Hash != x.Set.Hash || other.Spec.Repeats != x.Spec.Repeats {
		return false
	}
	p := other.phases[result.Alone]
	if p != nil {
		x.phases[result.Alone] = p
	}
	return p != nil
}

func (x *Exam) notJudgedReason() string {
	if x.unread == "" {
		return "no judge model is given (quality.judge)"
	}
	return fmt.Sprintf("the judge model did not judge: %s", x.unread)
}
