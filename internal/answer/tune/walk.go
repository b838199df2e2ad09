package tune

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// The purposes of a tuning's stages beside the rounds of its last comparison.
const (
	PurposeBaseline = "baseline"
	PurposeTrial    = "trial"
)

const (
	// BaselineRuns is how often the baseline is measured where nothing is said,
	// to see by how much runs of the same settings differ.
	BaselineRuns = 2
	// Rounds is how often winner and baseline take turns where nothing is said.
	Rounds = 8
	// minRounds is how many a budget must leave room for.
	minRounds = 3
)

// Plan is what a tuning has to go by.
type Plan struct {
	Spec
	Options
	// Command starts the server.
	Command string
	// Runs of the baseline, and Rounds of it and the winner.
	Runs, Rounds int
	// Budget is the time for everything, 0 for any.
	Budget time.Duration
	// Anyway counts runs that are not valid.
	Anyway bool
}

// Walk is a tuning under way: over the knobs of a server, one value at a time, from
// a baseline.
type Walk struct {
	Plan
	// Record is what was found so far.
	Record *result.Tuning
	// Best is the run of the settings that are best so far, nil before a sound
	// one, and Last the last run.
	Best, Last *result.Result

	values      map[string]string // the best so far
	baseline    []*result.Result  // its sound runs
	runs, tried int
	step, took  time.Duration // of the last stage, and of all
	unjudged    int
	over        bool
}

// NewWalk begins a tuning.
func NewWalk(p Plan) *Walk {
	w := &Walk{Plan: p, values: p.Baseline()}
	w.Record = &result.Tuning{Command: p.Command, Objective: p.Objective, Tolerance: p.Tolerance,
		Baseline: w.flags(w.values), Winner: w.flags(w.values), Steps: []result.TuningStep{}}
	return w
}

// Step is a run of the server with some settings, or rounds of the baseline and
// the winner.
type Step struct {
	Name, Purpose string
	Values        map[string]string
	Rounds        int

	trial Trial
}

// Seen is what came of a run.
type Seen struct {
	Result  *result.Result // nil where the server failed
	Point   *int
	StartUp *float64
	// Took is the time of the stage, start and stop included, and All that of all
	// stages so far.
	Took, All time.Duration
	// Failed is why the server could not be measured, and Log the end of its log.
	Failed string
	Log    []string
}

// BaselineName is the n-th run of the baseline.
func BaselineName(n int) string { return fmt.Sprintf("baseline %d", n) }

// Trial is a value of a knob.
type Trial struct {
	Knob  Knob
	Value string
}

// Name is that of its run.
func (t Trial) Name() string { return t.Knob.Name + "=" + t.Value }

// Trials are all values to try, in order.
func (s Spec) Trials() (list []Trial) {
	for _, k := range s.Knobs {
		for _, value := range k.Trials() {
			list = append(list, Trial{k, value})
		}
	}
	return list
}

// Next is the step that follows from what was seen; false where the record has the
// answer.
func (w *Walk) Next() (Step, bool) {
	trials := w.Trials()
	switch {
	case w.over:
		return Step{}, false
	case w.runs < w.Runs:
		return Step{Name: BaselineName(w.runs + 1), Purpose: PurposeBaseline, Values: w.values}, true
	case w.Best == nil:
		w.endUnsound()
		return Step{}, false
	case w.tried < len(trials) && (w.affords(w.stagesOfAValue()) || w.tried == 0 && w.affords(1)):
		t := trials[w.tried]
		values := maps.Clone(w.values)
		values[t.Knob.Name] = t.Value
		return Step{Name: t.Name(), Purpose: PurposeTrial, Values: values, trial: t}, true
	}
	w.over = true
	w.Record.Stopped = "every value was tried"
	if left := len(trials) - w.tried; left > 0 {
		w.Record.Stopped = fmt.Sprintf("the budget of %s leaves no time for %s", text.Length(w.Budget), text.Plural(left, "more value"))
	}
	if len(w.changedFlags()) == 0 {
		w.keepBaseline()
		return Step{}, false
	}
	rounds := w.affordedRounds()
	if rounds == 0 {
		w.rule(slo.Unconfirmed, "%s looks better, but the budget left no time to confirm it, interleaved with the baseline", w.change())
		return Step{}, false
	}
	return Step{Values: w.values, Rounds: rounds}, true
}

