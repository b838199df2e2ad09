package validity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// Checklist asks of a result what any benchmark has to be asked before it is
// trusted. Each answer names the field that it was read from; what the document
// does not say is unknown, which is neither yes nor no. Comparisons and repeats
// are asked other things: whether runs can be told apart, not what one is worth.
func Checklist(res *result.Result) []result.Item {
	if res.Comparison != nil || res.Repeats != nil {
		return nil
	}
	e := &examination{res: res, points: answeringPoints(res)}
	var items []result.Item
	for _, question := range []struct {
		name   string
		ask    func() result.Item
		points bool // without any there is no answer
	}{
		{"warm-up", e.warmup, false}, {"open loop", e.openLoop, true}, {"tails", e.tails, true}, {"realistic prompts", e.prompts, false},
		{"sweep", e.sweep, false}, {"duration", e.duration, false}, {"hardware context", e.hardware, false}, {"precision", e.precision, false},
		{"batch", e.batch, true}, {"both phases", e.phases, true},
	} {
		item := nothing()
		if len(e.points) > 0 || !question.points {
			item = question.ask()
		}
		item.Name = question.name
		items = append(items, item)
	}
	return items
}

// examination is a result and the points that carry its answer.
type examination struct {
	res    *result.Result
	points []int
}

// answeringPoints are the indices of the points that a claim would rest on: the
// levels of a curve, else every point but those that only prepared the way.
func answeringPoints(res *result.Result) []int {
	if res.Curve != nil && len(res.Curve.Points) > 0 {
		return slices.Clone(res.Curve.Points)
	}
	prepared := map[int]bool{}
	for _, s := range res.Stages {
		if s.Point != nil && (s.Purpose == result.PurposeSmoke || s.Purpose == result.PurposeWarmUp) {
			prepared[*s.Point] = true
		}
	}
	var points, valid []int
	for i := range res.Points {
		if prepared[i] {
			continue
		}
		points = append(points, i)
		if res.Points[i].Invalid == "" {
			valid = append(valid, i)
		}
	}
	if len(valid) == 0 {
		return points // a run that is not valid is examined all the same
	}
	return valid
}

func (e *examination) at(i int) *result.Point { return &e.res.Points[i] }

func field(i int, name string) string { return fmt.Sprintf("points[%d].%s", i, name) }

func unknown(field, text string) result.Item {
	return result.Item{State: result.ItemUnknown, Field: field, Text: text}
}

func state(yes bool, field, format string, args ...any) result.Item {
	item := result.Item{State: result.ItemNo, Field: field, Text: fmt.Sprintf(format, args...)}
	if yes {
		item.State = result.ItemYes
	}
	return item
}

func nothing() result.Item { return unknown("points", "nothing was measured") }

// enoughWarmup is how many requests must come before what is measured; a search
// pays them once.
const enoughWarmup = 50

// warmup: was load offered before the first figure was taken.
func (e *examination) warmup() result.Item {
	for i, s := range e.res.Stages {
		if s.Purpose == result.PurposeWarmUp && s.Point != nil {
			n := e.at(*s.Point).Requests.OK
			return state(n > 0, fmt.Sprintf("stages[%d].purpose", i), "%s in a stage of its own", text.Plural(n, "request"))
		}
	}
	if len(e.points) == 0 {
		return nothing()
	}
	first := slices.Min(e.points)
	at, w := field(first, "window.warmup_s"), e.at(first).Window.WarmupS
	if w == nil {
		return unknown(at, "the warm-up was not recorded")
	}
	if n := e.at(first).Window.WarmupRequests; n != nil {
		return state(*n >= enoughWarmup, field(first, "window.warmup_requests"), "%s in %s before the first window, %d or more needed", text.Plural(*n, "request"), text.Seconds(*w), enoughWarmup)
	}
	return state(*w > 0, at, "%s of load before the first window", text.Seconds(*w))
}

// openLoop: did requests come whether or not the server kept up.
func (e *examination) openLoop() result.Item {
	for _, i := range e.points {
		if mode := e.at(i).Load.Mode; mode == "closed" {
			return state(false, field(i, "load.mode"), "closed: the client waits for the server, which hides queues")
		}
	}
	i := e.points[0]
	if e.at(i).Load.Mode == result.NotKnown {
		return unknown(field(i, "load.mode"), "whether requests came at a rate was not recorded")
	}
	return state(true, field(i, "load.mode"), "%s, arrivals %s", e.at(i).Load.Mode, cmp.Or(e.res.Workload.Arrival, "not stated"))
}

