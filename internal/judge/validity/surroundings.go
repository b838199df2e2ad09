package validity

import (
	"fmt"
	"math"
	"sort"
	"time"

	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/text"
)

const (
	// coalescedShare is the share of events without a time of their own from
	// which a p90 of gaps is no longer firm.
	coalescedShare = 0.05
	// bufferedShare: a stream that is held back now and then is the network's
	// doing, one that is held back as a rule is a setting.
	bufferedShare = 0.5
	// filesShare leaves files for the log and for new connections.
	filesShare = 0.9
	// MaxSteal and quotaShare: a core that is taken away for longer shows in
	// the tails.
	MaxSteal   = 0.05
	quotaShare = 0.01
	// sharedShare: on a machine as busy as this, client and server wait for
	// each other.
	sharedShare = 0.85
	// cachedShare is what a chat template alone can make of a short prompt,
	// whose prefix is the same in every request.
	cachedShare = 0.1
	// repeatShare and repeatMS: an answer from a cache comes at once; smaller
	// differences are noise.
	repeatShare = 0.5
	repeatMS    = 10
	// repeatTimes: a server that answers now sooner, now later by chance has five
	// repeated requests all sooner and six new ones all later once in 1,900 times
	// at the worst.
	repeatTimes = 5
	// foreignShare and foreignSlack: a few requests may be counted on the
	// other side of a page.
	foreignShare = 0.01
	foreignSlack = 3
	// unlikely is the chance of an honest draw of arrivals to be called wrong.
	unlikely = 1e-5
)

// askScheduler bounds the wait of a goroutine for a thread by half of the
// token time, and never below 1 ms: beyond that reads lag behind tokens.
func askScheduler(e Evidence) outcome {
	if e.Client.CPUs == 0 {
		return unwatchedClient
	}
	return atMost(e.Client.SchedDelayMS, max(floorMS, typical(e.Summary.Latency.TPOT)/2), "p99 ")
}

// askCoalescing blames the client for events with merged timestamps only where it
// was too slow to read them apart; else the server wrote them together.
func askCoalescing(e Evidence) outcome {
	t := e.Summary.Tokens
	gap, known := e.Summary.Latency.TPOT.Get("p50")
	switch {
	case e.Client.CPUs == 0:
		return unwatchedClient
	case t.Events == 0 || !known:
		return outcome{why: "nothing was streamed"}
	}
	share := float64(t.Coalesced) / float64(t.Events)
	slow := e.Client.SchedDelayMS > gap/2
	merged, bound := percents(share, coalescedShare)
	delay, tolerated := text.RoughPair(e.Client.SchedDelayMS, gap/2)
	return outcome{
		ok:        share <= coalescedShare || !slow,
		figure:    fmt.Sprintf("%s of events have merged timestamps, scheduler delay p99 %s ms", merged, delay),
		threshold: fmt.Sprintf("≤ %s, or delay ≤ %s ms", bound, tolerated),
	}
}

func askBuffered(e Evidence) outcome {
	n, t := e.Summary.Requests, e.Summary.Tokens
	if n.OK == 0 || t.Events == 0 {
		return outcome{why: "nothing was streamed"}
	}
	share := float64(t.Buffered) / float64(n.OK)
	o := outcome{
		ok:        share <= bufferedShare,
		figure:    fmt.Sprintf("%s of %s came in bursts of tokens", text.Count(t.Buffered), replies(n.OK)),
		threshold: "≤ " + text.RoughPercent(bufferedShare),
	}
	if e.Client.SharesHost { // no proxy on the way
		o.cure = "the server, which runs on this machine, writes several tokens at a time: look at its settings, or give it a core of its own"
	}
	return o
}

func askFiles(e Evidence) outcome {
	if e.Shortage > 0 {
		return outcome{figure: text.Plural(e.Shortage, "connection") + " refused by this machine", threshold: "none"}
	}
	open, limit := e.Client.Machine.OpenFiles, e.Client.Machine.FileLimit
	if open == nil || limit == nil || *limit == 0 {
		return outcome{why: "the system does not say how many files are open"}
	}
	o := outcome{
		ok:        float64(*open) <= filesShare*float64(*limit),
		figure:    fmt.Sprintf("%s of %s open", text.Count(*open), text.Plural(*limit, "file")),
		threshold: "≤ " + text.RoughPercent(filesShare),
	}
	if !e.Strict {
		o.threshold = "no connection refused"
		if !o.ok {
			o.ok, o.note = true, o.figure+", and no connection was refused for that"
		}
	}
	return o
}

