package watch

import (
	"fmt"
	"slices"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// The kinds of alerts.
const (
	Missed  = "missed"  // an objective is missed
	Drifted = "drift"   // a metric moved to a worse level
	Invalid = "invalid" // the run itself was not sound
	Failed  = "failed"  // there is no result
)

var kinds = []string{Missed, Drifted, Invalid, Failed}

// Outcome is what came of one run.
type Outcome struct {
	Schedule string    `json:"schedule"`
	Due      time.Time `json:"due"`
	Ended    time.Time `json:"ended"`
	// Dir is the run's directory.
	Dir string `json:"dir,omitempty"`
	// Exit is the exit code of the command: 0, 3 objectives missed, 4 a
	// regression, 5 invalid, 6 undecided, anything else no result.
	Exit int `json:"exit"`
	// TooFew says of an undecided run that it only had too few requests.
	TooFew bool `json:"too_few,omitempty"`
	// Said is the last line that the command wrote to its error output.
	Said string `json:"said,omitempty"`
	// Reasons are those of the verdict.
	Reasons []string `json:"reasons,omitempty"`
	// Values are the figures of a sound run, by their names.
	Values map[string]float64 `json:"-"`
	// Drift is what the run means for its series; nil where it has none.
	Drift *result.Drift `json:"drift,omitempty"`
}

// The exit codes that decide.
const (
	exitOK        = 0
	exitMissed    = 3
	exitRegressed = 4
	exitInvalid   = 5
	exitUndecided = 6
)

// isSound reports whether the run has a result that can be judged.
func (o *Outcome) isSound() bool {
	return slices.Contains([]int{exitOK, exitMissed, exitRegressed, exitUndecided}, o.Exit)
}

// HasDrifted reports whether a metric of the run's series stands worse than its
// baseline.
func (o *Outcome) HasDrifted() bool {
	return o.Drift != nil && (o.Drift.Standing == slo.Worse || o.Drift.Standing == slo.Mixed)
}

// Alert is one thing that is not as it should be, or is again.
type Alert struct {
	Schema   string    `json:"schema"`
	Schedule string    `json:"schedule"`
	Kind     string    `json:"kind"`
	Status   string    `json:"status"` // "firing" or "recovered"
	At       time.Time `json:"at"`
	// Since is when it began to fire.
	Since time.Time     `json:"since"`
	Text  string        `json:"text"`
	Run   string        `json:"run,omitempty"`
	Drift *result.Drift `json:"drift,omitempty"`
}

// The statuses of an alert.
const (
	Firing    = "firing"
	Recovered = "recovered"
)

const alertSchema = "redline/alert/2"

// alertState is what an outcome says of one kind of alert: on, off, or nothing,
// where it leaves open whether what was is still so.
type alertState struct {
	decided bool
	on      bool
	text    string
}

func judge(o *Outcome) map[string]alertState {
	verdicts := map[string]alertState{
		Failed: {decided: true, on: !o.isSound() && o.Exit != exitInvalid, text: failure(o)},
	}
	if o.isSound() || o.Exit == exitInvalid {
		verdicts[Invalid] = alertState{decided: true, on: o.Exit == exitInvalid, text: because("the run is invalid", o.Reasons)}
	}
	switch o.Exit {
	case exitMissed:
		verdicts[Missed] = alertState{decided: true, on: true, text: because("objectives are missed", o.Reasons)}
	case exitOK, exitRegressed:
		verdicts[Missed] = alertState{decided: true, text: "objectives are met"}
	}
	if d := o.Drift; d != nil && o.isSound() && d.Standing != slo.Undecided {
		verdicts[Drifted] = alertState{decided: true, on: o.HasDrifted(), text: d.Verdict}
	}
	return verdicts
}

func failure(o *Outcome) string {
	if o.Said == "" {
		return fmt.Sprintf("no result: exit code %d", o.Exit)
	}
	return fmt.Sprintf("no result: exit code %d: %s", o.Exit, o.Said)
}

func because(what string, reasons []string) string {
	if len(reasons) == 0 {
		return what
	}
	return what + ": " + reasons[0]
}

// alertsOf gives the alerts that an outcome brings about, and notes in the
// state which of them fire: each is told once when it begins and once when it
// is over.
func alertsOf(o *Outcome, firing map[string]time.Time) []Alert {
	verdicts := judge(o)
	var alerts []Alert
	for _, kind := range kinds {
		v, since := verdicts[kind], firing[kind]
		if !v.decided || v.on == !since.IsZero() {
			continue
		}
		a := Alert{Schema: alertSchema, Schedule: o.Schedule, Kind: kind, Status: Firing, At: o.Ended, Since: o.Ended, Text: text.Line(v.text), Run: o.Dir}
		if kind == Drifted {
			a.Drift = o.Drift
		}
		if v.on {
			firing[kind] = o.Ended
		} else {
			a.Status, a.Since, a.Text = Recovered, since, recovery[kind]
			delete(firing, kind)
		}
		alerts = append(alerts, a)
	}
	return alerts
}

var recovery = map[string]string{
	Missed:  "objectives are met again",
	Drifted: "the series is back at its level, or the new one was accepted",
	Invalid: "the run is valid again",
	Failed:  "there is a result again",
}

func (a *Alert) line() string {
	word := "ALERT"
	if a.Status == Recovered {
		word = "RECOVERED"
	}
	line := fmt.Sprintf("%s %s (%s): %s", word, a.Schedule, a.Kind, a.Text)
	if a.Run != "" {
		line += " [" + a.Run + "]"
	}
	return line
}
