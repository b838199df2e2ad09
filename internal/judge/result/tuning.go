package result

import "redline/internal/judge/slo"

// Tuning is which settings of a server were tried, and what was decided.
type Tuning struct {
	// Command is the template that started the server.
	Command string `json:"command"`
	// Objective is what better meant, the first figure that showed a difference
	// deciding.
	Objective []string `json:"objective"`
	// Tolerance is the relative difference that did not matter.
	Tolerance float64 `json:"tolerance"`
	// Baseline are the settings at the beginning, Winner those at the end.
	Baseline []Flag `json:"baseline"`
	Winner   []Flag `json:"winner"`
	// BaselineRuns counts the sound runs of the baseline; Spread is by how much
	// they differed in the figure that decides.
	BaselineRuns int      `json:"baseline_runs"`
	Spread       *float64 `json:"spread,omitempty"`
	// BaselinePoint and WinnerPoint are indices into the result's points.
	BaselinePoint *int         `json:"baseline_point,omitempty"`
	WinnerPoint   *int         `json:"winner_point,omitempty"`
	Steps         []TuningStep `json:"steps"`
	// Standing is "baseline kept", "confirmed", "not confirmed" or "undecided".
	Standing slo.Standing `json:"outcome"`
	// Verdict is the answer in words.
	Verdict string `json:"verdict"`
	// Stopped is why nothing more was tried.
	Stopped string `json:"stopped"`
	// TookS is the time that all starts and runs took together.
	TookS float64 `json:"took_s"`
}

// Flag is a setting with its value.
type Flag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TuningStep is one value that was tried in the place of another.
type TuningStep struct {
	Knob string `json:"knob"`
	From string `json:"from"`
	To   string `json:"to"`
	// Hypothesis is what it should do, Risk what it may cost, as said before
	// anything was measured.
	Hypothesis string `json:"hypothesis,omitempty"`
	Risk       string `json:"risk,omitempty"`
	// Settings are all that the server was started with.
	Settings []Flag `json:"settings"`
	// Decision is "accepted", "rejected", "undecided" or "failed".
	Decision slo.Standing `json:"decision"`
	// Why says what moved, by how much and how surely; or why the server could
	// not be measured.
	Why string `json:"why"`
	// Moves are the figures of both runs; absent where there are none.
	Moves []Change `json:"moves,omitempty"`
	// StartUpS is the time from the start of the server until it was ready.
	StartUpS *float64 `json:"start_up_s,omitempty"`
	// Point is an index into the result's points; absent where nothing was
	// measured.
	Point *int `json:"point,omitempty"`
	// Log holds the last lines of a server that failed.
	Log []string `json:"log,omitempty"`
}
