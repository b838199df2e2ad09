package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// Entry is one finished run as the index knows it.
type Entry struct {
	ID string `json:"id"`
	// Path is the run's directory, relative to that of the index.
	Path    string    `json:"path"`
	Started time.Time `json:"started"`
	// Kind is what was done: "run", "sweep", "limit", "repeats", "comparison",
	// "bench", "tune" or "matrix".
	Kind   string `json:"kind"`
	Label  string `json:"label,omitempty"`
	Note   string `json:"note,omitempty"`
	Model  string `json:"model,omitempty"`
	Engine string `json:"engine,omitempty"`
	// Workload and Load are what was sent and how much of it.
	Workload string `json:"workload"`
	Load     string `json:"load,omitempty"`
	// Valid and SLO are the verdict's; Interrupted says how it was cut short.
	// Unchecked is a run that nobody checked, as one of another benchmark.
	Valid     result.Validity `json:"valid"`
	Unchecked bool            `json:"unchecked,omitempty"`
	SLO       slo.Standing    `json:"slo"`
	// TooFew says of an undecided run that it only had too few requests.
	TooFew      bool   `json:"too_few,omitempty"`
	Interrupted string `json:"interrupted,omitempty"`
	// series is the same for runs that asked the same of the same model.
	Series string `json:"series"`
	// Asked is what else decides over the series: the settings of its load and of
	// generation. Apart are those in which series of one name differ.
	Asked map[string]string `json:"asked,omitempty"`
	Apart string            `json:"-"`
	// Values are the figures that drift is looked for in, Requests how many
	// they are of.
	Values   compare.Values `json:"values"`
	Ends     compare.Ends   `json:"ends,omitempty"`
	Requests int            `json:"requests,omitempty"`
	// Shown are the figures that a list has of the run, and ShownAt says at which of
	// its loads they were measured, where it had several.
	Shown   KeyFigures `json:"shown,omitzero"`
	ShownAt string     `json:"shown_at,omitempty"`
	// Settings are what it was measured with.
	Settings map[string]string `json:"settings"`
	Pin      *Pin              `json:"pin,omitempty"`
}

// KeyFigures are figures of one load; what is not known is absent.
type KeyFigures struct {
	TTFT       *float64 `json:"ttft_p99_ms,omitempty"` // from due
	TPOT       *float64 `json:"tpot_p99_ms,omitempty"`
	Goodput    *float64 `json:"goodput_requests_per_s,omitempty"`
	Throughput *float64 `json:"output_tokens_per_s,omitempty"`
}

// Verdicts are what can become of a run: met, missed and undecided are of its
// objectives; valid is a run without any, and unchecked one that nobody checked.
var Verdicts = []string{"met", "missed", "undecided", "valid", "unchecked", "invalid", "interrupted"}

// Verdict is the one of Verdicts that matters of a run.
func (e *Entry) Verdict() string {
	switch {
	case e.Valid == result.Invalid:
		return "invalid"
	case e.Interrupted != "" || e.Valid == result.Incomplete:
		return "interrupted"
	case e.SLO == slo.Met || e.SLO == slo.Missed || e.SLO == slo.Undecided:
		return string(e.SLO)
	case e.Unchecked:
		return "unchecked"
	}
	return "valid"
}

// Sound reports whether the run's figures can be compared with others.
func (e *Entry) Sound() bool {
	return e.Valid == result.Valid && e.Interrupted == "" && len(e.Values) > 0
}

