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
	held := fmt.Sprintf("held up %s, %s in all, %s at most", times(h.Times), seconds(h.TotalS), spoken(h.MaxMS))
	switch {
	case moved != "" && h.Times == 0:
		return sentenceCase(moved)
	case moved != "":
		return held + ": " + moved
	case holdupShare(r) < minHoldupShare:
		return ""
	case len(r.Points) == 1:
		return held + "; no figure is off by more than " + percent(minMachineShare) + " by that"
	}
	return held
}

func sentenceCase(text string) string { return strings.TrimPrefix(text, "it ") }

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return count(n) + " times"
}

// holdupShare is the share of the measured time in which the machine held the
// client up.
func holdupShare(r *result.Result) float64 {
	total := 0.0
	for i := range r.Points {
		total += r.Points[i].Window.Seconds()
	}
	if r.Client.HeldUp == nil || total == 0 {
		return 0
	}
	return r.Client.HeldUp.TotalS / total
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
	var parts []string
	if len(added) > 0 {
		parts = append(parts, "it added up to "+strings.Join(added, ", up to "))
	}
	if len(hidden) > 0 {
		parts = append(parts, "it hid up to "+strings.Join(hidden, ", up to "))
	}
	return strings.Join(parts, "; ")
}

// name is that of a figure's percentile, or of the percentile alone after
// another of the same figure.
func name(figure, key string, before int) string {
	if before > 0 {
		return key
	}
	return figure + hard + key
}
