// Package adopt makes a run directory of what another benchmark left behind. It
// takes what its file says and gives records, a plan and a result with what is
// known; whatever nobody wrote down stays unknown, and no check of the client is
// claimed to have been made.
package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/drive/record"
	"redline/internal/drive/table"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/plan/config"
	"redline/internal/run/assemble"
	"redline/internal/store"
)

// nowhere stands for a server that a file does not name.
const nowhere = "http://not-known.invalid"

// lead is how long before its first request a run has its origin, so that no stamp
// is zero, which means unknown.
const lead = time.Second

// Options is what is known beside the file.
type Options struct {
	File, Command, Version string
	Dir                    string // "" for one of the run's own
	Label                  string
	Now                    time.Time // of a file that has no date
	Hold                   *store.Hold
}

// Keep writes a run of another benchmark as a directory of ours.
func Keep(r *table.Run, o Options) (*result.Result, string, error) {
	c, err := plan(r, o)
	if err != nil {
		return nil, "", err
	}
	started := r.Started
	if started.IsZero() {
		started = o.Now
	}
	dir, err := place(o, started)
	if err != nil {
		return nil, "", err
	}
	written, err := c.YAML()
	if err == nil {
		err = dir.WritePlan(written)
	}
	header := record.Header{Run: store.NewID(), OriginUnixNS: started.Add(-lead).UnixNano()}
	if err == nil {
		err = log(dir, header, r)
	}
	if err != nil {
		dir.Discard()
		return nil, "", err
	}
	res, err := assembleResult(r, c, dir, header, started, o)
	if err != nil {
		return nil, dir.Path, err
	}
	c.Mask().Tidy(res)
	return res, dir.Path, dir.WriteResult(res)
}

func place(o Options, started time.Time) (*store.Dir, error) {
	if o.Dir != "" {
		return o.Hold.Create(o.Dir, false)
	}
	return o.Hold.Claim(store.Name(started, cmp.Or(o.Label, "imported")))
}

// plan is the plan that would have offered such a load.
func plan(r *table.Run, o Options) (*config.Config, error) {
	flags := map[string][]string{"url": {address(r)}, "plain": {"true"}, "seed": {"0"}}
	set := func(flag, value string) {
		if value != "" && value != "0" {
			flags[flag] = []string{value}
		}
	}
	set("model", r.Model)
	set("label", cmp.Or(o.Label, r.Label))
	set("note", "imported from "+r.Source+": "+o.File)
	if r.Rate > 0 {
		set("rate", fmt.Sprint(r.Rate))
		set("arrival", r.Arrival)
	}
	n := len(r.Requests)
	if r.Figures != nil {
		n = r.Figures.OK + r.Figures.Failed
	}
	most := r.MaxInFlight
	if !loadKnown(r) {
		most = min(max(1, r.Crowd()), max(1, n)) // nobody wrote down what was asked for
	}
	set("concurrency", fmt.Sprint(most))
	set("requests", fmt.Sprint(max(1, n)))
	return config.Resolve(config.Input{Flags: flags})
}

// address is where requests went: its path says which API was asked.
func address(r *table.Run) string {
	base := cmp.Or(r.URL, nowhere)
	if r.Path == "" || strings.HasSuffix(base, r.Path) {
		return base
	}
	return strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/v1") + r.Path
}

// loadKnown reports whether the file says what load was asked for.
func loadKnown(r *table.Run) bool { return r.Rate > 0 || r.MaxInFlight > 0 }

func log(dir *store.Dir, h record.Header, r *table.Run) error {
	l, err := dir.StartLog(h)
	if err != nil {
		return err
	}
	for i := range r.Requests {
		l.Add(recordOf(&r.Requests[i], r.DueKnown))
	}
	return l.Close()
}

// recordOf lays a request on our line of time.
func recordOf(q *table.Request, due bool) *record.Record {
	at := func(seconds float64) int64 { return int64(lead) + int64(seconds*1e9) }
	r := &record.Record{ID: q.ID, Session: q.Session, Turn: q.Turn, Phase: record.Measure, Try: 1, Due: at(q.Start), Begin: at(q.Start), AskedPrompt: q.In,
		AskedOutput: cmp.Or(q.AskedOut, q.Out), Streamed: q.Streamed, Natural: true}
	if due {
		r.Due, r.Begin = at(q.Due), at(q.Due)
	}
	r.Observe(llm.Event{Kind: llm.Sent, At: at(q.Start)})
	if !q.OK {
		r.Fail(&llm.Fault{Outcome: llm.HTTP, At: at(q.Start + q.Whole), Message: q.Error})
		return r
	}
	if q.Streamed {
		next, gaps := q.Start+q.TTFT, q.Gaps
		if len(gaps) == 0 && q.Latency > q.TTFT { // only the first and the last are known
			gaps = []float64{q.Latency - q.TTFT}
		}
		r.Observe(llm.Event{Kind: llm.Output, At: at(next), Text: []byte("x")})
		for _, gap := range gaps {
			next += gap
			r.Observe(llm.Event{Kind: llm.Output, At: at(next), Text: []byte("x")})
		}
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{PromptTokens: q.In, OutputTokens: q.Out}})
	r.Observe(llm.Event{Kind: llm.End, At: at(q.Start + q.Whole)})
	r.Settle()
	if q.Streamed && !r.TokensKnown() {
		r.FirstEstimate = 1 // as every peer has it
	}
	r.Last = at(q.Start + q.Latency)
	return r
}

