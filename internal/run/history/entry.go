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
	// "bench" or "matrix".
	Kind   string `json:"kind"`
	Label  string `json:"label,omitempty"`
	Note   string `json:"note,omitempty"`
	Model  string `json:"model,omitempty"`
	Engine string `json:"engine,omitempty"`
	// Workload and Load are what was sent and how much of it.
	Workload string `json:"workload"`
	Load     string `json:"load,omitempty"`
	// Valid and SLO are the verdict's; Interrupted says how it was cut short.
	Valid       result.Validity `json:"valid"`
	SLO         slo.Standing    `json:"slo"`
	Interrupted string          `json:"interrupted,omitempty"`
	// series is the same for runs that asked the same of the same model.
	Series string `json:"series"`
	// Values are the figures that drift is looked for in, Requests how many
	// they are of.
	Values   compare.Values `json:"values"`
	Ends     compare.Ends   `json:"ends,omitempty"`
	Requests int            `json:"requests,omitempty"`
	// Settings are what it was measured with.
	Settings map[string]string `json:"settings"`
	Pin      *Pin              `json:"pin,omitempty"`
}

// Verdicts are what can become of a run: met, missed and undecided are of its
// objectives, and valid is a run without any.
var Verdicts = []string{"met", "missed", "undecided", "valid", "invalid", "interrupted"}

// Verdict is the one of Verdicts that matters of a run.
func (e *Entry) Verdict() string {
	switch {
	case e.Valid == result.Invalid:
		return "invalid"
	case e.Interrupted != "" || e.Valid == result.Incomplete:
		return "interrupted"
	case e.SLO == slo.Met || e.SLO == slo.Missed || e.SLO == slo.Undecided:
		return string(e.SLO)
	}
	return "valid"
}

// Sound reports whether the run's figures can be compared with others.
func (e *Entry) Sound() bool {
	return e.Valid == result.Valid && e.Interrupted == "" && len(e.Values) > 0
}

// Name is what people call the run's series.
func (e *Entry) Name() string {
	parts := []string{e.Model, e.Workload, e.Load}
	if e.Label != "" {
		parts = append([]string{e.Label}, parts...)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func entryOf(res *result.Result) *Entry {
	e := &Entry{ID: res.ID, Started: res.Started, Kind: string(res.Kind()), Label: res.Label, Note: res.Note, Model: res.Model.Name,
		Engine: res.Engine.Name, Workload: res.Workload.Name, Load: loadOf(res), Valid: res.Verdict.Valid, SLO: res.Verdict.SLO,
		Interrupted: res.Interrupted, Values: compare.Watched(res), Ends: compare.WatchedEnds(res), Requests: compare.RequestsOf(res), Settings: settingsOf(res)}
	e.Series = seriesOf(res, e)
	return e
}

// loadOf says how much load there was, where there was one.
func loadOf(res *result.Result) string {
	several := len(res.Stages) > 0 && res.Repeats == nil && res.Comparison == nil
	if len(res.Points) == 0 || several || res.Limit != nil || res.Curve != nil {
		return ""
	}
	load := res.Points[0].Load
	switch {
	case load.Rate != nil:
		return text.Digits(*load.Rate, 4) + "/s"
	case load.Concurrency != nil:
		return text.Count(*load.Concurrency) + " in flight"
	}
	return load.Profile
}

// asked are the parts of a plan that decide what is asked of the server. What
// the server is or runs with is left out: that is what drift is blamed on.
var asked = []string{"workload", "load_profile", "generation", "experiment", "tokenizer"}

// seriesOf is a fingerprint of what was asked, of whom, under which label.
func seriesOf(res *result.Result, e *Entry) string {
	parts := map[string]any{"kind": e.Kind, "label": e.Label, "model": e.Model, "api": res.Engine.API}
	for _, key := range asked {
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
	for name, value := range embedded(res.Plan) {
		s["flag "+name] = value
	}
	maps.DeleteFunc(s, func(_, value string) bool { return value == "" })
	return s
}

// embedded lists the settings of the embedded engine.
func embedded(plan map[string]any) map[string]string {
	server, _ := plan["server"].(map[string]any)
	sim, _ := server["sim"].(map[string]any)
	out := map[string]string{}
	for name, value := range sim {
		out[name] = fmt.Sprint(value)
	}
	return out
}
