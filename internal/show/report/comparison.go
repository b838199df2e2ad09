package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/show/document"
	"redline/internal/show/picture"
	"redline/internal/text"
)

var comparisonWords = map[slo.Standing]headline{
	slo.Better:    {word: "BETTER: ", tone: met},
	slo.Worse:     {word: "WORSE: ", tone: lost},
	slo.Mixed:     {word: "MIXED: ", tone: lost},
	slo.Same:      {word: "SAME: ", tone: met},
	slo.Undecided: {word: "NO DIFFERENCE SHOWN: ", tone: unset},
}

func comparisonHeadline(c *result.Comparison) headline {
	if why, names := untestedReason(c); why != "" {
		open := strings.Join(names[1], ", ")
		return headline{"CANNOT TELL: ", unset, why + " (" + strings.Join(names[0], ", ") + ")" + when(open != "", "; "+openPhrase+": "+open)}
	}
	h := cmp.Or(comparisonWords[c.Standing], comparisonWords[slo.Undecided])
	h.why = clean(c.Verdict)
	if said, open := strings.CutPrefix(h.why, notProven); open {
		h.word, h.why = strings.ToUpper(notProven), said
	}
	for _, said := range []string{"B is worse: ", "B is better: ", "no difference shown; "} {
		h.why = strings.TrimPrefix(h.why, said)
	}
	return h
}

// untestedReason is why a comparison without an answer did not test metrics, where
// it is one reason for several: the headline then says it, once. Beside it stand
// the metrics without a test, and those that are too close to call.
func untestedReason(c *result.Comparison) (why string, names [2][]string) {
	if c.Standing != slo.Undecided || strings.HasPrefix(c.Verdict, notProven) {
		return "", names
	}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		reason, without := strings.CutPrefix(m.Verdict, notTested)
		name := clean(m.Name + when(m.Load != "", " at "+m.Load))
		switch {
		case without && (why == "" || why == clean(reason)):
			why, names[0] = clean(reason), append(names[0], name)
		case without:
			return "", names
		case m.Standing == slo.Undecided:
			names[1] = append(names[1], name)
		}
	}
	if len(names[0]) < 2 {
		return "", names
	}
	return why, names
}

// withoutRepeats is a comparison without the reasons that its headline has said.
func withoutRepeats(c *result.Comparison) *result.Comparison {
	short := *c
	if why, _ := untestedReason(c); why != "" {
		short.Metrics = slices.Clone(c.Metrics)
		for i := range short.Metrics {
			if m := &short.Metrics[i]; strings.HasPrefix(m.Verdict, notTested) {
				m.Verdict = strings.TrimSuffix(notTested, ": ")
			}
		}
	}
	return &short
}

// notTested begins the verdict of a metric for which there is no test.
const notTested = "no difference shown: "

// notProven begins the verdict of a comparison with a figure that would count by itself.
const notProven = "not proven: "

// isStored reports whether runs that were made before are compared.
func isStored(r *result.Result) bool { return r.Comparison != nil && r.Comparison.Way == "stored" }

// standingTones are those of what was compared or tried; an objective's are in
// standings.
var standingTones = map[slo.Standing]tone{slo.Undecided: weak, slo.Better: good, slo.Worse: bad,
	slo.Pays: good, slo.Hurts: bad, slo.Depends: bold, slo.Accepted: good, slo.Rejected: weak, slo.Failed: bad}

// comparison writes both sides of every metric and what may be said of it.
func (p *page) comparison(r *result.Result) {
	c := r.Comparison
	if c == nil {
		return
	}
	p.Field("A", side(c.A, "A"))
	p.Field("B", side(c.B, "B"))
	p.Field("flags", differingFlags(c.Flags))
	p.Field("test", joinDots(clean(c.Test), when(c.Rounds > 0, plural(c.Rounds, "round")), "alpha"+hard+exact(c.Alpha)))
	p.Field("ended", clean(c.Ended))
	if c.Cliffs != nil {
		p.Field("cliff", cliffChange(c.Cliffs[0], c.Cliffs[1]))
	}
	p.changes(withoutRepeats(c), left("B against A"), right("A"), right("B"), right("change"), right("95% interval").Optional(1), right("p").Optional(2), right("Wilcoxon p").Optional(3), prose(""))
	if isStored(r) && c.Standing == slo.Undecided && len(c.A.Runs) < 2 {
		p.Note("several runs of each side decide more: redline compare A1,A2,A3 B1,B2,B3; or both servers live: redline compare URL URL")
	}
	p.differences(c.Differences)
	if p.room >= explained {
		p.shapes(c.Shapes)
	}
	p.warn(c.Warnings)
	p.Add(document.Pictures(picture.Comparison(c)))
}

// differenceNames are what people call what stands in a table of differences.
var differenceNames = map[string]string{"ttft_due": "ttft from due", "itl": "itl", "throughput": "throughput", "ttft": "ttft", "tpot": "tpot", "outside": "outside the engine"}

