// Package gauge is figures as monitoring systems take them: a list of gauges, on a page
// that is read while a run goes on, or as OTLP's JSON, pushed to a collector. It takes
// snapshots of a run and lists of figures; it knows no result.
package gauge

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"redline/internal/exposition"
	"redline/internal/judge/progress"
	"redline/internal/llm"
)

// Live are the gauges of a run that goes on. Where the figure is one of a finished
// run too, it has the same name, so that one dashboard fits both.
func Live(s progress.Snapshot, labels ...exposition.Label) []exposition.Family {
	var list []exposition.Family
	add := func(name, means string, v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			list = append(list, exposition.Family{Name: Prefix + name, Help: means, Series: []exposition.Series{{Labels: labels, Value: v}}})
		}
	}
	add("elapsed_seconds", "time since the load began, seconds", s.Elapsed.Seconds())
	add("in_flight", "requests in flight now", float64(s.InFlight))
	add("waiting", "requests that are due and wait for a slot", float64(s.Waiting))
	add("due", "requests due in the window", float64(s.Due))
	for _, c := range llm.Counts() {
		if !c.Unfinished {
			add(c.Name, "requests due in the window that "+c.Means, float64(s.Of(c)))
		}
	}
	add("offered_rate", "requests due per second, over the last seconds", s.OfferedPerS)
	add("completed_rate", "requests answered per second, over the last seconds", s.RequestsPerS)
	add("output_tokens_per_s", "output tokens per second, over the last seconds", s.TokensPerS)
	for _, d := range []struct {
		name, means string
		of          progress.Spread
	}{{"ttft_due", "time to first token, from when the request was due", s.TTFT}, {"tpot", "time per output token after the first", s.TPOT}, {"itl", "gaps between tokens", s.ITL}, {"e2e_due", "time to the last token, from when the request was due", s.E2E}} {
		add(d.name+"_p50_ms", "p50 so far of the "+d.means+", ms", d.of.P50)
		add(d.name+"_p95_ms", "p95 so far of the "+d.means+", ms", d.of.P95)
		add(d.name+"_p99_ms", "p99 so far of the "+d.means+", ms", d.of.P99)
	}
	return list
}

// Prefix begins every name.
const Prefix = "redline_"

// object is one of OTLP's JSON (opentelemetry-proto, metrics.proto), where numbers of
// 64 bits are texts.
type object = map[string]any

func attribute(name, value string) object {
	return object{"key": name, "value": object{"stringValue": value}}
}

// units are those that OTLP calls by their signs, by the end of a name.
var units = []struct{ end, unit string }{{"_ms", "ms"}, {"_seconds", "s"}, {"_mb", "MBy"}, {"_watts", "W"}}

func unit(name string) string {
	for _, u := range units {
		if strings.HasSuffix(name, u.end) {
			return u.unit
		}
	}
	return ""
}

// OTLP writes gauges of a moment as the JSON of a request to an OTLP receiver.
func OTLP(list []exposition.Family, at time.Time, version string) ([]byte, error) {
	metrics := []object{}
	for _, g := range list {
		points := []object{}
		for _, v := range g.Series {
			attributes := []object{}
			for _, l := range v.KnownLabels() {
				attributes = append(attributes, attribute(l.Name, l.Value))
			}
			points = append(points, object{"timeUnixNano": strconv.FormatInt(at.UnixNano(), 10), "asDouble": v.Value, "attributes": attributes})
		}
		metrics = append(metrics, object{"name": g.Name, "description": g.Help, "unit": unit(g.Name), "gauge": object{"dataPoints": points}})
	}
	return json.Marshal(object{"resourceMetrics": []object{{
		"resource":     object{"attributes": []object{attribute("service.name", "redline"), attribute("service.version", version)}},
		"scopeMetrics": []object{{"scope": object{"name": "redline", "version": version}, "metrics": metrics}},
	}}})
}
