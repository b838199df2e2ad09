package metric

import (
	"fmt"
	"math"
	"strings"

	"redline/internal/stats"
)

// Note weakens one figure, which it names by its place in the summary:
// "latency.itl_ms.p99".
type Note struct {
	Figure string
	Text   string
}

// notes lists what a reader must know before relying on a figure.
func (v view) notes(s Summary) []Note {
	var list []Note
	add := func(figure, format string, args ...any) {
		list = append(list, Note{figure, fmt.Sprintf(format, args...)})
	}
	v.windowNotes(s.Window, add)
	v.loadNotes(s, add)
	v.tokenNotes(s, add)
	if s.Window.sound() && v.batches.enough() {
		v.tailNotes(s.Latency, add)
	}
	return list
}

type adder func(figure, format string, args ...any)

func (v view) windowNotes(w Window, add adder) {
	if !v.batches.enough() {
		add("latency", "no percentile is firm: the window holds %s of twice the mean e2e, and %d are needed",
			plural(v.batches.count, "batch", "batches"), fewestBatches)
	}
	if w.Steady == nil {
		add("window.steady", "not known: the window is shorter than %d s", stats.MSER5Shortest)
	}
	if w.unsteady() {
		add("latency", "no percentile is firm: the window is not steady, MSER-5 would cut off %.0f s of its %.0f s",
			*w.SettledS, w.EndS-w.StartS)
	}
	if w.overloaded() {
		add("latency", "no percentile is firm: the queue grew by %.0f requests over the window, and a longer window would be slower",
			*w.Growth)
	}
}

// loadNotes say what due figures mean under this load.
func (v view) loadNotes(s Summary, add adder) {
	if v.o.AskedRate <= 0 {
		add("latency.e2e_due_ms", "a closed loop throttles itself: a slow server is asked less often")
		return
	}
	if len(s.Turns) > 1 {
		add("latency.e2e_due_ms", "later turns are due when the one before has ended: a late turn delays only its own session")
	}
	if s.Requests.Due == 0 {
		return
	}
	luck := 2 / math.Sqrt(float64(s.Requests.Due))
	if off := s.Rates.Offered/v.o.AskedRate - 1; math.Abs(off) > luck {
		add("rates.offered", "%+.1f %% off the rate asked for, more than the luck of the draw (± %.1f %%)", 100*off, 100*luck)
	}
}

// countsDiffer is how far two counts of the same output may lie apart.
const countsDiffer = 0.05

func (v view) tokenNotes(s Summary, add adder) {
	t := s.Tokens
	if n := t.Counted["events"]; n > 0 {
		add("latency.tpot_ms", "%s counted by events: no usage was reported and no tokenizer ran",
			plural(n, "reply's tokens were", "replies' tokens were"))
	}
	if b := v.counts; b.server > 0 {
		if off := float64(b.local)/float64(b.server) - 1; math.Abs(off) > countsDiffer {
			add("tokens.output", "the local tokenizer counts %+.0f %% against the server's usage, on %s",
				100*off, plural(b.replies, "reply", "replies"))
		}
	}
	if s.Latency.ICL != nil && s.Latency.ITL == nil {
		add("latency.itl_ms", "not known: the tokens of each event are not known; icl stands")
	}
	if v.coalesced <= 0 {
		return
	}
	for _, percent := range v.o.percentiles() {
		if v.coalesced >= (1-percent/100)/2 {
			key := PercentileKey(percent)
			for _, name := range []string{"itl", "icl"} {
				add("latency."+name+"_ms."+key, "not firm: %.2g %% of the events were coalesced, and %s bears less than %.2g %%",
					100*v.coalesced, key, 100*(1-percent/100)/2)
			}
		}
	}
}

// tailNotes name the percentiles that too few independent values support.
func (v view) tailNotes(l Latency, add adder) {
	for name, d := range l.Each {
		var weak []string
		for _, percent := range v.o.percentiles() {
			key := PercentileKey(percent)
			coalesced := (name == "itl" || name == "icl") && v.coalesced >= (1-percent/100)/2
			if !d.IsFirm(key) && !coalesced {
				weak = append(weak, key)
			}
		}
		if len(weak) > 0 {
			add("latency."+name+"_ms."+weak[0], "not firm: %s need %d independent values beyond them",
				strings.Join(weak, ", "), firmBeyond)
		}
	}
}