// askThrottled looks for cores that were taken away: by a hypervisor, a quota,
// or heat.
func askThrottled(e Evidence) outcome {
	m := e.Client.Machine
	if m.StealShare == nil && m.QuotaHeld == nil && m.ThermalThrottles == nil {
		return outcome{why: "the system does not say whether the machine was held back"}
	}
	steal, held, hot := 0.0, quotaHeldShare(e.Client, e.Summary.Window.Seconds()), uint64(0)
	if m.StealShare != nil {
		steal = *m.StealShare
	}
	if m.ThermalThrottles != nil {
		hot = *m.ThermalThrottles
	}
	stolen, maxStolen := percents(steal, MaxSteal)
	quota, maxQuota := percents(held, quotaShare)
	return outcome{
		ok:        steal <= MaxSteal && held <= quotaShare && hot == 0,
		figure:    fmt.Sprintf("steal %s, quota throttling %s, %s", stolen, quota, text.Plural(hot, "thermal throttle")),
		threshold: fmt.Sprintf("steal ≤ %s, quota throttling ≤ %s, no thermal throttles", maxStolen, maxQuota),
	}
}

// quotaHeldShare is the share of its cores that a quota kept from a machine.
func quotaHeldShare(c result.Client, seconds float64) float64 {
	if c.Machine.QuotaHeld == nil || seconds <= 0 {
		return 0
	}
	return c.Machine.QuotaHeld.Seconds() / seconds / float64(max(1, c.CPUs))
}

// CPUConstraints says what takes cores away from a client that has run for so long: a
// hypervisor, or a quota.
func CPUConstraints(c result.Client, seconds float64) (list []string) {
	if steal := c.Machine.StealShare; steal != nil && *steal > MaxSteal {
		list = append(list, "steal: the hypervisor takes "+text.RoughPercent(*steal)+" of this machine's CPU time, so figures are less certain")
	}
	if held := quotaHeldShare(c, seconds); held > quotaShare {
		list = append(list, "quota: the CPU quota of this container stops redline "+text.RoughPercent(held)+" of the time, so figures are less certain")
	}
	return list
}

// askSharedHost lets client and server share a machine as long as the client
// gets its CPU time.
func askSharedHost(e Evidence) outcome {
	switch {
	case !e.Client.SharesHost:
		return outcome{skip: true}
	case e.Client.Machine.MachineShare == nil:
		return outcome{why: "the server runs on this machine, which does not say how busy it is"}
	}
	busy, bound := percents(*e.Client.Machine.MachineShare, sharedShare)
	return outcome{
		ok:        *e.Client.Machine.MachineShare < sharedShare,
		figure:    fmt.Sprintf("server on this machine, %s busy", busy),
		threshold: "< " + bound,
	}
}

// askCache compares the cached share of prompts with the designed one: no more
// should be cached than is repeated on purpose, but for what a template adds.
// Less is the server's doing.
func askCache(e Evidence) outcome {
	t := e.Summary.Tokens
	var share float64
	var from string
	switch {
	case e.DesignedCache == nil:
		return outcome{why: "how much the workload repeats on purpose is no longer known"}
	case t.Cached > 0 && t.Prompt > 0:
		share, from = float64(t.Cached)/float64(t.Prompt), "by usage"
	case e.Server != nil && e.Server.PrefixHitRate != nil:
		share, from = *e.Server.PrefixHitRate, "by the server's metrics"
	case t.Prompt > 0 && e.Server == nil:
		return outcome{why: "the server does not say what it had cached"}
	default:
		return outcome{why: "the server reports no prompt tokens"}
	}
	// A short run draws some prompts more often than the workload would in the long
	// run: three standard errors of a share of so many requests are no evidence.
	designed := *e.DesignedCache
	chance := 3 * math.Sqrt(designed*(1-designed)/float64(max(1, e.Summary.Requests.OK)))
	limit := min(1, designed+cachedShare+chance)
	cached, bound := percents(share, limit)
	return outcome{
		ok:        share <= limit,
		figure:    fmt.Sprintf("%s of prompt tokens cached %s, %s designed", cached, from, text.RoughPercent(designed)),
		threshold: "≤ " + bound,
	}
}

// askRepeat is MLPerf's audit in small: requests that were sent before must
// not be answered much sooner, each of them.
func askRepeat(e Evidence) outcome {
	if e.Repeat == nil {
		return outcome{why: "too few requests were repeated: the server is slow, or the budget is small"}
	}
	fresh, again := float64(e.Repeat.Fresh)/float64(time.Millisecond), float64(e.Repeat.Again)/float64(time.Millisecond)
	return outcome{
		ok:        !e.Repeat.isFaster(),
		figure:    fmt.Sprintf("repeated requests took at most %s, new ones at least %s (%s)", millis(again), millis(fresh), text.Plural(e.Repeat.times, "try", "tries")),
		threshold: "≥ " + text.RoughPercent(repeatShare),
	}
}

