package account

import (
	"fmt"
	"math"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/stats"
	"redline/internal/text"
)

// notes lists what a reader must know before relying on a figure.
func (v view) notes(s metric.Summary) []metric.Note {
	var list []metric.Note
	add := func(figure, format string, args ...any) {
		list = append(list, metric.Note{Figure: figure, Text: fmt.Sprintf(format, args...)})
	}
	v.windowNotes(s.Window, add)
	v.loadNotes(s, add)
	v.tokenNotes(s, add)
	if j := s.Jobs; j != nil && j.Cut > 0 {
		if _, known := j.Time.Get("p50"); !known {
			add("jobs", "the window is too short for whole ones: %s of %s that began in it had not ended with the load; figures by turn hold", text.Count(j.Cut), text.Count(j.Started))
		}
	}
	if s.Window.Sound() && v.batches.enough() {
		v.tailNotes(s.Latency, add)
	}
	return list
}

type adder func(figure, format string, args ...any)

func (v view) windowNotes(w metric.Window, add adder) {
	switch {
	case w.Varies:
		add("window.steady", "not known: the rate changes by plan")
	case w.Steady == nil:
		add("window.steady", "not known: the window is shorter than %d s", stats.MSER5Shortest)
	}
	switch {
	case w.Overloaded():
		add("latency", "low confidence in every percentile: the queue grew by %.0f requests over the window, so a longer one would be slower",
			*w.Growth)
	case w.Unsteady() && w.SettledS == nil:
		add("latency", "low confidence in every percentile: fewer and fewer requests finished over the window; check the server")
	case w.Unsteady():
		add("latency", "low confidence in every percentile: %.0f s of the window's %.0f s were still settling; use a longer warm-up",
			*w.SettledS, w.Seconds())
	case !v.batches.enough():
		add("latency", "low confidence in every percentile: the window is too short, %s; run longer", v.batches.tooShort())
	}
}

// loadNotes say what due figures mean under this load.
func (v view) loadNotes(s metric.Summary, add adder) {
	if v.o.AskedRate <= 0 && !v.o.Varies && s.Jobs != nil {
		return // agents and users do wait for their replies
	}
	if v.o.AskedRate <= 0 && !v.o.Varies {
		add("latency.e2e_due_ms", "a closed loop throttles itself: a slow server is asked less often")
		return
	}
	if len(s.Turns) > 1 {
		add("latency.e2e_due_ms", "later turns are due when the one before has ended: a late turn delays only its own session")
	}
	if s.Requests.Due == 0 || v.o.AskedRate <= 0 {
		return
	}
	arrived := float64(s.Arrivals())
	luck := 2 / math.Sqrt(arrived)
	off := arrived/v.seconds()/v.o.AskedRate - 1
	switch {
	case math.Abs(off) <= luck:
	case v.o.Plain && off < 0:
		add("rates.offered", "the window of a plain run lasts until its last request has ended; nothing comes due in the rest of it")
	default:
		add("rates.offered", "%+.1f%% off the rate asked for, more than random variation (± %.1f%%)", 100*off, 100*luck)
	}
}

// countsDiffer is how far two counts of the same output may differ.
const countsDiffer = 0.05

func (v view) tokenNotes(s metric.Summary, add adder) {
	t := s.Tokens
	if n := t.Counted["events"]; n > 0 {
		add("latency.tpot_ms", "%s counted by events: no usage was reported and no tokenizer ran",
			text.Plural(n, "reply's tokens were", "replies' tokens were"))
	}
	if c := t.Check; c != nil && c.Usage > 0 && c.ByUsage == c.Replies {
		if off := float64(c.Local)/float64(c.Usage) - 1; math.Abs(off) > countsDiffer {
			add("tokens.output", "the local tokenizer counts %+.0f%% against the server's usage, on %s",
				100*off, text.Plural(c.Replies, "reply", "replies"))
		}
	}
	if c := t.Check; c != nil && c.Replies >= minToScatter && 5*c.SameText >= c.Replies {
		add("tokens.output", "%d of %s whose text was looked at repeat the text of another: if their prompts differ, no model generated them",
			c.SameText, text.Plural(c.Replies, "reply", "replies"))
	}
	v.paceNotes(t, add)
	if s.Latency.ICL != nil && s.Latency.ITL == nil {
		add("latency.itl_ms", "unknown: the tokens of each event are not known; see icl")
	}
	if timed := countAll(withTimes(v.requestsOf(everything))).Due; timed < v.requests.n {
		figure := "latency.itl_ms" // icl where that is all there is
		if s.Latency.ITL == nil {
			figure = "latency.icl_ms"
		}
		add(figure, "itl and icl cover %s of the requests, those whose token times were kept (%s of %s)",
			text.RoughPercent(float64(timed)/float64(v.requests.n)), text.Count(timed), text.Count(v.requests.n))
	}
	if n := t.Eventless; n > 0 && s.Latency.ITL != nil {
		add("latency.itl_ms", "%.2g%% of tokens had no event of their own, such as half a character; each counts with the next one",
			100*float64(n)/float64(max(1, t.Output)))
	}
	v.eventlessNotes(s.Latency, add)
}

// paceNotes say how the tokens of a pace were told from those that did not
// stream, or came with the first event.
func (v view) paceNotes(t metric.Tokens, add adder) {
	for _, note := range []struct {
		replies      int
		figure, text string
	}{
		{t.FirstEstimated, "latency.tpot_ms", "events carry several tokens: those of the first event, which tpot leaves out, are estimated with the tokenizer in %s"},
		{t.FirstUnknown, "latency.tpot_ms", "leaves out %s: the tokens of the first event are not known"},
		{t.ReasoningApart, "tokens.output", "usage counts reasoning separately from output tokens in %s: the two are added"},
		{t.RepeatedText, "tokens.output", "every event repeats the whole text so far in %s: only what is new in each was counted"},
	} {
		if note.replies > 0 {
			add(note.figure, note.text, text.Plural(note.replies, "reply", "replies"))
		}
	}
}

// eventlessNotes name the percentiles of itl that tokens without an event of
// their own spoil.
func (v view) eventlessNotes(l metric.Latency, add adder) {
	share := v.eventlessShare()
	for _, percent := range v.o.percentiles() {
		if l.ITL == nil || bears(share, percent) {
			continue
		}
		key := metric.PercentileKey(percent)
		add("latency.itl_ms."+key, "low confidence: %.2g%% of the gaps are of more than one token; %s allows less than %.2g%%", 100*share, text.Percentile(key), 100*(1-percent/100)/2)
	}
}

// bears reports whether a percentile can be relied on in spite of a share of
// values that are not quite what they say.
func bears(share, percent float64) bool { return share == 0 || share < (1-percent/100)/2 }

// tailNotes name the percentiles that too few independent values support.
func (v view) tailNotes(l metric.Latency, add adder) {
	for name, d := range l.Each {
		var weak []string
		share := 0.0
		if name == "itl" {
			share = v.eventlessShare()
		}
		for _, percent := range v.o.percentiles() {
			key := metric.PercentileKey(percent)
			if !d.IsFirm(key) && bears(share, percent) {
				weak = append(weak, key)
			}
		}
		if len(weak) > 0 {
			add("latency."+name+"_ms."+weak[0], "low confidence in %s: at least %d independent values must lie beyond; run longer",
				strings.Join(text.Each(weak, text.Percentile), ", "), firmBeyond)
		}
	}
}
