package catalog

import (
	"cmp"

	"redline/internal/yaml"
)

// Bounds on the shape of a model: far above any that there is, and low enough
// that no product of them overflows.
const (
	maxLayers = 1000
	maxWide   = 1 << 17 // hidden size and ranks
	maxFFN    = 1 << 20
	maxHeads  = 1 << 12
	maxVocab  = 1 << 22
	maxTokens = 1 << 27
)

var modelFields = []field[Model]{
	stringField("name", func(m *Model) *string { return &m.Name }),
	words("aliases", func(m *Model) *[]string { return &m.Aliases }),
	whole("layers", 1, maxLayers, func(m *Model) *int { return &m.Layers }),
	whole("hidden", 1, maxWide, func(m *Model) *int { return &m.Hidden }),
	whole("heads", 1, maxHeads, func(m *Model) *int { return &m.Heads }),
	whole("kv_heads", 1, maxHeads, func(m *Model) *int { return &m.KVHeads }),
	whole("head_dim", 1, maxWide, func(m *Model) *int { return &m.HeadDim }),
	whole("ffn", 1, maxFFN, func(m *Model) *int { return &m.FFN }),
	whole("vocab", 1, maxVocab, func(m *Model) *int { return &m.Vocab }),
	yes("tied", func(m *Model) *bool { return &m.Tied }),
	whole("max_len", 1, maxTokens, func(m *Model) *int { return &m.MaxLen }),
	whole("experts", 0, maxHeads, func(m *Model) *int { return &m.Experts }),
	whole("top_k", 0, maxHeads, func(m *Model) *int { return &m.TopK }),
	whole("shared_experts", 0, maxHeads, func(m *Model) *int { return &m.SharedExperts }),
	whole("dense_layers", 0, maxLayers, func(m *Model) *int { return &m.DenseLayers }),
	whole("dense_ffn", 0, maxFFN, func(m *Model) *int { return &m.DenseFFN }),
	whole("q_lora", 0, maxWide, func(m *Model) *int { return &m.QLora }),
	whole("kv_lora", 0, maxWide, func(m *Model) *int { return &m.KVLora }),
	whole("rope_dim", 0, maxWide, func(m *Model) *int { return &m.RopeDim }),
	whole("nope_dim", 0, maxWide, func(m *Model) *int { return &m.NopeDim }),
	whole("value_dim", 0, maxWide, func(m *Model) *int { return &m.ValueDim }),
	whole("window", 0, maxTokens, func(m *Model) *int { return &m.Window }),
	whole("window_layers", 0, maxLayers, func(m *Model) *int { return &m.WindowLayers }),
	precisionField("precision", func(m *Model) *Precision { return &m.Precision }),
	stringField("dated", func(m *Model) *string { return &m.Dated }),
	stringField("source", func(m *Model) *string { return &m.Source }),
	trust("confidence", func(m *Model) *string { return &m.Confidence }),
}

// Bounds on an accelerator, as wide as those on a model.
const (
	maxTFLOPS = 1e6
	maxGiB    = 1e5
	maxGBs    = 1e6
	maxWatts  = 1e5
	maxPrice  = 1e5
)

var acceleratorFields = []field[Accelerator]{
	stringField("name", func(a *Accelerator) *string { return &a.Name }),
	words("aliases", func(a *Accelerator) *[]string { return &a.Aliases }),
	amount("bf16_tflops", maxTFLOPS, 1e12, func(a *Accelerator) *float64 { return &a.BF16 }),
	amount("fp8_tflops", maxTFLOPS, 1e12, func(a *Accelerator) *float64 { return &a.FP8 }),
	amount("fp4_tflops", maxTFLOPS, 1e12, func(a *Accelerator) *float64 { return &a.FP4 }),
	{"reached", readReached},
	amount("clock_drop", 1, 1, func(a *Accelerator) *float64 { return &a.ClockDrop }),
	stringField("reached_source", func(a *Accelerator) *string { return &a.ReachedSource }),
	{"memory_gib", func(r *reader, n *yaml.Node, path string, a *Accelerator) error {
		var bytes float64
		err := amount("", maxGiB, GiB, func(*Accelerator) *float64 { return &bytes }).read(r, n, path, a)
		a.Memory = int64(bytes)
		return err
	}},
	amount("bandwidth_gbs", maxGBs, 1e9, func(a *Accelerator) *float64 { return &a.Read }),
	amount("link_gbs", maxGBs, 1e9, func(a *Accelerator) *float64 { return &a.Link }),
	amount("watts", maxWatts, 1, func(a *Accelerator) *float64 { return &a.Watts }),
	{"price", func(r *reader, n *yaml.Node, path string, a *Accelerator) error {
		return block(r, n, path, priceFields, a)
	}},
	stringField("dated", func(a *Accelerator) *string { return &a.Dated }),
	stringField("source", func(a *Accelerator) *string { return &a.Source }),
	trust("confidence", func(a *Accelerator) *string { return &a.Confidence }),
}

