package result

import "redline/internal/judge/slo"

// The phases in which golden questions are asked.
const (
	Alone     = "alone"      // before the load
	UnderLoad = "under_load" // beside it
	After     = "after"      // once it is over
)

// Quality is how right the answers were, beside how fast they came.
type Quality struct {
	// Set names the golden set, Hash its content.
	Set   string `json:"set"`
	Hash  string `json:"hash"`
	Items int    `json:"items"`
	// Phases are those in which something was asked, in their order.
	Phases []QualityPhase `json:"phases"`
	// Gates are the thresholds that were asked for, each in each phase.
	Gates []slo.Verdict `json:"gates,omitempty"`
	// Outcomes are what came of each question, without its text, so that two
	// runs can be paired.
	Outcomes []QualityOutcome `json:"outcomes"`
	// UnderLoad compares the answers under load with those from before it; absent
	// where no question was judged in both phases.
	UnderLoad *QualityDifference `json:"under_load,omitempty"`
	// Notes say what makes the scores weaker than they look.
	Notes []string `json:"notes,omitempty"`
}

// QualityPhase is the score of one phase.
type QualityPhase struct {
	Phase string `json:"phase"`
	// Asked = N + Unanswered + NotJudged.
	Asked      int `json:"asked"`
	N          int `json:"n"`
	Unanswered int `json:"unanswered,omitempty"` // the request failed
	NotJudged  int `json:"not_judged,omitempty"` // no judge, or one that failed
	// Covered is how many different questions were judged.
	Covered int `json:"covered"`
	// Score is the weighted share of right answers, with Wilson's interval of
	// 95 %; absent where nothing was judged.
	Score    *float64                 `json:"score,omitempty"`
	Interval *[2]float64              `json:"interval,omitempty"`
	Slices   map[string]*QualityShare `json:"slices,omitempty"` // by tag
	// Structured is the share of answers asked for by a schema that keep it.
	Structured *QualityShare `json:"structured,omitempty"`
	// Determinism is the share of questions whose repeats at temperature 0
	// came out identical.
	Determinism *QualityShare `json:"determinism,omitempty"`
	// SameAsAlone is the share of answers that are, letter for letter, those
	// that came before the load.
	SameAsAlone *QualityShare `json:"same_as_alone,omitempty"`
	// LengthDrift is how much longer answers are than the references, 0.1 for
	// a tenth, over those that have one.
	LengthDrift *float64 `json:"length_drift,omitempty"`
	// UsageDrift is how much the server's count of output tokens exceeds the
	// local tokenizer's.
	UsageDrift *float64 `json:"usage_drift,omitempty"`
}

// QualityShare is a share of some answers.
type QualityShare struct {
	N        int        `json:"n"`
	Share    float64    `json:"share"`
	Interval [2]float64 `json:"interval"`
}

// QualityDifference is how much more, or less where it is negative, of the same N
// questions was right in a second phase, with Tango's interval at 95% and the chance
// of so uneven a split of the questions that only one phase got right (McNemar).
type QualityDifference struct {
	N          int        `json:"n"`
	Lost       int        `json:"lost"`
	Won        int        `json:"won"`
	Difference float64    `json:"difference"`
	Interval   [2]float64 `json:"interval"`
	P          float64    `json:"p"`
}

// QualityOutcome is what came of one question in each phase: the mean of its
// scores, absent where it was not judged.
type QualityOutcome struct {
	Item      string   `json:"item"`
	Alone     *float64 `json:"alone,omitempty"`
	UnderLoad *float64 `json:"under_load,omitempty"`
	After     *float64 `json:"after,omitempty"`
}

// Phase finds a phase by its name, nil where nothing was asked in it.
func (q *Quality) Phase(name string) *QualityPhase {
	if q == nil {
		return nil
	}
	for i := range q.Phases {
		if q.Phases[i].Phase == name {
			return &q.Phases[i]
		}
	}
	return nil
}

// Whole is the phase that stands for the whole set: that in which most of its
// questions were judged, of several the one under load, else alone. A part of a set
// scores as its questions happen to be. It is nil where nothing was judged.
func (q *Quality) Whole() *QualityPhase {
	var whole *QualityPhase
	for _, name := range []string{UnderLoad, Alone, After} {
		if p := q.Phase(name); p != nil && p.Score != nil && (whole == nil || p.Covered > whole.Covered) {
			whole = p
		}
	}
	return whole
}

// ScoreOf is the score in a phase, of "" in the one that stands for the whole set.
func (q *Quality) ScoreOf(phase string) (float64, bool) {
	p := q.Phase(phase)
	if phase == "" {
		p = q.Whole()
	}
	if p == nil || p.Score == nil {
		return 0, false
	}
	return *p.Score, true
}

// Of is the outcome's score in a phase.
func (o *QualityOutcome) Of(phase string) *float64 {
	switch phase {
	case Alone:
		return o.Alone
	case UnderLoad:
		return o.UnderLoad
	case After:
		return o.After
	}
	return nil
}

// KeptAnswer is one answer with its text, kept for review.
type KeptAnswer struct {
	Item   string   `json:"item"`
	Phase  string   `json:"phase"`
	Tags   []string `json:"tags,omitempty"`
	Score  float64  `json:"score"`
	Why    string   `json:"why,omitempty"` // which matcher it failed
	Prompt string   `json:"prompt"`
	Answer string   `json:"answer"`
}
