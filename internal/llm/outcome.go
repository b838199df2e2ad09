package llm

import "slices"

// Outcome is how a request ended.
type Outcome string

// OK and the faults of a server or the network.
const (
	OK         Outcome = "ok"
	Rejected   Outcome = "rejected"    // 429, 503, or said so with a 200
	HTTP       Outcome = "http"        // any other status
	Connect    Outcome = "connect"     // no TCP connection
	TLS        Outcome = "tls"         // no TLS session
	DNS        Outcome = "dns"         // no address
	Timeout    Outcome = "timeout"     // a time limit passed
	Reset      Outcome = "reset"       // cut in mid stream
	Truncated  Outcome = "truncated"   // ended without its closing event
	Malformed  Outcome = "malformed"   // unreadable reply
	ErrorEvent Outcome = "error_event" // an error inside a 200 stream
	Empty      Outcome = "empty"       // 200 and no output
)

// Outcomes that are neither success nor fault.
const (
	Abandoned Outcome = "abandoned" // by redline, as the load asks
	Cancelled Outcome = "cancelled" // by the user
	Censored  Outcome = "censored"  // still running when the drain ended
	Unsent    Outcome = "unsent"    // due, never begun
)

// Count is what outcomes that are counted together have in common. The requests due
// in a window are the sum of all counts.
type Count struct {
	// Name is its key in result.json and its column in tables of points.
	Name string
	// Word is what reports call it.
	Word string
	// Means goes on from "requests due in the window that".
	Means string
	// Fault is one of the server or the network: it has a message, and can be
	// retried.
	Fault bool
	// Unfinished requests were ended by their stage, or not begun in it: they say
	// nothing of the server, and nothing follows on them.
	Unfinished bool
	Judged     Judged
}

// Judged says how objectives see a request.
type Judged uint8

const (
	// Violating requests violate every limit.
	Violating Judged = iota
	// ByFigures are judged by the figures of their reply.
	ByFigures
	// ByProgress are judged by what they had shown when redline ended them: how the
	// server would have ended them is not known.
	ByProgress
	// Outside are requests that no objective is about.
	Outside
)

// The counts.
var (
	OKs           = &Count{Name: "ok", Word: "ok", Means: "were answered in full", Judged: ByFigures}
	Rejections    = &Count{Name: "rejected", Word: "rejected", Means: "were refused with 429 or 503", Fault: true}
	Failures      = &Count{Name: "failed", Word: "failed", Means: "failed", Fault: true}
	Abandonments  = &Count{Name: "abandoned", Word: "abandoned", Means: "redline closed before their end, as --cancel asks", Judged: Outside}
	Cancellations = &Count{Name: "cancelled", Word: "cancelled", Means: "the user cancelled", Unfinished: true, Judged: ByProgress}
	Cutoffs       = &Count{Name: "censored", Word: "unfinished", Means: "were still running when the drain ended", Unfinished: true, Judged: ByProgress}
	Omissions     = &Count{Name: "unsent", Word: "unsent", Means: "were never begun", Unfinished: true}
)

// OutcomeRow says as what an outcome counts.
type OutcomeRow struct {
	Outcome
	Count *Count
}

// Outcomes lists every outcome, in the order in which reports show them. Whatever
// counts, judges, shows or exports outcomes reads it.
var Outcomes = []OutcomeRow{{OK, OKs}, {Rejected, Rejections}, {HTTP, Failures}, {Connect, Failures}, {TLS, Failures}, {DNS, Failures},
	{Timeout, Failures}, {Reset, Failures}, {Truncated, Failures}, {Malformed, Failures}, {ErrorEvent, Failures}, {Empty, Failures},
	{Abandoned, Abandonments}, {Cancelled, Cancellations}, {Censored, Cutoffs}, {Unsent, Omissions}}

// Count says as what o counts; an outcome that is not known is a failure.
func (o Outcome) Count() *Count {
	for i := range Outcomes {
		if Outcomes[i].Outcome == o {
			return Outcomes[i].Count
		}
	}
	return Failures
}

// Counts lists every count once, in the order of the outcomes.
func Counts() (list []*Count) {
	for _, row := range Outcomes {
		if !slices.Contains(list, row.Count) {
			list = append(list, row.Count)
		}
	}
	return list
}

// Faults lists the outcomes that are faults.
func Faults() (list []Outcome) {
	for _, row := range Outcomes {
		if row.Count.Fault {
			list = append(list, row.Outcome)
		}
	}
	return list
}