// Name is what people call the run's series.
func (e *Entry) Name() string {
	parts := []string{e.Model, e.Workload, e.Load, e.Apart}
	if e.Label != "" {
		parts = append([]string{e.Label}, parts...)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// EntryOf is what a list has of a result.
func EntryOf(res *result.Result) *Entry {
	e := &Entry{ID: res.ID, Started: res.Started, Kind: string(res.Kind()), Label: res.Label, Note: res.Note, Model: res.Model.Name,
		Engine: res.Engine.Name, Workload: res.Workload.Name, Load: loadOf(res), Valid: res.Verdict.Valid, SLO: res.Outcome(),
		Interrupted: res.Interrupted, Values: compare.WatchedValues(res), Ends: compare.WatchedEnds(res), Requests: compare.RequestsOf(res), Settings: settingsOf(res)}
	e.Unchecked = res.Verdict.IsUnmade()
	if !res.CutShort() {
		e.Interrupted = ""
	}
	e.Series, e.Asked = seriesOf(res, e), askedOf(res)
	if p := shownPoint(res); p != nil {
		e.Shown, e.TooFew = keyFiguresOf(p), IsTooFew(res)
		if e.Load == "" {
			e.ShownAt = loadOfPoint(p)
		}
	}
	return e
}

// IsTooFew reports whether a run of one load is undecided only because it had too
// few requests.
func IsTooFew(res *result.Result) bool {
	p := shownPoint(res)
	return p != nil && loadOf(res) != "" && res.Outcome() == slo.Undecided && slo.TooFew(p.Objectives)
}

// shownPoint is the load whose figures a list has: the only one, that of all
// repeats, of the winner, or the one that lasted at the limit. Of several levels it
// is the highest that did not miss its objectives, and of two servers that of B.
func shownPoint(res *result.Result) *result.Point {
	at := func(i *int) *result.Point {
		if i == nil || *i < 0 || *i >= len(res.Points) {
			return nil
		}
		return &res.Points[*i]
	}
	var p *result.Point
	switch {
	case res.Tuning != nil:
		p = at(res.Tuning.WinnerPoint)
	case res.Repeats != nil:
		p = at(res.Repeats.Point)
	case res.Sustained != nil:
		p = at(res.Sustained)
	case res.Curve != nil:
		for _, i := range res.Curve.Points {
			if level := at(&i); level != nil && (p == nil || slo.Overall(level.Objectives) != slo.Missed) {
				p = level
			}
		}
	}
	if last := len(res.Points) - 1; p == nil {
		p = at(&last)
	}
	return p
}

func keyFiguresOf(p *result.Point) KeyFigures {
	s := KeyFigures{TTFT: p99(p.Latency.TTFTDue), TPOT: p99(p.Latency.TPOT)}
	if s.TTFT == nil {
		s.TTFT = p99(p.Latency.TTFT)
	}
	if p.Goodput != nil {
		s.Goodput = &p.Goodput.Requests
	}
	if p.Throughput.Output > 0 {
		s.Throughput = &p.Throughput.Output
	}
	return s
}

func p99(d *metric.Dist) *float64 {
	if v, known := d.Get("p99"); known {
		return &v
	}
	return nil
}

// loadOf says how much load there was, where there was one.
func loadOf(res *result.Result) string {
	several := len(res.Stages) > 0 && res.Repeats == nil && res.Comparison == nil
	if len(res.Points) == 0 || several || res.Limit != nil || res.Curve != nil {
		return ""
	}
	return loadOfPoint(&res.Points[0])
}

func loadOfPoint(p *result.Point) string {
	load := p.Load
	switch {
	case load.Rate != nil:
		return text.Digits(*load.Rate, 4) + "/s"
	case load.Concurrency != nil:
		return load.CapName()
	}
	return load.Profile
}

// planKeys are the parts of a plan that decide what is asked of the server. What
// the server is or runs with is left out: that is what drift is blamed on.
var planKeys = []string{"workload", "load_profile", "generation", "experiment", "tokenizer"}

// seriesOf is a fingerprint of what was asked, of whom, under which label.
func seriesOf(res *result.Result, e *Entry) string {
	parts := map[string]any{"kind": e.Kind, "label": e.Label, "model": e.Model, "api": res.Engine.API}
	for _, key := range planKeys {
		if block, ok := res.Plan[key]; ok {
			parts[key] = block
		}
	}
	text, err := json.Marshal(parts) // keys are sorted
	if err != nil {
		return e.Label + "/" + e.Model
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// askedOf lists the settings of a plan that its name does not have.
func askedOf(res *result.Result) map[string]string {
	asked := map[string]string{}
	for _, key := range []string{"load_profile", "generation", "experiment"} {
		block, _ := res.Plan[key].(map[string]any)
		for name, value := range block {
			asked[name] = fmt.Sprint(value)
		}
	}
	return asked
}

// Drifts reports whether the figures of runs like this one can be followed over
// time: those of a single load, or a limit.
func (e *Entry) Drifts() bool { return len(e.Values) > 0 || e.Kind == "run" || e.Kind == "repeats" }

// settingsOf lists what a change of figures may be blamed on. What is not
// known is absent.
func settingsOf(res *result.Result) map[string]string {
	s := map[string]string{
		"engine": res.Engine.Name, "engine version": res.Engine.Version, "parallelism": res.Engine.Parallelism,
		"model revision": res.Model.Revision, "tokenizer": res.Model.Tokenizer, "precision": res.Model.Precision,
		"quantization": res.Model.Quantization, "chat template": res.Workload.TemplateHash,
		"accelerator": res.Hardware.Accelerator, "driver": res.Hardware.Driver, "cuda": res.Hardware.CUDA,
		"interconnect": res.Hardware.Interconnect, "redline": res.Version,
	}
	if n := res.Hardware.Count; n > 0 {
		s["accelerators"] = strconv.Itoa(n)
	}
	if !res.Engine.Embedded {
		s["url"] = res.Engine.URL
	}
	for name, value := range res.Engine.Flags {
		s["flag "+name] = value
	}
	maps.Copy(s, res.Engine.Declared)
	for name, value := range embeddedSettings(res.Plan) {
		s["flag "+name] = value
	}
	maps.DeleteFunc(s, func(_, value string) bool { return value == "" })
	return s
}

func embeddedSettings(plan map[string]any) map[string]string {
	server, _ := plan["server"].(map[string]any)
	sim, _ := server["sim"].(map[string]any)
	out := map[string]string{}
	for name, value := range sim {
		out[name] = fmt.Sprint(value)
	}
	return out
}
