package sim

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"redline/internal/observe/engine"
	"redline/internal/text"
)

// DefaultStyle is the engine that is simulated.
const DefaultStyle = "vllm"

// StyleNames lists the engines as which the simulator can show itself.
func StyleNames() []string {
	var names []string
	for _, e := range engine.All() {
		if e.Style != nil {
			names = append(names, e.Style.Name)
		}
	}
	return names
}

// CheckStyle says what is wrong with the name of a style, in one line.
func CheckStyle(name string) error {
	_, err := styleOf(name)
	return err
}

func styleOf(name string) (*engine.Engine, error) {
	name = cmp.Or(name, DefaultStyle)
	for _, e := range engine.All() {
		if e.Style != nil && e.Style.Name == name {
			return e, nil
		}
	}
	return nil, fmt.Errorf("unknown %q: %s", name, text.Known(name, StyleNames()))
}

// setup is what the server can say of itself in any style.
func (s *Server) setup() engine.Sim {
	return engine.Sim{Version: s.version, Model: s.spec.Model, ServedModel: s.spec.ServedModelName,
		Dtype: cmp.Or(s.spec.Dtype, "auto"), Quantization: s.spec.Quantization, KVCacheDtype: cmp.Or(s.spec.KVCacheDtype, "auto"),
		TP: s.spec.TP, MaxModelLen: s.spec.MaxModelLen, MaxNumSeqs: s.spec.MaxNumSeqs, MaxNumBatchedTokens: s.spec.MaxNumBatchedTokens,
		KVBlocks: s.driver.snapshot().KVBlocks, BlockSize: blockSize, MemoryUtilization: s.spec.GPUMemoryUtilization}
}

// vllmPage is what vLLM would serve, by name without the prefix.
type vllmPage map[string]*dto.MetricFamily

// value is a gauge or a counter, vLLM's or the simulator's own, all of its series added up.
func (p vllmPage) value(name string) (sum float64) {
	for _, m := range append(p["vllm:"+name].GetMetric(), p[name].GetMetric()...) {
		sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return sum
}

func (p vllmPage) histogram(name string) *dto.Histogram {
	for _, m := range p["vllm:"+name].GetMetric() {
		return m.GetHistogram()
	}
	return nil
}

func (p vllmPage) sum(name string) float64 { return p.histogram(name).GetSampleSum() }

// serveStyle answers with the page of another engine.
func (s *Server) serveStyle(w http.ResponseWriter, _ *http.Request) {
	families, err := s.meters.registry.Gather()
	if err != nil {
		writeDetail(w, http.StatusInternalServerError, err.Error())
		return
	}
	page := vllmPage{}
	for _, f := range families {
		page[f.GetName()] = f
	}
	figures := engine.Figures{Sim: s.setup(), Value: page.value, Sum: page.sum}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var b strings.Builder
	declared := map[string]bool{}
	for _, series := range s.engine.Style.Series {
		if !declared[series.Name] {
			declared[series.Name] = true
			fmt.Fprintf(&b, "# TYPE %s %s\n", series.Name, series.Type)
		}
		writeSeries(&b, series, figures, page)
	}
	// A client that has gone is the only way in which this fails.
	_, _ = io.WriteString(w, b.String())
}

func writeSeries(b *strings.Builder, s engine.Series, f engine.Figures, page vllmPage) {
	model := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(f.ServedModel)
	labels := strings.ReplaceAll(s.Labels, "MODEL", model)
	line := func(suffix, more string, value float64) {
		all := strings.Trim(labels+","+more, ",")
		if all != "" {
			all = "{" + all + "}"
		}
		fmt.Fprintf(b, "%s%s%s %s\n", s.Name, suffix, all, strconv.FormatFloat(value, 'g', -1, 64))
	}
	if s.Value != nil {
		line("", "", s.Value(f))
		return
	}
	h := page.histogram(s.Histogram)
	for _, bucket := range h.GetBucket() {
		if edge := bucket.GetUpperBound(); !math.IsInf(edge, 1) {
			line("_bucket", fmt.Sprintf("le=%q", strconv.FormatFloat(edge*s.Scale, 'g', 12, 64)), float64(bucket.GetCumulativeCount()))
		}
	}
	line("_bucket", `le="+Inf"`, float64(h.GetSampleCount()))
	line("_sum", "", h.GetSampleSum()*s.Scale)
	line("_count", "", float64(h.GetSampleCount()))
}
