package quality

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
	"redline/internal/traffic/golden"
)

type phase struct {
	name    string
	set     *golden.Set
	answers []answer
}

// share is a weighted share of answers and what it rests on.
type share struct {
	n, missing   int
	sum, weight  float64
	squares      float64 // of the weights
	covered, all int     // different questions judged, and how many there are
}

func (s *share) add(weight, score float64) {
	s.n, s.sum, s.weight, s.squares = s.n+1, s.sum+weight*score, s.weight+weight, s.squares+weight*weight
	if score < 1 {
		s.missing++
	}
}

func (s *share) value() float64 { return s.sum / s.weight }

// interval is Wilson's at 95 %; unequal weights make answers worth fewer.
func (s *share) interval() [2]float64 { return s.wilson(s.worth(), 0.975) }

// worth is how many answers of equal weight they stand for.
func (s *share) worth() float64 { return s.weight * s.weight / s.squares }

// wilson is the interval of n answers that leaves the rest of the level out at
// each end.
func (s *share) wilson(n, level float64) [2]float64 {
	p, z := s.value(), stats.NormalQuantile(level)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	reach := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return [2]float64{max(middle-reach, 0), min(middle+reach, 1)}
}

// lowest is the lowest that the share of the whole set may be, of which a part was
// asked: what is left to ask is all that is not known. At 99 % no part of a set
// passes wrongly in 5 % of draws.
func (s *share) lowest() float64 {
	known := float64(s.all-1) / float64(s.all-s.covered)
	return s.wilson(s.worth()*known, 0.99)[0]
}

func (s *share) toResult() *result.QualityShare {
	if s == nil || s.n == 0 {
		return nil
	}
	return &result.QualityShare{N: s.n, Share: s.value(), Interval: s.interval()}
}

// of adds up the answers that belong; value is nil for one that does not.
func (p *phase) of(belongs func(*golden.Item) bool, value func(*answer) *float64) *share {
	s := &share{}
	seen, unjudged := map[int]bool{}, map[int]bool{}
	for i := range p.set.Items {
		if belongs(&p.set.Items[i]) {
			s.all++
		}
	}
	for i := range p.answers {
		a := &p.answers[i]
		it := &p.set.Items[a.item]
		if !belongs(it) {
			continue
		}
		if v := value(a); v != nil {
			s.add(it.Weight, *v)
			seen[a.item] = true
		} else if a.outcome == llm.OK {
			unjudged[a.item] = true // which is said, and more questions would not mend
		}
	}
	for i := range unjudged {
		if !seen[i] {
			s.all--
		}
	}
	s.covered = len(seen)
	return s
}

func scoreOf(a *answer) *float64 {
	if a.outcome != llm.OK || !a.judged {
		return nil
	}
	return &a.score
}

func (p *phase) overall() *share { return p.of(func(*golden.Item) bool { return true }, scoreOf) }

func (p *phase) slice(tag string) *share {
	return p.of(func(it *golden.Item) bool { return slices.Contains(it.Tags, tag) }, scoreOf)
}

func (p *phase) validJSON() *share {
	return p.of(func(it *golden.Item) bool { return it.Expect.Schema != nil }, func(a *answer) *float64 {
		if a.outcome != llm.OK {
			return nil
		}
		return truth(a.match.Valid)
	})
}

func truth(yes bool) *float64 {
	if yes {
		return new(1.0)
	}
	return new(0.0)
}

// determinism counts the questions whose repeats all came out the same.
func (p *phase) determinism() *share {
	s := &share{}
	for _, texts := range p.texts() {
		if len(texts) < 2 {
			continue
		}
		s.add(1, *truth(!slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] })))
	}
	s.covered, s.all = s.n, s.n
	return s
}

// texts are the answers to each question.
func (p *phase) texts() map[int][]string {
	out := map[int][]string{}
	for i := range p.answers {
		if a := &p.answers[i]; a.outcome == llm.OK {
			out[a.item] = append(out[a.item], a.text)
		}
	}
	return out
}

// sameAs is the share of answers that are those of another phase.
func (p *phase) sameAs(other *phase) *share {
	before := other.texts()
	return p.of(func(*golden.Item) bool { return true }, func(a *answer) *float64 {
		if known := before[a.item]; a.outcome == llm.OK && len(known) > 0 {
			return truth(known[0] == a.text)
		}
		return nil
	})
}

// drift is by how much one count exceeds another over the answers that have
// both, nil where none has.
func (p *phase) drift(counts func(*golden.Item, *answer) (got, want int)) *float64 {
	got, want := 0, 0
	for i := range p.answers {
		a := &p.answers[i]
		if a.outcome != llm.OK {
			continue
		}
		if g, w := counts(&p.set.Items[a.item], a); g > 0 && w > 0 {
			got, want = got+g, want+w
		}
	}
	if want == 0 {
		return nil
	}
	return new(float64(got)/float64(want) - 1)
}

