package measure

import (
	"math"
	"slices"
	"sync"
	"time"

	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/evidence"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/assemble"
)

// A run without a length is looked at after a minute and at growing distances
// up to its longest window, whose own verdict is the last look.
const (
	firstLook  = time.Minute
	lookGrowth = 1.5
)

// lookLengths are the lengths of the window at which it may end before its
// longest: as many as metric.Looks allows for, and no nearer together than
// lookGrowth where they are fewer. The first is long enough for the rarest events
// that were asked for.
func lookLengths(b load.Spec) []time.Duration {
	longest, first := b.MaxDuration, max(firstLook, time.Duration(evidence.Needs(float64(b.Rare))))
	if longest <= first {
		return nil
	}
	ratio := float64(longest) / float64(first)
	steps := min(account.Looks-1, max(1, math.Round(math.Log(ratio)/math.Log(lookGrowth))))
	var list []time.Duration
	for i := range int(steps) {
		at := float64(first) * math.Pow(ratio, float64(i)/steps)
		list = append(list, time.Duration(at).Round(time.Second))
	}
	return list
}

// maxWindow is the longest window of a run that is judged several times and ends when
// it is decided, 0 for one that is judged once.
func maxWindow(c *config.Config) time.Duration {
	if !c.UntilDecided() || len(lookLengths(c.Load.Bounds)) == 0 {
		return 0
	}
	return c.Load.Bounds.MaxDuration
}

// lookout judges a run while it goes on, by a sample of its requests that looks
// can afford.
type lookout struct {
	config *config.Config
	// everyGap says that an objective needs every gap between tokens, which
	// costs more than all else.
	everyGap    bool
	minRequests int  // requests that are kept of those, however many gaps they have
	byJob       bool // an objective is about jobs, which are kept whole

	mu      sync.Mutex
	sampled []*record.Record
	ended   []uint64 // a bit for every request that was taken in, by its number
	events  int
	halved  int // how often half of the sample was dropped
	// inFlight is the level of all requests, the sample or not.
	inFlight account.Level
	open     []string
	hopeless bool // an objective is missed, and the queue grows
}

// A sample for objectives on gaps has fewer requests, but never fewer than
// decide a p99; of all where objectives are about some of them.
const (
	maxLookedEvents   = 1 << 17
	minLookedRequests = 1 << 10
	minLookedScoped   = 1 << 12
)

// newLookout gives nil for a run that has a length.
func newLookout(c *config.Config) *lookout {
	if !c.UntilDecided() {
		return nil
	}
	l := &lookout{config: c, minRequests: minLookedRequests}
	for _, o := range c.Objectives {
		l.everyGap = l.everyGap || o.Metric == "itl" || o.Metric == "icl" || o.Metric == "throughput"
		l.byJob = l.byJob || o.AboutJobs()
		l.open = append(l.open, o.Text)
		if o.Scope != (slo.Scope{}) {
			l.minRequests = minLookedScoped
		}
	}
	return l
}

func (l *lookout) add(r *record.Record) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.ended) <= r.ID/64 {
		l.ended = append(l.ended, 0)
	}
	l.ended[r.ID/64] |= 1 << (r.ID % 64)
	if r.Sent != 0 && r.End > r.Sent {
		l.inFlight.Add(r.Sent, r.End)
	}
	if !l.samples(r) {
		return
	}
	l.sampled = append(l.sampled, r)
	l.events += timedEvents(r)
	if n := len(l.sampled); n > account.LookedAt || l.everyGap && n > l.minRequests && l.events > maxLookedEvents {
		l.halved++
		l.sampled = slices.DeleteFunc(l.sampled, func(r *record.Record) bool { return !l.samples(r) })
		l.events = 0
		for _, r := range l.sampled {
			l.events += timedEvents(r)
		}
	}
}

// timedEvents is how many events of a request cost a look something.
func timedEvents(r *record.Record) int {
	if r.Thinned() {
		return 0
	}
	return r.ChunkCount()
}

// has reports whether a request was taken in: one that a look calls unfinished
// may have ended since.
func (l *lookout) has(r *record.Record) bool {
	return r.ID/64 < len(l.ended) && l.ended[r.ID/64]>>(r.ID%64)&1 == 1
}

// samples picks requests by their number alone, first those whose token times are
// kept; or sessions.
func (l *lookout) samples(r *record.Record) bool {
	number := r.ID
	if l.byJob {
		number = r.Session
	}
	return record.InShare(number, math.Ldexp(1, -l.halved))
}

// judgedUntil is the end of what a look judges: requests due later are left out,
// whatever has become of them. Most of the unfinished are among those, so that
// few remain whose end is unknown; but no more than a tenth
// of the window is left out, in which a server that answers no more would hide.
func judgedUntil(look load.Look) int64 {
	const leftOut = 0.1
	end := look.End
	for _, r := range look.Unfinished {
		if r.Due > look.Start {
			end = min(end, r.Due)
		}
	}
	return max(end, look.End-int64(leftOut*float64(look.End-look.Start)))
}

// isDecided judges the window so far and reports whether no objective is open, or
// the run is hopeless: an objective is missed and the queue grows, so that the
// rest would be judged by a server that cannot keep up.
func (l *lookout) isDecided(look load.Look) bool {
	o := account.Options{Start: look.Start, End: judgedUntil(look), Varies: l.config.Load.Varies(),
		Objectives: l.config.Objectives, Seed: l.config.Seed, Confidence: l.config.Confidence, MaxWindow: int64(maxWindow(l.config)),
		InFlight: l.levelWith(look.Unfinished)}
	verdicts, grows, err := account.Verdicts(l.sample(look.Unfinished), o)
	if err != nil {
		return false // the report will say why
	}
	open, missed := []string{}, false
	for i, v := range verdicts {
		// Tokens of a sample, and of what has ended, are fewer than came.
		short := v.Standing == slo.Missed && (o.Objectives[i].Metric == "throughput" || o.Objectives[i].Metric == "jobs_per_hour")
		if v.Standing == slo.Undecided || short {
			open = append(open, v.Objective)
		}
		missed = missed || v.Standing == slo.Missed && !short
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open, l.hopeless = open, missed && grows
	return len(open) == 0 || l.hopeless
}

// levelWith is the level of all requests with those that have not ended, each
// once.
func (l *lookout) levelWith(unfinished []*record.Record) *account.Level {
	l.mu.Lock()
	defer l.mu.Unlock()
	level := l.inFlight.Clone()
	for _, r := range unfinished {
		if r.Sent != 0 && !l.has(r) {
			level.Add(r.Sent, r.End)
		}
	}
	return level
}

// sample is what was kept and what is unfinished, each request once.
func (l *lookout) sample(unfinished []*record.Record) assemble.Records {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.sampled)
	for _, r := range unfinished {
		if l.samples(r) && !l.has(r) {
			list = append(list, r)
		}
	}
	return record.FromList(list)
}

// isHopeless reports whether the last look found the run hopeless.
func (l *lookout) isHopeless() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hopeless
}

// stillOpen are the objectives that were open at the last look, all before the
// first; nothing of a run that has a length.
func (l *lookout) stillOpen() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}
