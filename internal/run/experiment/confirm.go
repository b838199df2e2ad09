package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"redline/internal/answer/tune"
	"redline/internal/judge/result"
	"redline/internal/run/launch"
)

// confirm compares the winner with the baseline, interleaved.
func (t *tuner) confirm(ctx context.Context) error {
	keep := words(t.changed())
	rounds := t.rounds()
	if rounds == 0 {
		t.rule(result.TuningUnconfirmed, "%s looks better, but the budget left no time to confirm it, interleaved with the baseline", keep)
		return nil
	}
	if t.spec.SideBySide {
		t.rig.places = 2
	}
	begin := t.spec.Baseline()
	a := side{name: "A", config: t.rig.config(begin, 0), rig: t.rig, values: begin,
		label: "baseline, " + words(t.record.Baseline)}
	b := side{name: "B", config: t.rig.config(t.values, 1), rig: t.rig, values: t.values, place: 1,
		label: "winner, " + words(t.record.Winner)}
	_, err := t.compare(ctx, a, b, rounds)
	var failure *launch.Failure
	switch {
	case errors.As(err, &failure):
		t.rule(result.TuningUnconfirmed, "%s looked better, but could not be confirmed: %v", keep, failure)
		return nil
	case err != nil:
		return err
	}
	t.conclude(keep, rounds)
	return nil
}

// rounds is how many turns of both sides the plan asks for and the budget
// leaves; 0 where they are too few to tell anything.
func (t *tuner) rounds() int {
	rounds := cmp.Or(t.Config.Experiment.Rounds, tuneRounds)
	for rounds > fewestTurns && !t.affords(2*rounds) {
		rounds--
	}
	if !t.affords(2 * rounds) {
		return 0
	}
	return rounds
}

// conclude words what came of the turns.
func (t *tuner) conclude(keep string, rounds int) {
	c := t.res.Comparison
	turns := fmt.Sprintf("%d interleaved rounds", c.Rounds)
	v := tune.Weigh(c.Metrics, tune.Options{Objectives: t.options.Objectives, Tolerance: t.options.Tolerance})
	switch {
	case c.Rounds < neededRounds(rounds):
		t.rule(result.TuningUnconfirmed, "%s looked better, but only %d of %d rounds with the baseline were valid: run it again on a quiet machine", keep, c.Rounds, rounds)
	case v.Standing == result.Better:
		t.rule(result.TuningConfirmed, "keep %s: %s, over %s with the baseline%s", keep, v.Why, turns, paid(c.Metrics))
	default:
		t.rule(result.TuningUnconfirmed, "%s looked better, but %s with the baseline do not show it: %s", keep, turns, v.Why)
	}
}

// paid names what became worse for the winner.
func paid(metrics []result.Change) string {
	var list []string
	for _, m := range metrics {
		if m.Standing == result.Worse {
			list = append(list, m.Name+" "+m.Verdict)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "; at the price of " + strings.Join(list, ", ")
}
