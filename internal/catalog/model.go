package catalog

import (
	"cmp"
	"errors"
	"fmt"
)

// Model is the shape of a transformer. Fields that a model does not have are
// zero.
type Model struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Layers  int      `json:"layers"`
	Hidden  int      `json:"hidden"`
	Heads   int      `json:"heads"`
	KVHeads int      `json:"kv_heads"`
	HeadDim int      `json:"head_dim"`
	FFN     int      `json:"ffn"` // of one expert where there are experts
	Vocab   int      `json:"vocab"`
	// Tied says that one matrix is both the input embedding and the head.
	Tied   bool `json:"tied,omitempty"`
	MaxLen int  `json:"max_len"`

	// Mixture of experts.
	Experts       int `json:"experts,omitempty"`
	TopK          int `json:"top_k,omitempty"`
	SharedExperts int `json:"shared_experts,omitempty"`
	DenseLayers   int `json:"dense_layers,omitempty"`
	DenseFFN      int `json:"dense_ffn,omitempty"`

	// Multi-head latent attention, where KVLora is not zero.
	QLora    int `json:"q_lora,omitempty"`
	KVLora   int `json:"kv_lora,omitempty"`
	RopeDim  int `json:"rope_dim,omitempty"`
	NopeDim  int `json:"nope_dim,omitempty"`
	ValueDim int `json:"value_dim,omitempty"`

	// WindowLayers of the layers look back only Window tokens.
	Window       int `json:"window,omitempty"`
	WindowLayers int `json:"window_layers,omitempty"`

	// Precision is how the maker ships the weights.
	Precision Precision `json:"precision"`

	// Dated and Source say when and from what the entry was made, Confidence
	// how far to trust it: "high", "medium" or "low".
	Dated      string `json:"dated,omitempty"`
	Source     string `json:"source,omitempty"`
	Confidence string `json:"confidence,omitempty"`
}

// names are all that it is found by, its own first.
func (m Model) names() []string { return append([]string{m.Name}, m.Aliases...) }

// check finds what is missing of a shape, or cannot be.
func (m Model) check() error {
	for _, f := range []struct {
		key   string
		value int
	}{
		{"layers", m.Layers}, {"hidden", m.Hidden}, {"heads", m.Heads}, {"kv_heads", m.KVHeads}, {"ffn", m.FFN}, {"vocab", m.Vocab}, {"max_len", m.MaxLen},
	} {
		if f.value <= 0 {
			return fmt.Errorf("has no %s", f.key)
		}
	}
	switch {
	case m.Precision == "":
		return errors.New("has no precision, such as bf16")
	case m.KVLora == 0 && m.HeadDim == 0:
		return errors.New("has no head_dim, nor the kv_lora of latent attention")
	case m.KVLora > 0 && (m.RopeDim == 0 || m.NopeDim == 0 || m.ValueDim == 0):
		return errors.New("latent attention (kv_lora) needs rope_dim, nope_dim and value_dim")
	case m.KVHeads > m.Heads || m.Heads%m.KVHeads != 0:
		return fmt.Errorf("%d kv_heads do not divide %d heads", m.KVHeads, m.Heads)
	case m.TopK > m.Experts || m.Experts > 0 && m.TopK == 0:
		return fmt.Errorf("top_k: must be from 1 to the %d experts, got %d", m.Experts, m.TopK)
	case m.DenseLayers > m.Layers:
		return fmt.Errorf("dense_layers: must be at most the %d layers, got %d", m.Layers, m.DenseLayers)
	case m.WindowLayers > m.Layers:
		return fmt.Errorf("window_layers: must be at most the %d layers, got %d", m.Layers, m.WindowLayers)
	case m.WindowLayers > 0 && m.Window == 0:
		return errors.New("window_layers are given, but not how far they look back (window)")
	}
	return nil
}

// Params splits a model's weights by how a step touches them.
type Params struct {
	Embedding int64 // looked up, not multiplied; zero if tied to the head
	Head      int64 // multiplied for sampled tokens only
	Dense     int64 // multiplied for every token
	Experts   int64 // all routed experts of all layers
	Norms     int64
}

// Params counts the weights.
func (m Model) Params() Params {
	p := Params{
		Head:  int64(m.Vocab) * int64(m.Hidden),
		Norms: int64(m.Hidden) * int64(2*m.Layers+1),
	}
	if !m.Tied {
		p.Embedding = p.Head
	}
	moe := m.ExpertLayers()
	expert := 3 * int64(m.Hidden) * int64(m.FFN)
	p.Experts = int64(moe) * int64(m.Experts) * expert
	p.Dense = int64(m.Layers) * m.attentionParams()
	p.Dense += int64(moe) * (int64(m.SharedExperts)*expert + int64(m.Experts)*int64(m.Hidden))
	p.Dense += int64(m.Layers-moe) * 3 * int64(m.Hidden) * int64(cmp.Or(m.DenseFFN, m.FFN))
	return p
}

