package result

import "redline/internal/judge/slo"

// LeakStanding is whether a server gave back what its requests held.
type LeakStanding string

// The standings of a leak.
const (
	Leaks     LeakStanding = "leak"
	NoLeak    LeakStanding = "none"
	LeakUnset LeakStanding = "not_possible"
)

// Leak lays the server's gauges after the load beside those before it.
type Leak struct {
	Standing LeakStanding `json:"outcome"`
	// Closed is how many requests `--cancel` closed before their end, Prompt and Output
	// are their tokens; Cut is how many others redline closed, by a time limit or because
	// the load had ended.
	Closed int   `json:"closed"`
	Cut    int   `json:"cut,omitempty"`
	Prompt int64 `json:"prompt_tokens"`
	Output int64 `json:"output_tokens"`
	// KVPer1000 is the share of the KV cache that 1,000 requests leave in use that were
	// closed or cut, and KVBound what it is not larger than; absent where no gauge tells,
	// or none was closed.
	KVPer1000 *float64 `json:"kv_per_1000,omitempty"`
	KVBound   *float64 `json:"kv_bound_per_1000,omitempty"`
	// Cycles is how many runs were judged together, CalledIn in how many of them a
	// gauge did not come back, and KVInterval holds KVPer1000 by how the runs differ,
	// at 95%; absent of a single run.
	Cycles     int         `json:"cycles,omitempty"`
	CalledIn   int         `json:"called_in,omitempty"`
	KVInterval *[2]float64 `json:"kv_interval_per_1000,omitempty"`
	// WaitedS is how long the gauges were watched after the last request.
	WaitedS float64       `json:"waited_s"`
	Gauges  []GaugeReturn `json:"gauges,omitempty"`
	// FalseAlarm is the chance that gauges which wander by themselves look like a
	// leak; absent where there is no verdict.
	FalseAlarm *float64 `json:"false_alarm,omitempty"`
	// Missing are gauges that the server does not show.
	Missing []string `json:"missing,omitempty"`
	// Note says why there is no verdict, and what would make one possible.
	Note string `json:"note,omitempty"`
}

// GaugeReturn is one gauge before the load and after it, by the medians of its
// readings.
type GaugeReturn struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// ReturnS is how long after the last request it was back; absent where it was not.
	ReturnS *float64 `json:"return_s,omitempty"`
}

// Warming is when the hits of a prefix cache that was lost were back: at nine tenths of
// what they usually are.
type Warming struct {
	// Usual is the share of prompt tokens that is cached otherwise.
	Usual float64 `json:"usual"`
	// Requests were answered until then, and Seconds passed; the intervals hold them
	// at 95%.
	Requests        int        `json:"requests"`
	RequestInterval [2]int     `json:"request_interval"`
	Seconds         float64    `json:"seconds"`
	Interval        [2]float64 `json:"interval_s"`
	// Ended says that they were back before the end; else the interval ends with it.
	Ended bool `json:"ended"`
}

// Event is something that was made to happen while a load went on, and what came of
// it.
type Event struct {
	// AtS is when, in seconds from the start of the window, and TookS how long the
	// command ran.
	AtS    float64 `json:"at_s"`
	Action string  `json:"action"`
	TookS  float64 `json:"took_s"`
	// Failed says why the command did not end well, "" where it did.
	Failed string `json:"failed,omitempty"`
	// Undone says that for that reason it did not happen, or not all of it.
	Undone bool `json:"undone,omitempty"`
	// UntilS is the end of the stretch that is judged, the next event's begin or the
	// end of the window, in seconds from its start.
	UntilS float64 `json:"until_s"`

	// BeforeS is when the first request was due that it hit: what counts as before ends
	// there.
	BeforeS float64 `json:"before_s"`

	// Continues is the time of an event before it from which the objectives had not held
	// again, and to which it adds no losses: those stand there.
	Continues *float64 `json:"continues_s,omitempty"`

	// Due are the requests in flight when it happened or due until service was
	// back; Missed those of them that missed an objective on single requests, Lost those
	// that failed, by outcome and by replica.
	Due      int            `json:"due"`
	Missed   int            `json:"missed"`
	Lost     int            `json:"lost"`
	LostBy   map[string]int `json:"lost_by,omitempty"`
	LostOn   map[string]int `json:"lost_on,omitempty"`
	AsBefore bool           `json:"lost_as_before,omitempty"` // as many fail without it, too
	Streams  int            `json:"streams_lost"`             // of them, cut after their first output
	Retried  int            `json:"retried"`
	Repeated int            `json:"repeated"` // sent again after a try that may have been served: the server may have done the work twice
	// OutageS is the longest time in which no reply began and none ended ok.
	OutageS float64 `json:"outage_s"`
	// RecoveryS is the time until the objectives held again; absent where they did not
	// until the end. Interval bounds it.
	RecoveryS *float64    `json:"recovery_s,omitempty"`
	Interval  *[2]float64 `json:"recovery_interval_s,omitempty"`
	// Warming is how long the prefix cache took to be warm again; absent where replies
	// do not say what was cached, or the event did not cost hits.
	Warming *Warming `json:"warming,omitempty"`
	// After compares the figures behind the recovery with those before the event, as
	// redline compare does of two runs; Same is where that stands.
	After []Change     `json:"after,omitempty"`
	Same  slo.Standing `json:"outcome,omitempty"`
	Note  string       `json:"note,omitempty"`
}

// Fire is what became of the things that were made to happen.
type Fire struct {
	Events []Event `json:"events"`
	// RecoveryMS is the longest recovery with its interval, LostRate the share of all
	// requests due that were lost to events. The recovery is absent where one never came.
	RecoveryMS       *float64    `json:"recovery_ms,omitempty"`
	RecoveryInterval *[2]float64 `json:"recovery_interval_ms,omitempty"`
	LostRate         float64     `json:"lost_rate"`
	// Missed are the requests that missed an objective on single requests, or failed, and
	// MissedElsewhere those of them that no event hit.
	Missed          int `json:"missed"`
	MissedElsewhere int `json:"missed_elsewhere"`
}

// UndoneEvent is the first that did not happen, or not all of it; nil where all did.
func (f *Fire) UndoneEvent() *Event {
	for i := range f.Events {
		if f.Events[i].Undone {
			return &f.Events[i]
		}
	}
	return nil
}

// UnrecoveredS is the longest time from an event to the end of its stretch within which the
// objectives did not hold again, in seconds.
func (f *Fire) UnrecoveredS() (longest float64) {
	for _, e := range f.Events {
		if e.RecoveryS == nil {
			longest = max(longest, e.UntilS-e.AtS)
		}
	}
	return longest
}
