package doctor

import (
	"math"

	"redline/internal/judge/validity"
	"redline/internal/text"
)

// check looks at one thing in the evidence. The tables of checks are literal:
// a new check is one entry.
type check[E any] struct {
	name string
	what string
	// run is the check of a run that would fail for the same reason, whose limit
	// and, where the judgement has none, whose cure this one has; "" for none.
	run string
	// judge is a pure function of the evidence.
	judge func(E) judgement
}

// judgement is what a check says. One without a mark says nothing: there was
// nothing to look at.
type judgement struct {
	mark   Mark
	figure string
	cure   string
}

var silent = judgement{}

func ok(figure string) judgement         { return judgement{OK, figure, ""} }
func warn(figure, cure string) judgement { return judgement{Warn, figure, cure} }
func bad(figure, cure string) judgement  { return judgement{Bad, figure, cure} }

// notReadable is what this system does not tell.
var notReadable = judgement{Unread, "not readable here", ""}

// machineChecks is everything that is looked at on this machine, in the order
// in which it is shown.
var machineChecks = []check[*Machine]{
	{"cores", "cores", "", judgeCores},
	{"quota", "CPU quota", "", judgeQuota},
	{"governor", "CPU governor", "", judgeGovernor},
	{"load", "other load", "", judgeLoad},
	{"taken", "CPU taken away", "throttled machine", judgeTaken},
	{"files", "open files", "ports and files", judgeFiles},
	{"ports", "source ports", "", judgePorts},
	{"clocksource", "clock source", "", judgeClockSource},
	{"sync", "clock kept by NTP", "", judgeSync},
	{"step", "clock steps", "clock steps", judgeStep},
	{"stamps", "kernel receive stamps", "", judgeStamps},
	{"moderation", "interrupt moderation", "", judgeModeration},
	{"gro", "GRO", "", judgeGRO},
	{"loopback", "loopback round trip", "", judgeLoopback},
	{"pacing", "pacing error", "lag", judgePacing},
	{"tokens", "tokens it can drive", "", judgeTokens},
	{"requests", "requests it can drive", "", judgeRequests},
}

var endpointChecks = []check[*Endpoint]{
	{"reach", "reachable", "", judgeReach},
	{"place", "on another machine", "shared host", judgePlace},
	{"tls", "TLS", "", judgeTLS},
	{"certificate", "certificate", "", judgeCertificate},
	{"models", "models", "", judgeModels},
	{"engine", "engine", "", judgeEngine},
	{"reply", "replies", "", judgeReply},
	{"streaming", "streaming", "buffered stream", judgeStreaming},
	{"usage", "usage in the reply", "token counts", judgeUsage},
	{"tokens_per_event", "tokens per event", "", judgeTokensPerEvent},
	{"ignore_eos", "output length as asked", "output lengths", judgeLength},
	{"metrics", "metrics page", "", judgeMetrics},
	{"skew", "clock against ours", "", judgeSkew},
	{"response_cache", "response cache", "response cache", judgeResponseCache},
	{"prefix_cache", "prefix cache", "", judgePrefixCache},
}

func findings[E any](about string, checks []check[E], evidence E) []Finding {
	var all []Finding
	for _, c := range checks {
		if j := c.judge(evidence); j.mark != "" {
			all = append(all, Finding{Check: c.name, About: about, Mark: j.mark, What: c.what, Figure: j.figure, Cure: j.cure})
			if f := &all[len(all)-1]; (f.Mark == Warn || f.Mark == Bad) && f.Cure == "" {
				f.Cure = validity.Cure(c.run)
			}
		}
	}
	return all
}

// span writes nanoseconds in the unit that suits them.
func span(ns int64) string {
	v := math.Abs(float64(ns))
	for _, u := range []struct {
		upTo float64
		name string
	}{{1e3, "ns"}, {1e6, "µs"}, {1e9, "ms"}} {
		if v < u.upTo {
			return text.Number(float64(ns)/(u.upTo/1e3)) + " " + u.name
		}
	}
	return text.Number(float64(ns)/1e9) + " s"
}