func assembleResult(r *table.Run, c *config.Config, dir *store.Dir, h record.Header, started time.Time, o Options) (*result.Result, error) {
	load := result.Load{Mode: result.NotKnown}
	if loadKnown(r) {
		load.Mode = c.Mode()
	}
	if r.Rate > 0 {
		load.Rate = &r.Rate
	}
	if n := c.Load.Bounds.MaxConcurrency; n > 0 && r.MaxInFlight > 0 {
		load.Concurrency = &n
	}
	api := ""
	if r.Path != "" {
		api = c.Provider.API
	}
	in := assemble.Run{Plan: c, Records: dir.Records, Start: int64(lead), End: int64(lead) + int64(max(r.Duration, 1e-3)*1e9), Load: load, ID: h.Run, Started: started,
		Command: o.Command, Version: o.Version, Model: r.Model, Workload: result.Workload{Name: result.NotKnown, Tokenizer: result.NotKnown}, Empty: r.Figures != nil,
		Engine: result.Engine{API: api, URL: r.URL}}
	in.Evidence.Partial = true
	res, err := assemble.Assemble(in)
	if err != nil {
		return nil, err
	}
	if r.Figures != nil {
		res.Points = []result.Point{{Load: load, Summary: summary(r)}}
	}
	forget(res, r)
	return res, nil
}

func summary(r *table.Run) metric.Summary {
	f := r.Figures
	per := func(n float64) float64 {
		if r.Duration <= 0 {
			return 0
		}
		return n / r.Duration
	}
	s := metric.Summary{Window: metric.Window{StartS: lead.Seconds(), EndS: lead.Seconds() + r.Duration},
		Requests: metric.Requests{Due: f.OK + f.Failed, Sent: f.OK + f.Failed, OK: f.OK, Failed: f.Failed},
		Tokens:   metric.Tokens{Prompt: f.In, Output: f.Out, Counted: map[string]int{}},
		Latency:  metric.Latency{TTFT: distOf(f.TTFT), TPOT: distOf(f.TPOT), ITL: distOf(f.ITL), E2E: distOf(f.E2E)}}
	s.Rates = metric.Rates{Offered: per(float64(f.OK + f.Failed)), Sent: per(float64(f.OK + f.Failed)), Completed: per(float64(f.OK)), Ended: per(float64(f.OK))}
	s.Throughput = metric.Throughput{Requests: per(float64(f.OK)), Output: per(float64(f.Out)), Prompt: per(float64(f.In)), Total: per(float64(f.In + f.Out))}
	s.Concurrency.Max = r.Peak
	if f.E2E != nil {
		s.Concurrency.Little = s.Rates.Completed * f.E2E.Mean / 1e3
		s.Concurrency.Mean = s.Concurrency.Little
	}
	return s
}

func distOf(s *table.Spread) *metric.Dist {
	if s == nil {
		return nil
	}
	d := &metric.Dist{N: s.N, Mean: s.Mean, Max: s.Max, P: map[string]float64{}, Firm: []string{}}
	for name, v := range s.P { // percentiles below the first have no name in a result
		if n, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64); err == nil && n >= 1 && (n >= 10 || n == float64(int(n))) {
			d.P[metric.PercentileKey(n)] = v
		}
	}
	return d
}

// forget takes back what was not measured: no check of a client that was not ours
// was made, and no latency from a due time that the file does not have.
func forget(res *result.Result, r *table.Run) {
	v := &res.Verdict
	why := "imported from " + r.Source + ", whose file does not say"
	unchecked := []result.SkippedCheck{}
	for _, c := range v.Checks {
		unchecked = append(unchecked, result.SkippedCheck{Name: c.Name, Why: why})
	}
	for _, u := range v.Unchecked {
		unchecked = append(unchecked, result.SkippedCheck{Name: u.Name, Why: why})
	}
	if len(unchecked) == 0 {
		unchecked = append(unchecked, result.SkippedCheck{Name: "client", Why: why})
	}
	*v = result.Verdict{Valid: result.Valid, SLO: slo.None, Reasons: []string{}, Checks: []result.Check{}, Unchecked: unchecked}
	if r.Arrival == "" {
		res.Workload.Arrival = ""
	}
	for _, made := range []string{"workload", "generation"} {
		delete(res.Plan, made) // nobody asked for what the plan has here
	}
	p := &res.Points[0]
	p.Invalid = ""
	if p.Tokens.FirstEstimated > 0 { // no tokenizer estimated a first event: it counts as one token, as the peer has it
		p.Tokens.FirstEstimated = 0
		res.Warnings = slices.DeleteFunc(res.Warnings, func(w result.Warning) bool { return w.Figure == "latency.tpot_ms" })
	}
	if !r.DueKnown {
		p.Latency.TTFTDue, p.Latency.E2EDue, p.Latency.Lag = nil, nil, nil
	}
	p.Latency.SlotWait, p.Latency.Connect = nil, nil
	if r.Figures == nil && !r.HasGaps() {
		p.Latency.ITL, p.Latency.ICL, p.Latency.Stall = nil, nil, nil
	}
	res.Diagnosis = nil
	res.Client = result.Client{}
	res.Warnings = append(res.Warnings, result.Warning{Text: "imported from " + r.Source + ": how well its client kept time is not known, and no check of it was made"})
	res.Unknown = append(res.Unknown, "client", "workload")
	if r.Figures != nil {
		res.Unknown = append(res.Unknown, "single requests", "intervals of the figures")
	}
}
