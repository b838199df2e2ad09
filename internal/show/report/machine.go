package report

import (
	"fmt"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
)

const (
	// minMachineShare is the share of a figure from which what the machine may have
	// done to it is said.
	minMachineShare = 0.05
	// mainHoldupShare is the share of a run from which hold-ups are said before all
	// else, noticed the share below which they are not said by themselves.
	mainHoldupShare, minHoldupShare = 0.1, 0.01
)

// machine says how the client's own machine held it up, and which figures that
// may have moved; "" where neither matters.
func machine(r *result.Result) string {
	h := r.Client.HeldUp
	if h == nil {
		return ""
	}
	moved := ""
	if len(r.Points) == 1 {
		moved = movedFigures(&r.Points[0].Latency)
	}
	share, _ := holdupShare(r)
	held := fmt.Sprintf("held up %s, %s in all, %s at most", times(h.Times), seconds(h.TotalS), spoken(h.MaxMS))
	switch {
	case moved != "" && h.Times == 0:
		return sentenceCase(moved)
	case moved != "":
		return held + ": " + moved
	case share < minHoldupShare:
		return ""
	case len(r.Points) == 1:
		return held + "; no figure is off by more than " + percent(minMachineShare) + " because of it"
	}
	return held
}

// MachineText says how the machine held the client up where that matters before all
// else, and what to do; "" where it does not.
func MachineText(r *result.Result) string {
	share, stage := holdupShare(r)
	if share < mainHoldupShare {
		return ""
	}
	moved := ""
	if len(r.Points) == 1 {
		moved = movedFigures(&r.Points[0].Latency)
	}
	return "kept redline from running " + percent(share) + " of the time" + when(stage != "", " at "+clean(stage)) + when(moved != "", ": "+moved) +
		". A quieter machine, --workers elsewhere or a lower rate narrows the figures."
}

func sentenceCase(text string) string { return strings.TrimPrefix(text, "it ") }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return count(n) + " times"
}

// holdupShare is the share of the measured time in which the machine held the
// client up, of a level or another stage where there are several: of the worst, whose
// name it gives.
func holdupShare(r *result.Result) (share float64, stage string) {
	total := 0.0
	for i := range r.Points {
		total += r.Points[i].Window.Seconds()
		if own := pointHoldupShare(r, i); own > share {
			share, stage = own, r.Points[i].Name
		}
	}
	if share > 0 || r.Client.HeldUp == nil || total == 0 {
		return share, stage
	}
	return r.Client.HeldUp.TotalS / total, ""
}

// pointHoldupShare is that of one of several points; 0 where it is not known.
func pointHoldupShare(r *result.Result, point int) float64 {
	for _, s := range r.Stages {
		if s.Point != nil && *s.Point == point && s.HeldUp != nil && r.Points[point].Window.Seconds() > 0 {
			return s.HeldUp.TotalS / r.Points[point].Window.Seconds()
		}
	}
	return 0
}

// machineNotes mark those of several points whose figures the machine moved: one with
// by how much it did, more with where that stands.
func machineNotes(r *result.Result, points []int) map[int]string {
	notes := map[int]string{}
	if r.Verdict.IsUnmade() {
		return notes // another client measured, on another machine
	}
	for _, i := range points {
		moved := movedFigures(&r.Points[i].Latency)
		if moved == "" {
			continue
		}
		notes[i] = "this machine kept redline from running " + percent(pointHoldupShare(r, i)) + " of the time: " + moved
	}
	for i := range notes {
		if len(notes) > 1 {
			notes[i] = "this machine moved a figure by more than " + percent(minMachineShare) + "; redline report of its directory (stages/) says which"
		}
	}
	return notes
}

// movedFigures lists by how much the medians and tails that people look at first
// may be off; the others have their ends in result.json.
func movedFigures(l *metric.Latency) string {
	var added, hidden []string
	for _, shown := range [][]string{{"ttft", "p50", "p99"}, {"tpot", "p50", "p99"}, {"itl", "p99"}, {"e2e", "p50", "p99"}} {
		f, d := shown[0], l.JudgedDist(shown[0])
		over, under := []string{}, []string{}
		for _, key := range shown[1:] {
			v, ok := d.Get(key)
			low, high, _ := d.Ends(key)
			if ok && v-low > minMachineShare*v {
				over = append(over, spoken(v-low)+" to "+name(f, key, len(over)))
			}
			if ok && high-v > minMachineShare*v {
				under = append(under, spoken(high-v)+" from "+name(f, key, len(under)))
			}
		}
		added, hidden = append(added, over...), append(hidden, under...)
	}
	return strings.Join(present(upTo("it added", added), upTo("it hid", hidden)), "; ")
}

// upTo lists the first effects on figures and counts the others.
func upTo(verb string, effects []string) string {
	const shown = 2
	if len(effects) == 0 {
		return ""
	}
	text := verb + " up to " + strings.Join(effects[:min(len(effects), shown)], ", up to ")
	if more := len(effects) - shown; more > 0 {
		text += " and moved " + plural(more, "other figure")
	}
	return text
}

// name is that of a figure's percentile, or of the percentile alone after
// another of the same figure.
func name(figure, key string, before int) string {
	if before > 0 {
		return key
	}
	return figure + hard + key
}