func (p *phase) lengthDrift() *float64 {
	return p.drift(func(it *golden.Item, a *answer) (int, int) {
		return cmp.Or(a.usage.OutputTokens, a.tokens), it.ReferenceTokens
	})
}

func (p *phase) usageDrift() *float64 {
	return p.drift(func(_ *golden.Item, a *answer) (int, int) { return a.usage.OutputTokens, a.tokens })
}

// Result is what the exam found so far, nil where nothing was asked.
func (x *Exam) Result() *result.Quality {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.phases) == 0 {
		return nil
	}
	q := &result.Quality{Set: x.Set.Name, Hash: x.Set.Hash, Items: len(x.Set.Items)}
	if slices.ContainsFunc(x.Set.Items, func(it golden.Item) bool { return it.Expect.Schema != nil }) && !x.Schemas() {
		q.Notes = append(q.Notes, "no schema went along with the requests, for the API or the server takes none: JSON was asked for by the prompts alone")
	}
	alone := x.phases[result.Alone]
	notJudged := 0
	for _, name := range phaseOrder {
		p := x.phases[name]
		if p == nil {
			continue
		}
		shown := p.toResult()
		if alone != nil && p != alone {
			shown.SameAsAlone = p.sameAs(alone).toResult()
		}
		notJudged += shown.NotJudged
		q.Phases = append(q.Phases, shown)
		q.Gates = append(q.Gates, x.gates(p)...)
		if thin := x.ungatedNote(p); thin != "" {
			q.Notes = append(q.Notes, thin)
		}
	}
	if x.silent != "" {
		q.Notes = append(q.Notes, fmt.Sprintf("%s: %d questions in a row were not answered within the time limit (--timeout), and the rest was not asked",
			x.silent, maxSilent))
	}
	if notJudged > 0 {
		q.Notes = append(q.Notes, fmt.Sprintf("%s not in the scores: %s", text.Plural(notJudged, "answer is", "answers are"), x.notJudgedReason()))
	}
	q.Outcomes = x.outcomes()
	q.UnderLoad = pairedDifference(q.Outcomes)
	return q
}

// pairedDifference compares the answers under load with those from before it, question by
// question; nil where no question was judged in both phases. Of several answers to
// a question most decide.
func pairedDifference(list []result.QualityOutcome) *result.QualityDifference {
	d := &result.QualityDifference{}
	for _, o := range list {
		if o.Alone == nil || o.UnderLoad == nil {
			continue
		}
		d.N++
		switch alone, loaded := *o.Alone >= 0.5, *o.UnderLoad >= 0.5; {
		case alone && !loaded:
			d.Lost++
		case loaded && !alone:
			d.Won++
		}
	}
	if d.N == 0 {
		return nil
	}
	d.Difference = float64(d.Won-d.Lost) / float64(d.N)
	d.Interval[0], d.Interval[1] = stats.PairedShares(d.N, d.Won, d.Lost, 0.95)
	d.P = stats.McNemar(d.Won, d.Lost)
	return d
}

func (p *phase) toResult() result.QualityPhase {
	out := result.QualityPhase{Phase: p.name, Asked: len(p.answers), LengthDrift: p.lengthDrift(), UsageDrift: p.usageDrift(),
		Structured: p.validJSON().toResult(), Determinism: p.determinism().toResult()}
	for i := range p.answers {
		switch a := &p.answers[i]; {
		case a.outcome != llm.OK:
			out.Unanswered++
		case !a.judged:
			out.NotJudged++
		}
	}
	s := p.overall()
	out.N, out.Covered = s.n, s.covered
	if s.n > 0 {
		out.Score, out.Interval = new(s.value()), new(s.interval())
	}
	for i := range p.set.Items {
		for _, tag := range p.set.Items[i].Tags {
			if out.Slices == nil {
				out.Slices = map[string]*result.QualityShare{}
			}
			if _, known := out.Slices[tag]; !known {
				if one := p.slice(tag).toResult(); one != nil {
					out.Slices[tag] = one
				}
			}
		}
	}
	return out
}

// outcomes pairs what came of each question over the phases.
func (x *Exam) outcomes() []result.QualityOutcome {
	list := make([]result.QualityOutcome, len(x.Set.Items))
	for i := range list {
		list[i].Item = x.Set.Items[i].ID
	}
	for name, p := range x.phases {
		sums, counts := make([]float64, len(list)), make([]int, len(list))
		for i := range p.answers {
			if a := &p.answers[i]; scoreOf(a) != nil {
				sums[a.item], counts[a.item] = sums[a.item]+a.score, counts[a.item]+1
			}
		}
		for i := range list {
			if counts[i] == 0 {
				continue
			}
			mean := new(sums[i] / float64(counts[i]))
			switch name {
			case result.Alone:
				list[i].Alone = mean
			case result.UnderLoad:
				list[i].UnderLoad = mean
			case result.After:
				list[i].After = mean
			}
		}
	}
	return list
}

