package workload

import (
	"cmp"
	"maps"
	"slices"

	"redline/internal/stats"
)

// Summary is what a workload would send.
type Summary struct {
	Name   string `json:"name"`
	Format string `json:"format,omitempty"` // of its file
	// ProseTokens is how long the text is out of which prompts are cut.
	ProseTokens int `json:"prose_tokens,omitempty"`
	// Drawn says that the requests are a sample of a load without an end, and
	// no count of what a run sends.
	Drawn    bool     `json:"drawn,omitempty"`
	Seed     uint64   `json:"seed"`
	Sessions int      `json:"sessions"`
	Requests int      `json:"requests"`
	Prompt   Lengths  `json:"prompt_tokens"`
	Output   Lengths  `json:"output_tokens"`
	Turns    *Lengths `json:"turns,omitempty"` // where any session has several
	// Think is the pause before each turn but the first in seconds, Gap the time from the
	// beginning of the turn before, where that is what the log has.
	Think *Lengths `json:"think_s,omitempty"`
	Gap   *Lengths `json:"gap_s,omitempty"`
	// LoggedSessions are those that a log names, and LoggedTurns how many of its rows
	// each has; every row is sent by itself.
	LoggedSessions int      `json:"logged_sessions,omitempty"`
	LoggedTurns    *Lengths `json:"logged_turns,omitempty"`
	// Sharing is the share of prompt tokens that an ideal prefix cache would
	// have.
	Sharing float64 `json:"sharing"`
	// Arrivals is nil where a rate or a concurrency has to be given.
	Arrivals *Arrivals `json:"arrivals,omitempty"`
	Classes  []Share   `json:"classes,omitempty"`
	Tenants  []Share   `json:"tenants,omitempty"`
	Skipped  int       `json:"skipped_rows,omitempty"`
	Notes    []string  `json:"notes,omitempty"`

	// Prompts and Outputs are the lengths in ascending order, for a
	// histogram.
	Prompts []float64 `json:"-"`
	Outputs []float64 `json:"-"`
}

// Lengths describes a list of lengths.
type Lengths struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// Share is how much of the load one class or tenant has.
type Share struct {
	Name     string  `json:"name"`
	Requests int     `json:"requests"`
	Share    float64 `json:"share"`
}

// Summary draws the first n sessions, or all that a file has where n is 0, and
// says what they would send. Text is read and counted where a file holds it,
// and otherwise not made.
func (w *Workload) Summary(n int) (*Summary, error) {
	if n <= 0 {
		n = w.sessions()
	}
	s := &Summary{Name: w.name, Format: w.classes[0].format, Drawn: w.endless(), Seed: w.seed, Skipped: w.skipped, Notes: w.notes}
	if prose := w.classes[0].prose; prose != nil {
		s.ProseTokens = prose.Tokens(w.text.Count)
	}
	classes, tenants, logged := map[string]int{}, map[string]int{}, map[string]float64{}
	var turns, thinks, gaps []float64
	for p, err := range w.plan(n) {
		if err != nil {
			return nil, err
		}
		if p.turn == 0 {
			turns = append(turns, 0)
		}
		if p.script.session != "" {
			logged[p.script.session]++
		}
		turns[len(turns)-1]++
		if think := p.step.think.Seconds(); p.step.paced {
			gaps = append(gaps, think)
		} else if think > 0 {
			thinks = append(thinks, think)
		}
		s.Prompts = append(s.Prompts, float64(p.prompt))
		s.Outputs = append(s.Outputs, float64(p.output))
		classes[cmp.Or(p.class.name, p.script.class)]++
		tenants[p.tenant]++
	}
	s.Sessions, s.Requests = len(turns), len(s.Prompts)
	s.Prompt, s.Output = describe(s.Prompts), describe(s.Outputs)
	if s.Requests > s.Sessions {
		s.Turns = new(describe(turns))
	}
	if thinks != nil {
		s.Think = new(describe(thinks))
	}
	if gaps != nil {
		s.Gap = new(describe(gaps))
	}
	if len(logged) > 0 && s.Turns == nil {
		s.LoggedSessions = len(logged)
		s.LoggedTurns = new(describe(slices.Collect(maps.Values(logged))))
	}
	s.Classes, s.Tenants = shares(classes, s.Requests), shares(tenants, s.Requests)
	s.Arrivals = w.arrivals(s.Sessions, s.Requests)
	var err error
	s.Sharing, err = w.DesignedSharing(n)
	return s, err
}

// describe sorts values and gives their percentiles.
func describe(values []float64) Lengths {
	slices.Sort(values)
	if len(values) == 0 {
		return Lengths{}
	}
	return Lengths{
		Mean: stats.Mean(values),
		P50:  stats.Quantile(values, 0.5),
		P90:  stats.Quantile(values, 0.9),
		P95:  stats.Quantile(values, 0.95),
		P99:  stats.Quantile(values, 0.99),
		Min:  values[0],
		Max:  values[len(values)-1],
	}
}

// shares lists names by how much they have, the most first; nil where there is
// only the nameless one.
func shares(counts map[string]int, all int) []Share {
	if _, nameless := counts[""]; nameless && len(counts) == 1 {
		return nil
	}
	var out []Share
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, Share{name, counts[name], float64(counts[name]) / float64(all)})
	}
	slices.SortStableFunc(out, func(a, b Share) int { return cmp.Compare(b.Requests, a.Requests) })
	return out
}

// Mean gives the expected lengths of a request in tokens.
func (w *Workload) Mean() (prompt, output float64) {
	if len(w.classes) == 1 && w.classes[0].mean != nil {
		return w.classes[0].mean()
	}
	return w.sampled()
}

// Residence is the mean over requests of the tokens that one holds in a server's
// memory while its reply is generated, times the tokens of the reply; 0 where it
// cannot be told.
func (w *Workload) Residence() float64 {
	const enough = 2000
	sum, n := 0.0, 0.0
	for p, err := range w.plan(enough) {
		if err != nil {
			break
		}
		sum += float64(p.output) * (float64(p.prompt) + float64(p.output)/2)
		n++
	}
	return sum / max(n, 1)
}

// sampleMean takes the mean of the first sessions, where there is no formula
// for it.
func (w *Workload) sampleMean() (prompt, output float64) {
	const enough = 500
	n := 0.0
	for p, err := range w.plan(enough) {
		if err != nil {
			break
		}
		prompt += float64(p.prompt)
		output += float64(p.output)
		n++
	}
	if n == 0 {
		return 0, 0
	}
	return prompt / n, output / n
}
