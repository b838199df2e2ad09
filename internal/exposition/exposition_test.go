package exposition

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Prometheus's own parser reads what was written: every type, labels that need
// escapes, and a histogram whose buckets add up.
func TestPrometheusReadsThePage(t *testing.T) {
	t.Parallel()
	h := NewHistogram([]float64{0.1, 1, 10})
	for _, v := range []float64{0.05, 0.1, 0.3, 1.5, 99} {
		h.Observe(v)
	}
	name := "a \"quoted\\\" one\nwith a line"
	page := Text([]Family{
		{Name: "none", Help: "a family without series"},
		{Name: "level", Help: "one \\ line\nand another", Series: []Series{{Labels: []Label{{"name", name}, {"empty", ""}}, Value: -2.5}, {Value: 7}}},
		{Name: "seen_total", Type: CounterType, Series: []Series{{Value: 12}}},
		{Name: "took_ms", Type: HistogramType, Series: []Series{{Labels: []Label{{"part", "x"}}, Histogram: h.Scale(1000)}}},
	})
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("%v:\n%s", err, page)
	}
	level := families["level"]
	if len(families) != 3 || level.GetHelp() != "one \\ line\nand another" || len(level.GetMetric()[0].GetLabel()) != 1 ||
		level.GetMetric()[0].GetLabel()[0].GetValue() != name || level.GetMetric()[0].GetGauge().GetValue() != -2.5 || level.GetMetric()[1].GetGauge().GetValue() != 7 {
		t.Errorf("the gauge is read as %v", level)
	}
	if got := families["seen_total"].GetMetric()[0].GetCounter().GetValue(); got != 12 {
		t.Errorf("the counter is read as %v", got)
	}
	took := families["took_ms"].GetMetric()[0].GetHistogram()
	buckets := map[float64]uint64{}
	for _, b := range took.GetBucket() {
		if b.GetUpperBound() < 1e6 {
			buckets[b.GetUpperBound()] = b.GetCumulativeCount()
		}
	}
	if diff := cmp.Diff(map[float64]uint64{100: 2, 1000: 3, 10000: 4}, buckets); diff != "" || took.GetSampleCount() != 5 || took.GetSampleSum() != 100950 {
		t.Errorf("the histogram is read as %v (-want +got):\n%s", took, diff)
	}
}