// Observe takes in what came of a step's run.
func (w *Walk) Observe(s Step, seen Seen) error {
	w.step, w.took = max(seen.Took, time.Second), seen.All
	w.Record.TookS = seen.All.Seconds()
	if seen.Result != nil {
		w.Last = seen.Result
	}
	if s.Purpose == PurposeTrial {
		return w.observeTrial(s, seen)
	}
	w.runs++
	if !w.counts(seen.Result) {
		return nil
	}
	w.baseline = append(w.baseline, seen.Result)
	w.Record.BaselineRuns = len(w.baseline)
	if w.Best == nil {
		w.Best, w.Record.BaselinePoint, w.Record.WinnerPoint = seen.Result, seen.Point, seen.Point
	}
	w.Spread = compare.Apart(w.baseline, w.Objectives)
	if spread, ok := w.Spread[w.Objectives[0]]; ok && len(w.baseline) > 1 {
		w.Record.Spread = &spread
	}
	return nil
}

func (w *Walk) observeTrial(s Step, seen Seen) error {
	w.tried++
	knob, value := s.trial.Knob, s.trial.Value
	step := result.TuningStep{Knob: knob.Name, From: w.values[knob.Name], To: value, Settings: w.flags(s.Values),
		StartUpS: seen.StartUp, Point: seen.Point}
	step.Hypothesis, step.Risk = knob.Expect(w.Command, step.From, value)
	if seen.Result == nil {
		step.Decision, step.Why, step.Log = slo.Failed, "the server "+seen.Failed, seen.Log
	} else if err := w.decide(&step, seen.Result); err != nil {
		return err
	}
	w.Record.Steps = append(w.Record.Steps, step)
	if step.Decision == slo.Accepted {
		w.values, w.Best, w.Record.WinnerPoint, w.Record.Winner = s.Values, seen.Result, step.Point, w.flags(s.Values)
	}
	return nil
}

func (w *Walk) decide(step *result.TuningStep, res *result.Result) error {
	switch {
	case res.Verdict.Valid == result.Invalid && !w.Anyway:
		w.unjudged++
		step.Decision, step.Why = slo.Undecided, "not judged, its run is not valid: "+strings.Join(res.Verdict.Reasons, "; ")
		return nil
	case !w.counts(res):
		step.Decision, step.Why = slo.Rejected, "no request succeeded"
		return nil
	}
	standing, why, moves, err := Judge(w.Best, res, w.Options)
	if err != nil {
		return err
	}
	step.Why, step.Moves = why, moves
	switch standing {
	case slo.Better:
		step.Decision = slo.Accepted
	case slo.Undecided:
		w.unjudged++
		step.Decision = slo.Undecided
	default:
		step.Decision = slo.Rejected
	}
	return nil
}

func (w *Walk) counts(res *result.Result) bool {
	sound := res.Verdict.Valid != result.Invalid || w.Anyway
	return sound && len(res.Points) > 0 && res.Points[0].Requests.OK > 0
}

// stagesOfAValue is how many stages it takes to try a value and confirm it.
func (p Plan) stagesOfAValue() int { return 1 + 2*min(minRounds, p.Rounds) }

// TooShort says that the budget is probably too small to try and confirm a value where a stage takes
// so long, and which is not; "" where it is large enough.
func (p Plan) TooShort(stage time.Duration) string {
	const grain = 30 * time.Second
	stages := p.Runs + p.stagesOfAValue()
	needed := time.Duration(stages) * stage
	if p.Budget == 0 || needed <= p.Budget {
		return ""
	}
	return fmt.Sprintf("the budget of %s is probably too small to try and confirm a value, which takes %d runs of about %s: give --budget %s or more, or a shorter --duration",
		text.Length(p.Budget), stages, text.About(stage), text.Option((needed+grain-1)/grain*grain))
}

// Close takes in the time of all stages, and says where it exceeds the budget.
func (w *Walk) Close(took time.Duration) {
	w.Record.TookS = took.Seconds()
	if w.Budget > 0 && took > w.Budget {
		w.Record.Stopped += fmt.Sprintf("; %s over the budget of %s", text.About(took-w.Budget), text.Length(w.Budget))
	}
}

// affords reports whether the budget has room for so many stages more.
func (w *Walk) affords(stages int) bool {
	return w.Budget == 0 || w.took+time.Duration(stages)*w.step <= w.Budget
}

// affordedRounds is how many rounds the plan asks for and the budget leaves; 0
// where they are too few to tell anything.
func (w *Walk) affordedRounds() int {
	rounds := w.Rounds
	for rounds > minRounds && !w.affords(2*rounds) {
		rounds--
	}
	if !w.affords(2 * rounds) {
		return 0
	}
	return rounds
}