// differences say what B adds in units: within the same requests, and on average; of single runs, which leave open how much of it is
// chance, only where there is room.
func (p *page) differences(list []result.Difference) {
	for _, paired := range []bool{true, false} {
		head := "what B adds, means"
		if paired {
			head = "what B adds, medians"
		}
		t := document.NewTable(left(head), right("A"), right("B"), right("B − A"), right("95% interval"))
		var scrapedA, scrapedB []string
		outside := false
		for _, d := range list {
			if d.Paired != paired || d.Interval == nil && p.room < explained {
				continue
			}
			outside = outside || d.Name == "outside"
			if d.ScrapedA {
				scrapedA = append(scrapedA, picture.LedgerName(d.Name))
			}
			if d.ScrapedB {
				scrapedB = append(scrapedB, picture.LedgerName(d.Name))
			}
			name, bounds, step := cmp.Or(differenceNames[d.Name], picture.LedgerName(d.Name)), absent, d.B-d.A
			if d.Part {
				name = "· " + name
			} else {
				name = metricName(name, "", d.Unit)
			}
			if d.Interval != nil {
				bounds = text.SignedNumber(d.Interval[0]) + " to " + text.SignedNumber(d.Interval[1])
			}
			if d.Step != nil {
				step = *d.Step
			}
			t.Add(name, figure(d.A), figure(d.B), text.SignedNumber(step), bounds)
		}
		if len(t.Rows) == 0 {
			continue
		}
		p.Add(t)
		if paired {
			p.Note("by request: the median of B − A within the same requests, which need not be the difference of the medians")
		}
		if paired && !outside {
			p.Note("outside the engine: not known, since not both sides' replies state the engine's times (vLLM: --enable-per-request-metrics and --extra-body '{\"include_metrics\":true}')")
		}
		p.noteScraped("A", scrapedA)
		p.noteScraped("B", scrapedB)
	}
}

// noteScraped says which parts of a side no reply told.
func (p *page) noteScraped(side string, parts []string) {
	if len(parts) > 0 {
		p.Note(strings.Join(parts, " and ") + " of " + side + " by the means of its server's metrics, not by its replies")
	}
}

// differingFlags lists the settings that are not the same on both sides.
func differingFlags(flags []result.FlagPair) string {
	list := text.Each(flags, func(f result.FlagPair) string {
		return clean(f.Name + " " + cmp.Or(f.A, "unset") + " → " + cmp.Or(f.B, "unset"))
	})
	return strings.Join(list, ", ")
}

// shapes lays the means and the tails of the latencies beside each other.
func (p *page) shapes(list []result.Shape) {
	if len(list) == 0 {
		return
	}
	t := document.NewTable(left("not judged"), right("mean A"), right("mean B"), right("p99/p50 A"), right("p99/p50 B"))
	for _, s := range list {
		t.Add(metricName(s.Name, "", s.Unit), figureOrAbsent(s.MeanA, s.Unit), figureOrAbsent(s.MeanB, s.Unit), figureOrAbsent(s.TailA, ""), figureOrAbsent(s.TailB, ""))
	}
	p.Add(t)
}

func (p *page) changes(c *result.Comparison, columns ...document.Column) {
	t := document.NewTable(columns...)
	for i := range c.Metrics {
		m := c.Metrics[i]
		if p.room&brief > 0 {
			if m.Unit == "fraction" && isZero(m.A) && isZero(m.B) {
				continue // nothing of the kind happened
			}
			m.Verdict = withoutChance.ReplaceAllString(m.Verdict, openPhrase)
		}
		t.Add(changeRow(&m)...)
	}
	p.Add(t)
}

// withoutChance is the reason that most figures share which are too close to call; the
// interval beside it shows as much.
var withoutChance = regexp.MustCompile("^" + openPhrase + ": .*(may be chance.*|parts of the runs differ by.*)$")

func isZero(v *float64) bool { return v != nil && *v == 0 }

func side(s result.Side, letter string) string {
	runs := strings.Join(s.Runs, ", ")
	if runs == s.Name {
		runs = ""
	}
	if s.Name == letter {
		s.Name = ""
	}
	return clean(joinDots(s.Name, s.Model, s.Engine, s.URL, runs))
}

func changeRow(m *result.Change) []string {
	change, bounds := relativeChange(m)
	return []string{metricName(m.Name, m.Load, m.Unit), figureOrAbsent(m.A, m.Unit), figureOrAbsent(m.B, m.Unit), change, bounds, Chance(m.PHolm), Chance(m.WilcoxonP), paint(standingTones[m.Standing], clean(m.Verdict))}
}

// Chance writes a p-value; how small a tiny one is says nothing more.
func Chance(p *float64) string {
	switch {
	case p == nil:
		return absent
	case *p < 0.001:
		return "<0.001"
	}
	return significant(*p, 2, 3)
}

func figureOrAbsent(v *float64, unit string) string {
	switch {
	case v == nil:
		return absent
	case unit == "fraction":
		return percent(*v)
	}
	return figure(*v)
}

// DescribeChange is a metric and how it changed in a sentence.
func DescribeChange(m *result.Change) (name, said string) {
	change, bounds := relativeChange(m)
	return metricName(m.Name, m.Load, m.Unit), clean(m.Verdict) + " (" + change + ", 95% interval " + bounds + ")"
}

// maxChange is the change in percent beyond which an interval says no more than that
// it is wide, unless the change itself is as large.
const maxChange = 100

// relativeChange is the change with its sign and its interval, both in
// percent: of the value, or points of a share.
func relativeChange(m *result.Change) (change, bounds string) {
	from, of := 1.0, m.Ratio
	if m.Difference != nil {
		from, of = 0, m.Difference
	}
	change, bounds = absent, absent
	if of != nil {
		change = signedNumber(100*(*of-from)) + "%"
	}
	if m.Interval != nil {
		high, limit := 100*(m.Interval[1]-from), float64(maxChange)
		if of != nil {
			limit = max(limit, 1000*(*of-from))
		}
		bounds = signedNumber(100*(m.Interval[0]-from)) + " … " + when(high > limit, ">"+hard) + signedNumber(min(high, limit)) + "%"
	}
	return change, bounds
}
