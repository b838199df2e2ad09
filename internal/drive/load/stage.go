package load

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// Target is whatever answers requests: a server over HTTP, the simulator in
// process, a recorded log.
type Target interface {
	// Stream sends r and yields its stamped events. A fault is yielded as the
	// last pair, as an *llm.Fault. It must end soon after ctx does: a stage
	// waits for it.
	Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error]
}

// Preparer is a target that can compose a request ahead of its due time.
type Preparer interface {
	// Prepare gives the bytes that it keeps with r until that is sent.
	Prepare(r *llm.Request) (size int)
}

// Stage is one load: arrivals, sessions, a cap in flight and a length, with
// its warm-up and cool-down. With arrivals alone the loop is open, with a cap
// alone closed, with both open and capped.
type Stage struct {
	// Run prefixes request ids, so that they join with a server's own log.
	Run string
	// Start is when it begins, from the run's origin; 0 is at once.
	Start int64
	// Arrivals are the due times of sessions, from the stage's start.
	Arrivals iter.Seq[int64]
	// Session gives the i-th session; one without a first turn says that
	// there are no more.
	Session func(i int) llm.Session
	Cap     int
	// Branching says that sessions may have several requests at once: the cap of
	// a closed loop then counts sessions.
	Branching bool
	// Share is the part of all this that is offered here.
	Share Share
	// Orders, where others decide how far the stage has come, tell what they
	// decided; nil where the stage decides itself.
	Orders <-chan Order

	// Duration and Requests bound the measured window; 0 leaves one open. A
	// closed loop that is bounded by requests alone lasts as long as its
	// target takes to end them.
	Duration time.Duration
	Requests int
	// Whole says that the arrivals were recorded up to the window's end at least: a
	// window whose last requests have ended before it lasts until then.
	Whole bool
	// Looks are lengths of the window, ascending and below Duration, at which
	// Decided is asked whether it may end; nil where nobody looks.
	Looks   []time.Duration
	Decided func(Look) bool
	// Warmup is fixed, or adaptive where nil: at most MaxWarmup, where that is less
	// than the usual limit; 0 is that limit.
	Warmup    *time.Duration
	MaxWarmup time.Duration
	// SettleTime is how long a load of sessions with several turns takes to bring
	// all of them in their steady mix, where a reply takes e2e; nil where each
	// session is one request.
	SettleTime func(e2e time.Duration) time.Duration
	// Prime is how many requests an adaptive warm-up has at least, so that a server's
	// cache has seen each of as many prompts once; 0 where that does not matter.
	Prime int
	Drain time.Duration
	// Stagger spreads the first requests of a closed loop, so that they do
	// not all prefill at once: about one mean e2e; 0 starts them together.
	Stagger time.Duration
	// Pace is the minimum time from one request of a user of a closed loop to the
	// next.
	Pace time.Duration

	// Plain ends the sending with the window, which lasts until its last request
	// has ended: nothing is sent behind it.
	Plain bool

	// Retries says which faults are asked again; nothing is where it is zero.
	Retries Retries
	// MaxErrorRate is the share of faults, rejections included, among the last
	// requests above which the sending stops; 0 never stops it.
	MaxErrorRate float64
	// Budgets stop the sending before they are overrun.
	Budgets []Budget
	// Beside is what requests that are none of the stage's have used of its
	// budgets since it began, nil where there are none.
	Beside func() (prompt, output int)
	// Count counts the tokens of a text. It runs over every reply whose usage and
	// events do not tell its tokens, and to check them over the first replies of
	// the window, unless CountEvenly, and CountShare of the rest; once they have
	// ended, on many goroutines.
	Count       func(text string) int
	CountEvenly bool
	// OwnCount says that it counts with the model's own tokenizer.
	OwnCount   bool
	CountShare float64
	// CheckText keeps the text of every reply until it has been looked at for garbage,
	// another request's text too. Without it texts that are kept anyway are.
	CheckText bool

	// Begun is told when the window starts, from the run's origin, once that is
	// known, which may be ahead; nil tells nobody.
	Begun func(start int64)

	// Note hears of a request when it begins, is sent, and shows its first
	// output, by the goroutine that has it; nil tells nobody. It must not keep
	// the record.
	Note func(*record.Record)

	// Enough, when closed, ends the window at once and in order: nothing more
	// is sent, and the drain begins.
	Enough <-chan struct{}
	// Stop ends the stage early when closed: sending stops, requests in
	// flight get Grace to end.
	Stop  <-chan struct{}
	Grace time.Duration
}

// Budget is an amount that a stage may use up: tokens, or money.
type Budget struct {
	Name  string
	Limit float64
	// Cost is what a request of so many prompt and output tokens uses.
	Cost func(prompt, output int) float64
}

// Outcome is how a stage went.
type Outcome struct {
	// Start is the stage's start; Window is the measured stretch. All from
	// the run's origin. A stage that was stopped in its warm-up has no window.
	Start                  int64
	WindowStart, WindowEnd int64
	// WarmupCut says that the adaptive warm-up hit its time limit, Unsettled
	// that sessions had not reached their steady mix by then.
	WarmupCut, Unsettled bool
	// Stopped says why sending ended early, "" if it did not.
	Stopped string
	// Broke says that it ended because too many requests did with a fault.
	Broke  bool
	Counts Counts
}

// Counts adds up every request of a stage, warm-up and cool-down included.
type Counts struct {
	Due int
	By  map[llm.Outcome]int
}

// check holds the identity that no request is lost or counted twice.
func (c Counts) check() error {
	sum := 0
	for _, n := range c.By {
		sum += n
	}
	if sum != c.Due {
		return fmt.Errorf("internal error: %d requests were due but %d have an outcome; please report this", c.Due, sum)
	}
	return nil
}

// Progress is what a stage has done so far, for a live view.
type Progress struct {
	Due, InFlight, Waiting, OK, Errors, Events atomic.Int64
	Answered                                   atomic.Int64 // have had output, or an answer that has none
	next                                       atomic.Int64 // the arrival that is waited for
	phase                                      atomic.Value
}

// Phase is the phase that new requests fall into.
func (p *Progress) Phase() record.Phase {
	phase, _ := p.phase.Load().(record.Phase)
	return phase
}

// Next is the due time of the arrival that is waited for: all before it have
// begun. Where there are no arrivals it lies in the far future.
func (p *Progress) Next() int64 { return p.next.Load() }

// Validate reports what makes a stage impossible.
func (s *Stage) Validate() error {
	switch {
	case s.Session == nil:
		return errors.New("a stage needs sessions")
	case s.Arrivals == nil && s.Cap <= 0:
		return errors.New("a stage needs a rate or a concurrency")
	case s.Cap > 0 && s.Share.Part(s.Cap) == 0:
		return fmt.Errorf("a concurrency of %d leaves nothing to do for %d workers", s.Cap, s.Share.Of)
	case s.Duration <= 0 && s.Requests <= 0 && s.Orders == nil:
		return errors.New("a stage needs a duration or a number of requests")
	}
	return s.Retries.Validate()
}
