package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/text"
)

// Incomparable is why two runs cannot be compared.
type Incomparable struct{ Reasons []string }

func (e *Incomparable) Error() string {
	return "not comparable: " + strings.Join(e.Reasons, "; ") + ": compare runs of one plan"
}

// likeness is what two runs should have in common.
type likeness struct {
	what string
	of   func(*result.Result) string
	// grave differences are refused; others weaken the answer.
	grave bool
	// so says what follows from a difference.
	so string
}

// likenesses are in the order in which differences are told. Engine, version
// and flags are not among them: they are what comparisons are made of.
var likenesses = []likeness{
	{"workload", func(r *result.Result) string { return r.Workload.Name }, true, ""},
	{"workload", func(r *result.Result) string { return planBlock(r, "workload") }, true, ""},
	{"generation", func(r *result.Result) string { return planBlock(r, "generation") }, true, ""},
	{"model", func(r *result.Result) string { return r.Model.Name }, true, ""},
	{"API", func(r *result.Result) string { return r.Engine.API }, true, ""},
	{"arrivals", func(r *result.Result) string { return r.Workload.Arrival }, true, ""},
	{"precision", func(r *result.Result) string { return r.Model.Precision }, false, ""},
	{"accelerator", accelerator, false, "the difference may be the hardware's"},
	{"tokenizer", func(r *result.Result) string { return r.Workload.Tokenizer }, false, "prompts may differ in length"},
	{"chat template", func(r *result.Result) string { return r.Workload.TemplateHash }, false, "prompts may differ in length"},
	{"load machine", loadMachine, false, "the difference may be that of the machines that drove the load"},
	{"timestamps", func(r *result.Result) string { return r.Client.Timestamps.Source }, false, "one side's times are less exact"},
}

func accelerator(r *result.Result) string {
	if r.Hardware.Count == 0 {
		return r.Hardware.Accelerator
	}
	return fmt.Sprintf("%d × %s", r.Hardware.Count, r.Hardware.Accelerator)
}

func loadMachine(r *result.Result) string {
	if r.Client.OS == "" {
		return ""
	}
	where := "elsewhere"
	if r.Client.SharesHost {
		where = "beside the server"
	}
	return fmt.Sprintf("%s/%s, %s, %s", r.Client.OS, r.Client.Arch, text.Plural(r.Client.CPUs, "core"), where)
}

// planBlock is a block of the plan in one spelling, whether it was just resolved
// or read from a file.
func planBlock(r *result.Result, key string) string {
	block, ok := r.Plan[key]
	if !ok {
		return ""
	}
	text, err := json.Marshal(block)
	if err != nil {
		return ""
	}
	var plain any
	if json.Unmarshal(text, &plain) != nil {
		return ""
	}
	text, err = json.Marshal(plain)
	if err != nil {
		return ""
	}
	return string(text)
}

// liken compares every run with the first. It gives what forbids the
// comparison, and warns of what weakens it.
func (c *Comparison) liken(runs []*result.Result) (grave []string) {
	told := map[string]bool{}
	for _, l := range likenesses {
		for _, r := range runs[1:] {
			a, b := knownValue(l.of(runs[0])), knownValue(l.of(r))
			if a == b || told[l.what] {
				continue
			}
			told[l.what] = true
			said := fmt.Sprintf("%s: %s against %s", l.what, cmp.Or(a, "not stated"), cmp.Or(b, "not stated"))
			if l.grave && a != "" && b != "" {
				grave = append(grave, said)
			} else {
				c.warn("", "%s", text.Join(": ", said, l.so))
			}
		}
	}
	return grave
}

// knownValue is what a run says of itself, "" where it says that it does not know.
func knownValue(said string) string {
	if said == result.NotKnown {
		return ""
	}
	return said
}

// flawOf says why a run's figures cannot be relied on, and whether that
// forbids a comparison.
func flawOf(r *result.Result) (why string, grave bool) {
	if r.Verdict.Valid == result.Invalid && len(r.Points) > 0 {
		return strings.TrimSuffix("it is not valid: "+strings.Join(r.Verdict.Reasons, "; "), ": "), true
	}
	return cutShort(r)
}

