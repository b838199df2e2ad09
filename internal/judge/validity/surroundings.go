package validity

import (
	"cmp"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
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
	// maxSteal and quotaShare: a core that is taken away for longer shows in
	// the tails.
	maxSteal   = 0.05
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
		return unread("nothing was streamed")
	}
	share := float64(t.Coalesced) / float64(t.Events)
	slow := e.Client.SchedDelayMS > gap/2
	merged, bound := percents(share, coalescedShare)
	delay, tolerated := text.RoughPair(e.Client.SchedDelayMS, gap/2)
	return outcome{
		mark:      okOrBad(share <= coalescedShare || !slow),
		figure:    fmt.Sprintf("%s of events have merged timestamps, scheduler delay p99 %s ms", merged, delay),
		threshold: fmt.Sprintf("≤ %s, or delay ≤ %s ms", bound, tolerated),
	}
}

func askBuffered(e Evidence) outcome {
	n, t := e.Summary.Requests, e.Summary.Tokens
	if n.OK == 0 || t.Events == 0 {
		return unread("nothing was streamed")
	}
	share := float64(t.Buffered) / float64(n.OK)
	o := outcome{
		mark:      okOrBad(share <= bufferedShare),
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
		return outcome{mark: Bad, figure: text.Plural(e.Shortage, "connection") + " refused by this machine", threshold: "none"}
	}
	open, limit := e.Client.Machine.OpenFiles, e.Client.Machine.FileLimit
	if open == nil || limit == nil || *limit == 0 {
		return unread("the system does not say how many files are open")
	}
	o := outcome{
		mark:      okOrBad(float64(*open) <= filesShare*float64(*limit)),
		figure:    fmt.Sprintf("%s of %s open", text.Count(*open), text.Plural(*limit, "file")),
		threshold: "≤ " + text.RoughPercent(filesShare),
	}
	if !e.Strict {
		o.threshold = "no connection refused"
		if o.mark == Bad {
			o.mark, o.note = Warn, "and no connection was refused for that"
		}
	}
	return o
}

// losses are what took cores away from a machine: the shares of a hypervisor and of
// a quota, and how often heat did.
type losses struct {
	steal, quota float64
	heat         uint64
}

// lossesOf is false where the system says nothing of them.
func lossesOf(m telemetry.MachineUse, cores int, seconds float64) (l losses, known bool) {
	if m.StealShare != nil {
		l.steal = *m.StealShare
	}
	if m.QuotaHeld != nil && seconds > 0 {
		l.quota = m.QuotaHeld.Seconds() / seconds / float64(max(1, cores))
	}
	if m.ThermalThrottles != nil {
		l.heat = *m.ThermalThrottles
	}
	return l, m.StealShare != nil || m.QuotaHeld != nil || m.ThermalThrottles != nil
}

// list words those that are more than a run can bear, and what mends each.
func (l losses) list() (found, cures []string) {
	if l.steal > maxSteal {
		found = append(found, "steal: the hypervisor takes "+text.RoughPercent(l.steal)+" of this machine's CPU time")
		cures = append(cures, "use a machine with cores of its own")
	}
	if l.quota > quotaShare {
		found = append(found, "quota: the CPU quota of this container stops redline "+text.RoughPercent(l.quota)+" of the time")
		cures = append(cures, "raise the CPU quota")
	}
	if l.heat > 0 {
		found = append(found, "heat: it slowed this machine "+text.Plural(l.heat, "time"))
		cures = append(cures, "cool the machine")
	}
	return found, cures
}

func askThrottled(e Evidence) outcome {
	l, known := lossesOf(e.Client.Machine, e.Client.CPUs, e.Summary.Window.Seconds())
	if !known {
		return unread("the system does not say whether the machine was held back")
	}
	found, cures := l.list()
	stolen, maxStolen := percents(l.steal, maxSteal)
	quota, maxQuota := percents(l.quota, quotaShare)
	return outcome{
		mark:      okOrBad(found == nil),
		figure:    fmt.Sprintf("steal %s, quota throttling %s, %s", stolen, quota, text.Plural(l.heat, "thermal throttle")),
		threshold: fmt.Sprintf("steal ≤ %s, quota throttling ≤ %s, no thermal throttles", maxStolen, maxQuota),
		cure:      strings.Join(cures, "; "),
	}
}

// CPUConstraints says what takes cores away from a client that has run for so long.
func CPUConstraints(c result.Client, seconds float64) []string {
	l, _ := lossesOf(c.Machine, c.CPUs, seconds)
	found, _ := l.list()
	return text.Each(found, func(words string) string { return words + ", so figures are less certain" })
}

