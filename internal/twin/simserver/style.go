package simserver

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"redline/internal/exposition"
	"redline/internal/observe/engine"
	"redline/internal/text"
	"redline/internal/twin/sim"
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
	return nil, fmt.Errorf("unknown %q: %s", name, text.HintWithKnown(name, StyleNames()))
}

// setup is what the server can report about itself in any style.
func (s *Server) setup() engine.Sim {
	return engine.Sim{Version: s.version, Model: s.spec.Model, ServedModel: s.spec.ServedModelName,
		Dtype: cmp.Or(s.spec.Dtype, "auto"), Quantization: s.spec.Quantization, KVCacheDtype: cmp.Or(s.spec.KVCacheDtype, "auto"),
		TP: s.spec.TP, MaxModelLen: s.spec.MaxModelLen, MaxNumSeqs: s.spec.MaxNumSeqs, MaxNumBatchedTokens: s.spec.MaxNumBatchedTokens,
		KVBlocks: s.snapshot(0).KVBlocks, BlockSize: sim.BlockSize, MemoryUtilization: s.spec.GPUMemoryUtilization}
}

// serveStyle answers with the page of another engine.
func (s *Server) serveStyle(w http.ResponseWriter, _ *http.Request) {
	var list []exposition.Family
	for _, m := range s.meters {
		list = s.addStyle(list, m)
	}
	exposition.Serve(w, list)
}

// addStyle adds the series of a replica.
func (s *Server) addStyle(list []exposition.Family, m *meters) []exposition.Family {
	page := map[string]exposition.Family{} // what vLLM would serve
	for _, f := range m.families() {
		page[strings.TrimPrefix(f.Name, "vllm:")] = f
	}
	figures := engine.Figures{Sim: s.setup(), Value: func(name string) (sum float64) {
		for _, one := range page[name].Series {
			sum += one.Value
		}
		return sum
	}, Sum: func(name string) float64 { return page[name].Series[0].Histogram.Sum() }}
	for _, series := range s.engine.Style.Series {
		one := exposition.Series{Labels: labelsOf(series.Labels, s.spec.ServedModelName)}
		if len(s.meters) > 1 {
			one.Labels = append(one.Labels, exposition.Label{Name: s.engine.Metrics.Replica, Value: strconv.Itoa(m.replica)})
		}
		if series.Value != nil {
			one.Value = series.Value(figures)
		} else {
			one.Histogram = page[series.Histogram].Series[0].Histogram.Scale(series.Scale)
		}
		at := slices.IndexFunc(list, func(f exposition.Family) bool { return f.Name == series.Name })
		if at < 0 {
			at, list = len(list), append(list, exposition.Family{Name: series.Name, Type: series.Type})
		}
		list[at].Series = append(list[at].Series, one)
	}
	return list
}

// labelsOf reads labels as a style has them, MODEL for the model's name.
func labelsOf(labels, model string) (list []exposition.Label) {
	for label := range strings.SplitSeq(labels, ",") {
		if name, value, ok := strings.Cut(label, "="); ok {
			list = append(list, exposition.Label{Name: name, Value: strings.ReplaceAll(strings.Trim(value, `"`), "MODEL", model)})
		}
	}
	return list
}