// cutShort says why a run lacks figures, and whether that forbids a comparison.
func cutShort(r *result.Result) (why string, grave bool) {
	switch {
	case len(r.Points) == 0:
		return "nothing was measured", true
	case r.Interrupted == result.ByUser || r.Interrupted == result.Killed || r.Verdict.Valid == result.Incomplete:
		return "it was cut short, so that it lacks its slowest requests", true
	case r.Interrupted != "":
		return "it ended early: " + r.Interrupted, false
	}
	return "", false
}

// flaws is what cannot be relied on: everything, for reasons, or some metrics,
// each for one.
type flaws struct {
	whole   []string
	metrics map[string]string
}

// vet refuses runs that cannot be compared, unless that is forced; one without
// any figure always is. It gives what of the others cannot be relied on.
func (c *Comparison) vet(runs []*result.Result, o Options) (flaws, error) {
	s := flaws{metrics: map[string]string{}}
	for _, r := range runs {
		why, refuse := flawOf(r)
		if r.Verdict.IsUnmade() {
			c.warn("", "run %s: nothing was checked of it: what its client did may be in its figures", name(r))
		}
		switch metrics := spoiledMetrics(r); {
		case len(r.Points) == 0:
			return s, &Incomparable{Reasons: []string{"run " + r.ID + ": " + why}}
		case refuse && len(metrics) > 0 && !o.Anyway:
			for _, metric := range metrics {
				s.metrics[metric] = "run " + name(r) + ": " + why
			}
			c.warn("", "run %s: %s do not count: %s", name(r), strings.Join(metrics, ", "), why)
		case refuse:
			s.whole = append(s.whole, "run "+name(r)+": "+why)
		case why != "":
			c.warn("", "run %s: %s", name(r), why)
		}
	}
	grave := c.liken(runs)
	if len(grave) > 0 && !o.Anyway {
		return s, &Incomparable{Reasons: grave}
	}
	c.force(grave...)
	c.Invalid = append(c.Invalid, s.whole...)
	return s, nil
}

// spoiledMetrics are the metrics of a run that its failed checks touch; none where it
// is valid, and where all are.
func spoiledMetrics(r *result.Result) []string {
	failed := r.Verdict.FailedChecks()
	if _, cut := cutShort(r); cut || r.Verdict.Valid != result.Invalid || len(r.Verdict.Reasons) > len(failed) {
		return nil
	}
	return SpoiledBy(failed)
}

// SpoiledBy are the metrics that failed checks touch; none where one of them
// touches everything.
func SpoiledBy(failed []result.Check) []string {
	var metrics []string
	for _, c := range failed {
		if len(c.Spoils) == 0 {
			return nil
		}
		for _, name := range c.Spoils {
			if o, err := slo.Parse(name); err == nil {
				name = o.Metric
				metrics = append(metrics, "good") // which counts the requests that keep it
			}
			metrics = append(metrics, name)
		}
	}
	slices.Sort(metrics)
	return slices.Compact(metrics)
}

// force notes what was compared although it cannot be.
func (c *Comparison) force(reasons ...string) {
	for _, text := range reasons {
		c.warn("", "not comparable, but forced: %s", text)
		c.Invalid = append(c.Invalid, "not comparable: "+text)
	}
}

// seeds tells what the runs' seeds mean for the answer.
func (c *Comparison) seeds(a, b []*result.Result) {
	if len(a) == 1 && len(b) == 1 && a[0].Seed != b[0].Seed {
		c.warn("", "the seeds differ, so the two runs sent different requests: part of the difference may come from that; run both with the same --seed")
	}
	if slices.ContainsFunc([][]*result.Result{a, b}, shareSeed) {
		c.warn("", "runs of one set share a seed: their spread shows the server's, not that of the requests")
		return
	}
}

func shareSeed(set []*result.Result) bool {
	seen := map[uint64]bool{}
	for _, r := range set {
		if seen[r.Seed] {
			return true
		}
		seen[r.Seed] = true
	}
	return false
}
