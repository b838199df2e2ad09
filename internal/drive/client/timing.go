package client

import (
	"strconv"
	"strings"

	"redline/internal/llm"
)

// serverTimings are the names in Server-Timing that mean a part of the first token.
var serverTimings = map[string]func(*llm.Timing) *int64{
	"gateway":     func(t *llm.Timing) *int64 { return &t.Gateway },
	"router":      func(t *llm.Timing) *int64 { return &t.Gateway },
	"frontend":    func(t *llm.Timing) *int64 { return &t.FrontEnd },
	"tokenize":    func(t *llm.Timing) *int64 { return &t.FrontEnd },
	"queue":       func(t *llm.Timing) *int64 { return &t.Queue },
	"prefill":     func(t *llm.Timing) *int64 { return &t.Prefill },
	"transfer":    func(t *llm.Timing) *int64 { return &t.Transfer },
	"kv_transfer": func(t *llm.Timing) *int64 { return &t.Transfer },
	"write":       func(t *llm.Timing) *int64 { return &t.Write },
}

// readServerTiming takes in a Server-Timing header: "queue;dur=12.5, prefill;dur=80".
// A name that comes twice, as of two gateways in a row, adds up. What is no length of
// time is passed over.
func readServerTiming(value string, into *llm.Timing) {
	for entry := range strings.SplitSeq(value, ",") {
		name, params, _ := strings.Cut(entry, ";")
		part := serverTimings[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")]
		for param := range strings.SplitSeq(params, ";") {
			key, text, _ := strings.Cut(param, "=")
			ms, err := strconv.ParseFloat(strings.Trim(text, " \t\""), 64)
			if part != nil && err == nil && strings.EqualFold(strings.TrimSpace(key), "dur") {
				*part(into) += llm.TimingNS(ms)
			}
		}
	}
}

// tellPlace yields who a server says has served a request, if it says so.
func (x *exchange) tellPlace(by llm.ServedBy) {
	if by != (llm.ServedBy{}) && by != x.placed {
		x.placed = by
		named := by // only here is it worth an allocation
		x.emit(llm.Event{Kind: llm.Placed, At: x.conn.At, By: &named})
	}
}

// tell yields what a server says of where a request was, if it tells anything.
func (x *exchange) tell(t llm.Timing) {
	if t != (llm.Timing{}) {
		x.emit(llm.Event{Kind: llm.Timed, At: x.conn.At, Timing: t})
	}
}