// Repeat compares requests that were sent before with new ones.
type Repeat struct {
	// Fresh is the least time of any first answer, Again the most of any repeated
	// one: what held a single request up accuses nobody.
	Fresh, Again time.Duration
	times        int
}

// Add takes in a new request and a repeated one.
func (r *Repeat) Add(fresh, again time.Duration) {
	r.Fresh, r.Again, r.times = min(r.Fresh, fresh), max(r.Again, again), r.times+1
}

// Open reports whether more of both have to be sent to know: one that is not
// sooner answers it, and so do enough that are.
func (r *Repeat) Open() bool { return r.times == 0 || r.isFaster() && r.times < repeatTimes }

func (r *Repeat) isFaster() bool { return Sooner(r.Fresh, r.Again) }

// Sooner reports whether a repeated answer came so much sooner that it was not
// computed again.
func Sooner(fresh, again time.Duration) bool {
	return float64(again) < repeatShare*float64(fresh) && fresh-again > repeatMS*time.Millisecond
}

func askForeign(e Evidence) outcome {
	if e.Traffic == nil {
		return outcome{why: "the server's own count of requests is not known"}
	}
	if e.lostWorker() {
		return outcome{why: "a worker was lost, and what it sent is not known"}
	}
	room := e.Traffic.Ours*(1+foreignShare) + foreignSlack
	return outcome{
		ok:        e.Traffic.Theirs <= room,
		figure:    fmt.Sprintf("the server ended %s, %s were sent from here", text.Units(text.FixedNumber(e.Traffic.Theirs, 0), "request"), text.FixedNumber(e.Traffic.Ours, 0)),
		threshold: "≤ " + text.FixedNumber(math.Floor(room), 0),
	}
}

func askRestart(e Evidence) outcome {
	if e.Server == nil {
		return outcome{why: "the server's own metrics are not known"}
	}
	o := outcome{ok: !e.Server.Restarted, figure: "none seen", threshold: "none"}
	if e.Server.Restarted {
		o.figure = "the server's counters were reset"
	}
	return o
}

// askWork asks whether the arrivals are a likely draw of the process that was
// asked for.
func askWork(e Evidence) outcome {
	asked, n, what := e.Summary.Rates.Asked, e.Summary.Arrivals(), "request"
	if e.Summary.Requests.Sessions > 0 || len(e.Summary.Turns) > 0 {
		what = "session"
	}
	switch {
	case asked == nil || *asked <= 0:
		return outcome{skip: true}
	case e.Partial:
		return outcome{why: "requests that were in flight when the run was killed left no record"}
	case e.Plain:
		return outcome{why: "the window of a plain run outlasts its arrivals"}
	}
	planned := *asked * e.Summary.Window.Seconds()
	least, most := likelyRange(planned, e.Dispersion, unlikely)
	return outcome{
		ok:        n >= least && n <= most,
		figure:    fmt.Sprintf("%s due, %s planned", text.Plural(n, what), text.FixedNumber(planned, 0)),
		threshold: text.Count(least) + " to " + text.Count(most),
	}
}

// likelyRange are the counts that arrivals of a mean and a dispersion leave with no
// more than the given chance. A renewal process whose gaps are gamma values of
// shape k has a dispersion of 1/k, and the time of its n-th arrival is a gamma
// value of shape n·k: exact for Poisson, whose shape is 1. A window that begins
// amid another process is off by a burst, or by one arrival where they are even.
func likelyRange(mean, dispersion, chance float64) (least, most int) {
	if dispersion <= 0 {
		return max(0, int(math.Ceil(mean-1.01))), int(math.Floor(mean + 1.01))
	}
	shape, slack := 1/dispersion, 0.0
	if dispersion != 1 {
		slack = max(1, dispersion)
	}
	least = sort.Search(int(mean), func(n int) bool {
		return stats.UpperGamma(shape*(float64(n)+1+slack), shape*mean) > chance/2
	})
	top := int(mean+dispersion+slack) + 1
	for stats.RegIncGamma(shape*(float64(top)-slack), shape*mean) > chance/2 {
		top *= 2
	}
	most = sort.Search(top, func(n int) bool {
		at := shape * (float64(n) - slack)
		return at > 0 && stats.RegIncGamma(at, shape*mean) <= chance/2
	}) - 1
	return least, most
}