// TotalParams is every weight.
func (m Model) TotalParams() int64 {
	p := m.Params()
	return p.Embedding + p.Head + p.Dense + p.Experts + p.Norms
}

// ActiveParams is the weights that one token passes through, its embedding
// row's table included, as most makers count.
func (m Model) ActiveParams() int64 {
	p := m.Params()
	return m.MatmulParams() + p.Embedding + p.Norms
}

// MatmulParams is the weights that multiply one sampled token.
func (m Model) MatmulParams() int64 {
	p := m.Params()
	if m.Experts == 0 {
		return p.Head + p.Dense
	}
	return p.Head + p.Dense + p.Experts/int64(m.Experts)*int64(m.TopK)
}

// ExpertLayers is how many layers have experts.
func (m Model) ExpertLayers() int {
	if m.Experts == 0 {
		return 0
	}
	return m.Layers - m.DenseLayers
}

// attentionParams is the projections of one layer.
func (m Model) attentionParams() int64 {
	h, heads := int64(m.Hidden), int64(m.Heads)
	if m.KVLora == 0 {
		return 2*h*heads*int64(m.HeadDim) + 2*h*int64(m.KVHeads)*int64(m.HeadDim)
	}
	q, kv := int64(m.QLora), int64(m.KVLora)
	rope, nope, value := int64(m.RopeDim), int64(m.NopeDim), int64(m.ValueDim)
	query := h*q + q*heads*(nope+rope)
	if q == 0 { // only keys and values are compressed
		query = h * heads * (nope + rope)
	}
	return query + h*(kv+rope) + kv*heads*(nope+value) + heads*value*h
}

// WeightBytes is the memory of all weights at precision p. Quantisation
// leaves the embedding, the head and the norms at 16 bits.
func (m Model) WeightBytes(p Precision) int64 {
	n := m.Params()
	outer := max(p.dense(), BF16.Bytes())
	return int64(float64(n.Embedding+n.Head+n.Norms)*outer +
		float64(n.Dense)*p.dense() + float64(n.Experts)*p.Bytes())
}

// stepBytes is the weight memory that one step reads: the dense part, which
// is always read, and the experts, of which it reads those that its tokens
// are routed to.
func (m Model) stepBytes(p Precision) (dense, experts float64) {
	n := m.Params()
	outer := max(p.dense(), BF16.Bytes())
	return float64(n.Head)*outer + float64(n.Dense)*p.dense(), float64(n.Experts) * p.Bytes()
}

// attentionFLOPs is the work of one layer for one pair of a query token and a
// token it looks at.
func (m Model) attentionFLOPs() float64 {
	if m.KVLora == 0 {
		return 4 * float64(m.Heads) * float64(m.HeadDim)
	}
	return 2 * float64(m.Heads) * float64(m.NopeDim+m.RopeDim+m.ValueDim)
}

// GrowingLayers is the number of layers that look back without limit.
func (m Model) GrowingLayers() int { return m.Layers - m.WindowLayers }

// LayerKVBytes is the cache of one token in one layer on one of tp ranks. A
// rank holds at least one head, so heads are replicated when there are more
// ranks than heads; a latent cache is replicated on every rank.
func (m Model) LayerKVBytes(p Precision, tp int) float64 {
	if m.KVLora != 0 {
		return float64(m.KVLora+m.RopeDim) * p.Bytes()
	}
	heads := max(1, float64(m.KVHeads)/float64(max(1, tp)))
	return 2 * heads * float64(m.HeadDim) * p.Bytes()
}

// KVBytesPerToken is the cache of one token in all layers of the whole model,
// before any window.
func (m Model) KVBytesPerToken(p Precision) int64 {
	return int64(float64(m.Layers) * m.LayerKVBytes(p, 1))
}

// KVBytes is the cache of a sequence of that many tokens in the whole model.
func (m Model) KVBytes(tokens int, p Precision) int64 { return m.rankKVBytes(tokens, p, 1) }

// rankKVBytes is the part of KVBytes that one of tp ranks holds.
func (m Model) rankKVBytes(tokens int, p Precision, tp int) int64 {
	kept := m.GrowingLayers()*tokens + m.WindowLayers*min(tokens, m.Window)
	return int64(float64(kept) * m.LayerKVBytes(p, tp))
}
