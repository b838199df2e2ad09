package sim

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"redline/internal/text"
)

// style is the manner of an engine: how it names its metrics, and what it tells
// of itself elsewhere. The same figures, filled by the same core, stand under
// the names, in the units and with the gaps of each.
type style struct {
	name string
	// owner is what the list of models names as theirs.
	owner string
	// figures are the series of the metrics page; none are vLLM's own.
	figures []figure
	// at is where the page is.
	at string
	// told are pages beside it.
	told map[string]func(*Server) any
}

// figure is one series of a page, made from vLLM's.
type figure struct {
	name   string
	labels string // without braces
	// value is that of a gauge or counter; kind says which.
	kind  string
	value func(vllmPage) float64
	// histogram is vLLM's, with its values scaled.
	histogram string
	scale     float64
}

const (
	gauge   = "gauge"
	counter = "counter"
)

// DefaultStyle is the manner of the engine that is simulated.
const DefaultStyle = "vllm"

// styles lists the manners that there are.
var styles = []style{
	{name: DefaultStyle, owner: "redline", at: "/metrics", told: map[string]func(*Server) any{"/version": toldVersion}},
	sglangStyle, tgiStyle, llamaCppStyle, tritonStyle, nimStyle,
}

// StyleNames lists them by name.
func StyleNames() []string {
	var names []string
	for _, s := range styles {
		names = append(names, s.name)
	}
	return names
}

// CheckStyle says what is wrong with the name of a style, in one line.
func CheckStyle(name string) error {
	_, err := styleOf(name)
	return err
}

func styleOf(name string) (*style, error) {
	name = cmp.Or(name, DefaultStyle)
	i := slices.IndexFunc(styles, func(s style) bool { return s.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown %q: %s", name, strings.TrimSpace(text.Hint(name, StyleNames())+" known: "+strings.Join(StyleNames(), ", ")))
	}
	return &styles[i], nil
}

// vllmPage is what vLLM would serve, by name without the prefix.
type vllmPage struct {
	families map[string]*dto.MetricFamily
	spec     Spec
	blocks   float64
}

// of is a gauge or a counter, all of its series added up.
func (p vllmPage) of(name string) float64 {
	var sum float64
	for _, m := range p.families["vllm:"+name].GetMetric() {
		sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return sum
}

func (p vllmPage) histogram(name string) *dto.Histogram {
	for _, m := range p.families["vllm:"+name].GetMetric() {
		return m.GetHistogram()
	}
	return nil
}

func (p vllmPage) sum(name string) float64 { return p.histogram(name).GetSampleSum() }

// copied is a figure that has vLLM's value under another name.
func copied(kind, name, labels, from string) figure {
	return figure{name: name, labels: labels, kind: kind, value: func(p vllmPage) float64 { return p.of(from) }}
}

func made(kind, name, labels string, value func(vllmPage) float64) figure {
	return figure{name: name, labels: labels, kind: kind, value: value}
}

// timed is a histogram of vLLM's under another name and in another unit.
func timed(name, labels, from string, scale float64) figure {
	return figure{name: name, labels: labels, histogram: from, scale: scale}
}

// serveStyle answers with the page of another engine.
func (s *Server) serveStyle(w http.ResponseWriter, _ *http.Request) {
	families, err := s.meters.registry.Gather()
	if err != nil {
		writeDetail(w, http.StatusInternalServerError, err.Error())
		return
	}
	page := vllmPage{families: map[string]*dto.MetricFamily{}, spec: s.spec, blocks: float64(s.driver.snapshot().KVBlocks)}
	for _, f := range families {
		page.families[f.GetName()] = f
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var b strings.Builder
	declared := map[string]bool{}
	for _, f := range s.style.figures {
		if kind := cmp.Or(f.kind, "histogram"); !declared[f.name] {
			declared[f.name] = true
			fmt.Fprintf(&b, "# TYPE %s %s\n", f.name, kind)
		}
		f.write(&b, page)
	}
	// A client that has gone is the only way in which this fails.
	_, _ = io.WriteString(w, b.String())
}

func (f figure) write(b *strings.Builder, p vllmPage) {
	model := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(p.spec.ServedModelName)
	labels := strings.ReplaceAll(f.labels, "MODEL", model)
	line := func(suffix, more string, value float64) {
		all := strings.Trim(labels+","+more, ",")
		if all != "" {
			all = "{" + all + "}"
		}
		fmt.Fprintf(b, "%s%s%s %s\n", f.name, suffix, all, strconv.FormatFloat(value, 'g', -1, 64))
	}
	if f.histogram == "" {
		line("", "", f.value(p))
		return
	}
	h := p.histogram(f.histogram)
	for _, bucket := range h.GetBucket() {
		if edge := bucket.GetUpperBound(); !math.IsInf(edge, 1) {
			line("_bucket", fmt.Sprintf("le=%q", strconv.FormatFloat(edge*f.scale, 'g', 12, 64)), float64(bucket.GetCumulativeCount()))
		}
	}
	line("_bucket", `le="+Inf"`, float64(h.GetSampleCount()))
	line("_sum", "", h.GetSampleSum()*f.scale)
	line("_count", "", float64(h.GetSampleCount()))
}