// askSharedHost lets client and server share a machine as long as the client
// gets its CPU time.
func askSharedHost(e Evidence) outcome {
	switch {
	case !e.Client.SharesHost:
		return silent
	case e.Client.Machine.MachineShare == nil:
		return unread("the server runs on this machine, which does not say how busy it is")
	}
	busy, bound := percents(*e.Client.Machine.MachineShare, sharedShare)
	return outcome{
		mark:      okOrBad(*e.Client.Machine.MachineShare < sharedShare),
		figure:    fmt.Sprintf("server on this machine, %s busy", busy),
		threshold: "< " + bound,
	}
}

// askCache compares the cached share of prompts with the designed one: no more
// should be cached than is repeated on purpose, but for what a template adds.
// Less is the server's doing.
func askCache(e Evidence) outcome {
	t := e.Summary.Tokens
	var share, golden float64
	var from string
	switch {
	case e.DesignedCache == nil:
		return unread("how much the workload repeats on purpose is no longer known")
	case t.Cached > 0 && t.Prompt > 0:
		share, from = float64(t.Cached)/float64(t.Prompt), "by usage"
	case e.Server != nil && e.Server.PrefixHitRate != nil:
		share, from = *e.Server.PrefixHitRate, "by the server's metrics"
		golden = float64(e.GoldenPrompt) / float64(max(1, int64(e.GoldenPrompt)+cmp.Or(t.Prompt, t.AskedPrompt)))
	case t.Prompt > 0 && e.Server == nil:
		return unread("the server does not say what it had cached")
	default:
		return unread("the server reports no prompt tokens")
	}
	// A short run draws some prompts more often than the workload would in the long
	// run: three standard errors of a share of so many requests are no evidence.
	designed := *e.DesignedCache
	chance := 3 * math.Sqrt(designed*(1-designed)/float64(max(1, e.Summary.Requests.OK)))
	limit := min(1, designed+cachedShare+chance+golden)
	cached, bound := percents(share, limit)
	return outcome{
		mark:      okOrBad(share <= limit),
		figure:    fmt.Sprintf("%s of prompt tokens cached %s, %s designed", cached, from, text.RoughPercent(designed)),
		threshold: "≤ " + bound,
	}
}

// askRepeat is MLPerf's audit in small: requests that were sent before must
// not be answered much sooner, each of them.
func askRepeat(e Evidence) outcome {
	if e.Repeat == nil {
		return unread("too few requests were repeated: the server is slow, or the budget is small")
	}
	fresh, again := float64(e.Repeat.Fresh)/float64(time.Millisecond), float64(e.Repeat.Again)/float64(time.Millisecond)
	return outcome{
		mark:      okOrBad(!e.Repeat.isFaster()),
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

func (r *Repeat) isFaster() bool { return sooner(r.Fresh, r.Again) }

// sooner reports whether a repeated answer came so much sooner that it was not
// computed again.
func sooner[T ~int64](fresh, again T) bool {
	return float64(again) < repeatShare*float64(fresh) && fresh-again > repeatMS*T(time.Millisecond)
}

// inTurn is why what pages of several replicas say cannot be compared.
const inTurn = "the metrics page is of one replica at a time: name each replica's own with --metrics-url"

func askForeign(e Evidence) outcome {
	if e.Traffic == nil {
		return unread("the server's own count of requests is not known")
	}
	if e.lostWorker() {
		return unread("a worker was lost, and what it sent is not known")
	}
	if e.Server != nil && e.Server.InTurn {
		return unread(inTurn)
	}
	room := e.Traffic.Ours*(1+foreignShare) + foreignSlack
	return outcome{
		mark:      okOrBad(e.Traffic.Theirs <= room),
		figure:    fmt.Sprintf("the server ended %s, %s were sent from here", text.Units(text.FixedNumber(e.Traffic.Theirs, 0), "request"), text.FixedNumber(e.Traffic.Ours, 0)),
		threshold: "≤ " + text.FixedNumber(math.Floor(room), 0),
	}
}

func askRestart(e Evidence) outcome {
	if e.Server == nil {
		return unread("the server's own metrics are not known")
	}
	if e.Server.InTurn {
		return unread(inTurn)
	}
	if e.Events && e.Server.Restarted {
		return unread("something was made to happen to the server in this run (--at)")
	}
	o := outcome{mark: okOrBad(!e.Server.Restarted), figure: "none seen", threshold: "none"}
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
		return silent
	case e.Partial:
		return unread("requests that were in flight when the run was killed left no record")
	case e.Plain:
		return unread("the window of a plain run outlasts its arrivals")
	}
	planned := *asked * e.Summary.Window.Seconds()
	least, most := likelyRange(planned, e.Dispersion, unlikely)
	return outcome{
		mark:      okOrBad(n >= least && n <= most),
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