// tails: are high percentiles given, of enough requests to stand.
func (e *examination) tails() result.Item {
	best := -1
	for _, i := range e.points {
		d := e.at(i).Latency.JudgedDist("ttft")
		if d == nil || d.N == 0 {
			continue
		}
		if best < 0 || d.N > e.at(best).Latency.JudgedDist("ttft").N {
			best = i
		}
	}
	if best < 0 {
		return unknown(field(e.points[0], "latency.ttft_due_ms"), "no first token was timed")
	}
	d, at := e.at(best).Latency.JudgedDist("ttft"), field(best, "latency.ttft_due_ms")
	if _, ok := d.Get("p99"); !ok {
		return state(false, at, "no p99 is given")
	}
	for _, key := range []string{"p99", "p999"} { // p99.9 where it was asked for
		if _, ok := d.Get(key); ok && !d.IsFirm(key) && (key == "p99" || e.wants(99.9)) {
			return state(false, at, "the %s of %s has low confidence", key[:3]+strings.TrimSuffix("."+key[3:], "."), text.Plural(d.N, "request"))
		}
	}
	var firm []string
	for _, key := range d.Keys() {
		if d.IsFirm(key) {
			firm = append(firm, key)
		}
	}
	return state(true, at, "enough samples: %s of %s", strings.Join(firm, " "), text.Plural(d.N, "request"))
}

func (e *examination) wants(percentile float64) bool {
	metrics, _ := e.res.Plan["metrics"].(map[string]any)
	list, _ := metrics["percentiles"].([]any)
	return slices.ContainsFunc(list, func(p any) bool { return fmt.Sprint(p) == fmt.Sprint(percentile) })
}

// prompts: do lengths differ as those of users do.
func (e *examination) prompts() result.Item {
	const spread = 1.2
	for _, i := range e.points {
		d := e.at(i).Tokens.PromptLengths
		if d == nil || d.N == 0 {
			continue
		}
		low, okLow := d.Get("p50")
		high, okHigh := d.Get("p99")
		if !okLow || !okHigh {
			continue
		}
		return state(high > spread*low, field(i, "tokens.prompt_lengths"), "median prompt %.0f tokens, p99 %.0f", low, high)
	}
	return unknown("points[].tokens.prompt_lengths", "prompt lengths were not counted")
}

// sweep: were several loads offered.
func (e *examination) sweep() result.Item {
	const few = 3
	if e.res.Curve == nil {
		return state(false, "curve", "a single load does not show where the knee is")
	}
	n := len(e.res.Curve.Points)
	return state(n >= few, "curve.points", "%s of %s", text.Plural(n, "level"), e.res.Curve.By)
}

// duration: did what the claim rests on last a minute.
func (e *examination) duration() result.Item {
	long := func(i int) float64 { w := e.at(i).Window; return w.Seconds() }
	if s := e.res.Sustained; s != nil && *s < len(e.res.Points) {
		return state(long(*s) >= result.Exploratory.Seconds(), field(*s, "window.end_s"), "the sustained run lasts %s", text.Seconds(long(*s)))
	}
	if len(e.points) == 0 {
		return nothing()
	}
	shortest := slices.MinFunc(e.points, func(a, b int) int { return int(1000 * (long(a) - long(b))) })
	return state(long(shortest) >= result.Exploratory.Seconds(), field(shortest, "window.end_s"), "the shortest window lasts %s", text.Seconds(long(shortest)))
}

func (e *examination) hardware() result.Item {
	if e.res.Hardware.Accelerator == "" {
		return unknown("hardware.accelerator", "say it in metadata.hardware")
	}
	h := e.res.Hardware
	text := h.String()
	if missing := e.missingNames("driver", "cuda", "interconnect"); missing != "" {
		text += "; unknown: " + missing
	}
	if h.Count == 0 {
		return unknown("hardware.count", text+"; say how many in metadata.gpus")
	}
	if h.Count > 1 && h.Interconnect == "" {
		return unknown("hardware.interconnect", text+"; say what joins them in metadata.interconnect")
	}
	return state(true, "hardware.accelerator", "%s", text)
}

func (e *examination) precision() result.Item {
	if known := text.Join(", ", e.res.Model.Precision, e.res.Model.Quantization); known != "" {
		return state(true, "model.precision", "%s", known)
	}
	return unknown("model.precision", "say it in metadata.precision")
}

// missingNames are those of the names that the result lists as unknown.
func (e *examination) missingNames(names ...string) string {
	var list []string
	for _, name := range names {
		if slices.Contains(e.res.Unknown, name) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// batch: is it said what the load means for batching.
func (e *examination) batch() result.Item {
	i := e.points[len(e.points)-1]
	if s := e.res.Sustained; s != nil && *s < len(e.res.Points) {
		i = *s
	}
	c := e.at(i).Concurrency
	mean := text.Units(text.Number(c.Mean), "request") + " in flight on average"
	if c.Max == 0 && c.Mean > 0 {
		return state(true, field(i, "concurrency.mean"), "%s, the maximum is not known", mean)
	}
	return state(c.Mean > 0, field(i, "concurrency.mean"), "%s, %d at most", mean, c.Max)
}

// phases: are prefill and decode told apart.
func (e *examination) phases() result.Item {
	i := e.points[0]
	first, pace := e.at(i).Latency.JudgedDist("ttft"), e.at(i).Latency.JudgedDist("tpot")
	var missing []string
	if first == nil || first.N == 0 {
		missing = append(missing, "ttft")
	}
	if pace == nil || pace.N == 0 {
		missing = append(missing, "tpot")
	}
	if missing != nil {
		return state(false, field(i, "latency"), "%s not measured", strings.Join(missing, " and "))
	}
	return state(true, field(i, "latency"), "ttft of %s and tpot of %s", text.Plural(first.N, "request"), text.Count(pace.N))
}