// Confirm words what came of the rounds, of which so many count and are needed.
func (w *Walk) Confirm(c *result.Comparison, planned, needed int) {
	turns := fmt.Sprintf("%d interleaved rounds", c.Rounds)
	standing, why := compare.Decide(c.Metrics, w.Objectives, Options{Tolerance: w.Tolerance}.tolerance)
	switch {
	case c.Rounds < needed:
		w.rule(slo.Unconfirmed, "%s looked better, but only %d of %d rounds with the baseline were valid: run it again on a quiet machine", w.change(), c.Rounds, planned)
	case standing == slo.Better:
		w.rule(slo.Confirmed, "keep %s: %s, over %s with the baseline%s", w.change(), why, turns, costNote(c.Metrics))
	case standing == slo.Undecided:
		w.rule(slo.Unconfirmed, "%s looked better, but %s with the baseline do not show it: %s; more may (--rounds %d)", w.change(), turns, why, 2*planned)
	default:
		w.rule(slo.Unconfirmed, "%s looked better, but %s with the baseline do not show it: %s", w.change(), turns, why)
	}
}

// FailConfirmation says that a server of the rounds could not be measured.
func (w *Walk) FailConfirmation(why error) {
	w.rule(slo.Unconfirmed, "%s looked better, but could not be confirmed: %v", w.change(), why)
}

// costNote names what became worse for the winner.
func costNote(metrics []result.Change) string {
	var list []string
	for _, m := range metrics {
		if m.Standing == slo.Worse {
			list = append(list, m.Name+" "+m.Verdict)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "; at the price of " + strings.Join(list, ", ")
}

// endUnsound words that there is nothing to compare values with.
func (w *Walk) endUnsound() {
	w.over = true
	w.Record.Stopped = "no run of the baseline was sound, so nothing can be compared with it"
	if len(w.Last.Points) > 0 && w.Last.Points[0].Requests.OK == 0 {
		w.Record.Stopped = "the baseline finished none of its requests: lower the load, or begin with a value that keeps up"
	}
	w.rule(slo.Undecided, "nothing was decided: %s", w.Record.Stopped)
}

// keepBaseline words that the baseline stands, and how sure that is.
func (w *Walk) keepBaseline() {
	keep := Words(w.Record.Baseline)
	switch {
	case len(w.Record.Steps) == 0:
		w.rule(slo.Undecided, "keep the baseline for now, %s: no other value was tried", keep)
	case w.unjudged > 0:
		w.rule(slo.Undecided, "keep the baseline for now, %s: no value is shown to be better, and %d could not be judged", keep, w.unjudged)
	default:
		w.rule(slo.Unchanged, "keep the baseline, %s: no value tried is better", keep)
	}
}

func (w *Walk) rule(standing slo.Standing, format string, args ...any) {
	w.Record.Standing, w.Record.Verdict = standing, fmt.Sprintf(format, args...)
}

// flags lists settings in the order of the knobs.
func (w *Walk) flags(values map[string]string) []result.Flag {
	list := make([]result.Flag, len(w.Knobs))
	for i, k := range w.Knobs {
		list[i] = result.Flag{Name: k.Name, Value: values[k.Name]}
	}
	return list
}

// changedFlags are the settings that are no longer those of the baseline, and change is
// them in words.
func (w *Walk) changedFlags() []result.Flag {
	return slices.DeleteFunc(slices.Clone(w.Record.Winner), func(f result.Flag) bool { return slices.Contains(w.Record.Baseline, f) })
}

func (w *Walk) change() string { return Words(w.changedFlags()) }

// Words are settings as a command line has them.
func Words(flags []result.Flag) string {
	return strings.Join(text.Each(flags, func(f result.Flag) string { return f.Name + "=" + f.Value }), " ")
}

// Expectation says what a value should do in the place of the present one, and
// what it risks.
func (t Trial) Expectation(command string) string {
	hypothesis, risk := t.Knob.Expect(command, t.Knob.Baseline, t.Value)
	hypothesis = cmp.Or(hypothesis, "what it should do is not known: write it down as tune.knobs.hypothesis before you look")
	if risk != "" {
		hypothesis += "; risk: " + risk
	}
	return fmt.Sprintf("%s in place of %s: %s", t.Name(), cmp.Or(t.Knob.Baseline, "nothing"), hypothesis)
}
