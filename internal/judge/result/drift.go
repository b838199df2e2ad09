package result

import (
	"fmt"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/text"
)

// Drift is how runs of one plan moved over time.
type Drift struct {
	// Series tells runs of this plan from others; Name is it in words.
	Series string `json:"series"`
	Name   string `json:"name"`
	// Runs counts those that were judged, Left those that were not sound.
	Runs int `json:"runs"`
	Left int `json:"left_out,omitempty"`
	// Baseline is the id of the pinned run, from which on changes count;
	// absent where none is pinned, and the first run is the baseline.
	Baseline string `json:"baseline,omitempty"`
	// Needs is how many more runs it takes before a change could be called.
	Needs   int           `json:"needs,omitempty"`
	Changes []MetricShift `json:"changes"`
	// Early is how far the newest of a few runs is from those before it; absent
	// where a change could be called.
	Early []Early `json:"early,omitempty"`
	// Settings are what became different in engine, model and hardware.
	Settings []Setting    `json:"settings"`
	Standing slo.Standing `json:"outcome"`
	// Verdict is the answer in words.
	Verdict string `json:"verdict"`
	// Values are the watched figures of each run, oldest first.
	Values []RunValues `json:"values,omitempty"`
}

// RunValues are the figures of one run that drift is looked for in.
type RunValues struct {
	ID     string             `json:"id"`
	At     time.Time          `json:"at"`
	Values map[string]float64 `json:"values"`
}

// MetricShift is one metric that came to another level.
type MetricShift struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	// Before and After are medians of the two levels.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Ratio is After/Before; shares have a Difference instead.
	Ratio      *float64 `json:"ratio,omitempty"`
	Difference *float64 `json:"difference,omitempty"`
	// P is the chance of so clear a change where there is none, corrected for
	// all metrics and all looks.
	P float64 `json:"p"`
	// Since is the id of the first run on the new level.
	Since    string       `json:"since"`
	At       time.Time    `json:"at"`
	Standing slo.Standing `json:"outcome"`
	// Causes are the settings that became different between the last run on
	// the old level and the first on the new one.
	Causes []Setting `json:"likely_causes,omitempty"`
}

// Early is one metric of the newest of a few runs against those before it.
type Early struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	// Runs counts the newest too; Before is the mean of the others, After its own,
	// as near to those before as what its machine may have done to it allows.
	Runs   int     `json:"runs"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Measured is the figure of the newest run's report where After is another.
	Measured *float64 `json:"measured,omitempty"`
	// Interval is the 95% interval of the change, as a share of Before; of a
	// metric that is itself a Share as a difference.
	Interval [2]float64 `json:"interval"`
	Share    bool       `json:"share,omitempty"`
	// Outside says that the interval excludes no change.
	Outside bool `json:"outside"`
}

// Words says within which bounds it moved: "+40% (95% interval +12 to +75)".
func (e *Early) Words() string {
	unit, change := "%", 100*(e.After/e.Before-1)
	if e.Share {
		unit, change = " points", 100*(e.After-e.Before)
	}
	return fmt.Sprintf("%s%s (95%% interval %s to %s)", text.SignedNumber(change), unit, text.SignedNumber(100*e.Interval[0]), text.SignedNumber(100*e.Interval[1]))
}

// Setting is one thing that is not as it was.
type Setting struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Run is the first one that has it, begun at At.
	Run string    `json:"run"`
	At  time.Time `json:"at"`
}

// Words says how far it moved: "+10%, from 21.3 to 23.5 ms".
func (m *MetricShift) Words() string {
	if m.Difference != nil {
		return fmt.Sprintf("%s points, from %s to %s", text.SignedNumber(100**m.Difference), text.Percent(m.Before), text.Percent(m.After))
	}
	return fmt.Sprintf("%s%%, from %s to %s", text.SignedNumber(100*(*m.Ratio-1)), text.Digits(m.Before, 4), text.Unit(text.Digits(m.After, 4), m.Unit))
}