var priceFields = []field[Accelerator]{
	amount("low", maxPrice, 1, func(a *Accelerator) *float64 { return &a.PriceLow }),
	amount("high", maxPrice, 1, func(a *Accelerator) *float64 { return &a.PriceHigh }),
	amount("reserved", maxPrice, 1, func(a *Accelerator) *float64 { return &a.PriceReserved }),
	stringField("dated", func(a *Accelerator) *string { return &a.PriceDated }),
	stringField("source", func(a *Accelerator) *string { return &a.PriceSource }),
	trust("confidence", func(a *Accelerator) *string { return &a.PriceConfidence }),
}

// readReached reads the shares of the peak by precision.
func readReached(r *reader, n *yaml.Node, path string, a *Accelerator) error {
	if n.Kind != yaml.Mapping {
		return r.Fail(n, path, "expected shares by precision, such as bf16: 0.6, got %s", n.Describe())
	}
	a.Reached = map[Precision]float64{}
	for _, e := range n.Entries {
		p, err := ParsePrecision(e.Key)
		if err != nil {
			return yaml.Fault(yaml.At(r.File, e.Line), "%s: %v", path, err)
		}
		share, ok := number(e.Value)
		if !ok || share <= 0 || share > 1 {
			return r.Fail(e.Value, yaml.Join(path, e.Key), "expected a share above 0 and up to 1, got %s", e.Value.Describe())
		}
		a.Reached[p] = share
	}
	return nil
}

// nameOf is the name of an entry, which decides what it adds to.
func (r *reader) nameOf(n *yaml.Node, path string) (string, error) {
	if n.Kind != yaml.Mapping {
		return "", r.Fail(n, path, "expected an entry with a name, got %s", n.Describe())
	}
	for _, e := range n.Entries {
		if e.Key == "name" {
			name, ok := scalar(e.Value)
			if !ok || fold(name) == "" {
				return "", r.Fail(e.Value, path+".name", "expected a name with letters or digits, got %s", e.Value.Describe())
			}
			return name, nil
		}
	}
	return "", r.Fail(n, path, "has no name")
}

// catalogEntry is an entry of a catalog.
type catalogEntry interface {
	// labels are its name, and when and where it was read.
	labels() (name, dated, source *string)
	names() []string
	check() error
}

func (m *Model) labels() (name, dated, source *string)       { return &m.Name, &m.Dated, &m.Source }
func (a *Accelerator) labels() (name, dated, source *string) { return &a.Name, &a.Dated, &a.Source }

// readEntry puts an entry into a table, or adds to the one that has its name.
func readEntry[T any, P interface {
	*T
	catalogEntry
}](r *reader, t *table[T], fields []field[T], n *yaml.Node, path string, top head) error {
	given, err := r.nameOf(n, path)
	if err != nil {
		return err
	}
	found, known := t.find([]string{given})
	entry := P(&found)
	name, dated, source := entry.labels()
	canonical := *name
	*dated, *source = cmp.Or(top.dated, *dated), cmp.Or(top.source, *source) // of which the entry may say otherwise
	if err := block(r, n, path, fields, &found); err != nil {
		return err
	}
	if known {
		*name = canonical
	}
	if err := entry.check(); err != nil {
		return r.Fail(n, path+" ("+given+")", "%v", err)
	}
	t.put(found, entry.names())
	return nil
}