var phaseOrder = []string{result.Alone, result.UnderLoad, result.After}

var phaseWords = map[string]string{result.Alone: "alone", result.UnderLoad: "under load", result.After: "after it"}

// minAnswers is how many answers a part of the set needs before it may say
// anything.
const minAnswers = 5

// gates holds one phase to every threshold. A whole set that was asked is no
// sample, so its score decides as it stands. Of a part of it, a score decides only
// where what the rest leaves open lies on the same side of the threshold.
func (x *Exam) gates(p *phase) []slo.Verdict {
	var list []slo.Verdict
	for _, t := range x.Spec.Thresholds.list() {
		if t.name == determinismName && p.name != result.Alone {
			continue
		}
		s := t.figure(p)
		if s.thin() && p.name == result.UnderLoad {
			continue // the other phases have asked all of them
		}
		v := slo.Verdict{Objective: gateName(t.name, p.name), Unit: "fraction", Limit: t.limit, N: s.n, Violations: s.missing}
		if v.Standing, v.Note = standing(s, t.limit); s.n > 0 {
			v.Value = new(s.value())
		}
		list = append(list, v)
	}
	return append(list, x.lengthGate(p)...)
}

// thin says that so few of the questions were asked that nothing follows.
func (s *share) thin() bool { return s.covered < s.all && s.n < minAnswers }

// ungatedNote names the thresholds that a phase beside the load asked too little
// for.
func (x *Exam) ungatedNote(p *phase) string {
	var names []string
	for _, t := range x.Spec.Thresholds.list() {
		if t.name != determinismName && t.figure(p).thin() {
			names = append(names, t.name)
		}
	}
	if p.name != result.UnderLoad || len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("under load too few questions were asked to judge %s: a longer run asks more, or a larger quality.under_load_share", strings.Join(names, ", "))
}

func standing(s *share, limit float64) (where slo.Standing, note string) {
	const rounding = 1e-9
	if s.n == 0 {
		return slo.NotJudged, "nothing could be judged"
	}
	if s.covered >= s.all {
		return atLeast.JudgeExact(s.value()+rounding, limit), ""
	}
	note = fmt.Sprintf("%d of %d questions were asked", s.covered, s.all)
	if s.thin() {
		return slo.Undecided, note
	}
	if where = atLeast.JudgeInterval(s.lowest()+rounding, s.interval()[1], limit); where == slo.Undecided {
		note += ": too few to tell; " + text.FixedNumber(math.Ceil(10*float64(s.all)/float64(s.covered))/10, 1) + " times the requests would ask all"
	}
	return where, note
}

// atLeast is an objective that a figure reaches from above, atMost one from below.
var atLeast, atMost = slo.Objective{Above: true}, slo.Objective{}

// lengthGate holds the mean length of the answers to that of the references.
func (x *Exam) lengthGate(p *phase) []slo.Verdict {
	drift := p.lengthDrift()
	if x.Spec.LengthDrift == 0 {
		return nil
	}
	v := slo.Verdict{Objective: gateName("length drift", p.name), Unit: "fraction", Limit: x.Spec.LengthDrift,
		Standing: slo.NotJudged, Note: "no question has reference_output_tokens"}
	if drift != nil {
		size := math.Abs(*drift)
		v.Value, v.Standing = &size, atMost.JudgeExact(size, v.Limit)
		v.Note = "the length of answers differs by " + text.SignedNumber(100**drift) + "%"
	}
	return []slo.Verdict{v}
}

func gateName(what, phaseName string) string { return "quality " + what + ", " + phaseWords[phaseName] }

// Worst gives the answers that were not right, the lowest scores first, at
// most so many. They hold text: whoever calls it must be allowed to keep that.
func (x *Exam) Worst(limit int) []result.KeptAnswer {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := []result.KeptAnswer{}
	for _, name := range phaseOrder {
		p := x.phases[name]
		if p == nil {
			continue
		}
		for i := range p.answers {
			a := &p.answers[i]
			if a.outcome != llm.OK || !a.judged || a.score >= 1 {
				continue
			}
			it := &x.Set.Items[a.item]
			list = append(list, result.KeptAnswer{Item: it.ID, Phase: name, Tags: it.Tags, Score: a.score, Why: a.match.Why,
				Prompt: golden.Key(it.Messages), Answer: a.text})
		}
	}
	slices.SortStableFunc(list, func(a, b result.KeptAnswer) int { return cmp.Compare(a.Score, b.Score) })
	return list[:min(limit, len(list))]
}
