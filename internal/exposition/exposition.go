// Package exposition writes figures in Prometheus's text format. It takes families of
// series and gives a page; it knows neither what they count nor who asks.
package exposition

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Family is one figure at some places.
type Family struct {
	Name, Help string
	Type       string // "" for a gauge
	Series     []Series
}

// The types of a family that is no gauge.
const (
	CounterType   = "counter"
	HistogramType = "histogram"
)

// Series is a figure with the labels that say of what.
type Series struct {
	Labels []Label
	Value  float64
	// Histogram stands in the place of Value.
	Histogram *Histogram
}

// Label is a name and its value; one without a value is left out.
type Label struct{ Name, Value string }

// KnownLabels are the labels that have a value.
func (s Series) KnownLabels() (list []Label) {
	for _, l := range s.Labels {
		if l.Value != "" {
			list = append(list, l)
		}
	}
	return list
}

// Histogram counts values by the first edge that is no smaller. It is safe for
// concurrent use.
type Histogram struct {
	edges []float64 // the last is infinite

	mu     sync.Mutex
	counts []int
	sum    float64
}

// NewHistogram takes the finite edges, in their order.
func NewHistogram(edges []float64) *Histogram {
	all := append(slices.Clone(edges), math.Inf(1))
	return &Histogram{edges: all, counts: make([]int, len(all))}
}

// Observe takes in a value.
func (h *Histogram) Observe(v float64) {
	i, _ := slices.BinarySearch(h.edges, v)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[min(i, len(h.counts)-1)]++
	h.sum += v
}

// Reset forgets all values.
func (h *Histogram) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.counts)
	h.sum = 0
}

// Sum is that of all values.
func (h *Histogram) Sum() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sum
}

// Scale is a copy in another unit.
func (h *Histogram) Scale(by float64) *Histogram {
	h.mu.Lock()
	defer h.mu.Unlock()
	scaled := &Histogram{edges: slices.Clone(h.edges), counts: slices.Clone(h.counts), sum: h.sum * by}
	for i := range scaled.edges {
		scaled.edges[i] *= by
	}
	return scaled
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// Text writes a page.
func Text(list []Family) []byte {
	var out bytes.Buffer
	for _, f := range list {
		if len(f.Series) == 0 {
			continue
		}
		if f.Help != "" {
			fmt.Fprintf(&out, "# HELP %s %s\n", f.Name, helpEscapes.Replace(f.Help))
		}
		fmt.Fprintf(&out, "# TYPE %s %s\n", f.Name, cmp.Or(f.Type, "gauge"))
		for _, s := range f.Series {
			if s.Histogram == nil {
				line(&out, f.Name, s.KnownLabels(), s.Value)
				continue
			}
			s.Histogram.write(&out, f.Name, s.KnownLabels())
		}
	}
	return out.Bytes()
}

func (h *Histogram) write(out *bytes.Buffer, name string, labels []Label) {
	h.mu.Lock()
	defer h.mu.Unlock()
	count := 0
	for i, edge := range h.edges {
		count += h.counts[i]
		le := strconv.FormatFloat(edge, 'g', 12, 64) // of a scaled one without the noise of its product
		line(out, name+"_bucket", append(slices.Clip(labels), Label{"le", le}), float64(count))
	}
	line(out, name+"_sum", labels, h.sum)
	line(out, name+"_count", labels, float64(count))
}

func line(out *bytes.Buffer, name string, labels []Label, value float64) {
	out.WriteString(name)
	for i, l := range labels {
		fmt.Fprintf(out, `%c%s="%s"`, "{,"[min(i, 1)], l.Name, labelEscapes.Replace(l.Value))
	}
	if len(labels) > 0 {
		out.WriteByte('}')
	}
	out.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// Serve answers with a page.
func Serve(w http.ResponseWriter, list []Family) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(Text(list)) // fails where the client has gone
}
